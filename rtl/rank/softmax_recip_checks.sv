// SPDX-License-Identifier: MIT
// Checker of softmax_recip: one division at a time, on an operand that stays, a bit in each cycle.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module softmax_recip_checks #(
  /// Width of the operand.
  parameter int unsigned WIDTH = 32,
  /// Bits of the quotient.
  parameter int unsigned ROWS  = 24
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_i,
  input logic [WIDTH-1:0] sum_i,
  input logic             done_o
);

  localparam int unsigned COUNT_BITS = $clog2(ROWS + 1);

  logic [COUNT_BITS-1:0] left_d, left_q;  // cycles until the division is done
  logic [WIDTH-1:0]      sum_q;

  always_comb begin
    left_d = left_q == '0 ? '0 : left_q - COUNT_BITS'(1);
    if (start_i) left_d = COUNT_BITS'(ROWS);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else         left_q <= left_d;
  end

  always_ff @(posedge clk_i) sum_q <= sum_i;

  `ASSERT(assert_start, !start_i || done_o)
  `ASSERT(assert_done, done_o == (left_q == '0))
  `ASSERT(assert_operand, left_q == '0 || sum_i == sum_q)

endmodule

bind softmax_recip softmax_recip_checks #(.WIDTH(WIDTH), .ROWS(ROWS)) u_checks (.*);

`endif
