// SPDX-License-Identifier: MIT
// Checker of channel_controller: one source alone has a command, and what was decided a cycle ago may still come.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module channel_controller_checks import channel_pkg::*; (
  input logic        clk_i,
  input logic        rst_ni,
  input command_e    refresh_command,
  input command_e    pim_command,
  input logic [4:0]  pim_bank,
  input command_e    release_command,
  input command_e    mem_command,
  input logic        turn,
  input logic [1:0]  rfc_over,
  input logic [31:0] open,
  input logic [31:0] open_of_turn,
  input logic [31:0] of_turn,
  input logic [31:0] precharge_ready,
  input logic [31:0] quiet
);

  logic [3:0] sources;

  assign sources = {refresh_command != None, pim_command != None, release_command != None, mem_command != None};

  `ASSERT(assert_one_source, $onehot0(sources))
  `ASSERT(assert_ref, refresh_command != Ref || (&(quiet | ~of_turn) && rfc_over[turn]))
  `ASSERT(assert_precharge_all, refresh_command != PreAll || (precharge_ready & open_of_turn) == open_of_turn)
  `ASSERT(assert_precharge, pim_command != Pre || (open[pim_bank] && precharge_ready[pim_bank]))

endmodule

bind channel_controller channel_controller_checks u_checks (
  .refresh_command (of_refresh_q.command),
  .pim_command     (of_pim.command),
  .pim_bank        (of_pim.bank),
  .release_command (release_pim.command),
  .mem_command     (of_mem.command),
  .*
);

`endif
