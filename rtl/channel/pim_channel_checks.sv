// SPDX-License-Identifier: MIT
// Checker of pim_channel: the controller gives the DRAM no reason for a fault, PUs go together, results are there before their bursts.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_channel_checks #(
  /// Banks that are built.
  parameter int unsigned BANKS = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             dot_q,
  input logic [4:0]       word,
  input logic             beat,
  input logic [BANKS-1:0] sum_valid,
  input logic [BANKS-1:0] read,
  input logic [BANKS-1:0] restore,
  input logic             gemv_results_o,
  input logic             read_results_o,
  input logic             burst_o,
  input logic             conflict_o,
  input logic             stale_o,
  input logic             misuse_o,
  input logic             overrun_o
);

  // Results that have left the PUs, and not with a burst.
  logic [6:0] waiting_d, waiting_q;

  assign waiting_d = waiting_q + 7'(gemv_results_o) + 7'(read_results_o) - 7'(burst_o && waiting_q != '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waiting_q <= '0;
    else         waiting_q <= waiting_d;
  end

  `ASSERT(assert_rows, !(conflict_o || stale_o || misuse_o))
  `ASSERT(assert_dots, !overrun_o)
  `ASSERT(assert_pus, sum_valid == '0 || sum_valid == '1)
  `ASSERT(assert_one_bank, $onehot0(read) && $onehot0(restore))
  `ASSERT(assert_burst, !burst_o || waiting_q != '0)
  `ASSERT(assert_word, beat || word == '0)
  `ASSERT(assert_distance, !(beat && dot_q))

endmodule

bind pim_channel pim_channel_checks #(.BANKS(BANKS)) u_checks (.*);

`endif
