// SPDX-License-Identifier: MIT
// The exponential function e^x, to within one ULP; made to be small, for softmax.
//
//   operand x                            result
//   NaN                                  canonical NaN: sign 0, exponent all ones, 100...0
//   +infinity                            +infinity
//   -infinity                            +0
//   +0, -0                               1
//   finite                               e^x, rounded as below
//     too large                          +infinity
//     below the smallest normal number   SUBNORMALS = 1: a subnormal number or +0
//                                        SUBNORMALS = 0: +0 (tested after rounding)
//   With SUBNORMALS = 0 a subnormal operand is a zero of its sign.
//
// With e^x = 2^y, y = x log2 e, and F = MAN_BITS + 2, m the significand of x as an integer:
//
//   1. scale     |y| = floor(m 23637 / 2^(12 - TOP)) in units of 2^-F for |x| in
//                [2^TOP, 2^(TOP+1)), and shifted right, cutting bits off, for smaller ones: TOP is
//                4 for binary16, 6 for bfloat16, and larger |x| give infinity or 0. The constant,
//                23637 / 2^14, is log2 e (1 - 4.9e-6). For x < 0 every bit is inverted: y is
//                rounded down for both signs.
//   2. table     y = n + f; 2^f by exp2_fraction, which see; 2^n is the exponent.
//   3. rounding  2^f is cut behind the guard bit (after the shift to a subnormal number), and the
//                guard bit rounds up: e^x is irrational but for x = 0, so that nothing is half-way.
//
// Error over all finite operands against the exact e^x, in ULP:
//
//                            largest   mean      not the nearest number
//   binary16                 0.888     0.1575    4246 of 63488
//   binary16, SUBNORMALS = 0 0.888     0.1519    4226 of 63488
//   bfloat16, both           0.853     0.0196     654 of 65280
//
// The result never falls where x rises.
//
// Decision. The sizes come of an exhaustive search with the error over all operands as its judge:
// F from MAN_BITS + 1 to MAN_BITS + 3, every split of f with at most 4, 4 and 5 bits, tables
// offset in steps of a quarter at the most, nine constants of 9 to 17 bits. Of what is within one
// ULP and never falls, this is the smallest. Fewer slopes fall, fewer intervals take more bits in
// STEP than they save. STEP without mirroring costs 50 gate equivalents (GE) more; linear
// interpolation needs a multiplier of 400 to 500 GE, as much as both tables and both subtractions
// together. Correct rounding would need 2^f to 27 bits: one binary16 number's e^x is 1.1e-5 ULP
// from half-way.
//
// Timing: result_o belongs to the operand STAGES clocks ago; for STAGES clocks after a reset it is
// +0. An operand is taken in every clock.

