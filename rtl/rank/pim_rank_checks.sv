// SPDX-License-Identifier: MIT
// Checker of pim_rank: the data bus has one driver, and the chips, which have one command, are in step.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_rank_checks import pimlico_pkg::*; (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                operand_valid,
  input logic    [CHIPS-1:0] drives,
  input logic    [CHIPS-1:0] shared_written,
  input logic    [CHIPS-1:0] cells_write,
  input logic    [CHIPS-1:0] new_results,
  input logic    [CHIPS-1:0] chip_idle
);

  function automatic logic equal(logic [CHIPS-1:0] bits);
    return bits == '0 || bits == '1;
  endfunction

  `ASSERT(assert_one_driver, !(drives != '0 && operand_valid))
  `ASSERT(assert_in_step, equal(drives) && equal(shared_written) && equal(cells_write) &&
                          equal(new_results) && equal(chip_idle))

endmodule

bind pim_rank pim_rank_checks u_checks (.*);

`endif
