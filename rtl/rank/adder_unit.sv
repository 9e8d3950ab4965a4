// SPDX-License-Identifier: MIT
// Adder unit of the rank PU: eight adders for each lane, over the eight chips of a rank. Contract: adder_unit.md.

module adder_unit #(
  /// tCK in a cycle, and so lanes: 1, 2 or 4.
  parameter  int unsigned GEAR         = 1,
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS     = 5,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS     = 10,
  /// 1: gradual underflow; 0: subnormal elements are flushed to zero.
  /// Operands and sums of the same format are flushed too.
  parameter  int unsigned SUBNORMALS   = 1,
  /// Width of a sum's exponent field: at least EXP_BITS.
  parameter  int unsigned SUM_EXP_BITS = EXP_BITS,
  /// Width of a sum's trailing significand field.
  /// It is MAN_BITS (with SUM_EXP_BITS = EXP_BITS), or at least MAN_BITS + 2.
  parameter  int unsigned SUM_MAN_BITS = MAN_BITS,
  localparam int unsigned WIDTH        = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS
) (
  /// Clock: one edge per cycle of the rank's core.
  input  logic                                clk_i,
  /// Asynchronous reset, active low.
  input  logic                                rst_ni,
  /// Tree mode: x_i is a group of eight elements in each lane.
  input  logic                                valid_i,
  /// Accumulator mode, by lane: x_i has an element for each chip's sum.
  input  logic [GEAR-1:0]                     accumulate_i,
  /// One element from each chip, by lane.
  input  logic [GEAR-1:0][7:0][SUM_WIDTH-1:0] x_i,
  /// Tree mode, by lane: sum of earlier passes, for the group of six cycles ago; +0 if there is none.
  input  logic [GEAR-1:0][SUM_WIDTH-1:0]      partial_i,
  /// Accumulator mode: the first lane accumulates in the next cycle, and begins a sum.
  input  logic                                begin_i,
  /// Accumulator mode: the sum begins with start_i; else with +0.
  input  logic                                goes_on_i,
  /// Accumulator mode: what each chip's sum begins with.
  input  logic [7:0][SUM_WIDTH-1:0]           start_i,
  /// tree_o are new sums.
  output logic                                tree_valid_o,
  /// Tree mode, by lane: the sum over the chips, rounded to an element.
  output logic [GEAR-1:0][WIDTH-1:0]          tree_o,
  /// Accumulator mode: each chip's sum after the last lane has accumulated.
  output logic [7:0][SUM_WIDTH-1:0]           lanes_o
);

  localparam bit          WIDE           = SUM_EXP_BITS != EXP_BITS || SUM_MAN_BITS != MAN_BITS;
  localparam int unsigned SUM_SUBNORMALS = WIDE ? 1 : SUBNORMALS;
  // Cycles of an adder and of the tree.
  localparam int unsigned ADDER_LATENCY  = 2;
  localparam int unsigned TREE_LATENCY   = 4 * ADDER_LATENCY;

  logic [TREE_LATENCY-1:0]             valid_d, valid_q;
  logic [GEAR-1:0][7:0][SUM_WIDTH-1:0] sum_d, sum_q;
  // What the first lane adds to: what a sum begins with, or the last lane's sums of the cycle before.
  logic [7:0][SUM_WIDTH-1:0]           carried_d, carried_q;

  always_comb begin
    carried_d = sum_q[GEAR-1];
    if (begin_i) carried_d = goes_on_i ? start_i : '0;
  end

  for (genvar lane = 0; lane < GEAR; lane++) begin : gen_lane
    logic [7:0][SUM_WIDTH-1:0] x, s, left, right, sums;

    assign x = x_i[lane];
    assign s = sum_q[lane];

    if (lane == 0) begin : gen_carried
      assign sums = carried_q;
    end else begin : gen_before
      assign sums = sum_q[lane-1];
    end

    // Eight adders have the element of their chip in accumulator mode; of these the even ones have it in the
    // tree as well.
    always_comb begin
      left  = {s[3], x[6], s[4], x[4], s[1], x[2], s[0], x[0]};
      right = {partial_i[lane], x[7], s[6], x[5], s[5], x[3], s[2], x[1]};
      if (accumulate_i[lane]) begin
        left  = x;
        right = sums;
      end
    end

    for (genvar k = 0; k < 8; k++) begin : gen_add
      fp_add #(
        .EXP_BITS   (SUM_EXP_BITS),
        .MAN_BITS   (SUM_MAN_BITS),
        .SUBNORMALS (SUM_SUBNORMALS),
        .STAGES     (ADDER_LATENCY - 1),
        .FAST       (1)
      ) u_add (
        .clk_i,
        .rst_ni,
        .a_i      (left[k]),
        .b_i      (right[k]),
        .result_o (sum_d[lane][k])
      );
    end

    if (WIDE) begin : gen_narrow
      fp_narrow #(
        .EXP_BITS      (EXP_BITS),
        .MAN_BITS      (MAN_BITS),
        .SUBNORMALS    (SUBNORMALS),
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_narrow (
        .clk_i,
        .rst_ni,
        .a_i      (s[7]),
        .result_o (tree_o[lane])
      );
    end else begin : gen_same
      assign tree_o[lane] = s[7];
    end
  end

  assign valid_d = {valid_q[TREE_LATENCY-2:0], valid_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= valid_d;
  end

  always_ff @(posedge clk_i) begin
    sum_q     <= sum_d;
    carried_q <= carried_d;
  end

  assign tree_valid_o = valid_q[TREE_LATENCY-1];
  assign lanes_o      = sum_q[GEAR-1];

  if (GEAR != 1 && GEAR != 2 && GEAR != 4) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) ||
      !fp_pkg::is_sum_format(EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "expected formats: %0d, %0d, sums %0d, %0d", EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS);

endmodule
