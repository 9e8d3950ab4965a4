// SPDX-License-Identifier: MIT
// Sums of the context on their way from the adder unit to the host. Contract: context_queue.md.

module context_queue import pimlico_pkg::*; #(
  /// 0: the sums are the context; 1: they are normalised first.
  parameter  int unsigned LATE         = 0,
  /// Width of a sum's exponent field: 5, or 8 for sums of 32 bits.
  parameter  int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field: 10, or 23 for sums of 32 bits.
  parameter  int unsigned SUM_MAN_BITS = 10,
  /// Rows of eight sums, a power of two, 2 or more.
  parameter  int unsigned DEPTH        = 128,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS
) (
  /// Clock: one edge per tCK.
  input  logic                      clk_i,
  /// Asynchronous reset, active low: nothing waits.
  input  logic                      rst_ni,
  /// Eight sums enter, only where there is room.
  input  logic                      push_i,
  /// Query head of the sums that enter.
  input  head_t                     head_i,
  /// The sums that enter, one of each chip.
  input  logic [7:0][SUM_WIDTH-1:0] sums_i,
  /// LATE = 1: the softmax unit accepts the sum, if there is one.
  input  logic                      sum_ready_i,
  /// LATE = 1: the softmax unit has normalised the oldest sum that it has accepted.
  input  logic                      context_valid_i,
  /// LATE = 1: the normalised sum.
  input  logic [15:0]               context_i,
  /// LATE = 1: there is a sum for the softmax unit.
  output logic                      sum_valid_o,
  /// LATE = 1: the sum in binary32; 0 if there is none.
  output logic [31:0]               sum_o,
  /// LATE = 1: query head of the sum; 0 if there is none.
  output head_t                     sum_head_o,
  /// An element of the context leaves.
  output logic                      valid_o,
  /// The element of the context that leaves; 0 if there is none.
  output element_t                  element_o,
  /// No sum waits as this tCK begins.
  output logic                      idle_o
);

  localparam bit WIDE = SUM_WIDTH == 32;

  typedef struct packed {
    head_t                     head;
    logic [7:0][SUM_WIDTH-1:0] sums;
  } row_t;

  row_t                 entering, oldest;
  head_t                oldest_head;
  logic                 waiting, offers, leaves;
  logic [SUM_WIDTH-1:0] sum;
  logic [2:0]           index_d, index_q;

  assign entering = '{head: head_i, sums: sums_i};

  fifo #(.WIDTH($bits(row_t)), .DEPTH(DEPTH)) u_rows (
    .clk_i,
    .rst_ni,
    .push_i,
    .data_i  (entering),
    .pop_i   (leaves && index_q == '1),
    .valid_o (waiting),
    .data_o  (oldest)
  );

  // A row that finds none before it begins at once, with its first sum, and is in the queue from the next tCK on.
  assign offers      = waiting || push_i;
  assign oldest_head = waiting ? oldest.head : head_i;
  assign sum         = waiting ? oldest.sums[index_q] : sums_i[0];
  assign index_d     = leaves ? index_q + 3'd1 : index_q;
  assign idle_o      = !waiting;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) index_q <= '0;
    else         index_q <= index_d;
  end

  if (LATE != 0) begin : gen_late
    // The sums that the softmax unit has: two at the most.
    logic        has_head;
    head_t       head;
    logic [31:0] widened;

    if (WIDE) begin : gen_same
      assign widened = sum;
    end else begin : gen_widen
      fp_widen #(
        .EXP_BITS      (SUM_EXP_BITS),
        .MAN_BITS      (SUM_MAN_BITS),
        .WIDE_EXP_BITS (8),
        .WIDE_MAN_BITS (23),
        .STAGES        (0)
      ) u_widen (
        .clk_i,
        .rst_ni,
        .a_i      (sum),
        .result_o (widened)
      );
    end

    fifo #(.WIDTH($bits(head_t)), .DEPTH(4)) u_heads (
      .clk_i,
      .rst_ni,
      .push_i  (leaves),
      .data_i  (oldest_head),
      .pop_i   (valid_o),
      .valid_o (has_head),
      .data_o  (head)
    );

    assign leaves      = offers && sum_ready_i;
    assign sum_valid_o = offers;
    assign sum_o       = offers ? widened : '0;
    assign sum_head_o  = offers ? oldest_head : '0;
    assign valid_o     = context_valid_i && has_head;
    assign element_o   = valid_o ? {head, context_i} : '0;
  end else begin : gen_early
    logic [15:0] narrowed;
    logic        unused_late;

    if (WIDE) begin : gen_narrow
      fp_narrow #(
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_narrow (
        .clk_i,
        .rst_ni,
        .a_i      (sum),
        .result_o (narrowed)
      );
    end else begin : gen_same
      assign narrowed = sum;
    end

    assign leaves      = offers;
    assign sum_valid_o = 1'b0;
    assign sum_o       = '0;
    assign sum_head_o  = '0;
    assign valid_o     = offers;
    assign element_o   = offers ? {oldest_head, narrowed} : '0;
    assign unused_late = &{1'b0, sum_ready_i, context_valid_i, context_i};
  end

  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
