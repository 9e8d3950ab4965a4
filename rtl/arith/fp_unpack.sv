// SPDX-License-Identifier: MIT
// Takes a floating-point number apart.

module fp_unpack #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: subnormal numbers are kept; 0: they are read as zeros of their sign.
  parameter  int unsigned SUBNORMALS = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// The number.
  input  logic [WIDTH-1:0]    value_i,
  /// Sign.
  output logic                negative_o,
  /// Biased exponent; 1 for subnormal numbers and zeros, whose hidden bit is 0.
  output logic [EXP_BITS-1:0] exponent_o,
  /// Hidden bit and trailing significand.
  output logic [MAN_BITS:0]   significand_o,
  /// The number is zero, or is read as zero.
  output logic                zero_o,
  /// The number is an infinity.
  output logic                infinite_o,
  /// The number is a NaN.
  output logic                nan_o
);

  logic [EXP_BITS-1:0] exponent;
  logic [MAN_BITS-1:0] mantissa;
  logic                hidden;

  assign {negative_o, exponent, mantissa} = value_i;

  assign hidden        = exponent != '0;
  assign exponent_o    = hidden ? exponent : EXP_BITS'(1);
  assign significand_o = {hidden, (hidden || SUBNORMALS != 0) ? mantissa : '0};
  assign zero_o        = !hidden && (mantissa == '0 || SUBNORMALS == 0);
  assign infinite_o    = &exponent && mantissa == '0;
  assign nan_o         = &exponent && mantissa != '0;

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);

endmodule
