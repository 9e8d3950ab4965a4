// SPDX-License-Identifier: MIT
// Checker of bank_state: only commands that are ready come, one in a cycle, and no row is open in both buffers.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module bank_state_checks (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        act_i,
  input logic        precharge_i,
  input logic        read_i,
  input logic        write_i,
  input logic        gwrite_i,
  input logic        pim_act_i,
  input logic        pim_precharge_i,
  input logic [14:0] row_i,
  input logic [14:0] mem_want_i,
  input logic [14:0] pim_want_i,
  input logic        reserved_i,
  input logic        mem_open_o,
  input logic [14:0] mem_row_o,
  input logic        pim_open_o,
  input logic [14:0] pim_row_o,
  input logic        mem_hit_o,
  input logic        pim_hit_o,
  input logic        in_the_way_o,
  input logic        closed_o,
  input logic        act_ready_o,
  input logic        read_ready_o,
  input logic        write_ready_o,
  input logic        precharge_ready_o,
  input logic        pim_act_ready_o,
  input logic        pim_precharge_ready_o,
  input logic        quiet_o
);

  // The open rows of the last cycle, and whether a command of their own changes them.
  logic        mem_open_q, pim_open_q, mem_changes_q, pim_changes_q, known_q;
  logic [14:0] mem_row_q, pim_row_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mem_open_q    <= 1'b0;
      pim_open_q    <= 1'b0;
      mem_row_q     <= '0;
      pim_row_q     <= '0;
      mem_changes_q <= 1'b0;
      pim_changes_q <= 1'b0;
      known_q       <= 1'b0;
    end else begin
      mem_open_q    <= mem_open_o;
      pim_open_q    <= pim_open_o;
      mem_row_q     <= mem_row_o;
      pim_row_q     <= pim_row_o;
      mem_changes_q <= act_i || precharge_i;
      pim_changes_q <= pim_act_i || pim_precharge_i;
      known_q       <= 1'b1;
    end
  end

  // Either buffer keeps its row, whatever the other does.
  `ASSERT(assert_mem_keeps, !known_q || mem_changes_q || (mem_open_o == mem_open_q && mem_row_o == mem_row_q))
  `ASSERT(assert_pim_keeps, !known_q || pim_changes_q || (pim_open_o == pim_open_q && pim_row_o == pim_row_q))
  `ASSERT(assert_one_row, !(mem_open_o && pim_open_o && mem_row_o == pim_row_o))
  `ASSERT(assert_in_the_way, !(in_the_way_o && (pim_hit_o || pim_act_ready_o)))
  `ASSERT(assert_reserved, !(act_ready_o && reserved_i && mem_want_i == pim_want_i))
  `ASSERT(assert_hit, !mem_hit_o || (mem_row_o == mem_want_i && !act_ready_o))
  `ASSERT(assert_closed, !closed_o || !(mem_open_o || read_ready_o || write_ready_o))
  `ASSERT(assert_quiet, !quiet_o || !(mem_open_o || pim_open_o || read_ready_o || write_ready_o))
  // What the surrounding unit has to keep.
  `ASSERT(assert_one_command,
          $onehot0({act_i, precharge_i, read_i, write_i, gwrite_i, pim_act_i, pim_precharge_i}))
  `ASSERT(assert_act, !act_i || (closed_o && !(pim_open_o && pim_row_o == row_i)))
  `ASSERT(assert_pim_act, !pim_act_i || (pim_act_ready_o && row_i == pim_want_i))
  `ASSERT(assert_read, !(read_i || gwrite_i) || read_ready_o)
  `ASSERT(assert_write, !write_i || write_ready_o)
  `ASSERT(assert_precharge, !precharge_i || precharge_ready_o)
  `ASSERT(assert_pim_precharge, !pim_precharge_i || pim_precharge_ready_o)

endmodule

bind bank_state bank_state_checks u_checks (.*);

`endif
