// SPDX-License-Identifier: MIT
// Checker of dual_row_buffer: each buffer keeps its row whatever the other does, and no closed buffer is read.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module dual_row_buffer_checks #(
  /// Words of a row.
  parameter int unsigned WORDS = 32,
  /// 1: two row buffers; 0: one.
  parameter int unsigned DUAL  = 1
) (
  input logic                    clk_i,
  input logic                    rst_ni,
  input logic                    activate_i,
  input logic                    precharge_i,
  input logic                    pim_i,
  input logic                    mem_valid_i,
  input logic                    mem_write_i,
  input logic                    pim_valid_i,
  input logic [WORDS-1:0][255:0] pim_words,
  input logic [WORDS/2-1:0]      column_write,
  input logic                    mem_open_o,
  input logic [14:0]             mem_row_o,
  input logic                    pim_open_o,
  input logic [14:0]             pim_row_o,
  input logic                    mem_data_valid_o,
  input logic                    pim_data_valid_o,
  input logic                    restore_o,
  input logic                    stale_o
);

  // The last cycle: what was asked for, what was open, and the parity of the words for dot products.
  logic        mem_command_q, pim_command_q, mem_access_q, pim_access_q, mem_activate_q, pim_activate_q, write_q;
  logic        mem_open_q, pim_open_q, parity_q, known_q;
  logic [14:0] mem_row_q, pim_row_q;
  logic        parity, of_mem, of_pim;

  assign parity = ^pim_words;
  assign of_mem = DUAL == 0 || !pim_i;
  assign of_pim = DUAL == 0 || pim_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mem_command_q  <= 1'b0;
      pim_command_q  <= 1'b0;
      mem_access_q   <= 1'b0;
      pim_access_q   <= 1'b0;
      mem_activate_q <= 1'b0;
      pim_activate_q <= 1'b0;
      write_q        <= 1'b0;
      mem_open_q     <= 1'b0;
      pim_open_q     <= 1'b0;
      mem_row_q      <= '0;
      pim_row_q      <= '0;
      parity_q       <= 1'b0;
      known_q        <= 1'b0;
    end else begin
      mem_command_q  <= (activate_i || precharge_i) && of_mem;
      pim_command_q  <= (activate_i || precharge_i) && of_pim;
      mem_access_q   <= mem_valid_i;
      pim_access_q   <= pim_valid_i;
      mem_activate_q <= activate_i && of_mem;
      pim_activate_q <= activate_i && of_pim;
      write_q        <= |column_write;
      mem_open_q     <= mem_open_o;
      pim_open_q     <= pim_open_o;
      mem_row_q      <= mem_row_o;
      pim_row_q      <= pim_row_o;
      parity_q       <= parity;
      // The words of a buffer that takes its row in this cycle are new in the next.
      known_q        <= !pim_activate_q;
    end
  end

  // A buffer changes by a command of its own alone.
  `ASSERT(assert_mem_keeps, mem_command_q || (mem_open_o == mem_open_q && mem_row_o == mem_row_q))
  `ASSERT(assert_pim_keeps, pim_command_q || (pim_open_o == pim_open_q && pim_row_o == pim_row_q))
  `ASSERT(assert_mem_opens, !mem_activate_q || mem_open_o)
  `ASSERT(assert_pim_opens, !pim_activate_q || pim_open_o)
  // The words for dot products change as a row is activated, and by WRs where there is one buffer.
  `ASSERT(assert_words_keep, !known_q || parity == parity_q || (DUAL == 0 && write_q))
  // Data come from an open buffer alone, a cycle behind an access.
  `ASSERT(assert_mem_read, !mem_data_valid_o || (mem_access_q && mem_open_q))
  `ASSERT(assert_pim_read, !pim_data_valid_o || (pim_access_q && pim_open_q))
  `ASSERT(assert_restore, restore_o == write_q && !(restore_o && mem_data_valid_o))
  `ASSERT(assert_one_column, (column_write & (column_write - (WORDS / 2)'(1))) == '0 &&
                             (column_write == '0 || (mem_valid_i && mem_write_i)))
  // One column decoder serves one access.
  `ASSERT(assert_one_access, DUAL != 0 || !(pim_data_valid_o && (mem_data_valid_o || restore_o)))
  `ASSERT(assert_stale, !stale_o || (restore_o && DUAL != 0))

endmodule

bind dual_row_buffer dual_row_buffer_checks #(.WORDS(WORDS), .DUAL(DUAL)) u_checks (.*);

`endif