module fp_exp #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field: 10 or 7.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 3: behind the scaling, the table, the rounding.
  parameter  int unsigned STAGES     = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Operand x.
  input  logic [WIDTH-1:0] a_i,
  /// e^x.
  output logic [WIDTH-1:0] result_o
);

  localparam int          BIAS          = (1 << (EXP_BITS - 1)) - 1;
  localparam int unsigned F             = MAN_BITS + 2;
  // |x| is below 2^(TOP+1), or e^x is too large or too small for the format. 710 / 1024 is a little
  // more than ln 2, 2^-(BIAS+MAN_BITS) is half the smallest subnormal number.
  localparam int unsigned TOP           = $clog2((BIAS + MAN_BITS) * 710 / 1024 + 1) - 1;
  localparam int unsigned INT_BITS      = TOP + 2;
  localparam int unsigned SCALED_WIDTH  = INT_BITS + F;
  localparam int unsigned PRODUCT_WIDTH = MAN_BITS + 16;

  // A biased exponent that may lie outside of the format, in both directions.
  typedef logic signed [EXP_BITS+1:0] exponent_t;

  typedef struct packed {
    logic                live;      // the result is not a zero, whatever the number
    logic                infinite;
    logic                nan;
    logic                negative;  // sign of the integer part
    logic [INT_BITS-1:0] integer_part;
    logic [F-1:0]        fraction;
  } scaled_t;

  typedef struct packed {
    logic              live;
    logic              infinite;
    logic              nan;
    exponent_t         power;     // the biased exponent, if the format had it
    logic [MAN_BITS:0] fraction;  // significand and guard bit
  } power_t;

  // Multiply by log2 e.
  logic                     negative;
  logic [EXP_BITS-1:0]      exponent;
  logic [MAN_BITS:0]        significand;
  logic                     nan, unused_zero, unused_infinite;
  logic                     beyond;
  logic [PRODUCT_WIDTH-1:0] operand, five, product;
  logic [SCALED_WIDTH-1:0]  kept, magnitude;
  logic                     unused_lost;
  scaled_t                  scaled_d, scaled_q;

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack (
    .value_i       (a_i),
    .negative_o    (negative),
    .exponent_o    (exponent),
    .significand_o (significand),
    .zero_o        (unused_zero),
    .infinite_o    (unused_infinite),
    .nan_o         (nan)
  );

  // 23637 = 2^14 + 2^13 - 2^10 + 17 * 5
  assign operand = PRODUCT_WIDTH'(significand);
  assign five    = (operand << 2) + operand;
  assign product = (operand << 14) + (operand << 13) - (operand << 10) + (five << 4) + five;

  assign unused_lost = |product[PRODUCT_WIDTH-SCALED_WIDTH-1:0];

  assign beyond    = exponent > EXP_BITS'(BIAS + TOP);
  assign kept      = product[PRODUCT_WIDTH-1-:SCALED_WIDTH];
  assign magnitude = kept >> (EXP_BITS'(BIAS + TOP) - exponent);

  assign scaled_d.live     = !(beyond && negative);
  assign scaled_d.infinite = beyond && !negative;
  assign scaled_d.nan      = nan;
  assign scaled_d.negative = negative;
  assign {scaled_d.integer_part, scaled_d.fraction} = negative ? ~magnitude : magnitude;

  pipe #(.WIDTH($bits(scaled_t)), .ENABLED(STAGES >= 1)) u_scaled_pipe (
    .clk_i, .rst_ni, .data_i(scaled_d), .data_o(scaled_q)
  );

  // Take 2 to this power.
  power_t power_d, power_q;

  exp2_fraction #(.MAN_BITS(MAN_BITS)) u_exp2_fraction (
    .fraction_i (scaled_q.fraction),
    .fraction_o (power_d.fraction)
  );

  assign power_d.live     = scaled_q.live;
  assign power_d.infinite = scaled_q.infinite;
  assign power_d.nan      = scaled_q.nan;
  assign power_d.power    = exponent_t'(signed'({scaled_q.negative, scaled_q.integer_part}))
                            + exponent_t'(BIAS);

  pipe #(.WIDTH($bits(power_t)), .ENABLED(STAGES >= 2)) u_power_pipe (
    .clk_i, .rst_ni, .data_i(power_d), .data_o(power_q)
  );

  // Put it in its place among the numbers of the format.
  logic [EXP_BITS:0]   field;
  logic [MAN_BITS+1:0] number;
  logic                unused_hidden;
  logic [MAN_BITS-1:0] mantissa;
  logic                guard;

  if (SUBNORMALS != 0) begin : gen_gradual
    logic      normal;
    exponent_t right;

    assign normal = power_q.power >= exponent_t'(1);
    assign right  = exponent_t'(1) - power_q.power;
    assign field  = power_q.live && normal ? power_q.power[EXP_BITS:0] : '0;
    assign number = power_q.live ? {1'b1, power_q.fraction} >> (normal ? '0 : unsigned'(right))
                                 : '0;
  end else begin : gen_flush
    logic in_range;

    assign in_range = power_q.live && power_q.power >= 0;
    assign field    = in_range ? power_q.power[EXP_BITS:0] : '0;
    assign number   = in_range ? {1'b1, power_q.fraction} : '0;
  end

  assign {unused_hidden, mantissa, guard} = number;

  // Round.
  logic [WIDTH-1:0] result;

  fp_round #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_round (
    .negative_i (1'b0),
    .exponent_i (field),
    .mantissa_i (mantissa),
    .guard_i    (guard),
    .sticky_i   (1'b1),
    .infinite_i (power_q.infinite),
    .nan_i      (power_q.nan),
    .result_o   (result)
  );

  pipe #(.WIDTH(WIDTH), .ENABLED(STAGES >= 3)) u_result_pipe (
    .clk_i, .rst_ni, .data_i(result), .data_o(result_o)
  );

endmodule
