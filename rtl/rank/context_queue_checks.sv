// SPDX-License-Identifier: MIT
// Checker of context_queue: it counts the sums that wait, and what it offers stands until it is taken.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module context_queue_checks #(
  /// Sums that leave in a cycle.
  parameter int unsigned GEAR  = 1,
  /// 0: weights are normalised; 1: the context is.
  parameter int unsigned LATE  = 0,
  /// Rows of eight sums.
  parameter int unsigned DEPTH = 128
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  push_i,
  input logic                  sum_ready_i,
  input logic                  sum_valid_o,
  input logic [GEAR-1:0][31:0] sum_o,
  input logic [2:0]            sum_head_o,
  input logic                  out_valid_q,
  input logic                  idle_o
);

  // Two groups may have left the queue.
  localparam int unsigned COUNT_BITS = $clog2(8 * DEPTH + 3 * GEAR);

  logic [COUNT_BITS-1:0] waiting_d, waiting_q;
  logic                  leaves;

  assign leaves = out_valid_q && (LATE == 0 || sum_ready_i);

  always_comb begin
    waiting_d = waiting_q;
    if (push_i) waiting_d = waiting_d + COUNT_BITS'(8);
    if (leaves) waiting_d = waiting_d - COUNT_BITS'(GEAR);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waiting_q <= '0;
    else         waiting_q <= waiting_d;
  end

  `ASSERT(assert_idle, idle_o == (waiting_q == '0))
  `ASSERT(assert_waiting, !out_valid_q || waiting_q >= COUNT_BITS'(GEAR))

  handshake_checks #(.WIDTH(32 * GEAR + 3)) u_sum (
    .clk_i, .rst_ni, .valid_i(sum_valid_o), .ready_i(sum_ready_i), .data_i({sum_head_o, sum_o})
  );

endmodule

bind context_queue context_queue_checks #(.GEAR(GEAR), .LATE(LATE), .DEPTH(DEPTH)) u_checks (.*);

`endif
