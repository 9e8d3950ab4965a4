// SPDX-License-Identifier: MIT
// PU at a bank of an AiM: multipliers and an adder tree, pipelined. Contract: tree_pu.md.

module tree_pu #(
  /// Multipliers, and elements of a beat: a power of two, at least 4.
  parameter  int unsigned LANES      = 16,
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal numbers are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers in a multiplier: 0 to 2, and one behind it.
  parameter  int unsigned MUL_STAGES = 2,
  /// Pipeline registers in an adder: 0 to 2, and one behind it.
  parameter  int unsigned ADD_STAGES = 2,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock: one edge per tCCD.
  input  logic                        clk_i,
  /// Asynchronous reset, active low.
  input  logic                        rst_ni,
  /// A beat arrives.
  input  logic                        valid_i,
  /// The beat begins a sum.
  input  logic                        first_i,
  /// The beat ends a sum.
  input  logic                        last_i,
  /// Elements from the row buffer.
  input  logic [LANES-1:0][WIDTH-1:0] row_i,
  /// Factors of the lanes, from the global buffer.
  input  logic [LANES-1:0][WIDTH-1:0] shared_i,
  /// result_o is new in this cycle.
  output logic                        result_valid_o,
  /// The sum that ended last.
  output logic [WIDTH-1:0]            result_o
);

  localparam int unsigned LEVELS = $clog2(LANES);
  // Cycles of an adder with its register; partial sums, one for each beat that is in the loop; levels of the
  // tree that adds them up.
  localparam int unsigned ADD       = ADD_STAGES + 1;
  localparam int unsigned DEPTH     = $clog2(ADD + 1);
  localparam int unsigned PARTIALS  = 1 << DEPTH;
  // Cycles from a beat to its sum over the lanes, to the operands of the loop's adder, to its partial sum in
  // the register, and to the operands of the last tree.
  localparam int unsigned IN_TREE   = MUL_STAGES + 1 + LEVELS * ADD;
  localparam int unsigned IN_LOOP   = IN_TREE + 1;
  localparam int unsigned IN_PLACE  = IN_LOOP + ADD;
  localparam int unsigned IN_RESULT = IN_PLACE + 1 + DEPTH * ADD;

  typedef logic [WIDTH-1:0] number_t;
  typedef logic [DEPTH-1:0] index_t;

  // Products.
  number_t [LANES-1:0] product_d, product_q;

  for (genvar k = 0; k < LANES; k++) begin : gen_mul
    fp_mul #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS),
      .STAGES     (MUL_STAGES),
      .FAST       (2)
    ) u_mul (
      .clk_i,
      .rst_ni,
      .a_i      (row_i[k]),
      .b_i      (shared_i[k]),
      .result_o (product_d[k])
    );
  end

  // Sums over the lanes, level by level: number m of a level is the sum of numbers 2m and 2m + 1 of the one
  // before.
  for (genvar l = 0; l <= LEVELS; l++) begin : gen_level
    number_t [(LANES>>l)-1:0] number;

    if (l == 0) begin : gen_products
      assign number = product_q;
    end else begin : gen_sums
      number_t [(LANES>>l)-1:0] sum_d, sum_q;

      for (genvar m = 0; m < LANES >> l; m++) begin : gen_add
        fp_add #(
          .EXP_BITS   (EXP_BITS),
          .MAN_BITS   (MAN_BITS),
          .SUBNORMALS (SUBNORMALS),
          .STAGES     (ADD_STAGES),
          .FAST       (1)
        ) u_add (
          .clk_i,
          .rst_ni,
          .a_i      (gen_level[l-1].number[2*m]),
          .b_i      (gen_level[l-1].number[2*m+1]),
          .result_o (sum_d[m])
        );
      end

      always_ff @(posedge clk_i) begin
        sum_q <= sum_d;
      end

      assign number = sum_q;
    end
  end

  always_ff @(posedge clk_i) begin
    product_q <= product_d;
  end

  // What accompanies a beat: where it is so many cycles after it came, and which partial sum it belongs to.
  typedef struct packed {
    logic first;
    logic last;
  } control_t;

  logic     [IN_RESULT:1] valid_d, valid_q;
  control_t [IN_TREE:1]   control_d, control_q;

  assign control_d = ($bits(control_d))'({control_q, first_i, last_i});

  // The loop. Partial sum n has beats n, n + PARTIALS and so on of a sum: the one that it was added to is
  // there before the next comes.
  control_t                  beat;
  index_t                    index, index_d, index_q;
  logic                      wraps_d, wraps_q, begins;
  logic   [IN_PLACE:IN_LOOP] is_last_d, is_last_q;
  index_t [IN_PLACE:IN_LOOP] place_d, place_q;
  logic   [IN_PLACE:IN_LOOP] full_d, full_q;
  number_t                   left_d, left_q, right_d, right_q, sum;
  number_t [PARTIALS-1:0]    partial_d, partial_q, operand_d, operand_q;

  assign beat      = control_q[IN_TREE];
  assign index     = beat.first ? '0 : index_q;
  assign begins    = beat.first || !wraps_q;
  assign left_d    = gen_level[LEVELS].number[0];
  assign right_d   = begins ? '0 : partial_q[index];
  assign is_last_d = {is_last_q[IN_PLACE-1:IN_LOOP], beat.last};
  assign place_d   = {place_q[IN_PLACE-1:IN_LOOP], index};
  assign full_d    = {full_q[IN_PLACE-1:IN_LOOP], !begins || index == '1};

  // Behind the loop a beat counts that ends a sum.
  always_comb begin
    valid_d             = {valid_q[IN_RESULT-1:1], valid_i};
    valid_d[IN_PLACE+1] = valid_q[IN_PLACE] && is_last_q[IN_PLACE];
  end

  always_comb begin
    index_d = index_q;
    wraps_d = wraps_q;
    if (valid_q[IN_TREE]) begin
      index_d = index + index_t'(1);
      wraps_d = !begins || index == '1;
    end
  end

  fp_add #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS),
    .STAGES     (ADD_STAGES),
    .FAST       (1)
  ) u_loop (
    .clk_i,
    .rst_ni,
    .a_i      (left_q),
    .b_i      (right_q),
    .result_o (sum)
  );

  // Partial sums, and as they are added up: those that a short sum does not have are +0.
  logic [PARTIALS-1:0] lacks;

  assign lacks = full_q[IN_PLACE] ? '0 : PARTIALS'(~1) << place_q[IN_PLACE];

  for (genvar p = 0; p < PARTIALS; p++) begin : gen_partial
    logic loads;

    assign loads        = valid_q[IN_PLACE-1] && place_q[IN_PLACE-1] == index_t'(p);
    assign partial_d[p] = loads ? sum : partial_q[p];
    assign operand_d[p] = lacks[p] ? '0 : partial_q[p];
  end

  for (genvar l = 0; l <= DEPTH; l++) begin : gen_last
    number_t [(PARTIALS>>l)-1:0] number;

    if (l == 0) begin : gen_operands
      assign number = operand_q;
    end else begin : gen_sums
      number_t [(PARTIALS>>l)-1:0] sum_d, sum_q;

      for (genvar m = 0; m < PARTIALS >> l; m++) begin : gen_add
        fp_add #(
          .EXP_BITS   (EXP_BITS),
          .MAN_BITS   (MAN_BITS),
          .SUBNORMALS (SUBNORMALS),
          .STAGES     (ADD_STAGES),
          .FAST       (1)
        ) u_add (
          .clk_i,
          .rst_ni,
          .a_i      (gen_last[l-1].number[2*m]),
          .b_i      (gen_last[l-1].number[2*m+1]),
          .result_o (sum_d[m])
        );
      end

      // The last level has the result, which stays.
      if (l == DEPTH) begin : gen_result
        always_ff @(posedge clk_i) begin
          sum_q <= valid_q[IN_RESULT-1] ? sum_d : sum_q;
        end
      end else begin : gen_sum
        always_ff @(posedge clk_i) begin
          sum_q <= sum_d;
        end
      end

      assign number = sum_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      index_q <= '0;
      wraps_q <= 1'b0;
    end else begin
      valid_q <= valid_d;
      index_q <= index_d;
      wraps_q <= wraps_d;
    end
  end

  always_ff @(posedge clk_i) begin
    control_q <= control_d;
    is_last_q <= is_last_d;
    place_q   <= place_d;
    full_q    <= full_d;
    left_q    <= left_d;
    right_q   <= right_d;
    partial_q <= partial_d;
    operand_q <= operand_d;
  end

  assign result_valid_o = valid_q[IN_RESULT];
  assign result_o       = gen_last[DEPTH].number[0];

  if (LANES < 4 || LANES != 1 << $clog2(LANES))
    $fatal(1, "LANES = %0d: expected a power of two, 4 or more", LANES);
  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);
  if (MUL_STAGES > 2 || ADD_STAGES > 2)
    $fatal(1, "MUL_STAGES, ADD_STAGES = %0d, %0d: expected 0 to 2", MUL_STAGES, ADD_STAGES);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "expected a format: %0d, %0d", EXP_BITS, MAN_BITS);

endmodule
