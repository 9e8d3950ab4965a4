// SPDX-License-Identifier: MIT
// Checker of mem_scheduler: candidates are of rows that PIM has not, and only they are issued.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module mem_scheduler_checks (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        opens_i,
  input logic [4:0]  opens_bank_i,
  input logic [31:0] closes_i,
  input logic [31:0] read_ready_i,
  input logic [31:0] write_ready_i,
  input logic [31:0] act_ready_i,
  input logic [31:0] precharge_ready_i,
  input logic        reserved_i,
  input logic [14:0] reserved_row_i,
  input logic        held_i,
  input logic [14:0] held_row_i,
  input logic        column_taken_i,
  input logic        act_taken_i,
  input logic        precharge_taken_i,
  input logic        column_valid_o,
  input logic        column_write_o,
  input logic [4:0]  column_bank_o,
  input logic [14:0] column_row_o,
  input logic        act_valid_o,
  input logic [4:0]  act_bank_o,
  input logic [14:0] act_row_o,
  input logic        precharge_valid_o,
  input logic [4:0]  precharge_bank_o,
  input logic        empty_o
);

  // What was ready in the cycle of the picks, and PIM's rows in the one before it.
  logic [31:0] read_q, write_q, act_q, precharge_q;
  logic        column_taken_q, act_taken_q, precharge_taken_q;

  typedef struct packed {
    logic        reserved;
    logic        held;
    logic [14:0] reserved_row;
    logic [14:0] held_row;
  } rows_t;

  rows_t last_q, rows_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {read_q, write_q, act_q, precharge_q}                 <= '0;
      {last_q, rows_q}                                      <= '0;
      {column_taken_q, act_taken_q, precharge_taken_q}      <= '0;
    end else begin
      {read_q, write_q, act_q, precharge_q}                 <= {read_ready_i, write_ready_i, act_ready_i,
                                                                precharge_ready_i};
      last_q                                                <= {reserved_i, held_i, reserved_row_i, held_row_i};
      rows_q                                                <= last_q;
      {column_taken_q, act_taken_q, precharge_taken_q}      <= {column_taken_i, act_taken_i, precharge_taken_i};
    end
  end

  `ASSERT(assert_column_ready,
          !column_valid_o || (column_write_o ? write_q[column_bank_o] : read_q[column_bank_o]))
  `ASSERT(assert_act_ready, !act_valid_o || act_q[act_bank_o])
  `ASSERT(assert_precharge_ready, !precharge_valid_o || precharge_q[precharge_bank_o])
  `ASSERT(assert_column_row, !column_valid_o || !((rows_q.reserved && column_row_o == rows_q.reserved_row) ||
                                                  (rows_q.held && column_row_o == rows_q.held_row)))
  `ASSERT(assert_act_row, !act_valid_o || !((rows_q.reserved && act_row_o == rows_q.reserved_row) ||
                                            (rows_q.held && act_row_o == rows_q.held_row)))
  // None is issued twice.
  `ASSERT(assert_column_once, !(column_valid_o && column_taken_q))
  `ASSERT(assert_act_once, !(act_valid_o && act_taken_q))
  `ASSERT(assert_precharge_once, !(precharge_valid_o && precharge_taken_q))
  `ASSERT(assert_empty, !empty_o || !(column_valid_o && !column_taken_q))
  // What the surrounding unit has to keep.
  `ASSERT(assert_taken, (!column_taken_i || column_valid_o) && (!act_taken_i || act_valid_o) &&
                        (!precharge_taken_i || precharge_valid_o))
  `ASSERT(assert_one, $onehot0({column_taken_i, act_taken_i, precharge_taken_i}))
  `ASSERT(assert_opens, !opens_i || !closes_i[opens_bank_i])

endmodule

bind mem_scheduler mem_scheduler_checks u_checks (.*);

`endif
