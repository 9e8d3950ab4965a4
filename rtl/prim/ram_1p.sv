// SPDX-License-Identifier: MIT
// A RAM with one port, the template of a side of a buffer: written or read in a clock, never both.
//
//   clock       0    1    2
//   write_i     1    0    0
//   read_i      0    1    0
//   address_i   a    a
//   data_i      w
//   data_o                w        until the next read
//
// Neither the words nor data_o are reset: a RAM macro, which takes this module's place, has no reset.
// What was never written must not be looked at.

module ram_1p #(
  /// Width of a word.
  parameter  int unsigned WIDTH        = 64,
  /// Words.
  parameter  int unsigned DEPTH        = 16,
  localparam int unsigned ADDRESS_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
  /// Clock.
  input  logic                    clk_i,
  /// data_i is written.
  input  logic                    write_i,
  /// A word is read, unless one is written.
  input  logic                    read_i,
  /// Which word: less than DEPTH where one is written or read.
  input  logic [ADDRESS_BITS-1:0] address_i,
  /// The word to write.
  input  logic [WIDTH-1:0]        data_i,
  /// The word that was read last.
  output logic [WIDTH-1:0]        data_o
);

  logic [WIDTH-1:0] words_q [DEPTH];
  logic [WIDTH-1:0] data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[address_i] <= data_i;
    else if (read_i) data_q <= words_q[address_i];
  end

  assign data_o = data_q;

  if (WIDTH == 0 || DEPTH == 0) $fatal(1, "WIDTH = %0d, DEPTH = %0d: expected 1 or more", WIDTH, DEPTH);

endmodule
