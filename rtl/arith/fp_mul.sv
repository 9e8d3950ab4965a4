// SPDX-License-Identifier: MIT
// Multiplication of floating-point numbers, rounded to nearest even (IEEE 754-2019 section 4.3.1).
//
//   operands                             result
//   NaN, any                             canonical NaN: sign 0, exponent all ones, 100...0
//   infinity, zero                       canonical NaN
//   infinity, other                      infinity, sign = xor of the signs
//   zero, finite                         zero, sign = xor of the signs
//   finite, finite                       rounded product, sign = xor of the signs
//     too large                          infinity
//     below the smallest normal number   SUBNORMALS = 1: rounded to a subnormal number or zero
//                                        SUBNORMALS = 0: zero (tested after rounding)
//   With SUBNORMALS = 0 a subnormal operand is a zero of its sign.
//
// Timing: result_o belongs to the operands STAGES clocks ago. A pair of operands is taken in every
// clock.

module fp_mul #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 3: behind the multiplier, the shifter, the rounding.
  parameter  int unsigned STAGES     = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Multiplicand.
  input  logic [WIDTH-1:0] a_i,
  /// Multiplier.
  input  logic [WIDTH-1:0] b_i,
  /// Rounded product.
  output logic [WIDTH-1:0] result_o
);

  localparam int unsigned PRODUCT_WIDTH = 2 * MAN_BITS + 2;
  localparam int unsigned COUNT_WIDTH   = $clog2(PRODUCT_WIDTH);
  localparam int          BIAS          = (1 << (EXP_BITS - 1)) - 1;

  // A biased exponent that may lie outside of the format, in both directions.
  typedef logic signed [EXP_BITS+1:0] exponent_t;

  typedef struct packed {
    logic                     negative;
    logic                     infinite;
    logic                     nan;
    exponent_t                exponent;  // of a product whose top bit is set
    logic [PRODUCT_WIDTH-1:0] product;
  } product_t;

  typedef struct packed {
    logic                negative;
    logic                infinite;
    logic                nan;
    logic [EXP_BITS:0]   exponent;
    logic [MAN_BITS-1:0] mantissa;
    logic                guard;
    logic                sticky;
  } unrounded_t;

  // Unpack and multiply.
  logic                a_negative, b_negative;
  logic [EXP_BITS-1:0] a_exponent, b_exponent;
  logic [MAN_BITS:0]   a_significand, b_significand;
  logic                a_zero, b_zero;
  logic                a_infinite, b_infinite;
  logic                a_nan, b_nan;
  product_t            product_d, product_q;

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack_a (
    .value_i       (a_i),
    .negative_o    (a_negative),
    .exponent_o    (a_exponent),
    .significand_o (a_significand),
    .zero_o        (a_zero),
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
    .zero_o        (b_zero),
    .infinite_o    (b_infinite),
    .nan_o         (b_nan)
  );

  assign product_d.negative = a_negative ^ b_negative;
  assign product_d.infinite = a_infinite || b_infinite;
  assign product_d.nan      = a_nan || b_nan || (a_infinite && b_zero) || (b_infinite && a_zero);
  assign product_d.exponent = exponent_t'({2'b00, a_exponent}) + exponent_t'({2'b00, b_exponent})
                              + exponent_t'(1 - BIAS);
  assign product_d.product  = PRODUCT_WIDTH'(a_significand) * PRODUCT_WIDTH'(b_significand);

  fp_pipe #(.WIDTH($bits(product_t)), .ENABLED(STAGES >= 1)) u_product_pipe (
    .clk_i, .rst_ni, .data_i(product_d), .data_o(product_q)
  );

  // Shift the leading one to the top, or as far as the smallest exponent allows.
  unrounded_t unrounded_d, unrounded_q;

  assign unrounded_d.negative = product_q.negative;
  assign unrounded_d.infinite = product_q.infinite;
  assign unrounded_d.nan      = product_q.nan;

  if (SUBNORMALS != 0) begin : gen_gradual
    logic [COUNT_WIDTH-1:0]     zeros;
    logic                       empty, normal;
    exponent_t                  exponent, left, right;
    logic [2*PRODUCT_WIDTH-1:0] roomy, shifted;
    logic                       unused_hidden;

    leading_zeros #(.WIDTH(PRODUCT_WIDTH)) u_leading_zeros (
      .data_i(product_q.product), .count_o(zeros), .empty_o(empty)
    );

    assign exponent = product_q.exponent - exponent_t'({1'b0, zeros});
    assign normal   = exponent >= exponent_t'(1) && !empty;
    assign left     = normal ? exponent_t'({1'b0, zeros}) : product_q.exponent - exponent_t'(1);
    assign right    = -left;

    // A right shift by the whole width leaves nothing but the sticky bit; more is the same.
    always_comb begin
      roomy = {product_q.product, {PRODUCT_WIDTH{1'b0}}};
      if (left >= 0)                               shifted = roomy << left;
      else if (right >= exponent_t'(PRODUCT_WIDTH)) shifted = roomy >> PRODUCT_WIDTH;
      else                                         shifted = roomy >> right;
    end

    assign unrounded_d.exponent = normal ? exponent[EXP_BITS:0] : '0;
    assign {unused_hidden, unrounded_d.mantissa, unrounded_d.guard} =
        shifted[2*PRODUCT_WIDTH-1-:MAN_BITS+2];
    assign unrounded_d.sticky   = |shifted[2*PRODUCT_WIDTH-MAN_BITS-3:0];
  end else begin : gen_flush
    // Operands are normal or zero: a product that is not zero is in [1, 4).
    logic                     top, below;
    exponent_t                exponent;
    logic [PRODUCT_WIDTH-2:0] fraction;

    assign top      = product_q.product[PRODUCT_WIDTH-1];
    assign fraction = top ? product_q.product[PRODUCT_WIDTH-2:0]
                          : {product_q.product[PRODUCT_WIDTH-3:0], 1'b0};
    assign exponent = product_q.exponent - exponent_t'({1'b0, !top});
    assign below    = exponent < exponent_t'(0) || product_q.product == '0;

    assign unrounded_d.exponent = below ? '0 : exponent[EXP_BITS:0];
    assign unrounded_d.mantissa = below ? '0 : fraction[PRODUCT_WIDTH-2-:MAN_BITS];
    assign unrounded_d.guard    = !below && fraction[MAN_BITS];
    assign unrounded_d.sticky   = |fraction[MAN_BITS-1:0];
  end

  fp_pipe #(.WIDTH($bits(unrounded_t)), .ENABLED(STAGES >= 2)) u_unrounded_pipe (
    .clk_i, .rst_ni, .data_i(unrounded_d), .data_o(unrounded_q)
  );

  // Round.
  logic [WIDTH-1:0] result;

  fp_round #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_round (
    .negative_i (unrounded_q.negative),
    .exponent_i (unrounded_q.exponent),
    .mantissa_i (unrounded_q.mantissa),
    .guard_i    (unrounded_q.guard),
    .sticky_i   (unrounded_q.sticky),
    .infinite_i (unrounded_q.infinite),
    .nan_i      (unrounded_q.nan),
    .result_o   (result)
  );

  fp_pipe #(.WIDTH(WIDTH), .ENABLED(STAGES >= 3)) u_result_pipe (
    .clk_i, .rst_ni, .data_i(result), .data_o(result_o)
  );

endmodule
