// SPDX-License-Identifier: MIT
// Addition of floating-point numbers, rounded to nearest even (IEEE 754-2019 section 4.3.1).
//
//   operands                             result
//   NaN, any                             canonical NaN: sign 0, exponent all ones, 100...0
//   +infinity, -infinity                 canonical NaN
//   infinity, other                      that infinity
//   -0, -0                               -0
//   x, -x (zeros of two signs as well)   +0
//   finite, finite                       rounded sum
//     too large                          infinity
//     below the smallest normal number   exact; SUBNORMALS = 0: zero of the sum's sign
//   With SUBNORMALS = 0 a subnormal operand is a zero of its sign.
//
// Timing: result_o belongs to the operands STAGES clocks ago. A pair of operands is taken in every
// clock.

module fp_add #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 3: behind the adder, then also the alignment, then the rounding.
  parameter  int unsigned STAGES     = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Rounded sum.
  output logic [WIDTH-1:0] result_o
);

  // Guard, round and sticky bit below the significand; a carry above it.
  localparam int unsigned EXTRA       = 3;
  localparam int unsigned SUM_WIDTH   = 1 + (MAN_BITS + 1) + EXTRA;
  localparam int unsigned COUNT_WIDTH = $clog2(SUM_WIDTH);

  typedef struct packed {
    logic                 negative;  // sign of the larger operand
    logic                 subtract;
    logic                 infinite;
    logic                 nan;
    logic [EXP_BITS-1:0]  exponent;  // of the larger operand
    logic [MAN_BITS:0]    major;
    logic [SUM_WIDTH-2:0] minor;     // aligned
  } aligned_t;

  typedef struct packed {
    logic                 negative;
    logic                 infinite;
    logic                 nan;
    logic [EXP_BITS:0]    exponent;  // of a sum whose top bit is set
    logic [SUM_WIDTH-1:0] sum;
  } sum_t;

  // Unpack, order by magnitude, align.
  logic                 a_negative, b_negative;
  logic [EXP_BITS-1:0]  a_exponent, b_exponent;
  logic [MAN_BITS:0]    a_significand, b_significand;
  logic                 a_infinite, b_infinite;
  logic                 a_nan, b_nan;
  logic                 unused_a_zero, unused_b_zero;
  logic                 swap;
  logic [EXP_BITS-1:0]  distance;
  logic [MAN_BITS:0]    minor;
  logic [SUM_WIDTH-2:0] kept, lost;
  aligned_t             aligned_d, aligned_q;

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack_a (
    .value_i       (a_i),
    .negative_o    (a_negative),
    .exponent_o    (a_exponent),
    .significand_o (a_significand),
    .zero_o        (unused_a_zero),
    .infinite_o    (a_infinite),
    .nan_o         (a_nan)
  );

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack_b (
    .value_i       (b_i),
    .negative_o    (b_negative),
    .exponent_o    (b_exponent),
    .significand_o (b_significand),
    .zero_o        (unused_b_zero),
    .infinite_o    (b_infinite),
    .nan_o         (b_nan)
  );

  assign swap     = {b_exponent, b_significand} > {a_exponent, a_significand};
  assign distance = swap ? b_exponent - a_exponent : a_exponent - b_exponent;
  assign minor    = swap ? a_significand : b_significand;

  // The bits shifted out are kept as one sticky bit.
  assign {kept, lost} = {minor, {EXTRA{1'b0}}, {(SUM_WIDTH - 1){1'b0}}} >> distance;

  assign aligned_d.negative = swap ? b_negative : a_negative;
  assign aligned_d.subtract = a_negative ^ b_negative;
  assign aligned_d.infinite = a_infinite || b_infinite;
  assign aligned_d.nan      = a_nan || b_nan
                              || (a_infinite && b_infinite && a_negative != b_negative);
  assign aligned_d.exponent = swap ? b_exponent : a_exponent;
  assign aligned_d.major      = swap ? b_significand : a_significand;
  assign aligned_d.minor    = {kept[SUM_WIDTH-2:1], kept[0] || lost != '0};

  fp_pipe #(.WIDTH($bits(aligned_t)), .ENABLED(STAGES >= 2)) u_aligned_pipe (
    .clk_i, .rst_ni, .data_i(aligned_d), .data_o(aligned_q)
  );

  // Add or subtract.
  logic [SUM_WIDTH-1:0] major_operand, minor_operand, sum;
  sum_t                 sum_d, sum_q;

  assign major_operand   = {1'b0, aligned_q.major, {EXTRA{1'b0}}};
  assign minor_operand = {1'b0, aligned_q.minor};

  assign sum            = aligned_q.subtract ? major_operand - minor_operand
                                             : major_operand + minor_operand;
  assign sum_d.sum      = sum;
  assign sum_d.exponent = {1'b0, aligned_q.exponent} + (EXP_BITS + 1)'(1);
  assign sum_d.infinite = aligned_q.infinite;
  assign sum_d.nan      = aligned_q.nan;
  // A difference of nothing is +0; infinities keep their sign.
  assign sum_d.negative = aligned_q.negative
                          && (!aligned_q.subtract || sum != '0 || aligned_q.infinite);

  fp_pipe #(.WIDTH($bits(sum_t)), .ENABLED(STAGES >= 1)) u_sum_pipe (
    .clk_i, .rst_ni, .data_i(sum_d), .data_o(sum_q)
  );

  // Shift the leading one to the top, or as far as the smallest exponent allows.
  logic [COUNT_WIDTH-1:0] zeros;
  logic                   empty, normal;
  logic [EXP_BITS:0]      left;
  logic [SUM_WIDTH-1:0]   normalised;
  logic                   unused_hidden;
  logic [MAN_BITS-1:0]    mantissa;
  logic                   guard, sticky;
  logic [WIDTH-1:0]       result;

  leading_zeros #(.WIDTH(SUM_WIDTH)) u_leading_zeros (
    .data_i(sum_q.sum), .count_o(zeros), .empty_o(empty)
  );

  assign normal     = sum_q.exponent > (EXP_BITS + 1)'(zeros) && !empty;
  assign left       = normal ? (EXP_BITS + 1)'(zeros) : sum_q.exponent - (EXP_BITS + 1)'(1);
  assign normalised = sum_q.sum << left;
  assign {unused_hidden, mantissa, guard} = normalised[SUM_WIDTH-1-:MAN_BITS+2];
  assign sticky     = |normalised[EXTRA-1:0];

  // Round.
  fp_round #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_round (
    .negative_i (sum_q.negative),
    .exponent_i (normal ? sum_q.exponent - (EXP_BITS + 1)'(zeros) : '0),
    .mantissa_i (mantissa),
    .guard_i    (guard),
    .sticky_i   (sticky),
    .infinite_i (sum_q.infinite),
    .nan_i      (sum_q.nan),
    .result_o   (result)
  );

  fp_pipe #(.WIDTH(WIDTH), .ENABLED(STAGES >= 3)) u_result_pipe (
    .clk_i, .rst_ni, .data_i(result), .data_o(result_o)
  );

endmodule
