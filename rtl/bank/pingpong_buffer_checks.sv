// SPDX-License-Identifier: MIT
// Checker of pingpong_buffer: each side is filled, read and released in turn.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pingpong_buffer_checks #(
  /// Words of a side.
  parameter  int unsigned DEPTH        = 16,
  /// Width of a read address.
  parameter  int unsigned ADDRESS_BITS = 8,
  /// Sides.
  parameter  int unsigned SIDES        = 2
) (
  input logic                               clk_i,
  input logic                               rst_ni,
  input logic                               write_side_q,
  input logic                               read_side_q,
  input logic [SIDES-1:0]                   full_q,
  input logic [SIDES-1:0][ADDRESS_BITS:0]   words_q,
  input logic [SIDES-1:0]                   write,
  input logic [SIDES-1:0]                   read
);

  // Nothing is written where a filling waits or is read, and nothing is read where one is incomplete.
  `ASSERT(assert_write_free, (write & full_q) == '0)
  `ASSERT(assert_read_full, (read & ~full_q) == '0)
  `ASSERT(assert_sides_apart, (write & read) == '0)
  // Fillings are read in the order in which they were written: both ports mean the same side just
  // where no side is full, or all are.
  `ASSERT(assert_order, (write_side_q == read_side_q) == (full_q == '0 || full_q == '1))

  for (genvar side = 0; side < SIDES; side++) begin : gen_side
    `ASSERT(assert_words, words_q[side] <= (ADDRESS_BITS + 1)'(DEPTH) &&
                          (!full_q[side] || words_q[side] != '0))
  end

endmodule

bind pingpong_buffer pingpong_buffer_checks #(
  .DEPTH(DEPTH), .ADDRESS_BITS(ADDRESS_BITS), .SIDES(SIDES)
) u_checks (.*);

`endif
