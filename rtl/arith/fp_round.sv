// SPDX-License-Identifier: MIT
// Rounding to nearest even and packing: the last step of every arithmetic operation.
//
// Exponent and trailing significand are rounded as one number, so that a carry out of the
// significand raises the exponent, and the step above the largest finite number is infinity.

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

  localparam logic [EXP_BITS+MAN_BITS-1:0] INFINITY = {{EXP_BITS{1'b1}}, {MAN_BITS{1'b0}}};
  localparam logic [WIDTH-1:0]             NAN      = {1'b0, {(EXP_BITS + 1){1'b1}},
                                                       {(MAN_BITS - 1){1'b0}}};

  logic                       up, overflow, underflow;
  logic [EXP_BITS+MAN_BITS:0] rounded;

  assign up        = guard_i && (sticky_i || mantissa_i[0]);
  assign rounded   = {exponent_i, mantissa_i} + (EXP_BITS + MAN_BITS + 1)'(up);
  assign overflow  = rounded >= {1'b0, INFINITY};
  assign underflow = SUBNORMALS == 0 && rounded[MAN_BITS+:EXP_BITS+1] == '0;

  always_comb begin
    if (nan_i)                       result_o = NAN;
    else if (infinite_i || overflow) result_o = {negative_i, INFINITY};
    else if (underflow)              result_o = {negative_i, {(WIDTH - 1){1'b0}}};
    else                             result_o = {negative_i, rounded[EXP_BITS+MAN_BITS-1:0]};
  end

endmodule
