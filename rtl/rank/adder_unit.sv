// SPDX-License-Identifier: MIT
// Adder unit of the rank PU: eight adders over the eight chips of a rank. Contract: adder_unit.md.

module adder_unit #(
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS     = 5,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS     = 10,
  /// 1: gradual underflow; 0: subnormal elements are flushed to zero.
  /// Operands and sums of the same format are flushed too.
  parameter  int unsigned SUBNORMALS   = 1,
  /// Width of a sum's exponent field: at least EXP_BITS.
  parameter  int unsigned SUM_EXP_BITS = EXP_BITS,
  /// Width of a sum's trailing significand field.
  /// It is MAN_BITS (with SUM_EXP_BITS = EXP_BITS), or at least MAN_BITS + 2.
  parameter  int unsigned SUM_MAN_BITS = MAN_BITS,
  localparam int unsigned WIDTH        = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS
) (
  /// Clock: one edge per tCK.
  input  logic                      clk_i,
  /// Asynchronous reset, active low.
  input  logic                      rst_ni,
  /// Eight elements arrive.
  input  logic                      valid_i,
  /// 0: tree mode; 1: accumulator mode.
  input  logic                      accumulate_i,
  /// Tree mode: add +0 in place of partial_i. Accumulator mode: start from +0.
  input  logic                      first_i,
  /// Accumulator mode: the sums with this input are complete.
  input  logic                      last_i,
  /// Tree mode: sum of earlier passes.
  input  logic [SUM_WIDTH-1:0]      partial_i,
  /// One element from each chip.
  input  logic [7:0][SUM_WIDTH-1:0] x_i,
  /// tree_o is a new sum.
  output logic                      tree_valid_o,
  /// Tree mode: the sum over the chips, rounded to an element.
  output logic [WIDTH-1:0]          tree_o,
  /// lanes_o are complete sums.
  output logic                      lanes_valid_o,
  /// Accumulator mode: the sum of each chip's lane.
  output logic [7:0][SUM_WIDTH-1:0] lanes_o
);

  localparam bit          WIDE           = SUM_EXP_BITS != EXP_BITS || SUM_MAN_BITS != MAN_BITS;
  localparam int unsigned SUM_SUBNORMALS = WIDE ? 1 : SUBNORMALS;

  // The tree inputs whose sums stand in the even sum_q, in sum_q[1] and [5] and in sum_q[3], and what
  // the eighth adder adds to them: that counts where its input is valid.
  logic [2:0]                valid_d, valid_q;
  logic [2:0][SUM_WIDTH-1:0] partial_d, partial_q;
  logic                      tree_valid_d, tree_valid_q;
  logic                      lanes_valid_d, lanes_valid_q;
  logic                      accumulate;
  logic [7:0]                load;
  logic [7:0][SUM_WIDTH-1:0] left, right, sum, sum_d, sum_q;

  assign accumulate = valid_i && accumulate_i;

  always_comb begin
    if (accumulate) begin
      left  = x_i;
      right = first_i ? '0 : sum_q;
    end else begin
      left  = {sum_q[3], x_i[6], sum_q[4], x_i[4], sum_q[1], x_i[2], sum_q[0], x_i[0]};
      right = {partial_q[2], x_i[7], sum_q[6], x_i[5], sum_q[5], x_i[3], sum_q[2], x_i[1]};
    end
  end

  for (genvar k = 0; k < 8; k++) begin : gen_add
    fp_add #(
      .EXP_BITS   (SUM_EXP_BITS),
      .MAN_BITS   (SUM_MAN_BITS),
      .SUBNORMALS (SUM_SUBNORMALS),
      .STAGES     (0)
    ) u_add (
      .clk_i,
      .rst_ni,
      .a_i      (left[k]),
      .b_i      (right[k]),
      .result_o (sum[k])
    );
  end

  assign load = {accumulate || valid_q[2], valid_i, accumulate || valid_q[0], valid_i,
                 accumulate || valid_q[1], valid_i, accumulate || valid_q[0], valid_i};

  always_comb begin
    sum_d = sum_q;
    for (int unsigned k = 0; k < 8; k++) begin
      if (load[k]) sum_d[k] = sum[k];
    end
  end

  assign valid_d       = {valid_q[1:0], valid_i && !accumulate_i};
  assign partial_d     = {partial_q[1:0], first_i ? {SUM_WIDTH{1'b0}} : partial_i};
  assign tree_valid_d  = valid_q[2] && !accumulate;
  assign lanes_valid_d = accumulate && last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q       <= '0;
      tree_valid_q  <= 1'b0;
      lanes_valid_q <= 1'b0;
    end else begin
      valid_q       <= valid_d;
      tree_valid_q  <= tree_valid_d;
      lanes_valid_q <= lanes_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    partial_q <= partial_d;
    sum_q     <= sum_d;
  end

  if (WIDE) begin : gen_narrow
    fp_narrow #(
      .EXP_BITS      (EXP_BITS),
      .MAN_BITS      (MAN_BITS),
      .SUBNORMALS    (SUBNORMALS),
      .WIDE_EXP_BITS (SUM_EXP_BITS),
      .WIDE_MAN_BITS (SUM_MAN_BITS),
      .STAGES        (0)
    ) u_narrow (
      .clk_i,
      .rst_ni,
      .a_i      (sum_q[7]),
      .result_o (tree_o)
    );
  end else begin : gen_same
    assign tree_o = sum_q[7];
  end

  assign tree_valid_o  = tree_valid_q;
  assign lanes_valid_o = lanes_valid_q;
  assign lanes_o       = sum_q;

  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) ||
      !fp_pkg::is_sum_format(EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "expected formats: %0d, %0d, sums %0d, %0d", EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS);

endmodule
