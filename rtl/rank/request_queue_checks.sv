// SPDX-License-Identifier: MIT
// Checker of request_queue: there is room for what enters, an entry that is sent or done is there, and the
// order is that of the entries.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module request_queue_checks #(
  /// Width of an entry.
  parameter  int unsigned WIDTH      = 8,
  /// Entries.
  parameter  int unsigned DEPTH      = 16,
  localparam int unsigned INDEX_BITS = $clog2(DEPTH)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                push_i,
  input logic                send_i,
  input logic                done_i,
  input logic                ready_o,
  input logic                next_valid_o,
  input logic [WIDTH-1:0]    next_o,
  input logic [INDEX_BITS:0] head_q,
  input logic [INDEX_BITS:0] read_q,
  input logic [INDEX_BITS:0] tail_q,
  input logic                fetched_q
);

  logic [INDEX_BITS:0] count, ahead, sent;

  assign count = tail_q - head_q;
  assign ahead = (INDEX_BITS + 1)'(fetched_q) + (INDEX_BITS + 1)'(next_valid_o);
  assign sent  = read_q - head_q - ahead;

  `ASSERT(assert_room, !push_i || ready_o)
  `ASSERT(assert_next, !send_i || next_valid_o)
  `ASSERT(assert_sent, !done_i || sent != '0 || send_i)
  `ASSERT(assert_count, count <= (INDEX_BITS + 1)'(DEPTH) && sent <= count)
  `ASSERT(assert_read, tail_q - read_q <= count && sent + ahead <= count)

  handshake_checks #(.WIDTH(WIDTH)) u_next (
    .clk_i, .rst_ni, .valid_i(next_valid_o), .ready_i(send_i), .data_i(next_o)
  );

endmodule

bind request_queue request_queue_checks #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_checks (.*);

`endif
