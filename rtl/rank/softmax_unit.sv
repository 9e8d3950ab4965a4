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
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS,
  localparam int unsigned HEAD_BITS  = $clog2(HEADS),
  localparam int unsigned SUM_WIDTH  = 32
) (
  /// Clock: one edge per tCK.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// Pass 1: a score arrives.
  input  logic                 score_valid_i,
  /// Pass 1: the score.
  input  logic [WIDTH-1:0]     score_i,
  /// Pass 1: factor of the score.
  input  logic [WIDTH-1:0]     scale_i,
  /// Pass 1: the score is masked, which makes it -infinity.
  input  logic                 mask_i,
  /// Pass 1: head of the chunk that begins.
  input  logic [HEAD_BITS-1:0] head_i,
  /// Pass 1: the chunk that begins is the first of its head.
  input  logic                 first_i,
  /// A finish is offered: the sum of a head is complete with the chunks that have begun.
  input  logic                 finish_i,
  /// Head of the finish.
  input  logic [HEAD_BITS-1:0] finish_head_i,
  /// Pass 2: a scaled score arrives.
  input  logic                 weigh_valid_i,
  /// Pass 2: the scaled score.
  input  logic [WIDTH-1:0]     weigh_i,
  /// Pass 2: head of the scaled score.
  input  logic [HEAD_BITS-1:0] weigh_head_i,
  /// LATE = 1: a sum of the context arrives.
  input  logic                 sum_valid_i,
  /// LATE = 1: the sum of the context, in binary32.
  input  logic [SUM_WIDTH-1:0] sum_i,
  /// LATE = 1: head of the sum.
  input  logic [HEAD_BITS-1:0] sum_head_i,
  /// scaled_o is a scaled score, for the score buffer.
  output logic                 scaled_valid_o,
  /// Pass 1: the scaled score.
  output logic [WIDTH-1:0]     scaled_o,
  /// max_o is the maximum of a head after a chunk.
  output logic                 max_valid_o,
  /// Running maximum of a head.
  output logic [WIDTH-1:0]     max_o,
  /// exp_o is an exponential of pass 1.
  output logic                 exp_valid_o,
  /// Exponential of pass 1; also that of pass 2, two cycles after its element.
  output logic [WIDTH-1:0]     exp_o,
  /// With the last exponential of a chunk: factor of the head's sum.
  output logic [WIDTH-1:0]     factor_o,
  /// A finish offered in this cycle is accepted.
  output logic                 finish_ready_o,
  /// recip_o is the reciprocal of a finished head's sum, which it has replaced.
  output logic                 finished_o,
  /// Reciprocal of a finished head's sum, in binary32.
  output logic [SUM_WIDTH-1:0] recip_o,
  /// Pass 2: a scaled score offered in this cycle is accepted.
  output logic                 weigh_ready_o,
  /// weight_o is a weight.
  output logic                 weight_valid_o,
  /// Weight of a scaled score of pass 2.
  output logic [WIDTH-1:0]     weight_o,
  /// LATE = 1: a sum offered in this cycle is accepted.
  output logic                 sum_ready_o,
  /// LATE = 1: context_o is a normalised sum.
  output logic                 context_valid_o,
  /// LATE = 1: the normalised sum of the context.
  output logic [WIDTH-1:0]     context_o
);

  localparam int unsigned          CHUNK         = 16;
  localparam int unsigned          POSITION_BITS = $clog2(CHUNK);
  localparam int unsigned          SUM_EXP_BITS  = 8;
  localparam int unsigned          SUM_MAN_BITS  = 23;
  localparam logic [EXP_BITS-1:0]  TOP_EXPONENT  = '1;
  localparam logic [WIDTH-1:0]     LOWEST        = {1'b1, TOP_EXPONENT, {MAN_BITS{1'b0}}};
  localparam logic [WIDTH-1:0]     NAN           = {1'b0, TOP_EXPONENT, 1'b1,
                                                    {(MAN_BITS - 1){1'b0}}};
  localparam logic [WIDTH-1:0]     ONE           = {2'b00, {(EXP_BITS - 1){1'b1}},
                                                    {MAN_BITS{1'b0}}};
  localparam logic [POSITION_BITS-1:0] LAST      = POSITION_BITS'(CHUNK - 1);

  typedef logic [HEAD_BITS-1:0]     head_t;
  typedef logic [POSITION_BITS-1:0] position_t;
  typedef logic [WIDTH-1:0]         value_t;
  typedef logic [SUM_WIDTH-1:0]     sum_t;

  // The chunk whose exponentials are computed.
  typedef struct packed {
    head_t     head;
    logic      first;   // it is the head's first
    logic      raised;  // it has raised the maximum, first at peak
    position_t peak;
    value_t    old;     // the maximum before
  } chunk_t;

  // What accompanies an element through subtractor and exponential unit.
  typedef struct packed {
    logic  chunk;  // of pass 1
    logic  weigh;  // of pass 2
    logic  start;  // pass 1: the chunk's first element
    logic  last;   // pass 1: the chunk's last element
    logic  first;  // pass 1: the chunk is the head's first
    head_t head;
  } stage_t;

  // State of the heads.
  value_t [HEADS-1:0] maximum_d, maximum_q;
  sum_t   [HEADS-1:0] total_d, total_q;

  // Scale.
  position_t position_d, position_q;  // of the next score
  head_t     head_d, head_q;          // of the chunk that scaled_q belongs to
  logic      first_d, first_q;
  logic      scaled_valid_q;
  value_t    scaled, scaled_d, scaled_q;

  fp_mul #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS),
    .STAGES     (0)
  ) u_scale (
    .clk_i,
    .rst_ni,
    .a_i      (score_i),
    .b_i      (scale_i),
    .result_o (scaled)
  );

  always_comb begin
    position_d = position_q;
    head_d     = head_q;
    first_d    = first_q;
    scaled_d   = scaled_q;
    if (score_valid_i) begin
      position_d = position_q + position_t'(1);
      scaled_d   = mask_i ? LOWEST : scaled;
      if (position_q == '0) begin
        head_d  = head_i;
        first_d = first_i;
      end
    end
  end

  // Find the maximum; keep the scaled scores until it is known.
  position_t          place;    // of scaled_q in its chunk
  value_t             before_chunk, above, larger;
  logic               raises, complete;
  value_t             largest_d, largest_q;
  logic               raised_d, raised_q;  // the chunk has raised the maximum, first at peak_q
  position_t          peak_d, peak_q;
  value_t [CHUNK-1:0] chunk_d, chunk_q;

  assign place        = position_q - position_t'(1);
  assign before_chunk = first_q ? LOWEST : maximum_q[head_q];
  assign above        = place == '0 ? before_chunk : largest_q;
  assign raises       = larger != above;
  assign complete     = scaled_valid_q && place == LAST;

  fp_max #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS),
    .STAGES     (0)
  ) u_max (
    .clk_i,
    .rst_ni,
    .a_i      (above),
    .b_i      (scaled_q),
    .result_o (larger)
  );

  always_comb begin
    largest_d = largest_q;
    raised_d  = raised_q;
    peak_d    = peak_q;
    chunk_d   = chunk_q;
    if (scaled_valid_q) begin
      largest_d      = larger;
      raised_d       = raises || (raised_q && place != '0);
      peak_d         = raises ? place : peak_q;
      chunk_d[place] = scaled_q;
    end
  end

  always_comb begin
    maximum_d = maximum_q;
    if (complete) maximum_d[head_q] = larger;
  end

  // Subtract the maximum, element by element of the complete chunk; instead of a new maximum the
  // old one. Pass 2 has the cycles between.
  logic      active_d, active_q;
  position_t element_d, element_q;
  chunk_t    active_chunk_d, active_chunk_q;
  logic      rescale_d, rescale_q;  // the element is the chunk's maximum: compute its factor
  logic      finite_d, finite_q;    // and that maximum is finite
  value_t    minuend, subtrahend, difference, difference_d, difference_q;
  stage_t    difference_stage_d, difference_stage_q;

  always_comb begin
    active_d       = active_q;
    element_d      = element_q;
    active_chunk_d = active_chunk_q;
    if (active_q) begin
      active_d  = element_q != LAST;
      element_d = element_q + position_t'(1);
    end
    if (complete) begin
      active_d       = 1'b1;
      active_chunk_d = '{
        head: head_q, first: first_q, raised: raised_d, peak: peak_d, old: before_chunk
      };
    end
  end

  assign difference_stage_d.chunk = active_q;
  assign difference_stage_d.weigh = weigh_valid_i && !active_q;
  assign difference_stage_d.start = element_q == '0;
  assign difference_stage_d.last  = element_q == LAST;
  assign difference_stage_d.first = active_chunk_q.first;
  assign difference_stage_d.head  = active_q ? active_chunk_q.head : weigh_head_i;

  assign rescale_d  = active_q && active_chunk_q.raised && element_q == active_chunk_q.peak;
  assign subtrahend = maximum_q[difference_stage_d.head];
  assign finite_d   = subtrahend[MAN_BITS+:EXP_BITS] != TOP_EXPONENT;

  always_comb begin
    if (!active_q)      minuend = weigh_i;
    else if (rescale_d) minuend = active_chunk_q.old;
    else                minuend = chunk_q[element_q];
  end

  fp_add #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS),
    .STAGES     (0)
  ) u_subtract (
    .clk_i,
    .rst_ni,
    .a_i      (minuend),
    .b_i      ({!subtrahend[WIDTH-1], subtrahend[WIDTH-2:0]}),
    .result_o (difference)
  );

  always_comb begin
    difference_d = difference_q;
    if (difference_stage_d.chunk || difference_stage_d.weigh) begin
      // -infinity - -infinity would be NaN.
      difference_d = minuend == LOWEST ? LOWEST : difference;
    end
  end

  // Exponentiate.
  value_t exponential, exp_d, exp_q, factor_d, factor_q;
  stage_t exp_stage_q;

  fp_exp #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS),
    .STAGES     (0)
  ) u_exp (
    .clk_i,
    .rst_ni,
    .a_i      (difference_q),
    .result_o (exponential)
  );

  always_comb begin
    exp_d    = exp_q;
    factor_d = factor_q;
    if (difference_stage_q.chunk || difference_stage_q.weigh) exp_d = exponential;
    if (difference_stage_q.chunk && difference_stage_q.start) factor_d = ONE;
    if (rescale_q) begin
      exp_d    = finite_q ? ONE : NAN;
      factor_d = exponential;
    end
  end

  // Add up in binary32.
  sum_t  product_q;
  logic  combine_d, combine_q;  // product_q and sum_q are the two parts of a head's new sum
  head_t combine_head_q;
  sum_t  element, total, sum_d, sum_q;
  logic  chunk_last;

  assign chunk_last = exp_stage_q.chunk && exp_stage_q.last;
  assign combine_d  = chunk_last;

  fp_widen #(
    .EXP_BITS      (EXP_BITS),
    .MAN_BITS      (MAN_BITS),
    .SUBNORMALS    (SUBNORMALS),
    .WIDE_EXP_BITS (SUM_EXP_BITS),
    .WIDE_MAN_BITS (SUM_MAN_BITS),
    .STAGES        (0)
  ) u_widen_element (
    .clk_i,
    .rst_ni,
    .a_i      (exp_q),
    .result_o (element)
  );

  fp_add #(
    .EXP_BITS   (SUM_EXP_BITS),
    .MAN_BITS   (SUM_MAN_BITS),
    .SUBNORMALS (0),
    .STAGES     (0)
  ) u_add (
    .clk_i,
    .rst_ni,
    .a_i      (combine_q ? product_q : element),
    .b_i      (sum_q),
    .result_o (total)
  );

  always_comb begin
    sum_d = sum_q;
    if (exp_stage_q.chunk) sum_d = exp_stage_q.start ? element : total;
  end

  // Multiply in binary32: a head's sum by its factor; otherwise what is to be normalised by r.
  logic  normalise;  // something is to be
  head_t product_head;
  sum_t  multiplicand, multiplier, product, product_d;
  logic  product_valid_q;

  if (LATE != 0) begin : gen_late
    sum_t factor;

    fp_widen #(
      .EXP_BITS      (EXP_BITS),
      .MAN_BITS      (MAN_BITS),
      .SUBNORMALS    (SUBNORMALS),
      .WIDE_EXP_BITS (SUM_EXP_BITS),
      .WIDE_MAN_BITS (SUM_MAN_BITS),
      .STAGES        (0)
    ) u_widen_factor (
      .clk_i,
      .rst_ni,
      .a_i      (factor_q),
      .result_o (factor)
    );

    assign sum_ready_o  = !chunk_last;
    assign normalise    = sum_valid_i && !chunk_last;
    assign product_head = chunk_last ? exp_stage_q.head : sum_head_i;
    assign multiplier   = chunk_last ? factor : sum_i;
  end else begin : gen_early
    logic unused_sum;

    fp_widen #(
      .EXP_BITS      (EXP_BITS),
      .MAN_BITS      (MAN_BITS),
      .SUBNORMALS    (SUBNORMALS),
      .WIDE_EXP_BITS (SUM_EXP_BITS),
      .WIDE_MAN_BITS (SUM_MAN_BITS),
      .STAGES        (0)
    ) u_widen_multiplier (
      .clk_i,
      .rst_ni,
      .a_i      (chunk_last ? factor_q : exp_q),
      .result_o (multiplier)
    );

    assign unused_sum   = &{1'b0, sum_valid_i, sum_i, sum_head_i};
    assign sum_ready_o  = 1'b0;
    assign normalise    = exp_stage_q.weigh;
    assign product_head = exp_stage_q.head;
  end

  assign multiplicand = chunk_last && exp_stage_q.first ? '0 : total_q[product_head];

  fp_mul #(
    .EXP_BITS   (SUM_EXP_BITS),
    .MAN_BITS   (SUM_MAN_BITS),
    .SUBNORMALS (0),
    .STAGES     (0)
  ) u_mul (
    .clk_i,
    .rst_ni,
    .a_i      (multiplicand),
    .b_i      (multiplier),
    .result_o (product)
  );

  assign product_d = chunk_last || normalise ? product : product_q;

  // Round to the format.
  value_t narrow, narrow_d, narrow_q;
  logic   narrow_valid_q;

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
    .a_i      (product_q),
    .result_o (narrow)
  );

  assign narrow_d = product_valid_q ? narrow : narrow_q;

  // Finish.
  logic  pending_d, pending_q, dividing_d, dividing_q, finished_q;
  head_t finish_head_d, finish_head_q;
  logic  on_its_way;  // a chunk of the head
  logic  divide, divided, store;
  sum_t  recip;

  assign on_its_way =
      (head_q == finish_head_q && (position_q != '0 || scaled_valid_q))
      || (active_chunk_q.head == finish_head_q && active_q)
      || (difference_stage_q.head == finish_head_q && difference_stage_q.chunk)
      || (exp_stage_q.head == finish_head_q && exp_stage_q.chunk)
      || (combine_head_q == finish_head_q && combine_q);

  assign divide = pending_q && !on_its_way;
  assign store  = dividing_q && divided && !combine_q;

  always_comb begin
    pending_d     = pending_q && !divide;
    dividing_d    = (dividing_q && !store) || divide;
    finish_head_d = finish_head_q;
    if (finish_ready_o && finish_i) begin
      pending_d     = 1'b1;
      finish_head_d = finish_head_i;
    end
  end

  softmax_recip #(.EXP_BITS(SUM_EXP_BITS), .MAN_BITS(SUM_MAN_BITS)) u_recip (
    .clk_i,
    .rst_ni,
    .start_i  (divide),
    .sum_i    (recip_o),
    .done_o   (divided),
    .result_o (recip)
  );

  always_comb begin
    total_d = total_q;
    if (combine_q)  total_d[combine_head_q] = total;
    else if (store) total_d[finish_head_q] = recip;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      maximum_q          <= '0;
      total_q            <= '0;
      position_q         <= '0;
      head_q             <= '0;
      first_q            <= 1'b0;
      scaled_valid_q     <= 1'b0;
      scaled_q           <= '0;
      largest_q          <= '0;
      raised_q           <= 1'b0;
      peak_q             <= '0;
      chunk_q            <= '0;
      active_q           <= 1'b0;
      element_q          <= '0;
      active_chunk_q     <= '0;
      rescale_q          <= 1'b0;
      finite_q           <= 1'b0;
      difference_q       <= '0;
      difference_stage_q <= '0;
      exp_q              <= '0;
      factor_q           <= '0;
      exp_stage_q        <= '0;
      sum_q              <= '0;
      combine_q          <= 1'b0;
      combine_head_q     <= '0;
      product_q          <= '0;
      product_valid_q    <= 1'b0;
      narrow_q           <= '0;
      narrow_valid_q     <= 1'b0;
      pending_q          <= 1'b0;
      dividing_q         <= 1'b0;
      finished_q         <= 1'b0;
      finish_head_q      <= '0;
    end else begin
      maximum_q          <= maximum_d;
      total_q            <= total_d;
      position_q         <= position_d;
      head_q             <= head_d;
      first_q            <= first_d;
      scaled_valid_q     <= score_valid_i;
      scaled_q           <= scaled_d;
      largest_q          <= largest_d;
      raised_q           <= raised_d;
      peak_q             <= peak_d;
      chunk_q            <= chunk_d;
      active_q           <= active_d;
      element_q          <= element_d;
      active_chunk_q     <= active_chunk_d;
      rescale_q          <= rescale_d;
      finite_q           <= finite_d;
      difference_stage_q <= difference_stage_d;
      difference_q       <= difference_d;
      exp_q              <= exp_d;
      factor_q           <= factor_d;
      exp_stage_q        <= difference_stage_q;
      sum_q              <= sum_d;
      combine_q          <= combine_d;
      combine_head_q     <= exp_stage_q.head;
      product_q          <= product_d;
      product_valid_q    <= normalise;
      narrow_q           <= narrow_d;
      narrow_valid_q     <= product_valid_q;
      pending_q          <= pending_d;
      dividing_q         <= dividing_d;
      finished_q         <= store;
      finish_head_q      <= finish_head_d;
    end
  end

  assign scaled_valid_o = scaled_valid_q;
  assign scaled_o       = scaled_q;
  assign max_valid_o    = active_q && element_q == '0;
  assign max_o          = largest_q;
  assign exp_valid_o    = exp_stage_q.chunk;
  assign exp_o          = exp_q;
  assign factor_o       = factor_q;
  assign finish_ready_o = !pending_q && !dividing_q;
  assign finished_o     = finished_q;
  assign recip_o        = total_q[finish_head_q];
  assign weigh_ready_o  = !active_q;

  if (LATE != 0) begin : gen_late_outputs
    assign weight_valid_o  = exp_stage_q.weigh;
    assign weight_o        = exp_q;
    assign context_valid_o = narrow_valid_q;
    assign context_o       = narrow_q;
  end else begin : gen_early_outputs
    assign weight_valid_o  = narrow_valid_q;
    assign weight_o        = narrow_q;
    assign context_valid_o = 1'b0;
    assign context_o       = '0;
  end

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) || MAN_BITS > 10)
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || LATE > 1) $fatal(1, "SUBNORMALS, LATE = %0d, %0d: expected 0 or 1", SUBNORMALS, LATE);
  if (HEADS < 2) $fatal(1, "HEADS = %0d: expected 2 or more", HEADS);

endmodule
