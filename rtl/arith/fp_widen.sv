// SPDX-License-Identifier: MIT
// Conversion of a floating-point number to a wider format. Contract: fp_widen.md.

module fp_widen #(
  /// Width of the exponent field of the operand.
  parameter  int unsigned EXP_BITS      = 5,
  /// Width of the trailing significand field of the operand.
  parameter  int unsigned MAN_BITS      = 10,
  /// 1: subnormal operands are kept; 0: they are read as zeros of their sign.
  parameter  int unsigned SUBNORMALS    = 1,
  /// Width of the exponent field of the result.
  parameter  int unsigned WIDE_EXP_BITS = 8,
  /// Width of the trailing significand field of the result: more than MAN_BITS.
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
  /// Operand in the narrow format.
  input  logic [WIDTH-1:0]      a_i,
  /// Operand of STAGES cycles earlier in the wide format.
  output logic [WIDE_WIDTH-1:0] result_o
);

  localparam logic [WIDE_WIDTH-1:0] NAN = {1'b0, {(WIDE_EXP_BITS + 1){1'b1}},
                                           {(WIDE_MAN_BITS - 1){1'b0}}};
  // Difference of the biases.
  localparam int unsigned           OFFSET = (1 << (WIDE_EXP_BITS - 1)) - (1 << (EXP_BITS - 1));

  logic                     negative;
  logic [EXP_BITS-1:0]      exponent;
  logic [MAN_BITS:0]        significand;
  logic                     zero, infinite, nan;
  logic [WIDE_EXP_BITS-1:0] field;
  logic [MAN_BITS-1:0]      mantissa;
  logic [WIDE_WIDTH-1:0]    result;

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack (
    .value_i       (a_i),
    .negative_o    (negative),
    .exponent_o    (exponent),
    .significand_o (significand),
    .zero_o        (zero),
    .infinite_o    (infinite),
    .nan_o         (nan)
  );

  if (OFFSET == 0) begin : gen_append
    assign field    = significand[MAN_BITS] ? exponent : '0;
    assign mantissa = significand[MAN_BITS-1:0];
  end else if (SUBNORMALS != 0) begin : gen_normalise
    logic [$clog2(MAN_BITS+1)-1:0] zeros;
    logic                          unused_empty, unused_hidden;

    leading_zeros #(.WIDTH(MAN_BITS + 1)) u_leading_zeros (
      .data_i(significand), .count_o(zeros), .empty_o(unused_empty)
    );

    assign field = WIDE_EXP_BITS'(exponent) + WIDE_EXP_BITS'(OFFSET) - WIDE_EXP_BITS'(zeros);
    assign {unused_hidden, mantissa} = significand << zeros;
  end else begin : gen_flush
    logic unused_hidden;

    assign unused_hidden = significand[MAN_BITS];
    assign field         = WIDE_EXP_BITS'(exponent) + WIDE_EXP_BITS'(OFFSET);
    assign mantissa      = significand[MAN_BITS-1:0];
  end

  always_comb begin
    if (nan)           result = NAN;
    else if (infinite) result = {negative, {WIDE_EXP_BITS{1'b1}}, {WIDE_MAN_BITS{1'b0}}};
    else if (zero)     result = {negative, {(WIDE_WIDTH - 1){1'b0}}};
    else               result = {negative, field, mantissa, {(WIDE_MAN_BITS - MAN_BITS){1'b0}}};
  end

  logic [WIDE_WIDTH-1:0] delayed [4];

  assign delayed[0] = result;
  for (genvar i = 0; i < 3; i++) begin : gen_stage
    pipe #(.WIDTH(WIDE_WIDTH), .ENABLED(STAGES > i)) u_result_pipe (
      .clk_i, .rst_ni, .data_i(delayed[i]), .data_o(delayed[i+1])
    );
  end
  assign result_o = delayed[3];

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || !fp_pkg::is_format(WIDE_EXP_BITS, WIDE_MAN_BITS) ||
      WIDE_EXP_BITS < EXP_BITS || WIDE_MAN_BITS <= MAN_BITS)
    $fatal(1, "expected wider: %0d, %0d, %0d, %0d", EXP_BITS, MAN_BITS, WIDE_EXP_BITS, WIDE_MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 3)
    $fatal(1, "SUBNORMALS = %0d, STAGES = %0d: expected 0 or 1, and 0 to 3", SUBNORMALS, STAGES);

endmodule
