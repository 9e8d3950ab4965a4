// SPDX-License-Identifier: MIT
// Puts a rounded number together, or what stands in its place.

module fp_pack #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS = 10,
  localparam int unsigned WIDTH    = 1 + EXP_BITS + MAN_BITS
) (
  /// Sign.
  input  logic                negative_i,
  /// Exponent field.
  input  logic [EXP_BITS-1:0] exponent_i,
  /// Trailing significand field.
  input  logic [MAN_BITS-1:0] mantissa_i,
  /// The result is an infinity, whatever the number.
  input  logic                infinite_i,
  /// The result is a zero, whatever the number, unless it is an infinity or a NaN.
  input  logic                zero_i,
  /// The result is the canonical NaN, whatever the number.
  input  logic                nan_i,
  /// The number.
  output logic [WIDTH-1:0]    result_o
);

  logic                top, number;
  logic [EXP_BITS-1:0] exponent;
  logic [MAN_BITS-1:0] mantissa;

  assign top      = infinite_i || nan_i;
  assign number   = !top && !zero_i;
  assign exponent = (exponent_i & {EXP_BITS{!zero_i}}) | {EXP_BITS{top}};
  assign mantissa = (mantissa_i & {MAN_BITS{number}}) | {nan_i, {(MAN_BITS - 1){1'b0}}};
  assign result_o = {negative_i && !nan_i, exponent, mantissa};

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);

endmodule
