// SPDX-License-Identifier: MIT
// Floating-point exponential, e^x. Contract: fp_exp.md.

module fp_exp #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field: 10 or 7.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 3: after the scaling, the table, the rounding, in this order. 4: see the contract.
  parameter  int unsigned STAGES     = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Operand x.
  input  logic [WIDTH-1:0] a_i,
  /// e^x of the operand STAGES cycles earlier.
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
    logic                    live;  // the result is not a zero, whatever the number
    logic                    infinite;
    logic                    nan;
    logic                    negative;
    logic [SCALED_WIDTH-1:0] magnitude;
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
  logic [PRODUCT_WIDTH-1:0] operand, product;
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

  if (STAGES >= 4) begin : gen_two_cycles
    typedef struct packed {
      logic                    negative;
      logic                    nan;
      logic [EXP_BITS-1:0]     exponent;
      logic [SCALED_WIDTH-1:0] kept;
    } product_t;

    product_t product_d, product_q;

    // 23637 = 2^14 + 2^13 - 2^10 + 2^6 + 2^4 + 2^2 + 1, in one sum: more gates than a product of 17 and 5, and faster.
    assign operand = PRODUCT_WIDTH'(significand);
    assign product = (operand << 14) + (operand << 13) - (operand << 10) + (operand << 6) + (operand << 4)
                     + (operand << 2) + operand;

    assign unused_lost = |product[PRODUCT_WIDTH-SCALED_WIDTH-1:0];

    assign product_d = '{
      negative: negative,
      nan:      nan,
      exponent: exponent,
      kept:     product[PRODUCT_WIDTH-1-:SCALED_WIDTH]
    };

    pipe #(.WIDTH($bits(product_t))) u_product_pipe (
      .clk_i, .rst_ni, .data_i(product_d), .data_o(product_q)
    );

    assign beyond    = product_q.exponent > EXP_BITS'(BIAS + TOP);
    assign kept      = product_q.kept;
    assign magnitude = kept >> (EXP_BITS'(BIAS + TOP) - product_q.exponent);

    assign scaled_d.live      = !(beyond && product_q.negative);
    assign scaled_d.infinite  = beyond && !product_q.negative;
    assign scaled_d.nan       = product_q.nan;
    assign scaled_d.negative  = product_q.negative;
    assign scaled_d.magnitude = magnitude;
  end else begin : gen_one_cycle
    // 23637 = 2^14 + 2^13 - 2^10 + 17 * 5
    logic [PRODUCT_WIDTH-1:0] five;

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
    assign scaled_d.magnitude = magnitude;
  end

  pipe #(.WIDTH($bits(scaled_t)), .ENABLED(STAGES >= 1)) u_scaled_pipe (
    .clk_i, .rst_ni, .data_i(scaled_d), .data_o(scaled_q)
  );

  // Take 2 to this power.
  logic [INT_BITS-1:0] integer_part;
  logic [F-1:0]        fraction;
  power_t              power_d, power_q;

  assign {integer_part, fraction} = scaled_q.magnitude ^ {SCALED_WIDTH{scaled_q.negative}};

  exp2_fraction #(.MAN_BITS(MAN_BITS)) u_exp2_fraction (
    .fraction_i (fraction),
    .fraction_o (power_d.fraction)
  );

  assign power_d.live     = scaled_q.live;
  assign power_d.infinite = scaled_q.infinite;
  assign power_d.nan      = scaled_q.nan;
  assign power_d.power    = exponent_t'(signed'({scaled_q.negative, integer_part}))
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

  if (STAGES >= 4) begin : gen_rounding_cycle
    typedef struct packed {
      logic                infinite;
      logic                nan;
      logic [EXP_BITS:0]   field;
      logic [MAN_BITS-1:0] mantissa;
      logic                guard;
    } placed_t;

    placed_t placed_d, placed_q;

    assign placed_d = '{
      infinite: power_q.infinite,
      nan:      power_q.nan,
      field:    field,
      mantissa: mantissa,
      guard:    guard
    };

    pipe #(.WIDTH($bits(placed_t))) u_placed_pipe (
      .clk_i, .rst_ni, .data_i(placed_d), .data_o(placed_q)
    );

    fp_round #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS)
    ) u_round (
      .negative_i (1'b0),
      .exponent_i (placed_q.field),
      .mantissa_i (placed_q.mantissa),
      .guard_i    (placed_q.guard),
      .sticky_i   (1'b1),
      .infinite_i (placed_q.infinite),
      .nan_i      (placed_q.nan),
      .result_o   (result)
    );
  end else begin : gen_rounding
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
  end

  pipe #(.WIDTH(WIDTH), .ENABLED(STAGES == 3)) u_result_pipe (
    .clk_i, .rst_ni, .data_i(result), .data_o(result_o)
  );

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || MAN_BITS > 10)
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 4)
    $fatal(1, "SUBNORMALS = %0d, STAGES = %0d: expected 0 or 1, and 0 to 4", SUBNORMALS, STAGES);

endmodule
