// SPDX-License-Identifier: MIT
// A multiplier of the softmax unit: x * r, rounded once, to the format. The product of the significands is
// also there by itself, as a part of a sum times a factor.
//
//   cycle         0          1          2          3
//   x_i, r        x, r
//   product_o                           significands' product
//   result_o                                       x * r
//
// With STAGES = 1 product and result come a cycle sooner.
//
// r is the reciprocal of a sum: +0 < r <= 1, +infinity or NaN. Subnormal numbers of binary32 count as zeros.

module softmax_norm #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS     = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS     = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS   = 1,
  /// Width of the exponent field of x.
  parameter  int unsigned X_EXP_BITS   = 5,
  /// Width of the trailing significand field of x.
  parameter  int unsigned X_MAN_BITS   = 10,
  /// 1: subnormal x are kept; they are at most r times the smallest normal number of the format.
  parameter  int unsigned X_SUBNORMALS = 1,
  /// Width of the significand of r, hidden bit included.
  parameter  int unsigned R_BITS       = 14,
  /// Pipeline registers in the multiplier: 1 or 2.
  parameter  int unsigned STAGES       = 2,
  localparam int unsigned WIDTH        = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned X_WIDTH      = 1 + X_EXP_BITS + X_MAN_BITS,
  localparam int unsigned PRODUCT      = R_BITS + X_MAN_BITS + 1
) (
  /// Clock.
  input  logic                clk_i,
  /// Multiplicand: the significand of r, or a part of a sum.
  input  logic [R_BITS-1:0]   a_i,
  /// Exponent field of r.
  input  logic [7:0]          exponent_i,
  /// r is +infinity.
  input  logic                infinite_i,
  /// r is NaN.
  input  logic                nan_i,
  /// The number that is multiplied by r.
  input  logic [X_WIDTH-1:0]  x_i,
  /// factor_i is the multiplier, in place of the significand of x.
  input  logic                rescale_i,
  /// Multiplier for a part of a sum.
  input  logic [X_MAN_BITS:0] factor_i,
  /// Product of the multiplicand and the multiplier of STAGES cycles before.
  output logic [PRODUCT-1:0]  product_o,
  /// x * r of STAGES + 1 cycles before.
  output logic [WIDTH-1:0]    result_o
);

  localparam int          BIAS   = (1 << (EXP_BITS - 1)) - 1;
  localparam int          X_BIAS = (1 << (X_EXP_BITS - 1)) - 1;
  localparam int unsigned STEPS  = $clog2(MAN_BITS + 3);
  // Bits of the product below hidden bit, mantissa and guard bit.
  localparam int unsigned BELOW  = PRODUCT - MAN_BITS - 2;

  typedef logic signed [10:0] exponent_t;

  typedef struct packed {
    logic              negative;
    logic              infinite;
    logic              nan;
    logic              zero;
    logic              normal;  // the number is normal if the product's top bit is set
    logic              above;   // and also if only the bit below is
    logic [EXP_BITS:0] field;   // exponent with the product's top bit
    logic [STEPS-1:0]  right;   // shift of a number that is not normal
  } scale_t;

  // Multiply; put the exponents together.
  logic                  x_negative, x_zero, x_infinite, x_nan;
  logic [X_EXP_BITS-1:0] x_exponent;
  logic [X_MAN_BITS:0]   significand, multiplier;
  exponent_t             exponent, below;
  logic [PRODUCT-1:0]    product_d, product_q;
  logic                  normal;
  scale_t                scale, scale_d, scale_q;

  fp_unpack #(.EXP_BITS(X_EXP_BITS), .MAN_BITS(X_MAN_BITS), .SUBNORMALS(X_SUBNORMALS)) u_unpack (
    .value_i       (x_i),
    .negative_o    (x_negative),
    .exponent_o    (x_exponent),
    .significand_o (significand),
    .zero_o        (x_zero),
    .infinite_o    (x_infinite),
    .nan_o         (x_nan)
  );

  assign multiplier = rescale_i ? factor_i : significand;

  assign exponent = exponent_t'({3'b000, exponent_i}) + exponent_t'(11'(x_exponent))
                    + exponent_t'(BIAS - 127 - X_BIAS + 1);
  assign below    = exponent_t'(1) - exponent;
  assign normal   = exponent >= exponent_t'(1);

  assign scale.negative = x_negative;
  assign scale.infinite = x_infinite || infinite_i || exponent >= exponent_t'(1 << EXP_BITS);
  assign scale.nan      = nan_i || x_nan || (infinite_i && x_zero);
  assign scale.zero     = x_zero || below > exponent_t'(MAN_BITS + 2);
  assign scale.normal   = normal;
  assign scale.above    = exponent >= exponent_t'(2);
  assign scale.field    = normal ? exponent[EXP_BITS:0] : '0;
  assign scale.right    = below[STEPS-1:0];

  // The two halves of the multiplier one by one; then their sum.
  if (STAGES > 1) begin : gen_halves
    localparam int unsigned LOW  = (X_MAN_BITS + 1) / 2;
    localparam int unsigned HIGH = X_MAN_BITS + 1 - LOW;

    logic [R_BITS+LOW-1:0]  low_q;
    logic [R_BITS+HIGH-1:0] high_q;
    scale_t                 early_q;

    always_ff @(posedge clk_i) begin
      low_q   <= (R_BITS + LOW)'(a_i) * (R_BITS + LOW)'(multiplier[LOW-1:0]);
      high_q  <= (R_BITS + HIGH)'(a_i) * (R_BITS + HIGH)'(multiplier[X_MAN_BITS:LOW]);
      early_q <= scale;
    end

    assign product_d = {high_q, {LOW{1'b0}}} + PRODUCT'(low_q);
    assign scale_d   = early_q;
  end else begin : gen_whole
    assign product_d = PRODUCT'(a_i) * PRODUCT'(multiplier);
    assign scale_d   = scale;
  end

  // Put it in its place among the numbers of the format, and round.
  logic               top, nothing, dropped;
  logic [PRODUCT-1:0] number;
  logic [EXP_BITS:0]  field;
  logic [WIDTH-1:0]   rounded, result_q;

  assign top = product_q[PRODUCT-1];

  if (SUBNORMALS != 0) begin : gen_gradual
    logic [PRODUCT-1:0]          high;
    logic [PRODUCT+MAN_BITS+1:0] shifted;

    assign high    = scale_q.above && !top ? {product_q[PRODUCT-2:0], 1'b0} : product_q;
    assign shifted = {high, {(MAN_BITS + 2){1'b0}}} >> (scale_q.normal ? '0 : scale_q.right);
    assign number  = shifted[PRODUCT+MAN_BITS+1-:PRODUCT];
    assign dropped = |shifted[MAN_BITS+1:0];
    assign field   = high[PRODUCT-1] ? scale_q.field - (EXP_BITS + 1)'(!top) : '0;
    assign nothing = scale_q.zero;
  end else begin : gen_flush
    logic unused_above;

    // An exponent of 0 stands for half the smallest normal number.
    assign number       = top ? product_q : {product_q[PRODUCT-2:0], 1'b0};
    assign dropped      = 1'b0;
    assign field        = scale_q.field - (EXP_BITS + 1)'(scale_q.normal && !top);
    assign nothing      = scale_q.zero
                          || !(scale_q.normal || (top && scale_q.right == STEPS'(1)));
    assign unused_above = scale_q.above;
  end

  fp_round #(.EXP_BITS(EXP_BITS), .MAN_BITS(MAN_BITS), .SUBNORMALS(SUBNORMALS)) u_round (
    .negative_i (scale_q.negative),
    .exponent_i (nothing ? '0 : field),
    .mantissa_i (nothing ? '0 : number[PRODUCT-2-:MAN_BITS]),
    .guard_i    (!nothing && number[BELOW]),
    .sticky_i   (dropped || |number[BELOW-1:0]),
    .infinite_i (scale_q.infinite),
    .nan_i      (scale_q.nan),
    .result_o   (rounded)
  );

  always_ff @(posedge clk_i) begin
    product_q <= product_d;
    scale_q   <= scale_d;
    result_q  <= rounded;
  end

  assign product_o = product_q;
  assign result_o  = result_q;

  if (STAGES != 1 && STAGES != 2) $fatal(1, "STAGES = %0d: expected 1 or 2", STAGES);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || !fp_pkg::is_format(X_EXP_BITS, X_MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d, x %0d, %0d: expected formats", EXP_BITS, MAN_BITS, X_EXP_BITS,
           X_MAN_BITS);
  if (SUBNORMALS > 1 || X_SUBNORMALS > 1)
    $fatal(1, "SUBNORMALS, X_SUBNORMALS = %0d, %0d: expected 0 or 1", SUBNORMALS, X_SUBNORMALS);
  if (R_BITS < 2) $fatal(1, "R_BITS = %0d: expected 2 or more", R_BITS);

endmodule
