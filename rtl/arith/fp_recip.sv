// SPDX-License-Identifier: MIT
// Floating-point reciprocal, 1 / x. Contract: fp_recip.md.

module fp_recip #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 6.
  /// They divide the rows of the division, and the rounding, which takes as long as two rows, into
  /// equal parts.
  parameter  int unsigned STAGES     = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Operand x.
  input  logic [WIDTH-1:0] a_i,
  /// Rounded reciprocal of the operand STAGES cycles earlier.
  output logic [WIDTH-1:0] result_o
);

  // Rows of the division, and what the rounding counts for.
  localparam int unsigned ROWS  = MAN_BITS + 1;
  localparam int unsigned STEPS = ROWS + 2;

  typedef logic signed [EXP_BITS+1:0] exponent_t;

  typedef struct packed {
    logic                live;       // the result is not a zero, whatever the number
    logic                negative;
    logic                infinite;
    logic                nan;
    exponent_t           exponent;   // of a quotient whose first bit is the hidden one
    logic [MAN_BITS-1:0] divisor;    // below its hidden bit
    logic [MAN_BITS:0]   remainder;
    logic [ROWS-1:0]     quotient;   // below its hidden bit, filled from the right
  } division_t;

  // Is there a register in front of this row, or behind the last?
  function automatic bit is_cut(int unsigned row);
    is_cut = 1'b0;
    for (int unsigned i = 1; i <= STAGES; i++) begin
      if (row == i * STEPS / (STAGES + 1)) is_cut = 1'b1;
    end
  endfunction

  // Unpack and normalise.
  logic                negative;
  logic [EXP_BITS-1:0] field;
  logic [MAN_BITS-1:0] mantissa, divisor;
  logic                hidden, half, quarter;
  division_t           start;

  assign {negative, field, mantissa} = a_i;

  assign hidden  = field != '0;
  assign half    = !hidden && SUBNORMALS != 0 && mantissa[MAN_BITS-1];
  assign quarter = !hidden && SUBNORMALS != 0 && mantissa[MAN_BITS-1-:2] == 2'b01;

  always_comb begin
    divisor = mantissa;
    if (half)    divisor = mantissa << 1;
    if (quarter) divisor = mantissa << 2;
  end

  assign start.live     = !(&field && mantissa == '0);
  assign start.negative = negative;
  assign start.infinite = !(hidden || half || quarter);
  assign start.nan      = &field && mantissa != '0;
  // 2 BIAS - 1 - field; a quarter of the smallest normal number counts as a field of -1.
  assign start.exponent = exponent_t'({2'b00, ~field}) - exponent_t'(2)
                          + exponent_t'({1'b0, quarter});
  assign start.divisor  = divisor;
  // The first bit of the quotient is a 1; what remains of 1 is 2 - d, in (0, 1].
  assign start.remainder = {1'b0, ~divisor} + (MAN_BITS + 1)'(1);
  assign start.quotient  = '0;

  // Divide.
  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    division_t           above, now, below;
    logic [MAN_BITS+2:0] difference;
    logic                less;

    if (row == 0) begin : gen_first
      assign above = start;
    end else begin : gen_next
      assign above = gen_row[row-1].below;
    end

    pipe #(.WIDTH($bits(division_t)), .ENABLED(is_cut(row))) u_pipe (
      .clk_i, .rst_ni, .data_i(above), .data_o(now)
    );

    // Twice the remainder less the divisor. A carry is there sooner than a sign, which is the carry with two more bits.
    assign difference = {1'b0, now.remainder, 1'b1} + ~{3'b001, now.divisor};
    assign less       = difference[MAN_BITS+2];

    always_comb begin
      below           = now;
      below.quotient  = {now.quotient[ROWS-2:0], !less};
      below.remainder = less ? {now.remainder[MAN_BITS-1:0], 1'b0} : difference[MAN_BITS:0];
    end
  end

  // Put it in its place among the numbers of the format.
  division_t           divided;
  logic                normal, unused;
  logic [MAN_BITS+1:0] number;

  pipe #(.WIDTH($bits(division_t)), .ENABLED(is_cut(ROWS))) u_divided_pipe (
    .clk_i, .rst_ni, .data_i(gen_row[ROWS-1].below), .data_o(divided)
  );

  assign unused = &{1'b0, divided.divisor, divided.remainder};

  // The exponent is -1 at the least.
  assign normal = divided.exponent > 0;

  always_comb begin
    number = {1'b1, divided.quotient};
    if (!divided.live || (SUBNORMALS == 0 && divided.exponent < 0)) number = '0;
    else if (SUBNORMALS != 0 && !normal) number = number >> (divided.exponent < 0 ? 2 : 1);
  end

  // Round.
  fp_round #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_round (
    .negative_i (divided.negative),
    .exponent_i (normal && divided.live ? divided.exponent[EXP_BITS:0] : '0),
    .mantissa_i (number[MAN_BITS:1]),
    .guard_i    (number[0]),
    .sticky_i   (1'b1),
    .infinite_i (divided.infinite),
    .nan_i      (divided.nan),
    .result_o   (result_o)
  );

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 6)
    $fatal(1, "SUBNORMALS = %0d, STAGES = %0d: expected 0 or 1, and 0 to 6", SUBNORMALS, STAGES);

endmodule
