// SPDX-License-Identifier: MIT
// Checker of adder_unit: a sum comes as long after its beat as the contract says, and of one kind at a time.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module adder_unit_checks (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic accumulate_i,
  input logic last_i,
  input logic tree_valid_o,
  input logic lanes_valid_o
);

  // The beats before, that of the last cycle first.
  logic [3:0] tree_d, tree_q;
  logic       accumulates_q, ends_q;

  assign tree_d = {tree_q[2:0], valid_i && !accumulate_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tree_q        <= '0;
      accumulates_q <= 1'b0;
      ends_q        <= 1'b0;
    end else begin
      tree_q        <= tree_d;
      accumulates_q <= valid_i && accumulate_i;
      ends_q        <= valid_i && accumulate_i && last_i;
    end
  end

  // A beat of accumulator mode takes the adders from the tree's last level.
  `ASSERT(assert_tree, tree_valid_o == (tree_q[3] && !accumulates_q))
  `ASSERT(assert_lanes, lanes_valid_o == ends_q)

endmodule

bind adder_unit adder_unit_checks u_checks (.*);

`endif
