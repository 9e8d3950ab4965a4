// SPDX-License-Identifier: MIT
// What a floating-point maximum is, for proofs: `maximum` of IEEE 754-2019 section 9.6. The operands
// are compared as the exact numbers that they stand for.
//
// SUBNORMALS = 0 reads subnormal operands as zeros, and returns these. NaNs come out as the canonical
// one: sign 0, exponent all ones, 100...0.

module fp_max_reference #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: subnormal operands are kept; 0: they are read as zeros of their sign.
  parameter  int unsigned SUBNORMALS = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// The larger of the two.
  output logic [WIDTH-1:0] result_o
);

  localparam int unsigned EXACT = 1 + MAN_BITS + (1 << EXP_BITS) - 3;  // as in fp_exact

  logic                  a_negative, b_negative;
  logic                  a_nan, b_nan;
  logic                  a_infinite, b_infinite;
  logic [EXACT-1:0]      a_magnitude, b_magnitude;
  logic signed [EXACT:0] a, b;

  fp_exact #(.EXP_BITS(EXP_BITS), .MAN_BITS(MAN_BITS), .SUBNORMALS(SUBNORMALS)) u_a (
    .value_i(a_i), .negative_o(a_negative), .nan_o(a_nan), .infinite_o(a_infinite),
    .magnitude_o(a_magnitude)
  );

  fp_exact #(.EXP_BITS(EXP_BITS), .MAN_BITS(MAN_BITS), .SUBNORMALS(SUBNORMALS)) u_b (
    .value_i(b_i), .negative_o(b_negative), .nan_o(b_nan), .infinite_o(b_infinite),
    .magnitude_o(b_magnitude)
  );

  assign a = a_negative ? -{1'b0, a_magnitude} : {1'b0, a_magnitude};
  assign b = b_negative ? -{1'b0, b_magnitude} : {1'b0, b_magnitude};

  // An operand as it is read: a zero where it stands for one.
  logic [WIDTH-1:0] a_read, b_read;

  assign a_read = !a_nan && !a_infinite && a == 0 ? {a_negative, (WIDTH - 1)'(0)} : a_i;
  assign b_read = !b_nan && !b_infinite && b == 0 ? {b_negative, (WIDTH - 1)'(0)} : b_i;

  localparam logic [WIDTH-1:0] NAN = {1'b0, {(EXP_BITS + 1){1'b1}}, (MAN_BITS - 1)'(0)};

  always_comb begin
    if (a_nan || b_nan)  result_o = NAN;
    else if (a_infinite) result_o = a_negative ? b_read : a_i;
    else if (b_infinite) result_o = b_negative ? a_read : b_i;
    else if (a > b)      result_o = a_read;
    else if (a < b)      result_o = b_read;
    // The same number, or zeros: of zeros the positive one.
    else                 result_o = a_negative ? b_read : a_read;
  end

endmodule
