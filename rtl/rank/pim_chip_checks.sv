// SPDX-License-Identifier: MIT
// Checker of pim_chip: a burst on the data lines is one that was asked for, and goes one way; so is a column.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_chip_checks #(
  /// The longest RL_MAC, in tCK.
  parameter int unsigned LONGEST = 12
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       drives_o,
  input logic       drive_valid,
  input logic       taking,
  input logic       target_valid,
  input logic [7:0] rl_mac_i,
  input logic       rd,
  input logic       delays,
  input logic       arrives,
  input logic       pending
);

  `ASSERT(assert_drives, !drives_o || drive_valid)
  `ASSERT(assert_takes, !taking || target_valid)
  `ASSERT(assert_latency, rl_mac_i <= 8'(LONGEST))
  `ASSERT(assert_arrives, !(arrives && delays) || pending)
  `ASSERT(assert_one_column, !(arrives && rd))
  `ASSERT(assert_one_way, !(drives_o && taking))

endmodule

bind pim_chip pim_chip_checks #(.LONGEST(LONGEST)) u_checks (.clk_i(clk_tck_i), .*);

`endif
