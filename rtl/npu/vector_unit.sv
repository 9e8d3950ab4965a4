// SPDX-License-Identifier: MIT
// Vector unit of an NPU: lanes, and a reduction tree over them. Contract: vector_unit.md.

module vector_unit #(
  /// Lanes: a power of two, 4 to 128.
  parameter  int unsigned LANES    = 8,
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS = 10,
  localparam int unsigned WIDTH    = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic                        clk_i,
  /// Asynchronous reset, active low: no operation is under way.
  input  logic                        rst_ni,
  /// An operation.
  input  logic                        valid_i,
  /// Operation: ADD, SUB, MUL, MAX, EXP, RECIP, GELU, SUM, DOT, GREATEST from 0 on.
  input  logic [3:0]                  operation_i,
  /// Element 0 of b_i is operand b of all lanes.
  input  logic                        broadcast_i,
  /// The operation of the reduction tree begins a total.
  input  logic                        first_i,
  /// The operation of the reduction tree ends a total.
  input  logic                        last_i,
  /// Operand a of each lane.
  input  logic [LANES-1:0][WIDTH-1:0] a_i,
  /// Operand b of each lane.
  input  logic [LANES-1:0][WIDTH-1:0] b_i,
  /// result_o is of an operation.
  output logic                        result_valid_o,
  /// Result of each lane.
  output logic [LANES-1:0][WIDTH-1:0] result_o,
  /// total_o is new in this cycle.
  output logic                        total_valid_o,
  /// The total that ended last.
  output logic [WIDTH-1:0]            total_o
);

  localparam logic [3:0] Add      = 4'd0;
  localparam logic [3:0] Sub      = 4'd1;
  localparam logic [3:0] Mul      = 4'd2;
  localparam logic [3:0] Max      = 4'd3;
  localparam logic [3:0] Exp      = 4'd4;
  localparam logic [3:0] Recip    = 4'd5;
  localparam logic [3:0] Gelu     = 4'd6;
  localparam logic [3:0] Sum      = 4'd7;
  localparam logic [3:0] Dot      = 4'd8;
  localparam logic [3:0] Greatest = 4'd9;

  localparam int unsigned LEVELS = $clog2(LANES);
  // Cycles from the operands to a result, and to where each step of a lane gets its operands.
  localparam int unsigned LANE   = 22;
  localparam int unsigned SECOND = 3;
  localparam int unsigned THIRD  = 8;
  localparam int unsigned FOURTH = 11;
  localparam int unsigned FIFTH  = 18;
  // Cycles from the operands to a total of tree_pu, and from a maximum to there.
  localparam int unsigned TREE = 3 * LEVELS + 14;
  localparam int unsigned WAIT = TREE - LEVELS - 1;

  typedef logic [WIDTH-1:0] number_t;

  localparam number_t One    = {2'b00, {(EXP_BITS - 1){1'b1}}, MAN_BITS'(0)};
  localparam number_t Lowest = {1'b1, {EXP_BITS{1'b1}}, MAN_BITS'(0)};

  // Operands.
  logic                valid_q, first_q, last_q;
  logic    [3:0]       operation_q;
  number_t [LANES-1:0] a_q, b_d, b_q;

  assign b_d = broadcast_i ? {LANES{b_i[0]}} : b_i;

  always_ff @(posedge clk_i) begin
    operation_q <= operation_i;
    first_q     <= first_i;
    last_q      <= last_i;
    a_q         <= a_i;
    b_q         <= b_d;
  end

  // Lanes: the operations where their steps are.
  logic                of_lanes;
  logic    [LANE:1]    result_valid_d, result_valid_q;
  logic    [FIFTH:0]   gelu, recip, exp, add, sub, max;
  logic    [FIFTH:1]   gelu_q;
  logic    [FOURTH:1]  recip_q;
  logic    [SECOND:1]  exp_q;
  logic    [THIRD:1]   add_q, sub_q, max_q;

  assign of_lanes       = valid_q && operation_q < Sum;
  assign result_valid_d = {result_valid_q[LANE-1:1], of_lanes};

  assign gelu  = {gelu_q, valid_q && operation_q == Gelu};
  assign recip = {{(FIFTH - FOURTH){1'b0}}, recip_q, valid_q && operation_q == Recip};
  assign exp   = {{(FIFTH - SECOND){1'b0}}, exp_q, valid_q && operation_q == Exp};
  assign add   = {{(FIFTH - THIRD){1'b0}}, add_q, valid_q && operation_q == Add};
  assign sub   = {{(FIFTH - THIRD){1'b0}}, sub_q, valid_q && operation_q == Sub};
  assign max   = {{(FIFTH - THIRD){1'b0}}, max_q, valid_q && operation_q == Max};

  always_ff @(posedge clk_i) begin
    gelu_q  <= gelu[FIFTH-1:0];
    recip_q <= recip[FOURTH-1:0];
    exp_q   <= exp[SECOND-1:0];
    add_q   <= add[THIRD-1:0];
    sub_q   <= sub[THIRD-1:0];
    max_q   <= max[THIRD-1:0];
  end

  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    vector_lane #(
      .EXP_BITS (EXP_BITS),
      .MAN_BITS (MAN_BITS)
    ) u_lane (
      .clk_i,
      .rst_ni,
      .multiply_i (valid_q && operation_q == Mul),
      .gelu_i     ({gelu[FIFTH], gelu[FOURTH], gelu[THIRD], gelu[SECOND], gelu[0]}),
      .exp_i      (exp[SECOND]),
      .add_i      (add[THIRD]),
      .subtract_i (sub[THIRD]),
      .max_i      (max[THIRD]),
      .recip_i    (recip[FOURTH]),
      .a_i        (a_q[l]),
      .b_i        (b_q[l]),
      .result_o   (result_o[l])
    );
  end

  // Sums.
  logic    dot, summed, sum_valid;
  number_t sum;

  assign dot    = operation_q == Dot;
  assign summed = valid_q && (dot || operation_q == Sum);

  tree_pu #(
    .LANES    (LANES),
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS)
  ) u_tree (
    .clk_i,
    .rst_ni,
    .valid_i        (summed),
    .first_i        (first_q),
    .last_i         (last_q),
    .row_i          (a_q),
    .shared_i       (dot ? b_q : {LANES{One}}),
    .result_valid_o (sum_valid),
    .result_o       (sum)
  );

  // The greatest: a tree with a register behind each level, and what was the greatest before.
  logic [LEVELS:0] greatest_valid, greatest_first, greatest_last;
  logic [LEVELS:1] greatest_valid_q, greatest_first_q, greatest_last_q;

  assign greatest_valid = {greatest_valid_q, valid_q && operation_q == Greatest};
  assign greatest_first = {greatest_first_q, first_q};
  assign greatest_last  = {greatest_last_q, last_q};

  always_ff @(posedge clk_i) begin
    greatest_first_q <= greatest_first[LEVELS-1:0];
    greatest_last_q  <= greatest_last[LEVELS-1:0];
  end

  for (genvar v = 0; v <= LEVELS; v++) begin : gen_level
    number_t [(LANES>>v)-1:0] number;

    if (v == 0) begin : gen_operands
      assign number = a_q;
    end else begin : gen_larger
      number_t [(LANES>>v)-1:0] larger_d, larger_q;

      for (genvar m = 0; m < LANES >> v; m++) begin : gen_max
        fp_max #(
          .EXP_BITS (EXP_BITS),
          .MAN_BITS (MAN_BITS)
        ) u_max (
          .clk_i,
          .rst_ni,
          .a_i      (gen_level[v-1].number[2*m]),
          .b_i      (gen_level[v-1].number[2*m+1]),
          .result_o (larger_d[m])
        );
      end

      always_ff @(posedge clk_i) larger_q <= larger_d;

      assign number = larger_q;
    end
  end

  number_t            reached, greatest, greatest_d, greatest_q;
  number_t [WAIT-1:0] waiting_q;
  logic    [WAIT-1:0] waits_d, waits_q;

  assign reached = greatest_first[LEVELS] ? Lowest : greatest_q;

  fp_max #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS)
  ) u_greatest (
    .clk_i,
    .rst_ni,
    .a_i      (gen_level[LEVELS].number[0]),
    .b_i      (reached),
    .result_o (greatest)
  );

  assign greatest_d = greatest_valid[LEVELS] ? greatest : greatest_q;

  // It waits as long as a sum takes, so that totals come in the order of their operations.
  logic ends_d, ends_q;

  assign ends_d  = greatest_valid[LEVELS] && greatest_last[LEVELS];
  assign waits_d = {waits_q[WAIT-2:0], ends_q};

  always_ff @(posedge clk_i) waiting_q <= {waiting_q[WAIT-2:0], greatest_q};

  // Totals.
  number_t total_d, total_q;
  logic    total_valid_d, total_valid_q;

  assign total_valid_d = sum_valid || waits_q[WAIT-1];

  always_comb begin
    total_d = total_q;
    if (sum_valid)            total_d = sum;
    else if (waits_q[WAIT-1]) total_d = waiting_q[WAIT-1];
  end

  always_ff @(posedge clk_i) total_q <= total_d;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q          <= 1'b0;
      result_valid_q   <= '0;
      greatest_valid_q <= '0;
      greatest_q       <= Lowest;
      ends_q           <= 1'b0;
      waits_q          <= '0;
      total_valid_q    <= 1'b0;
    end else begin
      valid_q          <= valid_i;
      result_valid_q   <= result_valid_d;
      greatest_valid_q <= greatest_valid[LEVELS-1:0];
      greatest_q       <= greatest_d;
      ends_q           <= ends_d;
      waits_q          <= waits_d;
      total_valid_q    <= total_valid_d;
    end
  end

  assign result_valid_o = result_valid_q[LANE];
  assign total_valid_o  = total_valid_q;
  assign total_o        = total_q;

  if (LANES < 4 || LANES > 128 || LANES != 1 << $clog2(LANES))
    $fatal(1, "LANES = %0d: expected a power of two, 4 to 128", LANES);
  if (WIDTH != 16 || !fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);

endmodule
