// SPDX-License-Identifier: MIT
// Checker of tree_pu: a result comes as long after the last beat of its sum as the contract says, and stays.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module tree_pu_checks #(
  /// Width of a number.
  parameter int unsigned WIDTH   = 16,
  /// Cycles from a beat to its result.
  parameter int unsigned LATENCY = 26
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             last_i,
  input logic             result_valid_o,
  input logic [WIDTH-1:0] result_o
);

  // The beats before that end a sum, that of the last cycle first.
  logic [LATENCY-1:0] ends_d, ends_q;
  logic               held_q;
  logic [WIDTH-1:0]   result_q;

  assign ends_d = {ends_q[LATENCY-2:0], valid_i && last_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ends_q <= '0;
      held_q <= 1'b0;
    end else begin
      ends_q <= ends_d;
      held_q <= held_q || result_valid_o;
    end
  end

  always_ff @(posedge clk_i) result_q <= result_o;

  `ASSERT(assert_due, result_valid_o == ends_q[LATENCY-1])
  `ASSERT(assert_held, !held_q || result_valid_o || result_o == result_q)

endmodule

bind tree_pu tree_pu_checks #(
  .WIDTH(WIDTH), .LATENCY(MUL_STAGES + 3 + ($clog2(LANES) + 1 + DEPTH) * ADD)
) u_checks (.*);

`endif
