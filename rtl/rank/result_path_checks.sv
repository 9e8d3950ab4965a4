// SPDX-License-Identifier: MIT
// Checker of result_path: a burst on the bus is one that was asked for, and the adder unit is free for it.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module result_path_checks #(
  /// Lanes.
  parameter int unsigned GEAR = 1
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic            busy,
  input logic            burst_valid,
  input logic            context_busy,
  input logic            tree_busy,
  input logic            last,
  input logic            enters,
  input logic [GEAR-1:0] loads,
  input logic [GEAR-1:0] accumulate_o,
  input logic            tree_ends,
  input logic [8:0]      tree_valid_q
);

  logic entered_d, entered_q;  // the row of this burst has entered

  assign entered_d = (entered_q || enters) && !(busy && last);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) entered_q <= 1'b0;
    else         entered_q <= entered_d;
  end

  `ASSERT(assert_burst, !busy || burst_valid)
  // A row enters once, in the cycles of its last burst.
  `ASSERT(assert_once, !(entered_q && enters))
  `ASSERT(assert_enters, !(context_busy && last && tree_ends) || entered_q || enters)
  // The adder unit's elements are those of one kind of sum, and its levels are free for the context.
  `ASSERT(assert_inputs, !(tree_busy && |loads))
  `ASSERT(assert_tree, !(|accumulate_o && (tree_valid_q[0] || tree_valid_q[2] || tree_valid_q[4] || tree_valid_q[6])))

  logic unused;

  assign unused = &{1'b0, tree_valid_q};

endmodule

bind result_path result_path_checks #(.GEAR(GEAR)) u_checks (
  .clk_i(clk_core_i), .tree_ends(burst.last), .*
);

`endif
