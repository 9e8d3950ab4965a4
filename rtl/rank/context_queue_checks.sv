// SPDX-License-Identifier: MIT
// Checker of context_queue: it counts the sums that wait, and what it offers stands until it is taken.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module context_queue_checks #(
  /// 0: weights are normalised; 1: the context is.
  parameter int unsigned LATE  = 0,
  /// Rows of eight sums.
  parameter int unsigned DEPTH = 128
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        push_i,
  input logic        sum_ready_i,
  input logic        sum_valid_o,
  input logic [31:0] sum_o,
  input logic [2:0]  sum_head_o,
  input logic        valid_o,
  input logic        idle_o
);

  localparam int unsigned COUNT_BITS = $clog2(8 * DEPTH + 1);

  logic [COUNT_BITS-1:0] waiting_d, waiting_q;
  logic                  offers, leaves;

  assign offers = waiting_q != '0 || push_i;
  assign leaves = offers && (LATE == 0 || sum_ready_i);

  always_comb begin
    waiting_d = waiting_q;
    if (push_i) waiting_d = waiting_d + COUNT_BITS'(8);
    if (leaves) waiting_d = waiting_d - COUNT_BITS'(1);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waiting_q <= '0;
    else         waiting_q <= waiting_d;
  end

  `ASSERT(assert_idle, idle_o == (waiting_q == '0))
  `ASSERT(assert_offers, LATE != 0 ? sum_valid_o == offers : valid_o == offers)

  handshake_checks #(.WIDTH(35)) u_sum (
    .clk_i, .rst_ni, .valid_i(sum_valid_o), .ready_i(sum_ready_i), .data_i({sum_head_o, sum_o})
  );

endmodule

bind context_queue context_queue_checks #(.LATE(LATE), .DEPTH(DEPTH)) u_checks (.*);

`endif
