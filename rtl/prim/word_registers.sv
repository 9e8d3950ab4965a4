// SPDX-License-Identifier: MIT
// Words of registers, all of which can be read, and one written in a cycle: each has a clock of its own.
//
//   cycle       0    1
//   write_i     1    0       settled by the falling edge, as a clock gate wants it
//   address_i   a            as well
//   data_i      w
//   words_o          w       at a
//
// The words are not reset.

module word_registers #(
  /// Width of a word.
  parameter  int unsigned WIDTH        = 16,
  /// Words, 2 or more.
  parameter  int unsigned DEPTH        = 8,
  localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
  /// Clock.
  input  logic                        clk_i,
  /// data_i is written.
  input  logic                        write_i,
  /// The word that is written: less than DEPTH.
  input  logic [ADDRESS_BITS-1:0]     address_i,
  /// What is written.
  input  logic [WIDTH-1:0]            data_i,
  /// The words.
  output logic [DEPTH-1:0][WIDTH-1:0] words_o
);

  for (genvar w = 0; w < DEPTH; w++) begin : gen_word
    logic             clk;
    logic [WIDTH-1:0] word_q;

    clock_gate u_clk (
      .clk_i,
      .rst_ni   (1'b1),
      .enable_i (write_i && address_i == ADDRESS_BITS'(w)),
      .clk_o    (clk)
    );

    always_ff @(posedge clk) word_q <= data_i;

    assign words_o[w] = word_q;
  end

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2) $fatal(1, "DEPTH = %0d: expected 2 or more", DEPTH);

endmodule
