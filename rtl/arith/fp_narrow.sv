// SPDX-License-Identifier: MIT
// Conversion of a floating-point number to a narrower format, rounded. Contract: fp_narrow.md.

module fp_narrow #(
  /// Width of the exponent field of the result.
  parameter  int unsigned EXP_BITS      = 5,
  /// Width of the trailing significand field of the result.
  parameter  int unsigned MAN_BITS      = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS    = 1,
  /// Width of the exponent field of the operand: at least EXP_BITS.
  parameter  int unsigned WIDE_EXP_BITS = 8,
  /// Width of the trailing significand field of the operand: at least MAN_BITS + 2.
  parameter  int unsigned WIDE_MAN_BITS = 23,
  /// Pipeline registers, 0 to 3, all after the conversion.
  parameter  int unsigned STAGES        = 0,
  localparam int unsigned WIDTH         = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned WIDE_WIDTH    = 1 + WIDE_EXP_BITS + WIDE_MAN_BITS
) (
  /// Clock.
  input  logic                  clk_i,
  /// Asynchronous reset, active low.
  input  logic                  rst_ni,
  /// Operand in the wide format.
  input  logic [WIDE_WIDTH-1:0] a_i,
  /// Operand of STAGES cycles earlier, rounded to the narrow format.
  output logic [WIDTH-1:0]      result_o
);

  // Difference of the biases.
  localparam int unsigned OFFSET = (1 << (WIDE_EXP_BITS - 1)) - (1 << (EXP_BITS - 1));
  // Bits of the operand's significand below the guard bit.
  localparam int unsigned BELOW  = WIDE_MAN_BITS - MAN_BITS - 1;

  // A biased exponent that may lie outside of the narrow format, in both directions.
  typedef logic signed [WIDE_EXP_BITS+1:0] exponent_t;

  logic                     negative;
  logic [WIDE_EXP_BITS-1:0] wide_exponent;
  logic [WIDE_MAN_BITS:0]   significand;
  logic                     unused_zero, infinite, nan;
  exponent_t                exponent;
  logic [EXP_BITS:0]        field;
  logic [MAN_BITS-1:0]      mantissa;
  logic                     guard, sticky;
  logic [WIDTH-1:0]         result;

  fp_unpack #(
    .EXP_BITS   (WIDE_EXP_BITS),
    .MAN_BITS   (WIDE_MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack (
    .value_i       (a_i),
    .negative_o    (negative),
    .exponent_o    (wide_exponent),
    .significand_o (significand),
    .zero_o        (unused_zero),
    .infinite_o    (infinite),
    .nan_o         (nan)
  );

  assign exponent = exponent_t'({2'b00, wide_exponent}) - exponent_t'(OFFSET);

  if (SUBNORMALS != 0) begin : gen_gradual
    localparam int unsigned ROOM       = MAN_BITS + 1;
    localparam int unsigned RIGHT_BITS = $clog2(ROOM + 1);

    logic                        normal, vanishes;
    exponent_t                   right;
    logic [WIDE_MAN_BITS+ROOM:0] shifted;

    // Shifted by ROOM, the leading one is the guard bit. What is smaller rounds to zero, whatever
    // the sticky bit says.
    assign normal   = exponent >= exponent_t'(1);
    assign right    = exponent_t'(1) - exponent;
    assign vanishes = right > exponent_t'(ROOM);
    assign shifted  = {significand, {ROOM{1'b0}}} >> (normal ? '0 : right[RIGHT_BITS-1:0]);

    // Numbers that are subnormal in both formats have no hidden bit.
    assign field    = normal && significand[WIDE_MAN_BITS] ? exponent[EXP_BITS:0] : '0;
    assign mantissa = vanishes ? '0 : shifted[WIDE_MAN_BITS+ROOM-1-:MAN_BITS];
    assign guard    = !vanishes && shifted[BELOW+ROOM];
    assign sticky   = |shifted[BELOW+ROOM-1:0];
  end else begin : gen_flush
    logic vanishes;

    assign vanishes = exponent < exponent_t'(0) || !significand[WIDE_MAN_BITS];
    assign field    = vanishes ? '0 : exponent[EXP_BITS:0];
    assign mantissa = vanishes ? '0 : significand[WIDE_MAN_BITS-1-:MAN_BITS];
    assign guard    = !vanishes && significand[BELOW];
    assign sticky   = |significand[BELOW-1:0];
  end

  fp_round #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_round (
    .negative_i (negative),
    .exponent_i (field),
    .mantissa_i (mantissa),
    .guard_i    (guard),
    .sticky_i   (sticky),
    .infinite_i (infinite || exponent > exponent_t'((1 << EXP_BITS) - 2)),
    .nan_i      (nan),
    .result_o   (result)
  );

  logic [WIDTH-1:0] delayed [4];

  assign delayed[0] = result;
  for (genvar i = 0; i < 3; i++) begin : gen_stage
    pipe #(.WIDTH(WIDTH), .ENABLED(STAGES > i)) u_result_pipe (
      .clk_i, .rst_ni, .data_i(delayed[i]), .data_o(delayed[i+1])
    );
  end
  assign result_o = delayed[3];

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || !fp_pkg::is_format(WIDE_EXP_BITS, WIDE_MAN_BITS) ||
      WIDE_EXP_BITS < EXP_BITS || WIDE_MAN_BITS < MAN_BITS + 2)
    $fatal(1, "expected wider: %0d, %0d, %0d, %0d", EXP_BITS, MAN_BITS, WIDE_EXP_BITS, WIDE_MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 3)
    $fatal(1, "SUBNORMALS = %0d, STAGES = %0d: expected 0 or 1, and 0 to 3", SUBNORMALS, STAGES);

endmodule
