// SPDX-License-Identifier: MIT
// The softmax unit's divider: 1 / S, some bits of the quotient in each cycle.
//
//   operand S        result
//   zero             infinite_o
//   1 or more        significand of BITS bits, rounded to nearest, and exponent of binary32
//
// S is in fixed point, in units of 2^-24. It is a sum of exponentials, and so it is 0, or 1 or more: the
// largest element's exponential is 1. It is truncated to three bits more than the result has.
//
// A row of restoring division gives a bit of the quotient: for a significand d in [1, 2), 1 / d has a 1 as
// its first bit, and BITS more are found. The reciprocal of 1 comes out as 0.1111... and rounds to 1; no
// other ends, so nothing is half-way.
//
//   cycle        0        1 ... BITS / ROWS + 1    BITS / ROWS + 2
//   start_i      1        0                        0
//   done_o       1        0                        1 (and so on until the next start)
//   exponent_o, mantissa_o                         1 / S

module softmax_recip #(
  /// Bits of S above the point, 2 or more.
  parameter  int unsigned INT_BITS = 18,
  /// Bits of the result's significand, hidden bit included, 19 at the most.
  parameter  int unsigned BITS     = 14,
  /// Bits of the quotient that are found in a cycle, a divisor of BITS.
  parameter  int unsigned ROWS     = 1,
  localparam int unsigned TOTAL    = INT_BITS + 24
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Start a division.
  input  logic             start_i,
  /// Operand.
  input  logic [TOTAL-1:0] sum_i,
  /// No division is under way.
  output logic             done_o,
  /// The operand was 0.
  output logic             infinite_o,
  /// Exponent field of the reciprocal.
  output logic [7:0]       exponent_o,
  /// Mantissa of the reciprocal.
  output logic [BITS-2:0]  mantissa_o
);

  localparam int unsigned CYCLES     = BITS / ROWS;
  localparam int unsigned COUNT_BITS = $clog2(CYCLES + 2);
  localparam int unsigned SHIFT_BITS = $clog2(INT_BITS);
  localparam int unsigned DIVISOR    = BITS + 3;  // its bits, hidden bit included

  // Normalise: the leading one is in the upper bits.
  logic [SHIFT_BITS-1:0] zeros, shift, shift_d, shift_q;
  logic                  nothing, nothing_d, nothing_q;
  logic [DIVISOR-2:0]    divisor, divisor_d, divisor_q;  // below its hidden bit
  logic                  unused_normalised;
  logic [TOTAL-1:0]      normalised;

  leading_zeros #(.WIDTH(INT_BITS)) u_zeros (
    .data_i(sum_i[TOTAL-1-:INT_BITS]), .count_o(zeros), .empty_o(nothing)
  );

  assign shift             = SHIFT_BITS'(INT_BITS - 1) - zeros;
  assign normalised        = sum_i >> shift;
  assign divisor           = normalised[23-:DIVISOR-1];
  assign unused_normalised = ^normalised;

  assign shift_d   = start_i ? shift : shift_q;
  assign nothing_d = start_i ? nothing : nothing_q;
  assign divisor_d = start_i ? divisor : divisor_q;

  // Divide.
  logic [COUNT_BITS-1:0] count_d, count_q;  // cycles still to come
  logic                  first_q;
  logic [DIVISOR-1:0]    remainder;         // behind the rows of this cycle
  logic [DIVISOR-1:0]    remainder_d, remainder_q;
  logic [BITS-1:0]       quotient_d, quotient_q;  // below its hidden bit, filled from the right
  logic [ROWS-1:0]       bits;

  always_comb begin
    logic [DIVISOR:0] difference;

    remainder = remainder_q;
    for (int unsigned row = 0; row < ROWS; row++) begin
      difference       = {remainder, 1'b0} - {2'b01, divisor_q};
      bits[ROWS-1-row] = !difference[DIVISOR];
      remainder        = difference[DIVISOR] ? {remainder[DIVISOR-2:0], 1'b0} : difference[DIVISOR-1:0];
    end
  end

  assign done_o = count_q == '0;

  always_comb begin
    count_d    = count_q;
    quotient_d = quotient_q;
    if (start_i) begin
      count_d = COUNT_BITS'(CYCLES + 1);
    end else if (!done_o) begin
      count_d    = count_q - COUNT_BITS'(1);
      quotient_d = {quotient_q[BITS-1-ROWS:0], bits};
    end
  end

  // The first bit of the quotient is a 1; what remains of 1 is 2 - d, in (0, 1].
  assign remainder_d = first_q ? {1'b0, ~divisor_q} + DIVISOR'(1) : remainder;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      first_q <= 1'b0;
    end else begin
      count_q <= count_d;
      first_q <= start_i;
    end
  end

  always_ff @(posedge clk_i) begin
    shift_q     <= shift_d;
    nothing_q   <= nothing_d;
    divisor_q   <= divisor_d;
    remainder_q <= remainder_d;
    quotient_q  <= quotient_d;
  end

  // Round.
  assign {exponent_o, mantissa_o} = {8'd126 - 8'(shift_q), quotient_q[BITS-1:1]}
                                    + (8 + BITS - 1)'(quotient_q[0]);
  assign infinite_o               = nothing_q;

  if (INT_BITS < 2 || BITS > 19) $fatal(1, "INT_BITS, BITS = %0d, %0d: expected 2 or more, 19 or less", INT_BITS, BITS);
  if (ROWS == 0 || BITS % ROWS != 0) $fatal(1, "ROWS = %0d: expected a divisor of BITS = %0d", ROWS, BITS);

endmodule
