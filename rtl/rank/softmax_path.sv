// SPDX-License-Identifier: MIT
// From scores to weights: softmax unit and score buffer. Contract: softmax_path.md.

module softmax_path import pimlico_pkg::*; #(
  /// 0: weights are normalised; 1: they are exponentials, and the context's sums are normalised.
  parameter int unsigned LATE   = 0,
  /// Places of the score buffer, a power of two, 8 to 131072.
  parameter int unsigned SCORES = 131072,
  /// Lanes: sums, scores and weights of a cycle: 1, 2 or 4.
  parameter int unsigned GEAR   = 1
) (
  /// Clock: one edge per cycle of the core, GEAR tCK.
  input  logic                  clk_i,
  /// Asynchronous reset, active low.
  input  logic                  rst_ni,
  /// Factor of the scores in binary16.
  input  logic [15:0]           scale_i,
  /// The adder unit has sums over the chips, one in each lane.
  input  logic                  tree_valid_i,
  /// The sums over the chips.
  input  logic [GEAR-1:0][15:0] tree_i,
  /// What the sums over the chips are.
  input  tree_sum_t             tree_of_i,
  /// Partial sums of outputs are asked for.
  input  logic                  partial_read_i,
  /// Place of the first partial sum that is asked for.
  input  place_t                partial_place_i,
  /// The scores of a head are complete.
  input  logic                  finish_valid_i,
  /// The head whose scores are complete.
  input  finish_t               finish_i,
  /// Scores in the buffer are to become a word of weights.
  input  logic                  weigh_valid_i,
  /// The scores of the word; stable until they are taken.
  input  weigh_t                weigh_i,
  /// The oldest complete word of weights is removed.
  input  logic                  word_taken_i,
  /// LATE = 1: a sum of the context is to be normalised.
  input  logic                  sum_valid_i,
  /// LATE = 1: the sum in binary32.
  input  logic [31:0]           sum_i,
  /// LATE = 1: the head of the sum.
  input  head_t                 sum_head_i,
  /// There are scores, by lane.
  output logic [GEAR-1:0]       score_valid_o,
  /// The scores, else 0.
  output score_t [GEAR-1:0]     score_o,
  /// There are outputs of a matrix, by lane.
  output logic [GEAR-1:0]       output_valid_o,
  /// The outputs in binary16, else 0.
  output logic [GEAR-1:0][15:0] output_o,
  /// The word of the score buffer that was asked for last.
  output logic [3:0][15:0]      partial_outputs_o,
  /// Scores that are scaled, and in the buffer if they are kept: 0 or GEAR.
  output logic [2:0]            scaled_o,
  /// The finish is accepted.
  output logic                  finish_taken_o,
  /// A head can be weighed.
  output logic                  finished_o,
  /// The weigh is done with the scores of this cycle.
  output logic                  weigh_taken_o,
  /// A word of weights is complete.
  output logic                  word_made_o,
  /// There are weights, by lane.
  output logic [GEAR-1:0]       weight_valid_o,
  /// The weights, else 0.
  output element_t [GEAR-1:0]   weight_o,
  /// The oldest complete word of weights.
  output logic [63:0]           word_o,
  /// LATE = 1: a sum is accepted.
  output logic                  sum_ready_o,
  /// LATE = 1: the oldest sum is normalised.
  output logic                  context_valid_o,
  /// LATE = 1: the normalised sum in binary16.
  output logic [15:0]           context_o,
  /// The softmax unit takes scores, weights or a sum.
  output logic                  busy_o
);

  localparam int unsigned WORDS     = SCORES / 4;
  localparam int unsigned WORD_BITS = $clog2(WORDS);
  localparam int unsigned LANE_BITS = GEAR == 1 ? 1 : $clog2(GEAR);

  // Cycles in which the softmax unit scales a score.
  localparam int unsigned SCALE     = 3;

  // Scores, and outputs of a matrix.
  logic            is_score, is_output, partial_output;
  logic [GEAR-1:0] masked;
  logic            unused_masked;

  assign is_score       = tree_valid_i && !tree_of_i.is_output;
  assign is_output      = tree_valid_i && tree_of_i.is_output && tree_of_i.complete;
  assign partial_output = tree_valid_i && tree_of_i.is_output && !tree_of_i.complete;
  assign masked         = tree_of_i.masked[GEAR-1:0];
  assign unused_masked  = ^tree_of_i.masked;

  for (genvar g = 0; g < GEAR; g++) begin : gen_lane
    assign score_valid_o[g]  = is_score;
    assign score_o[g]        = is_score ? {masked[g], tree_of_i.head, tree_i[g]} : '0;
    assign output_valid_o[g] = is_output;
    assign output_o[g]       = is_output ? tree_i[g] : '0;
  end

  // The score buffer. Scores are written as they come from the multipliers.
  logic   [SCALE-1:0]    keep_q;
  place_t [SCALE-1:0]    place_q;
  logic                  scaled_valid, writes, read;
  place_t                write_place, read_place, weigh_place;
  logic [GEAR-1:0][15:0] scaled, written;
  logic [3:0][15:0]      kept;
  logic                  unused_places;

  assign writes        = partial_output || (scaled_valid && keep_q[SCALE-1]);
  assign write_place   = partial_output ? tree_of_i.place : place_q[SCALE-1];
  assign written       = partial_output ? tree_i : scaled;
  assign read_place    = partial_read_i ? partial_place_i : weigh_place;
  assign unused_places = &{1'b0, write_place, read_place};

  always_ff @(posedge clk_i) begin
    keep_q  <= {keep_q[SCALE-2:0], tree_of_i.keep};
    place_q <= {place_q[SCALE-2:0], tree_of_i.place};
  end

  for (genvar e = 0; e < 4; e++) begin : gen_element
    logic [1:0] lane;

    assign lane = 2'(e) - write_place[1:0];

    ram_1r1w #(.WIDTH(16), .DEPTH(WORDS)) u_scores (
      .clk_i,
      .write_i         (writes && 3'(lane) < 3'(GEAR)),
      .write_address_i (write_place[2+:WORD_BITS]),
      .data_i          (written[LANE_BITS'(lane)]),
      .read_i          (partial_read_i || read),
      .read_address_i  (read_place[2+:WORD_BITS]),
      .data_o          (kept[e])
    );
  end

  assign partial_outputs_o = kept;

  // Weights.
  logic                  weigh_valid, weigh_ready, made_valid;
  logic [1:0]            weigh_element;
  head_t                 weigh_head;
  logic [GEAR-1:0][15:0] weigh, made;

  for (genvar g = 0; g < GEAR; g++) begin : gen_weigh
    assign weigh[g] = kept[2'(weigh_element + 2'(g))];
  end

  weight_path #(.GEAR(GEAR)) u_weights (
    .clk_i,
    .rst_ni,
    .weigh_valid_i,
    .weigh_i,
    .busy_i         (partial_read_i),
    .ready_i        (weigh_ready),
    .weight_valid_i (made_valid),
    .weight_i       (made),
    .taken_i        (word_taken_i),
    .taken_o        (weigh_taken_o),
    .read_o         (read),
    .place_o        (weigh_place),
    .score_valid_o  (weigh_valid),
    .element_o      (weigh_element),
    .head_o         (weigh_head),
    .made_o         (word_made_o),
    .weight_valid_o,
    .weight_o,
    .word_o
  );

  // The softmax unit.
  logic                  max_valid, exp_valid, finish_ready, unused_softmax;
  logic [15:0]           largest, factor;
  logic [GEAR-1:0][15:0] exponential;
  logic [31:0]           reciprocal;

  softmax_unit #(.LATE(LATE), .GEAR(GEAR)) u_softmax (
    .clk_i,
    .rst_ni,
    .score_valid_i   (is_score),
    .score_i         (tree_i),
    .scale_i,
    .mask_i          (masked),
    .head_i          (tree_of_i.head),
    .first_i         (tree_of_i.first),
    .finish_i        (finish_valid_i),
    .finish_head_i   (finish_i.head),
    .weigh_valid_i   (weigh_valid),
    .weigh_i         (weigh),
    .weigh_head_i    (weigh_head),
    .sum_valid_i,
    .sum_i,
    .sum_head_i,
    .scaled_valid_o  (scaled_valid),
    .scaled_o        (scaled),
    .max_valid_o     (max_valid),
    .max_o           (largest),
    .exp_valid_o     (exp_valid),
    .exp_o           (exponential),
    .factor_o        (factor),
    .finish_ready_o  (finish_ready),
    .finished_o,
    .recip_o         (reciprocal),
    .weigh_ready_o   (weigh_ready),
    .weight_valid_o  (made_valid),
    .weight_o        (made),
    .sum_ready_o,
    .context_valid_o,
    .context_o
  );

  assign finish_taken_o = finish_valid_i && finish_ready;
  assign scaled_o       = scaled_valid ? 3'(GEAR) : '0;
  assign busy_o         = is_score || (weigh_valid && weigh_ready) || (sum_valid_i && sum_ready_o);
  assign unused_softmax = &{1'b0, max_valid, largest, exp_valid, exponential, factor, reciprocal};

  if (GEAR != 1 && GEAR != 2 && GEAR != 4) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (SCORES < 8 || SCORES > 131072 || SCORES != 1 << $clog2(SCORES))
    $fatal(1, "SCORES = %0d: expected a power of two, 8 to 131072", SCORES);

endmodule
