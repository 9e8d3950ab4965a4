// SPDX-License-Identifier: MIT
// Checker of pim_queue: an operation stays what it is, and only what there is is taken.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_queue_checks (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        admit_i,
  input logic        refresh_i,
  input logic        taken_i,
  input logic        op_valid_o,
  input logic        op_gwrite_o,
  input logic [4:0]  op_bank_o,
  input logic [14:0] op_row_o,
  input logic [4:0]  op_count_o,
  input logic [2:0]  op_results_o,
  input logic        admitted_o,
  input logic        command_valid_o,
  input logic [2:0]  command_kind_o,
  input logic [4:0]  command_word_o,
  input logic [4:0]  command_count_o,
  input logic        empty_o
);

  logic        valid_q, admitted_q, refresh_q, admit_q;
  logic [28:0] operation, operation_q;

  assign operation = {op_gwrite_o, op_bank_o, op_row_o, op_count_o, op_results_o};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q     <= 1'b0;
      admitted_q  <= 1'b0;
      refresh_q   <= 1'b0;
      admit_q     <= 1'b0;
      operation_q <= '0;
    end else begin
      valid_q     <= op_valid_o;
      admitted_q  <= admitted_o;
      refresh_q   <= refresh_i;
      admit_q     <= admit_i;
      operation_q <= operation;
    end
  end

  // It changes only where there was none in between.
  `ASSERT(assert_stays, !(valid_q && op_valid_o) || operation == operation_q)
  `ASSERT(assert_admitted, !admitted_o || (op_valid_o && valid_q && !refresh_q && (admitted_q || admit_q)))
  `ASSERT(assert_command, !command_valid_o || (op_valid_o && !op_gwrite_o && !empty_o))
  `ASSERT(assert_words, !command_valid_o || command_kind_o != 3'd2 || 6'(command_word_o) + 6'(command_count_o) < 6'd32)
  `ASSERT(assert_empty, !(empty_o && op_valid_o))
  // What the surrounding unit has to keep.
  `ASSERT(assert_taken, !taken_i || command_valid_o || (op_valid_o && op_gwrite_o))

endmodule

bind pim_queue pim_queue_checks u_checks (.*);

`endif
