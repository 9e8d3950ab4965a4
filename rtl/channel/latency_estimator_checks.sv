// SPDX-License-Identifier: MIT
// Checker of latency_estimator: answers come four cycles behind questions, none is negative or admitted for nothing.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module latency_estimator_checks (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        valid_i,
  input logic        gwrite_i,
  input logic [3:0]  activations_i,
  input logic [19:0] slack_i,
  input logic [7:0]  faw_i,
  input logic        valid_o,
  input logic [14:0] estimate_o,
  input logic        admit_o
);

  // The questions on their way; the slack of the last cycle; what each GEMV takes for its windows at least.
  logic [3:0]        asked_q;
  logic [3:0][14:0]  least_q;
  logic [19:0]       slack_q;
  logic              configured_q;
  logic [7:0]        faw_d, faw_q;
  logic [14:0]       least;

  assign faw_d = configured_q ? faw_q : faw_i;
  assign least = gwrite_i || activations_i < 4'd2 ? '0 : 15'(faw_d);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asked_q      <= '0;
      least_q      <= '0;
      slack_q      <= '0;
      configured_q <= 1'b0;
      faw_q        <= '0;
    end else begin
      asked_q      <= {asked_q[2:0], valid_i};
      least_q      <= {least_q[2:0], least};
      slack_q      <= slack_i;
      configured_q <= 1'b1;
      faw_q        <= faw_d;
    end
  end

  `ASSERT(assert_answer, valid_o == asked_q[3])
  `ASSERT(assert_nothing, valid_o || (estimate_o == '0 && !admit_o))
  `ASSERT(assert_admit, admit_o == (valid_o && 20'(estimate_o) < slack_q))
  `ASSERT(assert_windows, !valid_o || estimate_o >= least_q[3])

endmodule

bind latency_estimator latency_estimator_checks u_checks (.*);

`endif
