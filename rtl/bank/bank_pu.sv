// SPDX-License-Identifier: MIT
// The bank PU: multipliers and adders at a bank's row buffer, four of each in L3 (section 4.2), sixteen
// in an AiM (LoL-PIM section 2.2).
//
// A clock is one all-bank RD (tCCD_L, 5 ns on DDR4-3200; tCCD, 1 ns in an AiM): an element of row
// buffer and one of shared buffer for each multiplier, 64 bits of both in L3, may arrive in every
// clock. What follows is drawn for LANES = 4.
//
// Tree mode (accumulate_i = 0; score and FC). The beat adds
// ((row0*sh0 + row1*sh1) + (row2*sh2 + row3*sh3)) to accumulator 3; the running sum is the right
// operand, and +0 where first_i is set. Four clocks, one beat in every clock:
//
//   clock        0         1         2         3           4
//   inputs       beat
//   product[k]             row*sh
//   acc[0], [2]                      p0+p1, p2+p3
//   acc[1]                                     acc0+acc2
//   acc[3]                                                 acc1+acc3
//   result[0]                                              acc1+acc3   if last_i was set
//
// Accumulator mode (accumulate_i = 1; context). Each acc[k] takes row_k * sh[select_i] + acc[k],
// the accumulator being +0 where first_i is set:
//
//   clock        0         1         2
//   inputs       beat
//   product[k]             row*sh
//   acc[k]                           p_k+acc_k
//   result[k]                        p_k+acc_k             if last_i was set
//
// result_o holds the result until the next one, so it is read out while the accumulators take the
// next beats; result_valid_o is set for the first clock. In tree mode result[1..] keep their values.
//
// Both modes use the same adders and accumulators. Where a tree beat is still on its way when an
// accumulator beat arrives, the latter has the adders and the former is lost: leave LEVELS clocks, two,
// between the last tree beat and the first accumulator beat.
//
// More lanes. The tree is binary, and its nodes are numbered from left to right as they stand in it, so
// that an adder has as many operands as can be in common to both modes: an even acc[k] is a product and
// the next, acc[1], acc[5], acc[9] and so on are the sums of their neighbours, acc[3], acc[11] and so on
// those of the accumulators two to their left and right, and so on; the last one accumulates. With
// LANES = 16 that takes six clocks, LEVELS = 4.
//
// Reset. Only what says that something is valid is reset. What product, acc and result hold counts for
// nothing before a beat has loaded them: a sum's first beat sets first_i, and result_o holds a result
// from the first result_valid_o on. A product is loaded in every clock, and counts where its beat does.
//
// Clocks. Accumulators and results have clocks of their own, with those edges at which they are loaded:
// a gate for each level of the tree and two for the results cost less than the multiplexers that would
// hold each bit, and what holds takes no power. What opens them are registers, so that it is settled
// when the clock falls, whenever the inputs change. Products, which follow inputs, have no gate.
//
// Formats. Elements and products are of the format that EXP_BITS and MAN_BITS give. Sums are of that
// of SUM_EXP_BITS and SUM_MAN_BITS: by default the same, or a wider one (binary32), which always
// keeps its subnormal numbers. Then a product is still rounded to the element's format, so that a
// multiplier and what it computes stay the same, and is widened, exactly, as it goes into an adder:
// behind its register, which stays narrow. Adders, accumulators and result registers are wide, and
// neither order of summation nor timing changes. Accumulator mode gives four wide results. Tree mode
// gives one element: the sum is rounded before the result register (the clock of 5 ns has room for
// it), whose low bits are then what the chip sends, with zeros above.

module bank_pu #(
  /// Multipliers, and elements of a beat: a power of two, at least 4.
  parameter  int unsigned LANES        = 4,
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS     = 5,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS     = 10,
  /// 1: gradual underflow; 0: subnormal elements and products are flushed to zero, and so are sums
  /// of the same format.
  parameter  int unsigned SUBNORMALS   = 1,
  /// Width of a sum's exponent field: at least EXP_BITS.
  parameter  int unsigned SUM_EXP_BITS = EXP_BITS,
  /// Width of a sum's trailing significand field: that of an element's (with SUM_EXP_BITS =
  /// EXP_BITS), or at least two bits more.
  parameter  int unsigned SUM_MAN_BITS = MAN_BITS,
  localparam int unsigned WIDTH        = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS,
  /// Levels of the tree.
  localparam int unsigned LEVELS       = $clog2(LANES)
) (
  /// Clock: one edge in tCCD_L.
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
  /// Accumulator mode: which element of the shared buffer multiplies the row.
  input  logic [LEVELS-1:0]                     select_i,
  /// Elements from the row buffer.
  input  logic [LANES-1:0][WIDTH-1:0]           row_i,
  /// Elements from the shared buffer.
  input  logic [LANES-1:0][WIDTH-1:0]           shared_i,
  /// result_o is new in this clock.
  output logic                                  result_valid_o,
  /// Tree mode: the sum, rounded to an element, in the low bits of element 0. Accumulator mode: a sum
  /// for each multiplier.
  output logic [LANES-1:0][SUM_WIDTH-1:0]       result_o
);

  localparam bit          WIDE           = SUM_EXP_BITS != EXP_BITS || SUM_MAN_BITS != MAN_BITS;
  localparam int unsigned SUM_SUBNORMALS = WIDE ? 1 : SUBNORMALS;

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
      .STAGES     (0)
    ) u_mul (
      .clk_i,
      .rst_ni,
      .a_i      (row_i[k]),
      .b_i      (accumulate_i ? shared_i[select_i] : shared_i[k]),
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

  for (genvar k = 0; k < LANES; k++) begin : gen_add
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

  // Accumulators: those of a level are loaded together, and so are all those of the products.
  for (genvar l = 0; l <= LEVELS; l++) begin : gen_acc
    logic loads, clk;

    if (l == 0) begin : gen_loads_products
      assign loads = beat_valid_q;
    end else begin : gen_loads_sums
      assign loads = accumulate || level_valid_q[l-1];
    end

    clock_gate u_clk (.clk_i, .rst_ni, .enable_i(loads), .clk_o(clk));

    for (genvar k = (1 << l) - 1; k < LANES; k += 1 << (l + 1)) begin : gen_register
      logic [SUM_WIDTH-1:0] value_q;

      always_ff @(posedge clk) value_q <= sum[k];

      assign acc_q[k] = value_q;
    end
  end

  // Results: all of accumulator mode, or the first of tree mode.
  logic                            takes_sums, takes_score, clk_first, clk_others;
  logic [SUM_WIDTH-1:0]            first_result_q;
  logic [LANES-1:1][SUM_WIDTH-1:0] other_results_q;

  assign takes_sums     = accumulate && beat_q.last;
  assign takes_score    = !accumulate && level_valid_q[LEVELS-1] && level_q[LEVELS-1].last;
  assign result_valid_d = takes_sums || takes_score;

  clock_gate u_clk_first (.clk_i, .rst_ni, .enable_i(result_valid_d), .clk_o(clk_first));
  clock_gate u_clk_others (.clk_i, .rst_ni, .enable_i(takes_sums), .clk_o(clk_others));

  always_ff @(posedge clk_first)  first_result_q  <= accumulate ? sum[0] : score;
  always_ff @(posedge clk_others) other_results_q <= sum[LANES-1:1];

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

endmodule
