// SPDX-License-Identifier: MIT
// A RAM with a port to write and a port to read, the template of a macro: a word is there a cycle after it is
// asked for.
//
//   cycle             0    1    2    3
//   write_i           1    0    0    0
//   write_address_i   a
//   data_i            w
//   read_i            0    1    0    0
//   read_address_i         a
//   data_o                      w    w     until the next read
//
// A word is not read in the cycle in which it is written. Neither the words nor data_o are reset: a macro,
// which takes this module's place, has no reset. A word that was never written holds anything.

module ram_1r1w #(
  /// Width of a word.
  parameter  int unsigned WIDTH        = 16,
  /// Words, 2 or more.
  parameter  int unsigned DEPTH        = 64,
  localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
  /// Clock.
  input  logic                    clk_i,
  /// data_i is written.
  input  logic                    write_i,
  /// The word that is written: less than DEPTH.
  input  logic [ADDRESS_BITS-1:0] write_address_i,
  /// What is written.
  input  logic [WIDTH-1:0]        data_i,
  /// A word is read.
  input  logic                    read_i,
  /// The word that is read: less than DEPTH, and not the one that is written in this cycle.
  input  logic [ADDRESS_BITS-1:0] read_address_i,
  /// The word that was read last.
  output logic [WIDTH-1:0]        data_o
);

  logic [WIDTH-1:0] words_q [DEPTH];
  logic [WIDTH-1:0] data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[write_address_i] <= data_i;
  end

  always_ff @(posedge clk_i) begin
    if (read_i) data_q <= words_q[read_address_i];
  end

  assign data_o = data_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2) $fatal(1, "DEPTH = %0d: expected 2 or more", DEPTH);

endmodule
