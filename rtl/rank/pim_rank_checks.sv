// SPDX-License-Identifier: MIT
// Checker of pim_rank: the data bus has one driver; the chips, which have one command, are in step; slots and bursts
// begin with a cycle.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_rank_checks import pimlico_pkg::*; #(
  /// Gear: tCK in a cycle of the core.
  parameter int unsigned GEAR = DEFAULT_GEAR
) (
  input logic                clk_i,
  input logic                rst_ni,
  input timing_t             timing_i,
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

  localparam logic [7:0] IN_GEAR = 8'(GEAR - 1);

  logic unused_timing;

  assign unused_timing = &{1'b0, timing_i};

  `ASSERT(assert_gear, ((timing_i.rl_mac | timing_i.ccd_l | timing_i.cl | timing_i.cwl) & IN_GEAR) == '0)
  `ASSERT(assert_one_driver, !(drives != '0 && operand_valid))
  `ASSERT(assert_in_step, equal(drives) && equal(shared_written) && equal(cells_write) &&
                          equal(new_results) && equal(chip_idle))

endmodule

bind pim_rank pim_rank_checks #(.GEAR(GEAR)) u_checks (.*);

`endif
