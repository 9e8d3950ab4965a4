// SPDX-License-Identifier: MIT
// Checker of fifo: there is room for what enters, an entry for what leaves, and a waiting entry stays.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module fifo_checks #(
  /// Width of an entry.
  parameter  int unsigned WIDTH      = 8,
  /// Entries.
  parameter  int unsigned DEPTH      = 16,
  localparam int unsigned INDEX_BITS = $clog2(DEPTH)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                push_i,
  input logic                pop_i,
  input logic                valid_o,
  input logic [WIDTH-1:0]    data_o,
  input logic [INDEX_BITS:0] head_q,
  input logic [INDEX_BITS:0] tail_q
);

  logic [INDEX_BITS:0] count;

  assign count = tail_q - head_q;

  `ASSERT(assert_room, !push_i || count != (INDEX_BITS + 1)'(DEPTH))
  `ASSERT(assert_entry, !pop_i || valid_o)
  `ASSERT(assert_count, count <= (INDEX_BITS + 1)'(DEPTH) && valid_o == (count != '0))

  handshake_checks #(.WIDTH(WIDTH)) u_oldest (
    .clk_i, .rst_ni, .valid_i(valid_o), .ready_i(pop_i), .data_i(data_o)
  );

endmodule

bind fifo fifo_checks #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_checks (.*);

`endif
