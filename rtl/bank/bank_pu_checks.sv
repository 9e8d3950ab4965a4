// SPDX-License-Identifier: MIT
// Checker of bank_pu: a result comes as long after its beat as the contract says, and stays until the next.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module bank_pu_checks #(
  /// Multipliers.
  parameter  int unsigned LANES     = 4,
  /// Width of a sum.
  parameter  int unsigned SUM_WIDTH = 16,
  localparam int unsigned LEVELS    = $clog2(LANES)
) (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic                            valid_i,
  input logic                            accumulate_i,
  input logic                            last_i,
  input logic                            result_valid_o,
  input logic [LANES-1:0][SUM_WIDTH-1:0] result_o
);

  // The beats before, that of the last cycle first: those of accumulator mode, and those that end a sum.
  logic [1:0]      accumulates_d, accumulates_q, sums_end_d, sums_end_q;
  logic [LEVELS+1:0] tree_ends_d, tree_ends_q;
  logic            due;

  assign accumulates_d = {accumulates_q[0], valid_i && accumulate_i};
  assign sums_end_d    = {sums_end_q[0], valid_i && accumulate_i && last_i};
  assign tree_ends_d   = {tree_ends_q[LEVELS:0], valid_i && !accumulate_i && last_i};

  // A tree beat is lost where a beat of accumulator mode has the adders.
  assign due = sums_end_q[1] || (tree_ends_q[LEVELS+1] && !accumulates_q[1]);

  // The result registers, since they were loaded: all of them, or the first.
  logic                            first_held_q, others_held_q;
  logic [LANES-1:0][SUM_WIDTH-1:0] result_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      accumulates_q <= '0;
      sums_end_q    <= '0;
      tree_ends_q   <= '0;
      first_held_q  <= 1'b0;
      others_held_q <= 1'b0;
    end else begin
      accumulates_q <= accumulates_d;
      sums_end_q    <= sums_end_d;
      tree_ends_q   <= tree_ends_d;
      first_held_q  <= first_held_q || result_valid_o;
      others_held_q <= others_held_q || sums_end_q[1];
    end
  end

  always_ff @(posedge clk_i) result_q <= result_o;

  `ASSERT(assert_due, result_valid_o == due)
  `ASSERT(assert_first_held, !first_held_q || result_valid_o || result_o[0] == result_q[0])
  `ASSERT(assert_others_held, !others_held_q || sums_end_q[1] || result_o[LANES-1:1] == result_q[LANES-1:1])

endmodule

bind bank_pu bank_pu_checks #(.LANES(LANES), .SUM_WIDTH(SUM_WIDTH)) u_checks (.*);

`endif
