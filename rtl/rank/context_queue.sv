// SPDX-License-Identifier: MIT
// Sums of the context on their way from the adder unit to the host. Contract: context_queue.md.

module context_queue import pimlico_pkg::*; #(
  /// tCK in a cycle, and so sums that leave in one: 1, 2 or 4.
  parameter  int unsigned GEAR         = 1,
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
  /// Clock: one edge per cycle of the rank's core.
  input  logic                      clk_i,
  /// Asynchronous reset, active low: nothing waits.
  input  logic                      rst_ni,
  /// Eight sums enter, only where there is room.
  input  logic                      push_i,
  /// Query head of the sums that enter.
  input  head_t                     head_i,
  /// The sums that enter, one of each chip.
  input  logic [7:0][SUM_WIDTH-1:0] sums_i,
  /// LATE = 1: the softmax unit accepts the sums, if there are any.
  input  logic                      sum_ready_i,
  /// LATE = 1: the softmax unit has normalised the oldest sums that it has accepted.
  input  logic                      context_valid_i,
  /// LATE = 1: the normalised sums, by lane.
  input  logic [GEAR-1:0][15:0]     context_i,
  /// LATE = 1: there are sums for the softmax unit.
  output logic                      sum_valid_o,
  /// LATE = 1: the sums in binary32, by lane; 0 if there are none.
  output logic [GEAR-1:0][31:0]     sum_o,
  /// LATE = 1: query head of the sums; 0 if there are none.
  output head_t                     sum_head_o,
  /// Elements of the context leave.
  output logic                      valid_o,
  /// The elements of the context that leave, by lane; 0 if there are none.
  output element_t [GEAR-1:0]       element_o,
  /// No sum waits as this cycle begins.
  output logic                      idle_o
);

  localparam bit          WIDE       = SUM_WIDTH == 32;
  localparam int unsigned GROUPS     = 8 / GEAR;  // of sums that leave together, in a row
  localparam int unsigned OUT_WIDTH  = LATE != 0 ? 32 : 16;
  // Heads of sums that the softmax unit has.
  localparam int unsigned HEADS      = 16;

  typedef struct packed {
    head_t                                    head;
    logic [GROUPS-1:0][GEAR-1:0][SUM_WIDTH-1:0] sums;
  } row_t;

  typedef struct packed {
    head_t                          head;
    logic [GEAR-1:0][SUM_WIDTH-1:0] sums;
  } group_t;

  typedef struct packed {
    head_t                          head;
    logic [GEAR-1:0][OUT_WIDTH-1:0] sums;
  } out_t;

  row_t                           entering, oldest;
  group_t                         group_d, group_q;
  out_t                           out_d, out_q;
  logic [GEAR-1:0][OUT_WIDTH-1:0] converted;
  logic [2:0]                     index_d, index_q;
  logic                           waiting, moves, follows, leaves, last;
  logic                           group_valid_d, group_valid_q, out_valid_d, out_valid_q;

  assign entering = '{head: head_i, sums: sums_i};

  fifo #(.WIDTH($bits(row_t)), .DEPTH(DEPTH)) u_rows (
    .clk_i,
    .rst_ni,
    .push_i,
    .data_i  (entering),
    .pop_i   (last),
    .valid_o (waiting),
    .data_o  (oldest)
  );

  // From the queue to a register, and converted to the next: each moves on where the one behind it is free.
  assign follows       = !out_valid_q || leaves;
  assign moves         = !group_valid_q || follows;
  assign last          = waiting && moves && index_q == 3'(GROUPS - 1);
  assign index_d       = !(waiting && moves) ? index_q : last ? '0 : index_q + 3'd1;
  assign group_valid_d = moves ? waiting : group_valid_q;
  assign group_d       = moves ? {oldest.head, oldest.sums[index_q[$clog2(GROUPS)-1:0]]} : group_q;
  assign out_valid_d   = follows ? group_valid_q : out_valid_q;
  assign out_d         = follows ? {group_q.head, converted} : out_q;
  assign idle_o        = !waiting && !group_valid_q && !out_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q       <= '0;
      group_valid_q <= 1'b0;
      out_valid_q   <= 1'b0;
    end else begin
      index_q       <= index_d;
      group_valid_q <= group_valid_d;
      out_valid_q   <= out_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    group_q <= group_d;
    out_q   <= out_d;
  end

  for (genvar lane = 0; lane < GEAR; lane++) begin : gen_convert
    if (LATE != 0 && !WIDE) begin : gen_widen
      fp_widen #(
        .EXP_BITS      (SUM_EXP_BITS),
        .MAN_BITS      (SUM_MAN_BITS),
        .WIDE_EXP_BITS (8),
        .WIDE_MAN_BITS (23),
        .STAGES        (0)
      ) u_widen (
        .clk_i,
        .rst_ni,
        .a_i      (group_q.sums[lane]),
        .result_o (converted[lane])
      );
    end else if (LATE == 0 && WIDE) begin : gen_narrow
      fp_narrow #(
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_narrow (
        .clk_i,
        .rst_ni,
        .a_i      (group_q.sums[lane]),
        .result_o (converted[lane])
      );
    end else begin : gen_same
      assign converted[lane] = group_q.sums[lane];
    end
  end

  if (LATE != 0) begin : gen_late
    logic  has_head;
    head_t head;

    fifo #(.WIDTH($bits(head_t)), .DEPTH(HEADS)) u_heads (
      .clk_i,
      .rst_ni,
      .push_i  (out_valid_q && leaves),
      .data_i  (out_q.head),
      .pop_i   (valid_o),
      .valid_o (has_head),
      .data_o  (head)
    );

    assign leaves      = sum_ready_i;
    assign sum_valid_o = out_valid_q;
    assign sum_o       = out_valid_q ? out_q.sums : '0;
    assign sum_head_o  = out_valid_q ? out_q.head : '0;
    assign valid_o     = context_valid_i && has_head;

    for (genvar lane = 0; lane < GEAR; lane++) begin : gen_element
      assign element_o[lane] = valid_o ? {head, context_i[lane]} : '0;
    end
  end else begin : gen_early
    logic unused_late;

    assign leaves      = 1'b1;
    assign sum_valid_o = 1'b0;
    assign sum_o       = '0;
    assign sum_head_o  = '0;
    assign valid_o     = out_valid_q;
    assign unused_late = &{1'b0, sum_ready_i, context_valid_i, context_i};

    for (genvar lane = 0; lane < GEAR; lane++) begin : gen_element
      assign element_o[lane] = valid_o ? {out_q.head, out_q.sums[lane]} : '0;
    end
  end

  if (GEAR != 1 && GEAR != 2 && GEAR != 4) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
