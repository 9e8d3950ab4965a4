// SPDX-License-Identifier: MIT
// What an encoding stands for (IEEE 754-2019 section 3.4): a class, or a number, exactly, as a
// multiple of the smallest subnormal number.
//
// Every finite number of a format is such a multiple. Exponent field x and trailing significand m
// stand for m multiples where x is 0 (subnormal numbers, zeros), else for
// (2^MAN_BITS + m) * 2^(x - 1).

module fp_exact #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: subnormal numbers are numbers; 0: an encoding with exponent field 0 is a zero.
  parameter  int unsigned SUBNORMALS = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS,
  /// The largest finite number has 1 + MAN_BITS bits, shifted by 2^EXP_BITS - 3.
  localparam int unsigned EXACT      = 1 + MAN_BITS + (1 << EXP_BITS) - 3
) (
  /// The encoding.
  input  logic [WIDTH-1:0] value_i,
  /// It has a minus sign.
  output logic             negative_o,
  /// It is not a number.
  output logic             nan_o,
  /// It is an infinity.
  output logic             infinite_o,
  /// The magnitude of the number, if it is one.
  output logic [EXACT-1:0] magnitude_o
);

  logic [EXP_BITS-1:0] exponent;
  logic [MAN_BITS-1:0] mantissa;

  assign {negative_o, exponent, mantissa} = value_i;
  assign nan_o      = exponent == '1 && mantissa != 0;
  assign infinite_o = exponent == '1 && mantissa == 0;

  always_comb begin
    if (exponent != 0)        magnitude_o = EXACT'({1'b1, mantissa}) << (exponent - 1);
    else if (SUBNORMALS != 0) magnitude_o = EXACT'(mantissa);
    else                      magnitude_o = 0;
  end

endmodule
