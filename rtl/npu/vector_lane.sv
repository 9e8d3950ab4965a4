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
  /// Whether the operation is GELU, in the cycles of its five steps.
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
  /// Result of the operands of 17 cycles earlier.
  output logic [WIDTH-1:0] result_o
);

  typedef logic [WIDTH-1:0] number_t;

  // Cycles of a multiplier, the exponential, an adder, the reciprocal, each with its register.
  localparam int unsigned MUL   = 3;
  localparam int unsigned EXP   = 4;
  localparam int unsigned ADD   = 3;
  localparam int unsigned RECIP = 4;
  // Cycles from the operands to the third and fifth step.
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

  // What each step takes, what it makes of it, and what goes past it.
  number_t [4:0] value, made, made_q;
  logic    [4:0] used;

  assign used[0] = multiply_i || gelu_i[0];
  assign used[1] = exp_i || gelu_i[1];
  assign used[2] = add_i || subtract_i || max_i || gelu_i[2];
  assign used[3] = recip_i || gelu_i[3];
  assign used[4] = gelu_i[4];

  assign value[0] = a_i;

  for (genvar s = 0; s < 5; s++) begin : gen_step
    localparam int unsigned CYCLES = s == 1 ? EXP : s == 2 ? ADD : s == 3 ? RECIP : MUL;

    number_t [CYCLES-1:0] past_q;
    logic    [CYCLES-1:0] used_q;

    always_ff @(posedge clk_i) begin
      past_q    <= {past_q[CYCLES-2:0], value[s]};
      used_q    <= {used_q[CYCLES-2:0], used[s]};
      made_q[s] <= made[s];
    end

    if (s < 4) begin : gen_next
      assign value[s+1] = used_q[CYCLES-1] ? made_q[s] : past_q[CYCLES-1];
    end else begin : gen_result
      assign result_o = used_q[CYCLES-1] ? made_q[s] : past_q[CYCLES-1];
    end
  end

  // First step.
  fp_mul #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (MUL - 1),
    .FAST     (2)
  ) u_first (
    .clk_i,
    .rst_ni,
    .a_i      (used[0] ? value[0] : '0),
    .b_i      (gelu_i[0] ? Slope : multiply_i ? b_i : '0),
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
    .a_i      (used[1] ? value[1] : '0),
    .result_o (made[1])
  );

  // Third step: the adder, or the larger operand, which is there at once.
  number_t         addend, sum, larger;
  number_t [ADD-2:0] larger_q;
  logic    [ADD-2:0] max_q;

  always_comb begin
    addend = '0;
    if (gelu_i[2])       addend = One;
    else if (subtract_i) addend = {!b_q[THIRD][WIDTH-1], b_q[THIRD][WIDTH-2:0]};
    else if (add_i)      addend = b_q[THIRD];
  end

  fp_add #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (ADD - 1),
    .FAST     (1)
  ) u_add (
    .clk_i,
    .rst_ni,
    .a_i      (used[2] ? value[2] : '0),
    .b_i      (addend),
    .result_o (sum)
  );

  fp_max #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS)
  ) u_max (
    .clk_i,
    .rst_ni,
    .a_i      (max_i ? value[2] : '0),
    .b_i      (max_i ? b_q[THIRD] : '0),
    .result_o (larger)
  );

  always_ff @(posedge clk_i) begin
    larger_q <= {larger_q[ADD-3:0], larger};
    max_q    <= {max_q[ADD-3:0], max_i};
  end

  assign made[2] = max_q[ADD-2] ? larger_q[ADD-2] : sum;

  // Fourth step.
  fp_recip #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (RECIP - 1)
  ) u_recip (
    .clk_i,
    .rst_ni,
    .a_i      (used[3] ? value[3] : '0),
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
    .a_i      (used[4] ? value[4] : '0),
    .b_i      (used[4] ? a_q[FIFTH] : '0),
    .result_o (made[4])
  );

  if (WIDTH != 16 || !fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);

endmodule
