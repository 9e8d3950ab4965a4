// SPDX-License-Identifier: MIT
// Rounding to nearest even, and packing. Contract: fp_round.md.

module fp_round #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: subnormal results are kept; 0: they become zeros of their sign.
  parameter  int unsigned SUBNORMALS = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Sign.
  input  logic                negative_i,
  /// Biased exponent field, 0 for a significand without hidden bit; may exceed the format's.
  /// With SUBNORMALS = 0, 0 stands for a normalised significand (hidden bit taken away) at half the
  /// smallest normal number: rounding may still carry it into the normal numbers.
  input  logic [EXP_BITS:0]   exponent_i,
  /// Trailing significand.
  input  logic [MAN_BITS-1:0] mantissa_i,
  /// First bit below the significand.
  input  logic                guard_i,
  /// Something is below the guard bit.
  input  logic                sticky_i,
  /// The result is an infinity, whatever the number.
  input  logic                infinite_i,
  /// The result is the canonical NaN, whatever the number.
  input  logic                nan_i,
  /// Rounded result.
  output logic [WIDTH-1:0]    result_o
);

  logic                up, overflow, underflow;
  logic [EXP_BITS:0]   exponent;
  logic [MAN_BITS-1:0] mantissa;

  assign up                   = guard_i && (sticky_i || mantissa_i[0]);
  assign {exponent, mantissa} = {exponent_i, mantissa_i} + (EXP_BITS + MAN_BITS + 1)'(up);
  assign overflow             = exponent[EXP_BITS] || &exponent[EXP_BITS-1:0];
  assign underflow            = SUBNORMALS == 0 && exponent == '0;

  fp_pack #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS)
  ) u_pack (
    .negative_i,
    .exponent_i (exponent[EXP_BITS-1:0]),
    .mantissa_i (mantissa),
    .infinite_i (infinite_i || overflow),
    .zero_i     (underflow),
    .nan_i,
    .result_o
  );

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);

endmodule
