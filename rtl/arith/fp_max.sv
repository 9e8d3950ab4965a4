// SPDX-License-Identifier: MIT
// Floating-point maximum. Contract: fp_max.md.

module fp_max #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: subnormal operands are kept; 0: they are read as zeros of their sign.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 3, all after the selection.
  parameter  int unsigned STAGES     = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Larger of the operands STAGES cycles earlier.
  output logic [WIDTH-1:0] result_o
);

  localparam logic [WIDTH-1:0] NAN = {1'b0, {(EXP_BITS + 1){1'b1}}, {(MAN_BITS - 1){1'b0}}};

  logic                a_negative, b_negative;
  logic [EXP_BITS-1:0] a_exponent, b_exponent;
  logic [MAN_BITS:0]   a_significand, b_significand;
  logic                a_zero, b_zero;
  logic                unused_a_infinite, unused_b_infinite;
  logic                a_nan, b_nan;

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack_a (
    .value_i       (a_i),
    .negative_o    (a_negative),
    .exponent_o    (a_exponent),
    .significand_o (a_significand),
    .zero_o        (a_zero),
    .infinite_o    (unused_a_infinite),
    .nan_o         (a_nan)
  );

  fp_unpack #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_unpack_b (
    .value_i       (b_i),
    .negative_o    (b_negative),
    .exponent_o    (b_exponent),
    .significand_o (b_significand),
    .zero_o        (b_zero),
    .infinite_o    (unused_b_infinite),
    .nan_o         (b_nan)
  );

  // Of two signs the positive number is the larger, zeros included. Of one sign, the magnitudes
  // say; where they are equal, so are the operands as they are read.
  logic             a_above, a_wins;
  logic [WIDTH-1:0] winner, result;

  assign a_above = {a_exponent, a_significand} > {b_exponent, b_significand};
  assign a_wins  = a_negative != b_negative ? b_negative : a_above != a_negative;

  // What is read as zero leaves as zero.
  assign winner[WIDTH-1]   = a_wins ? a_negative : b_negative;
  assign winner[WIDTH-2:0] = a_wins ? (a_zero ? '0 : a_i[WIDTH-2:0])
                                    : (b_zero ? '0 : b_i[WIDTH-2:0]);

  assign result = a_nan || b_nan ? NAN : winner;

  logic [WIDTH-1:0] delayed [4];

  assign delayed[0] = result;
  for (genvar i = 0; i < 3; i++) begin : gen_stage
    pipe #(.WIDTH(WIDTH), .ENABLED(STAGES > i)) u_result_pipe (
      .clk_i, .rst_ni, .data_i(delayed[i]), .data_o(delayed[i+1])
    );
  end
  assign result_o = delayed[3];

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 3)
    $fatal(1, "SUBNORMALS = %0d, STAGES = %0d: expected 0 or 1, and 0 to 3", SUBNORMALS, STAGES);

endmodule
