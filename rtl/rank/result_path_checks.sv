// SPDX-License-Identifier: MIT
// Checker of result_path: a burst on the bus is one that was asked for, and the adder unit is free for it.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module result_path_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       busy,
  input logic [1:0] index,
  input logic       burst_valid,
  input logic       partial_sums,
  input logic       accumulate_o,
  input logic [3:0] tree_valid_q
);

  logic busy_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else         busy_q <= busy;
  end

  `ASSERT(assert_burst, !busy || burst_valid)
  // The tCK before a burst that goes on from partial sums is free.
  `ASSERT(assert_free, !(busy_q && busy && index == '0 && partial_sums))
  // No sum is in the tree when the adders are taken for the context.
  `ASSERT(assert_tree, !(accumulate_o && tree_valid_q[2:0] != '0))

  logic unused;

  assign unused = tree_valid_q[3];

endmodule

bind result_path result_path_checks u_checks (.clk_i(clk_tck_i), .*);

`endif
