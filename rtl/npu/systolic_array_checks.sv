// SPDX-License-Identifier: MIT
// Checker of systolic_array: results come as long behind their weights as the contract says.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module systolic_array_checks #(
  /// Cycles from weights to their results.
  parameter int unsigned LATENCY = 44
) (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic result_valid_o
);

  logic [LATENCY-1:0] due_d, due_q;

  assign due_d = {due_q[LATENCY-2:0], valid_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) due_q <= '0;
    else         due_q <= due_d;
  end

  `ASSERT(assert_due, result_valid_o == due_q[LATENCY-1])

endmodule

bind systolic_array systolic_array_checks #(.LATENCY(4 * ROWS + COLS + 4)) u_checks (.*);

`endif
