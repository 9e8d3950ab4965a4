// SPDX-License-Identifier: MIT
// A memory with a port to write and one to read. A word has several elements, which are
// written one by one.
//
//   clock            0    1
//   write_i          1    0
//   write_address_i  a
//   data_i           w
//   read_address_i   a    a
//   data_o           old  w
//
// The words are not reset: what was never written must not be looked at. data_o follows the address in
// no time. A macro that takes a clock for it wants its address a tCK sooner: from the head of the
// controller's queue, or from whoever asks for the weighing.

module ram #(
  /// Width of an element.
  parameter  int unsigned WIDTH        = 16,
  /// Elements of a word.
  parameter  int unsigned ELEMENTS     = 4,
  /// Words, a power of two, 2 or more.
  parameter  int unsigned DEPTH        = 256,
  localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
  /// Clock.
  input  logic                           clk_i,
  /// Which elements are written.
  input  logic [ELEMENTS-1:0]            write_i,
  /// Their word.
  input  logic [ADDRESS_BITS-1:0]        write_address_i,
  /// What they get.
  input  logic [ELEMENTS-1:0][WIDTH-1:0] data_i,
  /// The word that is read.
  input  logic [ADDRESS_BITS-1:0]        read_address_i,
  /// What it holds.
  output logic [ELEMENTS-1:0][WIDTH-1:0] data_o
);

  for (genvar e = 0; e < ELEMENTS; e++) begin : gen_element
    logic [WIDTH-1:0] words_q [DEPTH];

    always_ff @(posedge clk_i) begin
      if (write_i[e]) words_q[write_address_i] <= data_i[e];
    end

    assign data_o[e] = words_q[read_address_i];
  end

  if (WIDTH == 0 || ELEMENTS == 0)
    $fatal(1, "WIDTH = %0d, ELEMENTS = %0d: expected 1 or more", WIDTH, ELEMENTS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
