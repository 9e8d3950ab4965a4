// SPDX-License-Identifier: MIT
// Checker of pim_mode: no weight is written in multi-bank mode, and blocks make a step for every column command in it.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_mode_checks (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        activate_i,
  input logic        precharge_i,
  input logic        read_i,
  input logic        write_i,
  input logic        multi_o,
  input logic [15:0] banks_o,
  input logic        activate_o,
  input logic        precharge_o,
  input logic        read_o,
  input logic        write_o,
  input logic        write_results_o,
  input logic        step_o,
  input logic        block_write_o,
  input logic        block_mac_o,
  input logic        block_read_o,
  input logic [2:0]  register_o,
  input logic [6:0]  element_o,
  input logic        first_o,
  input logic        outside_o
);

  // The cycles before, the last first.
  logic [2:0] column_d, column_q, multi_d, multi_q;
  logic       write_d, write_q;
  logic [2:0] of_blocks;
  logic [4:0] of_banks;
  logic       one_bank;

  assign column_d  = {column_q[1:0], (read_i || write_i) && !activate_i && !precharge_i};
  assign multi_d   = {multi_q[1:0], multi_o};
  assign write_d   = write_i && !read_i && !activate_i && !precharge_i;
  assign of_blocks = {block_write_o, block_mac_o, block_read_o};
  assign of_banks  = {activate_o, precharge_o, read_o, write_o, write_results_o};
  assign one_bank  = (banks_o & (banks_o - 16'd1)) == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      column_q <= '0;
      multi_q  <= '0;
      write_q  <= 1'b0;
    end else begin
      column_q <= column_d;
      multi_q  <= multi_d;
      write_q  <= write_d;
    end
  end

  `ASSERT(assert_mode, multi_o == multi_q[0] || write_q)
  `ASSERT(assert_one_command, (of_banks & (of_banks - 5'd1)) == '0 && (of_banks != '0) == (banks_o != '0))
  // Banks that read or write for the data bus are in single-bank mode, and one at a time.
  `ASSERT(assert_single, !(read_o || write_o) || (!multi_q[0] && one_bank))
  `ASSERT(assert_all, !multi_q[0] || banks_o == '0 || banks_o == '1)
  `ASSERT(assert_step, !step_o || (column_q[2] && multi_q[2]))
  `ASSERT(assert_one_step, (of_blocks & (of_blocks - 3'd1)) == '0 && (of_blocks == '0 || step_o))
  `ASSERT(assert_operands, (of_blocks != '0 || register_o == '0) && (block_mac_o || (element_o == '0 && !first_o)))
  `ASSERT(assert_outside, !outside_o || (step_o && of_blocks == '0))

endmodule

bind pim_mode pim_mode_checks u_checks (.*);

`endif
