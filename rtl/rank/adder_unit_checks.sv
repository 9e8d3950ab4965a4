// SPDX-License-Identifier: MIT
// Checker of adder_unit: a sum comes as long after its group as the contract says, and no adder is asked for two.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module adder_unit_checks #(
  /// Lanes.
  parameter int unsigned GEAR = 1
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic            valid_i,
  input logic [GEAR-1:0] accumulate_i,
  input logic            begin_i,
  input logic            tree_valid_o
);

  // The groups before, that of the last cycle first, and the accumulator inputs of the first lane.
  logic [7:0] tree_d, tree_q;
  logic [2:0] ends_d, ends_q;  // the last lane accumulated so many cycles ago, and one
  logic       begins_q;

  assign tree_d = {tree_q[6:0], valid_i};
  assign ends_d = {ends_q[1:0], accumulate_i[GEAR-1]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tree_q   <= '0;
      ends_q   <= '0;
      begins_q <= 1'b0;
    end else begin
      tree_q   <= tree_d;
      ends_q   <= ends_d;
      begins_q <= begin_i;
    end
  end

  `ASSERT(assert_tree, tree_valid_o == tree_q[7])
  // The levels of the tree add a group 0, 2, 4 and 6 cycles after it came.
  `ASSERT(assert_free, !(|accumulate_i && (valid_i || tree_q[1] || tree_q[3] || tree_q[5])))
  // The first lane begins a sum, or goes on from the last lane's of three cycles ago.
  `ASSERT(assert_begun, !(accumulate_i[0] && !begins_q && !ends_q[2]))

endmodule

bind adder_unit adder_unit_checks #(.GEAR(GEAR)) u_checks (.*);

`endif
