// SPDX-License-Identifier: MIT
// Queue of PIM requests, and the operation that is under way. Contract: pim_queue.md.

module pim_queue (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: there is no request.
  input  logic        rst_ni,
  /// A request.
  input  logic        valid_i,
  /// Kind of the request: HEADER, GWRITE, GEMV, DOTPRODUCT, RDRESULT from 0 on.
  input  logic [2:0]  kind_i,
  /// Bank of a GWRITE.
  input  logic [4:0]  bank_i,
  /// Row of a HEADER or GWRITE.
  input  logic [14:0] row_i,
  /// First word of a GEMV or DOTPRODUCT.
  input  logic [4:0]  word_i,
  /// Dot products of a HEADER or GEMV, less one.
  input  logic [4:0]  count_i,
  /// Bursts of results of a HEADER, less one.
  input  logic [2:0]  results_i,
  /// The DOTPRODUCT begins a sum.
  input  logic        first_i,
  /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
  input  logic        last_i,
  /// The operation is admitted.
  input  logic        admit_i,
  /// A REF is due: the operation has to be admitted again.
  input  logic        refresh_i,
  /// The command, or the operation if it is a GWRITE, is issued.
  input  logic        taken_i,
  /// A request is accepted.
  output logic        ready_o,
  /// There is an operation.
  output logic        op_valid_o,
  /// The operation is a GWRITE; else a GEMV.
  output logic        op_gwrite_o,
  /// Bank of the GWRITE.
  output logic [4:0]  op_bank_o,
  /// Row of the operation.
  output logic [14:0] op_row_o,
  /// Dot products of the operation, less one.
  output logic [4:0]  op_count_o,
  /// Bursts of results of the operation, less one.
  output logic [2:0]  op_results_o,
  /// The operation is admitted.
  output logic        admitted_o,
  /// There is a command of the operation.
  output logic        command_valid_o,
  /// Kind of the command: GEMV, DOTPRODUCT or RDRESULT, or zero.
  output logic [2:0]  command_kind_o,
  /// First word of the command.
  output logic [4:0]  command_word_o,
  /// Dot products of the command, less one.
  output logic [4:0]  command_count_o,
  /// Whether the command begins a sum.
  output logic        command_first_o,
  /// Whether the command ends a sum, or the operation.
  output logic        command_last_o,
  /// There is neither a request nor an operation.
  output logic        empty_o,
  /// In the last cycle a request was dropped.
  output logic        fault_o
);

  localparam int unsigned DEPTH = 16;

  localparam logic [2:0] Header     = 3'd0;
  localparam logic [2:0] Gwrite     = 3'd1;
  localparam logic [2:0] Gemv       = 3'd2;
  localparam logic [2:0] DotProduct = 3'd3;
  localparam logic [2:0] ReadResult = 3'd4;

  typedef struct packed {
    logic [2:0]  kind;
    logic [4:0]  bank;
    logic [14:0] row;
    logic [4:0]  word;
    logic [4:0]  count;
    logic [2:0]  results;
    logic        first;
    logic        last;
  } request_t;

  request_t   head;
  logic       push, pop, head_valid;
  logic [4:0] unused_count;

  assign push = valid_i && ready_o;

  counted_fifo #(.WIDTH($bits(request_t)), .DEPTH(DEPTH)) u_requests (
    .clk_i,
    .rst_ni,
    .push_i  (push),
    .data_i  ({kind_i, bank_i, row_i, word_i, count_i, results_i, first_i, last_i}),
    .pop_i   (pop),
    .ready_o (ready_o),
    .valid_o (head_valid),
    .count_o (unused_count),
    .data_o  (head)
  );

  // The operation.
  typedef struct packed {
    logic        gwrite;
    logic [4:0]  bank;
    logic [14:0] row;
    logic [4:0]  count;
    logic [2:0]  results;
  } operation_t;

  operation_t operation_d, operation_q;
  logic       valid_d, valid_q, admitted_d, admitted_q, fault_d, fault_q;

  // What the head is.
  logic begins, is_command, exists, takes, loads, drops, ends;

  assign begins = head.kind == Header || head.kind == Gwrite;

  always_comb begin
    unique case (head.kind)
      // The last word is 31 at the most.
      Gemv:                   exists = head.word <= ~head.count;
      DotProduct, ReadResult: exists = 1'b1;
      default:                exists = 1'b0;
    endcase
  end

  assign is_command = valid_q && !operation_q.gwrite && head_valid && exists;
  assign takes      = is_command && taken_i;
  assign loads      = !valid_q && head_valid && begins;
  // A HEADER or GWRITE before the last command ends the operation, and is the next; all else that does not belong is dropped.
  assign drops      = head_valid && !is_command && !loads && !(valid_q && operation_q.gwrite);
  assign pop        = takes || loads || (drops && !(valid_q && begins));

  always_comb begin
    ends = 1'b0;
    if (valid_q && operation_q.gwrite)       ends = taken_i;
    else if (takes)                          ends = head.last && head.kind != DotProduct;
    else if (drops && valid_q)               ends = begins || (head.kind == Gemv && head.last);
  end

  assign valid_d     = loads || (valid_q && !ends);
  assign admitted_d  = valid_q && !ends && !refresh_i && (admitted_q || admit_i);
  assign operation_d = loads ? {head.kind == Gwrite, head.bank, head.row, head.count, head.results} : operation_q;
  assign fault_d     = drops;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      operation_q <= '0;
      valid_q     <= 1'b0;
      admitted_q  <= 1'b0;
      fault_q     <= 1'b0;
    end else begin
      operation_q <= operation_d;
      valid_q     <= valid_d;
      admitted_q  <= admitted_d;
      fault_q     <= fault_d;
    end
  end

  assign op_valid_o      = valid_q;
  assign op_gwrite_o     = operation_q.gwrite;
  assign op_bank_o       = operation_q.bank;
  assign op_row_o        = operation_q.row;
  assign op_count_o      = operation_q.count;
  assign op_results_o    = operation_q.results;
  assign admitted_o      = admitted_q;
  assign command_valid_o = is_command;
  assign command_kind_o  = is_command ? head.kind : '0;
  assign command_word_o  = is_command ? head.word : '0;
  assign command_count_o = is_command ? head.count : '0;
  assign command_first_o = is_command && head.first;
  assign command_last_o  = is_command && head.last;
  assign empty_o         = !valid_q && !head_valid;
  assign fault_o         = fault_q;

endmodule
