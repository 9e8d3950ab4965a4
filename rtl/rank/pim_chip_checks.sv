// SPDX-License-Identifier: MIT
// Checker of pim_chip: a burst on the data lines is one that was asked for, and goes one way.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_chip_checks (
  input logic clk_i,
  input logic rst_ni,
  input logic drives_o,
  input logic drive_valid,
  input logic taking,
  input logic target_valid
);

  `ASSERT(assert_drives, !drives_o || drive_valid)
  `ASSERT(assert_takes, !taking || target_valid)
  `ASSERT(assert_one_way, !(drives_o && taking))

endmodule

bind pim_chip pim_chip_checks u_checks (.clk_i(clk_tck_i), .*);

`endif
