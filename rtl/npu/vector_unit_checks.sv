// SPDX-License-Identifier: MIT
// Checker of vector_unit: results and totals come as long behind their operations as the contract says, and a total stays.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module vector_unit_checks #(
  /// Width of an element.
  parameter int unsigned WIDTH = 16,
  /// Cycles from an operation to its total.
  parameter int unsigned TOTAL = 25
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic [3:0]       operation_i,
  input logic             last_i,
  input logic             result_valid_o,
  input logic             total_valid_o,
  input logic [WIDTH-1:0] total_o
);

  localparam int unsigned RESULT = 23;

  logic [RESULT-1:0] result_d, result_q;
  logic [TOTAL-1:0]  total_d, total_q;
  logic              held_q;
  logic [WIDTH-1:0]  last_total_q;

  assign result_d = {result_q[RESULT-2:0], valid_i && operation_i < 4'd7};
  assign total_d  = {total_q[TOTAL-2:0], valid_i && last_i && operation_i inside {4'd7, 4'd8, 4'd9}};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      result_q <= '0;
      total_q  <= '0;
      held_q   <= 1'b0;
    end else begin
      result_q <= result_d;
      total_q  <= total_d;
      held_q   <= held_q || total_valid_o;
    end
  end

  always_ff @(posedge clk_i) last_total_q <= total_o;

  `ASSERT(assert_result, result_valid_o == result_q[RESULT-1])
  `ASSERT(assert_total, total_valid_o == total_q[TOTAL-1])
  `ASSERT(assert_held, !held_q || total_valid_o || total_o == last_total_q)

endmodule

bind vector_unit vector_unit_checks #(.WIDTH(WIDTH), .TOTAL(3 * $clog2(LANES) + 16)) u_checks (.*);

`endif
