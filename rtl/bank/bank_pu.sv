// SPDX-License-Identifier: MIT
// PU at a bank: multipliers and adders at the bank's row buffer. Contract: bank_pu.md.

module bank_pu #(
  /// Multipliers, and elements of a beat: a power of two, at least 4.
  parameter  int unsigned LANES        = 4,
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS     = 5,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS     = 10,
  /// 1: gradual underflow; 0: subnormal elements and products are flushed to zero.
  /// Sums of the same format are flushed too.
  parameter  int unsigned SUBNORMALS   = 1,
  /// Width of a sum's exponent field: at least EXP_BITS.
  parameter  int unsigned SUM_EXP_BITS = EXP_BITS,
  /// Width of a sum's trailing significand field.
  /// It is MAN_BITS (with SUM_EXP_BITS = EXP_BITS), or at least MAN_BITS + 2.
  parameter  int unsigned SUM_MAN_BITS = MAN_BITS,
  /// 1: the adders have a register on the falling edge, where the glitches of their sums end; 0: none.
  /// Adders of a wider format have none, as half of the clock is too short for them.
  parameter  int unsigned HALF_STAGE   = 0,
  /// Sets of rows in which a multiplier adds up its partial products: 1 is smallest, 3 takes the least power.
  parameter  int unsigned SETS         = 3,
  /// 1: gates before the results, which then see no sum but those that they take; 0: none.
  parameter  int unsigned RESULT_GATES = 0,
  localparam int unsigned WIDTH        = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS,
  /// Levels of the adder tree.
  localparam int unsigned LEVELS       = $clog2(LANES)
) (
  /// Clock: one edge per tCCD_L.
  input  logic                                  clk_i,
  /// Asynchronous reset, active low.
  input  logic                                  rst_ni,
  /// A beat arrives.
  input  logic                                  valid_i,
  /// 0: tree mode; 1: accumulator mode.
  input  logic                                  accumulate_i,
  /// The accumulators' operand is +0 for this beat.
  input  logic                                  first_i,
  /// The sum with this beat is a result.
  input  logic                                  last_i,
  /// Elements from the row buffer.
  input  logic [LANES-1:0][WIDTH-1:0]           row_i,
  /// Factors of the lanes, from the shared buffer; accumulator mode: one element in all lanes.
  input  logic [LANES-1:0][WIDTH-1:0]           shared_i,
  /// result_o is new in this cycle.
  output logic                                  result_valid_o,
  /// Tree mode: the sum as an element, in the low bits; accumulator mode: a sum per lane.
  output logic [LANES-1:0][SUM_WIDTH-1:0]       result_o
);

  localparam bit          WIDE           = SUM_EXP_BITS != EXP_BITS || SUM_MAN_BITS != MAN_BITS;
  localparam int unsigned SUM_SUBNORMALS = WIDE ? 1 : SUBNORMALS;
  localparam int unsigned ADD_HALF_STAGE = WIDE ? 0 : HALF_STAGE;

  // What accompanies a beat through the pipeline.
  typedef struct packed {
    logic first;
    logic last;
  } control_t;

  // The beat in product_q and its mode; the tree beat on each level of the tree.
  logic                            beat_valid_q, beat_accumulates_q;
  control_t                        beat_d, beat_q;
  logic     [LEVELS-1:0]           level_valid_d, level_valid_q;
  control_t [LEVELS-1:0]           level_d, level_q;
  logic [LANES-1:0][WIDTH-1:0]     product_d, product_q;
  logic [LANES-1:0][SUM_WIDTH-1:0] term;
  logic [LANES-1:0][SUM_WIDTH-1:0] sum, acc_q;
  logic [SUM_WIDTH-1:0]            score;
  logic                            result_valid_d, result_valid_q;
  logic [LANES-1:0][SUM_WIDTH-1:0] result_q;

  // Multipliers.
  for (genvar k = 0; k < LANES; k++) begin : gen_mul
    fp_mul #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS),
      .STAGES     (0),
      .SETS       (SETS)
    ) u_mul (
      .clk_i,
      .rst_ni,
      .a_i      (row_i[k]),
      .b_i      (shared_i[k]),
      .result_o (product_d[k])
    );
  end

  assign beat_d = '{first: first_i, last: last_i};

  // The products as the adders take them, and the sum of tree mode as it leaves.
  if (WIDE) begin : gen_convert
    logic [WIDTH-1:0] rounded;

    for (genvar k = 0; k < LANES; k++) begin : gen_widen
      fp_widen #(
        .EXP_BITS      (EXP_BITS),
        .MAN_BITS      (MAN_BITS),
        .SUBNORMALS    (SUBNORMALS),
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_widen (
        .clk_i,
        .rst_ni,
        .a_i      (product_q[k]),
        .result_o (term[k])
      );
    end

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
      .a_i      (sum[LANES-1]),
      .result_o (rounded)
    );

    assign score = SUM_WIDTH'(rounded);
  end else begin : gen_same
    assign term  = product_q;
    assign score = sum[LANES-1];
  end

  // Adders: their operands depend on the mode of the beat in product_q. In accumulator mode these are
  // the product and the accumulator of the same number.
  logic                            accumulate;
  logic [LANES-1:0][SUM_WIDTH-1:0] left, right;

  assign accumulate = beat_valid_q && beat_accumulates_q;

  for (genvar k = 0; k < LANES; k += 2) begin : gen_products
    assign left[k]  = term[k];
    assign right[k] = !beat_accumulates_q ? term[k+1] : beat_q.first ? '0 : acc_q[k];
  end

  for (genvar l = 1; l < LEVELS; l++) begin : gen_level
    for (genvar k = (1 << l) - 1; k < LANES; k += 1 << (l + 1)) begin : gen_sums
      localparam int unsigned CHILD = 1 << (l - 1);

      assign left[k]  = accumulate ? term[k] : acc_q[k-CHILD];
      assign right[k] = !accumulate ? acc_q[k+CHILD] : beat_q.first ? '0 : acc_q[k];
    end
  end

  assign left[LANES-1]  = accumulate ? term[LANES-1] : acc_q[LANES/2-1];
  assign right[LANES-1] = (accumulate ? beat_q.first : level_q[LEVELS-1].first)
                          ? '0 : acc_q[LANES-1];

  logic [LANES-1:0] clk_add;

  for (genvar k = 0; k < LANES; k++) begin : gen_add
    fp_add #(
      .EXP_BITS   (SUM_EXP_BITS),
      .MAN_BITS   (SUM_MAN_BITS),
      .SUBNORMALS (SUM_SUBNORMALS),
      .STAGES     (0),
      .HALF_STAGE (ADD_HALF_STAGE)
    ) u_add (
      .clk_i    (clk_add[k]),
      .rst_ni,
      .a_i      (left[k]),
      .b_i      (right[k]),
      .result_o (sum[k])
    );
  end

  // Accumulators: those of a level are loaded together, and so are all those of the products. The registers
  // in their adders are loaded half a cycle before.
  for (genvar l = 0; l <= LEVELS; l++) begin : gen_acc
    logic loads, clk, clk_half;

    if (l == 0) begin : gen_loads_products
      assign loads = beat_valid_q;
    end else begin : gen_loads_sums
      assign loads = accumulate || level_valid_q[l-1];
    end

    clock_gate u_clk (.clk_i, .rst_ni, .enable_i(loads), .clk_o(clk));

    if (ADD_HALF_STAGE != 0) begin : gen_half
      falling_gate u_clk_half (.clk_i, .enable_i(loads), .clk_o(clk_half));
    end else begin : gen_no_half
      assign clk_half = clk_i;
    end

    for (genvar k = (1 << l) - 1; k < LANES; k += 1 << (l + 1)) begin : gen_register
      logic [SUM_WIDTH-1:0] value_q;

      always_ff @(posedge clk) value_q <= sum[k];

      assign acc_q[k]   = value_q;
      assign clk_add[k] = clk_half;
    end
  end

  // Results: all of accumulator mode, or the first of tree mode.
  logic                            takes_sums, takes_score, clk_first, clk_others;
  logic [SUM_WIDTH-1:0]            first_result_d, first_result_q;
  logic [LANES-1:1][SUM_WIDTH-1:0] other_results_d, other_results_q;

  assign takes_sums     = accumulate && beat_q.last;
  assign takes_score    = !accumulate && level_valid_q[LEVELS-1] && level_q[LEVELS-1].last;
  assign result_valid_d = takes_sums || takes_score;

  if (RESULT_GATES != 0) begin : gen_result_gates
    assign first_result_d  = ({SUM_WIDTH{takes_sums}} & sum[0]) | ({SUM_WIDTH{takes_score}} & score);
    assign other_results_d = {(LANES-1)*SUM_WIDTH{takes_sums}} & sum[LANES-1:1];
  end else begin : gen_no_result_gates
    assign first_result_d  = accumulate ? sum[0] : score;
    assign other_results_d = sum[LANES-1:1];
  end

  clock_gate u_clk_first (.clk_i, .rst_ni, .enable_i(result_valid_d), .clk_o(clk_first));
  clock_gate u_clk_others (.clk_i, .rst_ni, .enable_i(takes_sums), .clk_o(clk_others));

  always_ff @(posedge clk_first)  first_result_q  <= first_result_d;
  always_ff @(posedge clk_others) other_results_q <= other_results_d;

  assign result_q = {other_results_q, first_result_q};

  // What is valid, and what goes with it.
  assign level_valid_d = LEVELS'({level_valid_q, beat_valid_q && !beat_accumulates_q});
  assign level_d       = ($bits(level_d))'({level_q, beat_q});

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_valid_q   <= 1'b0;
      level_valid_q  <= '0;
      result_valid_q <= 1'b0;
    end else begin
      beat_valid_q   <= valid_i;
      level_valid_q  <= level_valid_d;
      result_valid_q <= result_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    beat_q             <= beat_d;
    beat_accumulates_q <= accumulate_i;
    level_q            <= level_d;
    product_q          <= product_d;
  end

  assign result_valid_o = result_valid_q;
  assign result_o       = result_q;

  if (LANES < 4 || LANES != 1 << $clog2(LANES))
    $fatal(1, "LANES = %0d: expected a power of two, 4 or more", LANES);
  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);
  if (HALF_STAGE > 1 || RESULT_GATES > 1)
    $fatal(1, "HALF_STAGE, RESULT_GATES = %0d, %0d: expected 0 or 1", HALF_STAGE, RESULT_GATES);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) ||
      !fp_pkg::is_sum_format(EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "expected formats: %0d, %0d, sums %0d, %0d", EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS);

endmodule
