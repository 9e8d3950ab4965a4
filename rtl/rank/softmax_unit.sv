// SPDX-License-Identifier: MIT
// Softmax unit of the rank PU: chunks of 16 scores, in two passes. Contract: softmax_unit.md.

module softmax_unit #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field: 10 or 7.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// 0: weights are normalised; 1: they are exponentials, and the context's sums are normalised.
  parameter  int unsigned LATE       = 0,
  /// Query heads whose state is kept, at least 2.
  parameter  int unsigned HEADS      = 8,
  /// Lanes: scores and weights of a cycle: 1, 2 or 4.
  parameter  int unsigned GEAR       = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned HEAD_BITS  = $clog2(HEADS)
) (
  /// Clock: one edge per cycle of the core, GEAR tCK.
  input  logic                       clk_i,
  /// Asynchronous reset, active low.
  input  logic                       rst_ni,
  /// Pass 1: a group of GEAR scores arrives.
  input  logic                       score_valid_i,
  /// Pass 1: the scores.
  input  logic [GEAR-1:0][WIDTH-1:0] score_i,
  /// Pass 1: factor of the scores.
  input  logic [WIDTH-1:0]           scale_i,
  /// Pass 1: the scores that are masked, which makes them -infinity.
  input  logic [GEAR-1:0]            mask_i,
  /// Pass 1: head of the chunk that begins.
  input  logic [HEAD_BITS-1:0]       head_i,
  /// Pass 1: the chunk that begins is the first of its head.
  input  logic                       first_i,
  /// A finish is offered: the sum of a head is complete with the chunks that have begun.
  input  logic                       finish_i,
  /// Head of the finish.
  input  logic [HEAD_BITS-1:0]       finish_head_i,
  /// Pass 2: a group of GEAR scaled scores arrives.
  input  logic                       weigh_valid_i,
  /// Pass 2: the scaled scores.
  input  logic [GEAR-1:0][WIDTH-1:0] weigh_i,
  /// Pass 2: head of the scaled scores.
  input  logic [HEAD_BITS-1:0]       weigh_head_i,
  /// LATE = 1: a sum of the context arrives.
  input  logic                       sum_valid_i,
  /// LATE = 1: the sum of the context, in binary32.
  input  logic [31:0]                sum_i,
  /// LATE = 1: head of the sum.
  input  logic [HEAD_BITS-1:0]       sum_head_i,
  /// scaled_o are scaled scores, for the score buffer.
  output logic                       scaled_valid_o,
  /// Pass 1: the scaled scores.
  output logic [GEAR-1:0][WIDTH-1:0] scaled_o,
  /// max_o is the maximum of a head after a chunk.
  output logic                       max_valid_o,
  /// Running maximum of a head.
  output logic [WIDTH-1:0]           max_o,
  /// exp_o are exponentials of pass 1.
  output logic                       exp_valid_o,
  /// Exponentials of pass 1; also those of pass 2, seven cycles after their scores.
  output logic [GEAR-1:0][WIDTH-1:0] exp_o,
  /// With the last exponentials of a chunk: factor of the head's sum.
  output logic [WIDTH-1:0]           factor_o,
  /// A finish offered in this cycle is accepted.
  output logic                       finish_ready_o,
  /// recip_o is the reciprocal of a finished head's sum, which it has replaced.
  output logic                       finished_o,
  /// Reciprocal of a finished head's sum, in binary32, until the next division.
  output logic [31:0]                recip_o,
  /// Pass 2: scaled scores offered in this cycle are accepted.
  output logic                       weigh_ready_o,
  /// weight_o are weights.
  output logic                       weight_valid_o,
  /// Weights of scaled scores of pass 2.
  output logic [GEAR-1:0][WIDTH-1:0] weight_o,
  /// LATE = 1: a sum offered in this cycle is accepted.
  output logic                       sum_ready_o,
  /// LATE = 1: context_o is a normalised sum.
  output logic                       context_valid_o,
  /// LATE = 1: the normalised sum of the context.
  output logic [WIDTH-1:0]           context_o
);

  localparam int unsigned         CHUNK        = 16;
  localparam int unsigned         GROUPS       = CHUNK / GEAR;
  localparam int unsigned         GROUP_BITS   = $clog2(GROUPS);
  localparam int unsigned         LANE_BITS    = GEAR == 1 ? 1 : $clog2(GEAR);
  localparam int unsigned         INT_BITS     = 18;            // of a sum
  localparam int unsigned         TOTAL        = INT_BITS + 24;
  localparam int unsigned         R_BITS       = TOTAL / 3;     // of a reciprocal's significand, and of a digit
  localparam logic [EXP_BITS-1:0] TOP_EXPONENT = '1;
  localparam logic [WIDTH-1:0]    LOWEST       = {1'b1, TOP_EXPONENT, {MAN_BITS{1'b0}}};
  localparam logic [WIDTH-1:0]    NAN          = {1'b0, TOP_EXPONENT, 1'b1, {(MAN_BITS - 1){1'b0}}};
  localparam logic [WIDTH-1:0]    ONE          = {2'b00, {(EXP_BITS - 1){1'b1}}, {MAN_BITS{1'b0}}};
  localparam logic [GROUP_BITS-1:0] LAST       = '1;

  // Cycles: of the multiplier of scores; from minuends to exponentials; of the multiplier of sums; from a
  // finish to its division.
  localparam int unsigned SCALE = 3;
  localparam int unsigned EXP   = 6;
  localparam int unsigned MUL   = GEAR < 4 ? 2 : 1;
  localparam int unsigned DRAIN = GROUPS + 17;
  localparam int unsigned DRAIN_BITS = $clog2(DRAIN + 1);

  typedef logic [HEAD_BITS-1:0]  head_t;
  typedef logic [GROUP_BITS-1:0] place_t;
  typedef logic [LANE_BITS-1:0]  lane_t;
  typedef logic [WIDTH-1:0]      value_t;

  // Whose a group of scores is.
  typedef struct packed {
    head_t head;
    logic  first;
  } origin_t;

  // The chunk whose exponentials are computed.
  typedef struct packed {
    origin_t origin;
    logic    raised;  // it has raised the maximum, first at peak
    place_t  peak;
    lane_t   lane;
  } chunk_t;

  // What accompanies a group through subtractors and exponential units.
  typedef struct packed {
    head_t           head;
    logic            first;    // pass 1: the chunk is the head's first
    logic            start;    // pass 1: the chunk's first group
    logic            last;     // pass 1: the chunk's last group
    logic            finite;   // the maximum is a number
    logic [GEAR-1:0] rescale;  // pass 1: the element is the chunk's maximum: compute the factor
  } stage_t;

  // A head's sum: its digits. Or its reciprocal, in the lowest of them the mantissa.
  typedef struct packed {
    logic                   nan;
    logic [2:0][R_BITS-1:0] digits;
  } word_t;

  // The middle digit of a reciprocal: what is of use in it.
  typedef struct packed {
    logic       infinite;
    logic [7:0] exponent;
  } recip_t;

  // State of the heads, and what of it there is since the reset: a maximum; as the word, a sum or a reciprocal.
  // What there is not counts as NaN.
  value_t [HEADS-1:0] maximum;
  word_t  [HEADS-1:0] total;
  logic   [HEADS-1:0] has_maximum_d, has_maximum_q, has_sum_d, has_sum_q, has_recip_d, has_recip_q;

  // Scale.
  place_t                  position_d, position_q;  // of the next group of scores
  origin_t                 origin_d;
  origin_t [SCALE-1:0]     origin_q;                // of the groups in the multipliers
  logic    [SCALE-1:0]     scale_valid_d, scale_valid_q;
  logic [SCALE-2:0][GEAR-1:0] mask_q;
  value_t  [GEAR-1:0]      scaled, scaled_d, scaled_q;

  assign position_d    = position_q + place_t'(score_valid_i);
  assign scale_valid_d = {scale_valid_q[SCALE-2:0], score_valid_i};

  always_comb begin
    origin_d = origin_q[0];
    if (score_valid_i && position_q == '0) origin_d = '{head: head_i, first: first_i};
  end

  for (genvar g = 0; g < GEAR; g++) begin : gen_scale
    // Their registers hold nothing but data.
    fp_mul #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS),
      .STAGES     (SCALE - 1),
      .FAST       (1)
    ) u_scale (
      .clk_i,
      .rst_ni   (1'b1),
      .a_i      (score_i[g]),
      .b_i      (scale_i),
      .result_o (scaled[g])
    );

    assign scaled_d[g] = mask_q[SCALE-2][g] ? LOWEST : scaled[g];
  end

  // Find the maximum; keep the scaled scores until it is known. As NaN is canonical, numbers are in the
  // order of their keys.
  place_t                       place_d, place_q;  // of scaled_q in its chunk
  logic                         scaled_valid, complete, raises, begins;
  head_t                        maximum_head;
  value_t                       maximum_read, before_chunk, above_d, above_q, largest, larger;
  lane_t                        lane;
  value_t                       old_q;
  logic                         raised_d, raised_q;
  place_t                       peak_q;
  lane_t                        peak_lane_q;
  value_t [GROUPS-1:0][GEAR-1:0] chunk;

  function automatic value_t key(value_t x);
    return {!x[WIDTH-1], x[WIDTH-2:0] ^ {(WIDTH - 1){x[WIDTH-1]}}};
  endfunction

  assign scaled_valid = scale_valid_q[SCALE-1];
  assign complete     = scaled_valid && place_q == LAST;
  assign place_d      = place_q + place_t'(scaled_valid);

  always_comb begin
    largest = scaled_q[0];
    lane    = '0;
    for (int unsigned g = 1; g < GEAR; g++) begin
      if (key(scaled_q[g]) > key(largest)) begin
        largest = scaled_q[g];
        lane    = lane_t'(g);
      end
    end
  end

  assign raises = key(largest) > key(above_q);
  assign larger = raises ? largest : above_q;

  // The maximum before the next group. Where that is a chunk's first, pass 2 does not have the maxima.
  assign begins       = scale_valid_q[SCALE-2] && place_d == '0;
  assign maximum_head = begins ? origin_q[SCALE-2].head : weigh_head_i;
  assign maximum_read = has_maximum_q[maximum_head] ? maximum[maximum_head] : NAN;

  always_comb begin
    before_chunk = maximum_read;
    if (complete && origin_q[SCALE-1].head == origin_q[SCALE-2].head) before_chunk = larger;
    if (origin_q[SCALE-2].first) before_chunk = LOWEST;
    above_d = scaled_valid ? larger : above_q;
    if (place_d == '0) above_d = before_chunk;
  end

  assign raised_d = raises || (raised_q && place_q != '0);

  // Subtract the maximum, group by group of the complete chunk; instead of a new maximum the old one.
  // Pass 2 has the cycles between.
  logic                    active_d, active_q;
  logic [2:0]              ended_q;  // the chunk's sum is still multiplied
  place_t                  element_d, element_q;
  chunk_t                  active_chunk_q;
  value_t                  active_max_q, active_old_q;
  logic                    weighs;
  logic [EXP:0]            chunk_valid_d, chunk_valid_q, weigh_valid_d, weigh_valid_q;
  stage_t                  stage_d;
  stage_t [EXP:0]          stage_q;
  value_t [GEAR-1:0]       minuend_d, minuend_q, difference;
  logic [GEAR-1:0][WIDTH-2:0] difference_d, difference_q;  // without its sign: it is not positive
  value_t                  subtrahend_d, subtrahend_q;
  logic [GEAR-1:0]         lowest, unused_signs;
  logic [1:0][GEAR-1:0]    lowest_q;

  always_comb begin
    active_d  = active_q;
    element_d = element_q;
    if (active_q) begin
      active_d  = element_q != LAST;
      element_d = element_q + place_t'(1);
    end
    if (complete) active_d = 1'b1;
  end

  assign weighs        = weigh_valid_i && weigh_ready_o;
  assign chunk_valid_d = {chunk_valid_q[EXP-1:0], active_q};
  assign weigh_valid_d = {weigh_valid_q[EXP-1:0], weighs};

  assign stage_d.head   = active_q ? active_chunk_q.origin.head : weigh_head_i;
  assign stage_d.first  = active_chunk_q.origin.first;
  assign stage_d.start  = element_q == '0;
  assign stage_d.last   = element_q == LAST;
  assign stage_d.finite = active_max_q[MAN_BITS+:EXP_BITS] != TOP_EXPONENT;

  for (genvar g = 0; g < GEAR; g++) begin : gen_rescale
    assign stage_d.rescale[g] = active_q && active_chunk_q.raised && element_q == active_chunk_q.peak
                                && active_chunk_q.lane == lane_t'(g);
  end

  assign subtrahend_d = active_q ? active_max_q : maximum_read;

  for (genvar g = 0; g < GEAR; g++) begin : gen_subtract
    always_comb begin
      if (!active_q)               minuend_d[g] = weigh_i[g];
      else if (stage_d.rescale[g]) minuend_d[g] = active_old_q;
      else                         minuend_d[g] = chunk[element_q][g];
    end

    fp_add #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS),
      .STAGES     (2)
    ) u_subtract (
      .clk_i,
      .rst_ni   (1'b1),
      .a_i      (minuend_q[g]),
      .b_i      ({!subtrahend_q[WIDTH-1], subtrahend_q[WIDTH-2:0]}),
      .result_o (difference[g])
    );

    // -infinity - -infinity would be NaN.
    assign lowest[g]       = minuend_q[g] == LOWEST;
    assign difference_d[g] = lowest_q[1][g] ? LOWEST[WIDTH-2:0] : difference[g][WIDTH-2:0];
    assign unused_signs[g] = difference[g][WIDTH-1];
  end

  // Exponentiate.
  value_t [GEAR-1:0] exponential, exp_d, exp_q;
  value_t            factor_d, factor_q;

  for (genvar g = 0; g < GEAR; g++) begin : gen_exp
    fp_exp #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS),
      .STAGES     (2)
    ) u_exp (
      .clk_i,
      .rst_ni   (1'b1),
      .a_i      ({1'b1, difference_q[g]}),
      .result_o (exponential[g])
    );

    always_comb begin
      exp_d[g] = exponential[g];
      if (stage_q[EXP-1].rescale[g]) exp_d[g] = stage_q[EXP-1].finite ? ONE : NAN;
    end
  end

  // A sum before the first chunk is nothing, whatever there is.
  always_comb begin
    factor_d = factor_q;
    if (chunk_valid_q[EXP-1] && stage_q[EXP-1].start) factor_d = stage_q[EXP-1].first ? '0 : ONE;
    for (int unsigned g = 0; g < GEAR; g++) begin
      if (stage_q[EXP-1].rescale[g]) factor_d = exponential[g];
    end
  end

  // A word of the heads for the multiplier: one by one the digits of a chunk's sum; otherwise a reciprocal.
  // The divider has it where it is free.
  localparam int unsigned X_EXP   = LATE != 0 ? 8 : EXP_BITS;
  localparam int unsigned X_MAN   = LATE != 0 ? 23 : MAN_BITS;
  localparam int unsigned PRODUCT = R_BITS + X_MAN + 1;
  localparam int unsigned PART    = R_BITS + MAN_BITS + 1;
  localparam int unsigned NORMS   = LATE != 0 ? 1 : GEAR;

  logic [2:0]                      takes;  // a digit, the lowest first
  logic                            takes_recip, last;
  logic [1:0]                      later_q;  // digits but the first are taken
  logic                            rescale_q;
  head_t                           word_head, combine_head_q;
  word_t                           word;
  logic                            is_sum, is_recip;
  recip_t                          recip;
  logic [R_BITS-1:0]               operand_d, operand_q;
  logic [7:0]                      exponent_q;
  logic                            infinite_q, operand_nan_q;
  logic [NORMS-1:0][X_EXP+X_MAN:0] x;
  logic [NORMS-1:0][PRODUCT-1:0]   product;
  logic [NORMS-1:0][WIDTH-1:0]     normalised;
  logic [MAN_BITS:0]               factor;
  logic                            starts, waits;
  head_t                           finish_head_q;
  logic                            write;
  word_t                           combined;

  assign last  = chunk_valid_q[EXP] && stage_q[EXP].last;
  assign takes = {later_q, last};

  always_comb begin
    if (takes[0])         word_head = stage_q[EXP].head;
    else if (takes != '0) word_head = combine_head_q;
    else if (takes_recip) word_head = LATE != 0 ? sum_head_i : stage_q[EXP-1].head;
    else                  word_head = finish_head_q;
  end

  // At the highest gear a chunk may be in need of the sum that is being written.
  if (GEAR == 4) begin : gen_bypass
    logic forwards;

    assign forwards = write && combine_head_q == word_head;
    assign word     = forwards ? combined : total[word_head];
    assign is_sum   = forwards || has_sum_q[word_head];
    assign is_recip = !forwards && has_recip_q[word_head];
  end else begin : gen_word
    assign word     = total[word_head];
    assign is_sum   = has_sum_q[word_head];
    assign is_recip = has_recip_q[word_head];
  end

  assign recip = word.digits[1][$bits(recip_t)-1:0];

  always_comb begin
    operand_d = {1'b1, word.digits[0][R_BITS-2:0]};
    for (int unsigned d = 0; d < 3; d++) begin
      if (takes[d]) operand_d = word.digits[d];
    end
  end

  for (genvar n = 0; n < NORMS; n++) begin : gen_norm
    softmax_norm #(
      .EXP_BITS     (EXP_BITS),
      .MAN_BITS     (MAN_BITS),
      .SUBNORMALS   (SUBNORMALS),
      .X_EXP_BITS   (X_EXP),
      .X_MAN_BITS   (X_MAN),
      .X_SUBNORMALS (LATE != 0 ? 0 : SUBNORMALS),
      .R_BITS       (R_BITS),
      .STAGES       (MUL)
    ) u_norm (
      .clk_i,
      .a_i        (operand_q),
      .exponent_i (exponent_q),
      .infinite_i (infinite_q),
      .nan_i      (operand_nan_q),
      .x_i        (x[n]),
      .rescale_i  (n == 0 && rescale_q),
      .factor_i   ((X_MAN + 1)'(factor)),
      .product_o  (product[n]),
      .result_o   (normalised[n])
    );
  end

  // What is normalised, and when it is there.
  logic [MUL+1:0] norm_valid_d, norm_valid_q;

  if (LATE != 0) begin : gen_late
    logic [31:0] x_q;
    logic        unused_high;

    always_ff @(posedge clk_i) x_q <= sum_i;

    assign x[0]            = x_q;
    assign unused_high     = &{1'b0, product[0][PRODUCT-1:PART]};
    assign sum_ready_o     = takes == '0 && !waits;
    assign takes_recip     = sum_valid_i && sum_ready_o;
    assign norm_valid_d    = {norm_valid_q[MUL:0], takes_recip};
    assign weight_valid_o  = weigh_valid_q[EXP];
    assign weight_o        = exp_q;
    assign context_valid_o = norm_valid_q[MUL+1];
    assign context_o       = normalised[0];
  end else begin : gen_early
    logic unused_sum;

    assign unused_sum      = &{1'b0, sum_valid_i, sum_i, sum_head_i, product, norm_valid_q[MUL+1]};
    assign x               = exp_q;
    assign sum_ready_o     = 1'b0;
    assign takes_recip     = weigh_valid_q[EXP-1];
    assign norm_valid_d    = {norm_valid_q[MUL:0], weigh_valid_q[EXP]};
    assign weight_valid_o  = norm_valid_q[MUL];
    assign weight_o        = normalised;
    assign context_valid_o = 1'b0;
    assign context_o       = '0;
  end

  // Add up.
  softmax_sum #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .GEAR     (GEAR),
    .DIGIT    (R_BITS),
    .STAGES   (MUL)
  ) u_sum (
    .clk_i,
    .rst_ni,
    .valid_i   (chunk_valid_q[EXP]),
    .start_i   (stage_q[EXP].start),
    .last_i    (last),
    .exp_i     (exp_q),
    .factor_i  (factor_q),
    .nan_i     (operand_nan_q),
    .factor_o  (factor),
    .product_i (product[0][PART-1:0]),
    .write_o   (write),
    .nan_o     (combined.nan),
    .total_o   (combined.digits)
  );

  // Finish: wait for a chunk of the head that is not complete, and as long as one may be in the unit.
  logic                  pending_d, pending_q, draining_d, draining_q, dividing_d, dividing_q, finished_q;
  logic [DRAIN_BITS-1:0] drain_d, drain_q;
  logic                  incomplete, divided, store, recip_infinite;
  logic [7:0]            recip_exponent;
  logic [R_BITS-2:0]     recip_mantissa;
  logic                  finish_nan_d, finish_nan_q;
  word_t                 quotient;

  assign incomplete = position_q != '0 && origin_q[0].head == finish_head_q;
  assign waits      = draining_q && drain_q <= DRAIN_BITS'(EXP);
  assign starts     = draining_q && drain_q == '0 && takes == '0 && !takes_recip;
  assign store      = dividing_q && divided && !write && takes == '0;
  assign finish_nan_d = starts ? word.nan || !is_sum : finish_nan_q;

  always_comb begin
    pending_d     = pending_q && incomplete;
    draining_d    = (draining_q && !starts) || (pending_q && !incomplete);
    drain_d       = drain_q == '0 ? '0 : drain_q - DRAIN_BITS'(1);
    dividing_d    = (dividing_q && !store) || starts;
    if (pending_q) drain_d = DRAIN_BITS'(DRAIN - 1);
    if (finish_ready_o && finish_i) begin
      pending_d = 1'b1;
    end
  end

  softmax_recip #(.INT_BITS(INT_BITS), .BITS(R_BITS), .ROWS(GEAR < 4 ? 1 : 2)) u_recip (
    .clk_i,
    .rst_ni,
    .start_i    (starts),
    .sum_i      (word.digits),
    .done_o     (divided),
    .infinite_o (recip_infinite),
    .exponent_o (recip_exponent),
    .mantissa_o (recip_mantissa)
  );

  always_comb begin
    has_maximum_d = has_maximum_q;
    has_sum_d     = has_sum_q;
    has_recip_d   = has_recip_q;
    if (complete) has_maximum_d[origin_q[SCALE-1].head] = 1'b1;
    if (write) begin
      has_sum_d[combine_head_q]   = 1'b1;
      has_recip_d[combine_head_q] = 1'b0;
    end
    if (store) begin
      has_sum_d[finish_head_q]   = 1'b0;
      has_recip_d[finish_head_q] = 1'b1;
    end
  end

  assign quotient.nan       = finish_nan_q;
  assign quotient.digits[2] = '0;
  assign quotient.digits[1] = R_BITS'({recip_infinite, recip_exponent});
  assign quotient.digits[0] = R_BITS'(recip_mantissa);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      position_q    <= '0;
      scale_valid_q <= '0;
      place_q       <= '0;
      active_q      <= 1'b0;
      ended_q       <= '0;
      element_q     <= '0;
      chunk_valid_q <= '0;
      weigh_valid_q <= '0;
      later_q       <= '0;
      rescale_q     <= 1'b0;
      norm_valid_q  <= '0;
      pending_q     <= 1'b0;
      draining_q    <= 1'b0;
      dividing_q    <= 1'b0;
      finished_q    <= 1'b0;
      has_maximum_q <= '0;
      has_sum_q     <= '0;
      has_recip_q   <= '0;
    end else begin
      position_q    <= position_d;
      scale_valid_q <= scale_valid_d;
      place_q       <= place_d;
      active_q      <= active_d;
      ended_q       <= {ended_q[1:0], active_q};
      element_q     <= element_d;
      chunk_valid_q <= chunk_valid_d;
      weigh_valid_q <= weigh_valid_d;
      later_q       <= {later_q[0], last};
      rescale_q     <= takes != '0;
      norm_valid_q  <= norm_valid_d;
      pending_q     <= pending_d;
      draining_q    <= draining_d;
      dividing_q    <= dividing_d;
      finished_q    <= store;
      has_maximum_q <= has_maximum_d;
      has_sum_q     <= has_sum_d;
      has_recip_q   <= has_recip_d;
    end
  end

  always_ff @(posedge clk_i) begin
    origin_q     <= {origin_q[SCALE-2:0], origin_d};
    mask_q       <= {mask_q[SCALE-3:0], mask_i};
    scaled_q     <= scaled_d;
    above_q      <= above_d;
    stage_q      <= {stage_q[EXP-1:0], stage_d};
    minuend_q    <= minuend_d;
    subtrahend_q <= subtrahend_d;
    lowest_q     <= {lowest_q[0], lowest};
    difference_q <= difference_d;
    exp_q        <= exp_d;
    factor_q     <= factor_d;
    operand_q    <= operand_d;
  end

  // What stays.
  value_t old_d;
  chunk_t active_chunk_d;
  value_t active_max_d, active_old_d;
  place_t peak_d;
  lane_t  peak_lane_d;
  head_t  combine_head_d, finish_head_d;

  assign old_d          = scaled_valid && place_q == '0 ? above_q : old_q;
  assign peak_d         = scaled_valid && raises ? place_q : peak_q;
  assign peak_lane_d    = scaled_valid && raises ? lane : peak_lane_q;
  assign active_max_d   = complete ? larger : active_max_q;
  assign active_old_d   = complete ? old_q : active_old_q;
  assign combine_head_d = last ? stage_q[EXP].head : combine_head_q;
  assign finish_head_d  = finish_ready_o ? finish_head_i : finish_head_q;

  always_comb begin
    active_chunk_d = active_chunk_q;
    if (complete) begin
      active_chunk_d = '{origin: origin_q[SCALE-1], raised: raised_d, peak: peak_d, lane: peak_lane_d};
    end
  end

  always_ff @(posedge clk_i) begin
    old_q          <= old_d;
    raised_q       <= scaled_valid ? raised_d : raised_q;
    peak_q         <= peak_d;
    peak_lane_q    <= peak_lane_d;
    active_max_q   <= active_max_d;
    active_old_q   <= active_old_d;
    active_chunk_q <= active_chunk_d;
    exponent_q     <= recip.exponent;
    infinite_q     <= recip.infinite;
    operand_nan_q  <= word.nan || !(takes != '0 ? is_sum : is_recip);
    combine_head_q <= combine_head_d;
    finish_head_q  <= finish_head_d;
    finish_nan_q   <= finish_nan_d;
    drain_q        <= drain_d;
  end

  word_registers #(.WIDTH(GEAR * WIDTH), .DEPTH(GROUPS)) u_chunk (
    .clk_i, .write_i(scaled_valid), .address_i(place_q), .data_i(scaled_q), .words_o(chunk)
  );

  word_registers #(.WIDTH(WIDTH), .DEPTH(HEADS)) u_maximum (
    .clk_i, .write_i(complete), .address_i(origin_q[SCALE-1].head), .data_i(larger), .words_o(maximum)
  );

  word_registers #(.WIDTH($bits(word_t)), .DEPTH(HEADS)) u_total (
    .clk_i,
    .write_i   (write || store),
    .address_i (write ? combine_head_q : finish_head_q),
    .data_i    (write ? combined : quotient),
    .words_o   (total)
  );

  assign scaled_valid_o = scaled_valid;
  assign scaled_o       = scaled_q;
  assign max_valid_o    = active_q && element_q == '0;
  assign max_o          = active_max_q;
  assign exp_valid_o    = chunk_valid_q[EXP];
  assign exp_o          = exp_q;
  assign factor_o       = factor_q;
  assign finish_ready_o = !pending_q && !draining_q && !dividing_q;
  assign finished_o     = finished_q;
  assign recip_o        = finish_nan_q ? 32'h7FC0_0000 : {1'b0, recip_exponent | {8{recip_infinite}},
                          recip_mantissa & {(R_BITS - 1){!recip_infinite}}, {(24 - R_BITS){1'b0}}};
  assign weigh_ready_o  = !active_q && ended_q == '0 && !waits && !begins;

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || MAN_BITS > 10)
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || LATE > 1) $fatal(1, "SUBNORMALS, LATE = %0d, %0d: expected 0 or 1", SUBNORMALS, LATE);
  if (HEADS < 2) $fatal(1, "HEADS = %0d: expected 2 or more", HEADS);
  if (GEAR != 1 && GEAR != 2 && GEAR != 4) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule
