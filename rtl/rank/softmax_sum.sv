// SPDX-License-Identifier: MIT
// Sums of exponentials in fixed point, in units of 2^-24: of a chunk, and of a head with its chunk.
//
//   cycle          0     1     2     3     4     5     6     7
//   last_i         1
//   product_i                        d0    d1    d2                digits of the head's sum times its factor
//   write_o                                                  1
//   total_o                                                  S'
//
// With STAGES = 1 products come a cycle sooner, and write_o and total_o with d2, three cycles sooner.

module softmax_sum #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS = 5,
  /// Width of the trailing significand field: 10 or 7.
  parameter  int unsigned MAN_BITS = 10,
  /// Exponentials that come in a cycle.
  parameter  int unsigned GEAR     = 1,
  /// Width of a digit of a head's sum: it has three.
  parameter  int unsigned DIGIT    = 14,
  /// Pipeline registers in the multiplier of digits: 1 or 2.
  parameter  int unsigned STAGES   = 2,
  localparam int unsigned WIDTH    = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned TOTAL    = 3 * DIGIT,
  localparam int unsigned PRODUCT  = DIGIT + MAN_BITS + 1
) (
  /// Clock.
  input  logic                       clk_i,
  /// Asynchronous reset, active low.
  input  logic                       rst_ni,
  /// Exponentials of a chunk arrive.
  input  logic                       valid_i,
  /// They are its first.
  input  logic                       start_i,
  /// They are its last.
  input  logic                       last_i,
  /// The exponentials: 0 to 1, or NaN.
  input  logic [GEAR-1:0][WIDTH-1:0] exp_i,
  /// With the last: the factor of the head's sum, 0 to 1, or NaN.
  input  logic [WIDTH-1:0]           factor_i,
  /// In the cycle behind the last: the head's sum is NaN.
  input  logic                       nan_i,
  /// In three cycles behind the last: significand of the factor.
  output logic [MAN_BITS:0]          factor_o,
  /// Products of factor_o and the digits of the head's sum, the lowest first.
  input  logic [PRODUCT-1:0]         product_i,
  /// total_o is a head's new sum.
  output logic                       write_o,
  /// The sum is NaN.
  output logic                       nan_o,
  /// The sum.
  output logic [TOTAL-1:0]           total_o
);

  localparam int unsigned FRACTION   = 24;
  localparam int unsigned FIXED      = FRACTION + 1;          // an exponential
  localparam int unsigned GROUP      = FIXED + $clog2(GEAR);  // those of a cycle
  localparam int unsigned PART       = FIXED + 4;             // those of a chunk
  localparam int unsigned RIGHT_BITS = EXP_BITS - 1;
  localparam int unsigned LOW        = DIGIT - MAN_BITS;      // bits of a digit that are not below the sum

  typedef logic [RIGHT_BITS-1:0] right_t;

  // How far below that of 1 the significand of a number stands. That of a subnormal number is taken twofold
  // instead of its exponent.
  function automatic right_t right_of(logic [RIGHT_BITS-1:0] exponent);
    return ~exponent;
  endfunction

  function automatic logic [MAN_BITS:0] significand_of(logic [EXP_BITS+MAN_BITS-1:0] x);
    logic hidden;
    hidden = x[MAN_BITS+:EXP_BITS] != '0;
    return hidden ? {1'b1, x[MAN_BITS-1:0]} : {x[MAN_BITS-1:0], 1'b0};
  endfunction

  // The chunk. What is below 2^-24 is dropped, which binary16 has nothing of.
  logic [GEAR-1:0][FIXED-1:0] fixed;
  logic [GEAR-1:0]            nans;
  logic [GROUP-1:0]           group_d, group_q;
  logic                       group_nan_q, valid_q, start_q;
  logic [PART-1:0]            sum, sum_d, sum_q;
  logic                       nan_d, nan_q;

  for (genvar g = 0; g < GEAR; g++) begin : gen_fixed
    logic                unused_sign;
    logic [EXP_BITS-1:0] exponent;
    logic [MAN_BITS-1:0] mantissa;

    assign {unused_sign, exponent, mantissa} = exp_i[g];

    assign nans[g]  = &exponent;
    assign fixed[g] = {significand_of({exponent, mantissa}), {(FRACTION - MAN_BITS){1'b0}}} >> right_of(exponent[RIGHT_BITS-1:0]);
  end

  always_comb begin
    group_d = '0;
    for (int unsigned g = 0; g < GEAR; g++) group_d = group_d + GROUP'(fixed[g]);
  end

  always_comb begin
    sum_d = sum_q;
    nan_d = nan_q;
    if (valid_q) begin
      sum_d = sum;
      nan_d = (nan_q && !start_q) || group_nan_q;
    end
  end

  carry_select_adder #(.WIDTH(PART)) u_sum (
    .a_i(sum_q & {PART{!start_q}}), .b_i(PART'(group_q)), .sum_o(sum)
  );

  // The head: its sum times the factor, digit by digit.
  logic [STAGES+4:0]   last_q;
  logic                unused_sign, part_nan_d, part_nan_q;
  logic [EXP_BITS-1:0] factor_exponent, exponent_d, exponent_q;
  logic [MAN_BITS-1:0] factor_mantissa;
  logic [MAN_BITS:0]   significand_d, significand_q;
  logic [PART-1:0]     part_d, part_q;
  logic [PRODUCT-1:0]  partial_d, partial_q;
  logic [LOW-1:0]      below_q;
  logic [TOTAL:0]      scaled;
  logic [TOTAL-1:0]    rescaled;
  logic                unused_scaled;

  assign {unused_sign, factor_exponent, factor_mantissa} = factor_i;

  assign factor_o      = significand_q;
  assign significand_d = last_i ? significand_of({factor_exponent, factor_mantissa}) : significand_q;
  assign exponent_d    = last_i ? factor_exponent : exponent_q;

  // The sum is complete two cycles behind the last exponentials, and stays until it is added.
  assign part_d     = last_q[1] ? sum_q : part_q;
  always_comb begin
    part_nan_d = part_nan_q;
    if (last_q[0]) part_nan_d = nan_i && significand_q != '0;
    if (last_q[1]) part_nan_d = part_nan_q || nan_q || &exponent_q;
  end

  assign partial_d = product_i + (last_q[STAGES] ? '0 : PRODUCT'(partial_q[PRODUCT-1:DIGIT]));
  assign scaled    = {partial_d, partial_q[DIGIT-1:0], below_q};
  // The factor is at most 1.
  assign unused_scaled = scaled[TOTAL];
  assign rescaled      = scaled[TOTAL-1:0] >> right_of(exponent_q[RIGHT_BITS-1:0]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q  <= '0;
      valid_q <= 1'b0;
    end else begin
      last_q  <= {last_q[STAGES+3:0], last_i};
      valid_q <= valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    group_q       <= group_d;
    group_nan_q   <= nans != '0;
    start_q       <= start_i;
    sum_q         <= sum_d;
    nan_q         <= nan_d;
    exponent_q    <= exponent_d;
    significand_q <= significand_d;
    part_q        <= part_d;
    part_nan_q    <= part_nan_d;
    partial_q     <= partial_d;
    below_q       <= partial_q[DIGIT-1:MAN_BITS];
  end

  assign nan_o = part_nan_q;

  // Add the chunk's sum, the lower half first.
  if (STAGES > 1) begin : gen_kept
    localparam int unsigned HALF = TOTAL / 2;

    logic [TOTAL-1:0]    kept_q;
    logic [HALF:0]       low_q;
    logic [TOTAL-1:HALF] high_q;

    always_ff @(posedge clk_i) begin
      kept_q <= rescaled;
      low_q  <= {1'b0, kept_q[HALF-1:0]} + {1'b0, part_q[HALF-1:0]};
      high_q <= kept_q[TOTAL-1:HALF];
    end

    assign total_o[HALF-1:0]     = low_q[HALF-1:0];
    assign total_o[TOTAL-1:HALF] = high_q + HALF'(part_q[PART-1:HALF]) + HALF'(low_q[HALF]);
    assign write_o               = last_q[STAGES+4];
  end else begin : gen_at_once
    logic unused_last;

    assign unused_last = ^last_q[STAGES+4:STAGES+3];
    assign total_o     = rescaled + TOTAL'(part_q);
    assign write_o     = last_q[STAGES+2];
  end

  if (DIGIT <= MAN_BITS || STAGES == 0 || STAGES > 2)
    $fatal(1, "DIGIT, STAGES = %0d, %0d: expected more than MAN_BITS, and 1 or 2", DIGIT, STAGES);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || MAN_BITS > 10)
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);
  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule
