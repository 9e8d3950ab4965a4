// SPDX-License-Identifier: MIT
// What a floating-point addition is, for proofs: the exact sum, rounded to nearest even
// (IEEE 754-2019 sections 4.3.1, 6.1, 6.2, 6.3). Large and slow, to be read and agreed with.
//
// SUBNORMALS = 0 reads subnormal operands as zeros, and turns a sum below the smallest normal number
// into a zero of its sign. NaNs come out as the canonical one: sign 0, exponent all ones, 100...0.

module fp_add_reference #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Rounded sum.
  output logic [WIDTH-1:0] result_o
);

  localparam int unsigned EXACT = 1 + MAN_BITS + (1 << EXP_BITS) - 3;  // as in fp_exact
  localparam int unsigned TOP   = $clog2(EXACT + 1);

  logic             a_negative, b_negative;
  logic             a_nan, b_nan;
  logic             a_infinite, b_infinite;
  logic [EXACT-1:0] a, b;

  fp_exact #(.EXP_BITS(EXP_BITS), .MAN_BITS(MAN_BITS), .SUBNORMALS(SUBNORMALS)) u_a (
    .value_i(a_i), .negative_o(a_negative), .nan_o(a_nan), .infinite_o(a_infinite),
    .magnitude_o(a)
  );

  fp_exact #(.EXP_BITS(EXP_BITS), .MAN_BITS(MAN_BITS), .SUBNORMALS(SUBNORMALS)) u_b (
    .value_i(b_i), .negative_o(b_negative), .nan_o(b_nan), .infinite_o(b_infinite),
    .magnitude_o(b)
  );

  // The exact sum, as sign and magnitude. Of two zeros of one sign the sum keeps it; any other sum of
  // nothing is +0 (section 6.3).
  logic           negative;
  logic [EXACT:0] sum;

  always_comb begin
    if (a_negative == b_negative) {negative, sum} = {a_negative, {1'b0, a} + {1'b0, b}};
    else if (a > b)               {negative, sum} = {a_negative, {1'b0, a} - {1'b0, b}};
    else if (a < b)               {negative, sum} = {b_negative, {1'b0, b} - {1'b0, a}};
    else                          {negative, sum} = '0;
  end

  // The position of the leading one; 0 if there is none.
  logic [TOP-1:0] top;

  always_comb begin
    top = 0;
    for (int unsigned i = 0; i <= EXACT; i++) begin
      if (sum[i]) top = TOP'(i);
    end
  end

  // Around the sum, the format's numbers are the multiples of the quantum 2^scale: 1 + MAN_BITS bits
  // from the leading one on, or all bits. The sum is `whole` quanta and a fraction of one.
  logic [TOP-1:0]            scale;
  logic [EXACT-MAN_BITS-2:0] unused_zeros;
  logic [MAN_BITS+1:0]       whole, nearest;
  logic [EXACT:0]            fraction;

  assign scale = top > TOP'(MAN_BITS) ? top - TOP'(MAN_BITS) : 0;
  assign {unused_zeros, whole, fraction} = {sum, (EXACT + 1)'(0)} >> scale;

  // The nearer multiple; of two equally near, the even one.
  localparam logic [EXACT:0] HALF = {1'b1, EXACT'(0)};

  always_comb begin
    if (fraction > HALF || (fraction == HALF && whole[0])) nearest = whole + 1;
    else                                                   nearest = whole;
  end

  // Encode nearest * 2^scale. If it has grown to 2^(MAN_BITS + 1), it is 2^MAN_BITS quanta twice as
  // large.
  logic                grown, normal;
  logic [TOP:0]        exponent;
  logic [MAN_BITS-1:0] mantissa;

  assign grown    = nearest[MAN_BITS+1];
  assign normal   = nearest[MAN_BITS+1:MAN_BITS] != 0;
  assign exponent = normal ? (TOP + 1)'(scale) + 1 + (TOP + 1)'(grown) : 0;
  assign mantissa = grown ? 0 : nearest[MAN_BITS-1:0];

  localparam logic [EXP_BITS-1:0] ALL_ONES = '1;
  localparam logic [MAN_BITS-1:0] QUIET    = 1 << (MAN_BITS - 1);

  always_comb begin
    if (a_nan || b_nan || (a_infinite && b_infinite && a_negative != b_negative))
      result_o = {1'b0, ALL_ONES, QUIET};
    else if (a_infinite)
      result_o = a_i;
    else if (b_infinite)
      result_o = b_i;
    else if (exponent >= (TOP + 1)'(ALL_ONES))
      result_o = {negative, ALL_ONES, MAN_BITS'(0)};
    else if (!normal && SUBNORMALS == 0)
      result_o = {negative, EXP_BITS'(0), MAN_BITS'(0)};
    else
      result_o = {negative, exponent[EXP_BITS-1:0], mantissa};
  end

endmodule
