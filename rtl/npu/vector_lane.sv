// SPDX-License-Identifier: MIT
// A lane of vector_unit: five steps, of which an operation uses some. Contract: vector_unit.md.

module vector_lane #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS = 10,
  localparam int unsigned WIDTH    = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Whether the first step multiplies by operand b, in the cycle of the operands; of no operation otherwise.
  input  logic             multiply_i,
  /// Whether the operation is GELU, in the cycles in which its five steps get their operands.
  input  logic [4:0]       gelu_i,
  /// Whether the second step is an exponential, in its cycle.
  input  logic             exp_i,
  /// Whether the third step adds operand b, in its cycle.
  input  logic             add_i,
  /// Whether the third step subtracts operand b, in its cycle.
  input  logic             subtract_i,
  /// Whether the third step takes the larger operand, in its cycle.
  input  logic             max_i,
  /// Whether the fourth step is a reciprocal, in its cycle.
  input  logic             recip_i,
  /// Operand a.
  input  logic [WIDTH-1:0] a_i,
  /// Operand b.
  input  logic [WIDTH-1:0] b_i,
  /// Result of the operands of 22 cycles earlier.
  output logic [WIDTH-1:0] result_o
);

  typedef logic [WIDTH-1:0] number_t;

  // Cycles of a multiplier, the exponential, an adder, the reciprocal, each with the register of its operands.
  localparam int unsigned MUL   = 3;
  localparam int unsigned EXP   = 5;
  localparam int unsigned ADD   = 3;
  localparam int unsigned RECIP = 7;
  // Cycles from the operands to those of the third and fifth step.
  localparam int unsigned THIRD = MUL + EXP;
  localparam int unsigned FIFTH = THIRD + ADD + RECIP;

  localparam number_t One = {2'b00, {(EXP_BITS - 1){1'b1}}, MAN_BITS'(0)};
  // -1.702, rounded.
  localparam number_t Slope =
      {2'b10, {(EXP_BITS - 1){1'b1}}, MAN_BITS'(MAN_BITS == 10 ? 719 : 90)};

  // Operands, as steps behind the first need them.
  number_t [FIFTH:1] a_q;
  number_t [THIRD:1] b_q;

  always_ff @(posedge clk_i) begin
    a_q <= {a_q[FIFTH-1:1], a_i};
    b_q <= {b_q[THIRD-1:1], b_i};
  end

  // What comes to each step and leaves the last, what a step makes of it, and whether it is used.
  number_t [5:0] value;
  number_t [4:0] made;
  logic    [4:0] used;

  assign used[0] = multiply_i || gelu_i[0];
  assign used[1] = exp_i || gelu_i[1];
  assign used[2] = add_i || subtract_i || max_i || gelu_i[2];
  assign used[3] = recip_i || gelu_i[3];
  assign used[4] = gelu_i[4];

  assign value[0] = a_i;

  // Registers of each step's operands: +0 where it is not used.
  number_t [4:0] left_d, left_q, right_d, right_q;

  for (genvar s = 0; s < 5; s++) begin : gen_step
    localparam int unsigned CYCLES = s == 1 ? EXP : s == 2 ? ADD : s == 3 ? RECIP : MUL;

    number_t [CYCLES-1:0] past_q;
    logic    [CYCLES-1:0] used_q;

    assign left_d[s]  = used[s] ? value[s] : '0;
    assign value[s+1] = used_q[CYCLES-1] ? made[s] : past_q[CYCLES-1];

    always_ff @(posedge clk_i) begin
      past_q     <= {past_q[CYCLES-2:0], value[s]};
      used_q     <= {used_q[CYCLES-2:0], used[s]};
      left_q[s]  <= left_d[s];
      right_q[s] <= right_d[s];
    end
  end

  always_comb begin
    right_d = '0;
    if (gelu_i[0])       right_d[0] = Slope;
    else if (multiply_i) right_d[0] = b_i;
    if (gelu_i[2])           right_d[2] = One;
    else if (subtract_i)     right_d[2] = {!b_q[THIRD][WIDTH-1], b_q[THIRD][WIDTH-2:0]};
    else if (add_i || max_i) right_d[2] = b_q[THIRD];
    if (used[4]) right_d[4] = a_q[FIFTH];
  end

  number_t result_q;

  always_ff @(posedge clk_i) result_q <= value[5];

  assign result_o = result_q;

  // First step.
  fp_mul #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (MUL - 1),
    .FAST     (2)
  ) u_first (
    .clk_i,
    .rst_ni,
    .a_i      (left_q[0]),
    .b_i      (right_q[0]),
    .result_o (made[0])
  );

  // Second step.
  fp_exp #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (EXP - 1)
  ) u_exp (
    .clk_i,
    .rst_ni,
    .a_i      (left_q[1]),
    .result_o (made[1])
  );

  // Third step: the adder, or the larger operand, which is there at once.
  number_t           sum, larger;
  number_t [ADD-2:0] larger_q;
  logic    [ADD-1:0] max_q;

  fp_add #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (ADD - 1),
    .FAST     (1)
  ) u_add (
    .clk_i,
    .rst_ni,
    .a_i      (left_q[2]),
    .b_i      (right_q[2]),
    .result_o (sum)
  );

  fp_max #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS)
  ) u_max (
    .clk_i,
    .rst_ni,
    .a_i      (max_q[0] ? left_q[2] : '0),
    .b_i      (max_q[0] ? right_q[2] : '0),
    .result_o (larger)
  );

  always_ff @(posedge clk_i) begin
    larger_q <= {larger_q[ADD-3:0], larger};
    max_q    <= {max_q[ADD-2:0], max_i};
  end

  assign made[2] = max_q[ADD-1] ? larger_q[ADD-2] : sum;

  // Fourth step.
  fp_recip #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (RECIP - 1)
  ) u_recip (
    .clk_i,
    .rst_ni,
    .a_i      (left_q[3]),
    .result_o (made[3])
  );

  // Fifth step.
  fp_mul #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (MUL - 1),
    .FAST     (2)
  ) u_fifth (
    .clk_i,
    .rst_ni,
    .a_i      (left_q[4]),
    .b_i      (right_q[4]),
    .result_o (made[4])
  );

  // The second and fourth step have one operand.
  logic unused_right;

  assign unused_right = &{1'b0, right_q[1], right_q[3]};

  if (WIDTH != 16 || !fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);

endmodule
