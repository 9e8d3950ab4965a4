// SPDX-License-Identifier: MIT
// The softmax unit's divider: 1 / S, rounded to nearest even, one bit of the quotient in each clock.
//
//   operand S        result
//   NaN              canonical NaN: sign 0, exponent all ones, 100...0
//   infinity         +0
//   zero             +infinity; numbers below the smallest normal one count as zero
//   normal           rounded reciprocal
//
// S is a sum of exponentials: its sign is not looked at, and it is neither so large nor so small
// that its reciprocal leaves the normal numbers.
//
// The method is that of fp_recip, a row of its array in each clock: for a significand d in [1, 2),
// 1 / d has a 1 as its first bit, and MAN_BITS + 1 more are found by restoring division. The
// reciprocal of 1 comes out as 0.1111... and rounds to 1; no other ends, so nothing is half-way.
//
//   clock        0        1 ... MAN_BITS+1   MAN_BITS+2
//   start_i      1        0                  0
//   done_o       1        0                  1 (and so on until the next start)
//   result_o                                 1 / S
//
// sum_i is the same from start_i on for as long as result_o is looked at: no copy of it is kept.

module softmax_recip #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS = 8,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS = 23,
  localparam int unsigned WIDTH    = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Start a division.
  input  logic             start_i,
  /// Operand.
  input  logic [WIDTH-1:0] sum_i,
  /// No division is under way.
  output logic             done_o,
  /// Rounded reciprocal.
  output logic [WIDTH-1:0] result_o
);

  localparam int unsigned ROWS      = MAN_BITS + 1;
  localparam int unsigned ROWS_BITS = $clog2(ROWS + 1);
  localparam int unsigned BIAS      = (1 << (EXP_BITS - 1)) - 1;

  logic [EXP_BITS-1:0]  exponent;
  logic [MAN_BITS-1:0]  divisor;  // below its hidden bit
  logic                 unused_sign, special;
  logic [MAN_BITS+1:0]  difference;
  logic                 less;
  logic [ROWS_BITS-1:0] rows_d, rows_q;  // still to be done
  logic [MAN_BITS:0]    remainder_d, remainder_q;
  logic [ROWS-1:0]      quotient_d, quotient_q;  // below its hidden bit, filled from the right

  assign {unused_sign, exponent, divisor} = sum_i;

  assign difference = {remainder_q, 1'b0} - {2'b01, divisor};
  assign less       = difference[MAN_BITS+1];
  assign done_o     = rows_q == '0;

  always_comb begin
    rows_d      = rows_q;
    remainder_d = remainder_q;
    quotient_d  = quotient_q;
    if (start_i) begin
      // The first bit of the quotient is a 1; what remains of 1 is 2 - d, in (0, 1].
      rows_d      = ROWS_BITS'(ROWS);
      remainder_d = {1'b0, ~divisor} + (MAN_BITS + 1)'(1);
    end else if (!done_o) begin
      rows_d      = rows_q - ROWS_BITS'(1);
      remainder_d = less ? {remainder_q[MAN_BITS-1:0], 1'b0} : difference[MAN_BITS:0];
      quotient_d  = {quotient_q[ROWS-2:0], !less};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rows_q      <= '0;
      remainder_q <= '0;
      quotient_q  <= '0;
    end else begin
      rows_q      <= rows_d;
      remainder_q <= remainder_d;
      quotient_q  <= quotient_d;
    end
  end

  assign special = &exponent;

  fp_round #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (0)
  ) u_round (
    .negative_i (1'b0),
    .exponent_i (special ? '0 : (EXP_BITS + 1)'(2 * BIAS - 1) - {1'b0, exponent}),
    .mantissa_i (special ? '0 : quotient_q[ROWS-1:1]),
    .guard_i    (!special && quotient_q[0]),
    .sticky_i   (1'b1),
    .infinite_i (exponent == '0),
    .nan_i      (special && divisor != '0),
    .result_o   (result_o)
  );

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);

endmodule
