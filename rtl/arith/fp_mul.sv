// SPDX-License-Identifier: MIT
// Floating-point multiplier. Contract: fp_mul.md.

module fp_mul #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 3: after the multiplier, the shifter, the rounding, in this order.
  parameter  int unsigned STAGES     = 0,
  /// 0: made to be small; 1: with a fast multiplier; 2: made to be fast throughout.
  parameter  int unsigned FAST       = 0,
  /// Sets of rows in which a small multiplier adds up its partial products.
  parameter  int unsigned SETS       = 3,
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
  /// Rounded product of the operands STAGES cycles earlier.
  output logic [WIDTH-1:0] result_o
);

  localparam int unsigned PRODUCT_WIDTH = 2 * MAN_BITS + 2;
  localparam int          BIAS          = (1 << (EXP_BITS - 1)) - 1;

  // The exponents are added ahead of the first register.
  localparam bit          EARLY         = FAST == 2;

  // An exponent that may lie outside of the format, in both directions.
  typedef logic signed [EXP_BITS+2:0] exponent_t;

  // That of a product over the smallest, if its top bit is set.
  function automatic exponent_t excess_of(logic [EXP_BITS-1:0] a, logic [EXP_BITS-1:0] b);
    return exponent_t'({3'b000, a}) + exponent_t'({3'b000, b}) - exponent_t'(BIAS);
  endfunction

  typedef struct packed {
    logic                     negative;
    logic                     infinite;
    logic                     nan;
    logic                     zero;
    logic [EXP_BITS-1:0]      a_exponent;
    logic [EXP_BITS-1:0]      b_exponent;
    exponent_t                excess;      // EARLY: of the exponents
    logic [PRODUCT_WIDTH-1:0] product;
  } product_t;

  // Unpack and multiply.
  logic                a_negative, b_negative;
  logic [EXP_BITS-1:0] a_exponent, b_exponent;
  logic [MAN_BITS:0]   a_significand, b_significand;
  logic                a_zero, b_zero;
  logic                a_infinite, b_infinite;
  logic                a_nan, b_nan;
  logic [MAN_BITS:0]   multiplicand, multiplier;
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

  // Where subnormal numbers are flushed, a zero is multiplied as if it had a hidden bit: it gives zero
  // whatever the product, and a constant bit makes the multiplier smaller.
  if (SUBNORMALS != 0) begin : gen_significands
    assign multiplicand = a_significand;
    assign multiplier   = b_significand;
  end else begin : gen_mantissas
    logic unused_significands;

    assign unused_significands = ^{a_significand, b_significand};
    assign multiplicand        = {1'b1, a_i[MAN_BITS-1:0]};
    assign multiplier          = {1'b1, b_i[MAN_BITS-1:0]};
  end

  significand_mul #(.WIDTH(MAN_BITS + 1), .FAST(FAST), .SETS(SETS)) u_significand_mul (
    .a_i(multiplicand), .b_i(multiplier), .product_o(product_d.product)
  );

  assign product_d.negative   = a_negative ^ b_negative;
  assign product_d.infinite   = a_infinite || b_infinite;
  assign product_d.nan        = a_nan || b_nan || (a_infinite && b_zero) || (b_infinite && a_zero);
  assign product_d.zero       = a_zero || b_zero;
  assign product_d.a_exponent = a_exponent;
  assign product_d.b_exponent = b_exponent;
  assign product_d.excess     = EARLY ? excess_of(a_exponent, b_exponent) : '0;

  pipe #(.WIDTH($bits(product_t)), .ENABLED(STAGES >= 1)) u_product_pipe (
    .clk_i, .rst_ni, .data_i(product_d), .data_o(product_q)
  );

  logic [WIDTH-1:0] result;

  if (SUBNORMALS != 0) begin : gen_gradual
    // The product stands at the top of a window, or ROOM bits below if it is to be shifted to the
    // right; there the leading one goes to the top, or as far as the smallest exponent allows, the
    // largest step first. A product that is below the window is nothing but sticky.
    localparam int unsigned STEPS        = $clog2(MAN_BITS + 3);
    localparam int unsigned ROOM         = 1 << STEPS;
    localparam int unsigned WINDOW_WIDTH = (MAN_BITS + 2) + (ROOM - 1);

    typedef struct packed {
      logic                negative;
      logic                infinite;
      logic                nan;
      logic [EXP_BITS:0]   exponent;
      logic [MAN_BITS-1:0] mantissa;
      logic                guard;
      logic                sticky;
    } unrounded_t;

    exponent_t               excess;
    logic                    low;
    logic [EXP_BITS:0]       allowed, left;  // how far the shift may go, and how far it might have gone on
    logic [WINDOW_WIDTH-1:0] window, normalised;
    logic                    leading, lost;
    unrounded_t              unrounded_d, unrounded_q;

    assign excess = EARLY ? product_q.excess : excess_of(product_q.a_exponent, product_q.b_exponent);
    assign low    = excess < 0;

    always_comb begin
      window  = {product_q.product, {(WINDOW_WIDTH - PRODUCT_WIDTH){1'b0}}};
      allowed = excess[EXP_BITS:0];
      lost    = 1'b0;
      if (low) begin
        window  = window >> ROOM;
        allowed = (EXP_BITS + 1)'(excess + exponent_t'(ROOM));
        lost    = product_q.product[MAN_BITS:0] != '0;
        if (excess < -exponent_t'(ROOM)) begin
          window  = '0;
          allowed = '0;
          lost    = product_q.product != '0;
        end
      end
    end

    if (EARLY) begin : gen_fast_shift
      // The zeros above the leading one, up to a one where the shift ends.
      logic [ROOM-1:0]  last;
      logic [STEPS-1:0] shift;
      logic             unused_empty;

      always_comb begin
        for (int unsigned b = 0; b < ROOM; b++) begin
          last[ROOM-1-b] = excess[STEPS-1:0] == STEPS'(b) && (low || excess[EXP_BITS:STEPS] == '0);
        end
        last[0] = 1'b1;
      end

      leading_zeros #(.WIDTH(ROOM)) u_zeros (
        .data_i(window[WINDOW_WIDTH-1-:ROOM] | last), .count_o(shift), .empty_o(unused_empty)
      );

      assign normalised = window << shift;
      assign left       = allowed - (EXP_BITS + 1)'(shift);
    end else begin : gen_shift
      logic shift;

      always_comb begin
        normalised = window;
        left       = allowed;
        for (int k = STEPS - 1; k >= 0; k--) begin
          shift = (normalised >> (WINDOW_WIDTH - (1 << k))) == '0 && (left >> k) != '0;
          if (shift) begin
            normalised = normalised << (1 << k);
            left       = left - ((EXP_BITS + 1)'(1) << k);
          end
        end
      end
    end

    assign leading = normalised[WINDOW_WIDTH-1];

    assign unrounded_d.negative = product_q.negative;
    assign unrounded_d.infinite = product_q.infinite;
    assign unrounded_d.nan      = product_q.nan;
    assign unrounded_d.exponent = leading ? left + (EXP_BITS + 1)'(1) : '0;
    assign {unrounded_d.mantissa, unrounded_d.guard} = normalised[WINDOW_WIDTH-2-:MAN_BITS+1];
    assign unrounded_d.sticky   = lost || normalised[WINDOW_WIDTH-MAN_BITS-3:0] != '0;

    pipe #(.WIDTH($bits(unrounded_t)), .ENABLED(STAGES >= 2)) u_unrounded_pipe (
      .clk_i, .rst_ni, .data_i(unrounded_d), .data_o(unrounded_q)
    );

    logic unused_product;
    assign unused_product = &{1'b0, product_q};

    fp_round #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (1)
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
  end else begin : gen_flush
    // Operands are normal, or the result is zero: the product is in [1, 4).
    typedef struct packed {
      logic                negative;
      logic                infinite;
      logic                nan;
      logic                zero;
      logic [EXP_BITS-1:0] a_exponent;
      logic [EXP_BITS-1:0] b_exponent;
      logic                top;       // the product is 2 or more
      logic [MAN_BITS-1:0] mantissa;
      logic                guard;
      logic                sticky;
    } unrounded_t;

    logic                     top, unused_excess;
    logic [PRODUCT_WIDTH-2:0] fraction;
    unrounded_t               unrounded_d, unrounded_q;

    assign unused_excess = &{1'b0, product_q.excess};

    assign top      = product_q.product[PRODUCT_WIDTH-1];
    assign fraction = top ? product_q.product[PRODUCT_WIDTH-2:0]
                          : {product_q.product[PRODUCT_WIDTH-3:0], 1'b0};

    assign unrounded_d = '{
      negative:   product_q.negative,
      infinite:   product_q.infinite,
      nan:        product_q.nan,
      zero:       product_q.zero,
      a_exponent: product_q.a_exponent,
      b_exponent: product_q.b_exponent,
      top:        top,
      mantissa:   fraction[PRODUCT_WIDTH-2-:MAN_BITS],
      guard:      fraction[MAN_BITS],
      sticky:     fraction[MAN_BITS-1:0] != '0
    };

    pipe #(.WIDTH($bits(unrounded_t)), .ENABLED(STAGES >= 2)) u_unrounded_pipe (
      .clk_i, .rst_ni, .data_i(unrounded_d), .data_o(unrounded_q)
    );

    // Round. A product of 2 or more is at most (2 - ULP)^2, which a carry of the rounding is out of
    // reach of: either of the two raises the exponent, as the carry into its addition.
    logic                       up, carried, unused_carry;
    logic [MAN_BITS-1:0]        mantissa;
    logic        [EXP_BITS:0]   raised;
    logic signed [EXP_BITS+1:0] field;

    assign up                  = unrounded_q.guard && (unrounded_q.sticky || unrounded_q.mantissa[0]);
    assign {carried, mantissa} = {1'b0, unrounded_q.mantissa} + (MAN_BITS + 1)'(up);

    ripple_adder #(.WIDTH(EXP_BITS + 1)) u_exponent (
      .a_i     ({1'b0, unrounded_q.a_exponent}),
      .b_i     ({1'b0, unrounded_q.b_exponent}),
      .carry_i (unrounded_q.top || carried),
      .sum_o   (raised),
      .carry_o (unused_carry)
    );

    assign field = signed'({1'b0, raised}) - (EXP_BITS + 2)'(BIAS);

    fp_pack #(
      .EXP_BITS (EXP_BITS),
      .MAN_BITS (MAN_BITS)
    ) u_pack (
      .negative_i (unrounded_q.negative),
      .exponent_i (field[EXP_BITS-1:0]),
      .mantissa_i (mantissa),
      .infinite_i (unrounded_q.infinite
                   || (field >= 0 && (field[EXP_BITS] || &field[EXP_BITS-1:0]))),
      .zero_i     (unrounded_q.zero || field <= 0),
      .nan_i      (unrounded_q.nan),
      .result_o   (result)
    );
  end

  pipe #(.WIDTH(WIDTH), .ENABLED(STAGES >= 3)) u_result_pipe (
    .clk_i, .rst_ni, .data_i(result), .data_o(result_o)
  );

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 3 || FAST > 2)
    $fatal(1, "SUBNORMALS, STAGES, FAST = %0d, %0d, %0d: expected 0 or 1, 0 to 3, 0 to 2", SUBNORMALS,
           STAGES, FAST);

endmodule
