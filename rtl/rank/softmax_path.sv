// SPDX-License-Identifier: MIT
// From scores to weights: softmax unit and score buffer. Contract: softmax_path.md.

module softmax_path import pimlico_pkg::*; #(
  /// 0: weights are normalised; 1: they are exponentials, and the context's sums are normalised.
  parameter int unsigned LATE   = 0,
  /// Places of the score buffer, a power of two, 8 to 131072.
  parameter int unsigned SCORES = 131072
) (
  /// Clock: tCK.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Factor of the scores in binary16.
  input  logic [15:0]      scale_i,
  /// The adder unit has a sum over the chips.
  input  logic             tree_valid_i,
  /// The sum over the chips.
  input  logic [15:0]      tree_i,
  /// What the sum over the chips is.
  input  tree_sum_t        tree_of_i,
  /// Partial sums of outputs are read; else the scores of a weigh are.
  input  logic             partial_read_i,
  /// Place of the first partial sum.
  input  place_t           partial_place_i,
  /// The scores of a head are complete.
  input  logic             finish_valid_i,
  /// The head whose scores are complete.
  input  finish_t          finish_i,
  /// Scores in the buffer are to become a word of weights.
  input  logic             weigh_valid_i,
  /// The scores of the word; stable until they are taken.
  input  weigh_t           weigh_i,
  /// The oldest complete word of weights is removed.
  input  logic             word_taken_i,
  /// LATE = 1: a sum of the context is to be normalised.
  input  logic             sum_valid_i,
  /// LATE = 1: the sum in binary32.
  input  logic [31:0]      sum_i,
  /// LATE = 1: the head of the sum.
  input  head_t            sum_head_i,
  /// There is a score.
  output logic             score_valid_o,
  /// The score, else 0.
  output score_t           score_o,
  /// There is an output of a matrix.
  output logic             output_valid_o,
  /// The output in binary16, else 0.
  output logic [15:0]      output_o,
  /// The word of the score buffer that is read.
  output logic [3:0][15:0] partial_outputs_o,
  /// A score is scaled, and in the buffer if it is kept.
  output logic             scaled_o,
  /// The finish is accepted.
  output logic             finish_taken_o,
  /// A head can be weighed.
  output logic             finished_o,
  /// The weigh is done with the score of this tCK.
  output logic             weigh_taken_o,
  /// A word of weights is complete.
  output logic             word_made_o,
  /// There is a weight.
  output logic             weight_valid_o,
  /// The weight, else 0.
  output element_t         weight_o,
  /// The oldest complete word of weights.
  output logic [63:0]      word_o,
  /// LATE = 1: a sum is accepted.
  output logic             sum_ready_o,
  /// LATE = 1: the oldest sum is normalised.
  output logic             context_valid_o,
  /// LATE = 1: the normalised sum in binary16.
  output logic [15:0]      context_o,
  /// The softmax unit takes a score, a weight or a sum.
  output logic             busy_o
);

  localparam int unsigned WORDS     = SCORES / 4;
  localparam int unsigned WORD_BITS = $clog2(WORDS);

  // Scores, and outputs of a matrix.
  logic partial_output;

  assign score_valid_o  = tree_valid_i && !tree_of_i.is_output;
  assign score_o        = score_valid_o ? {tree_of_i.masked[0], tree_of_i.head, tree_i} : '0;
  assign output_valid_o = tree_valid_i && tree_of_i.is_output && tree_of_i.complete;
  assign output_o       = output_valid_o ? tree_i : '0;
  assign partial_output = tree_valid_i && tree_of_i.is_output && !tree_of_i.complete;

  // The score buffer. A score is scaled in the tCK after it came.
  logic        keep_d, keep_q, writes;
  place_t      place_d, place_q, write_place, read_place, weigh_place;
  logic [15:0] scaled;
  logic        unused_places;

  assign keep_d        = score_valid_o ? tree_of_i.keep : keep_q;
  assign place_d       = score_valid_o ? tree_of_i.place : place_q;
  assign writes        = partial_output || (scaled_o && keep_q);
  assign write_place   = partial_output ? tree_of_i.place : place_q;
  assign read_place    = partial_read_i ? partial_place_i : weigh_place;
  assign unused_places = &{1'b0, write_place, read_place};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      keep_q  <= 1'b0;
      place_q <= '0;
    end else begin
      keep_q  <= keep_d;
      place_q <= place_d;
    end
  end

  ram #(.WIDTH(16), .ELEMENTS(4), .DEPTH(WORDS)) u_scores (
    .clk_i,
    .write_i         (4'(writes) << write_place[1:0]),
    .write_address_i (write_place[2+:WORD_BITS]),
    .data_i          ({4{partial_output ? tree_i : scaled}}),
    .read_address_i  (read_place[2+:WORD_BITS]),
    .data_o          (partial_outputs_o)
  );

  // Weights.
  logic        weigh_valid, weigh_ready, made_valid;
  head_t       weigh_head;
  logic [15:0] weigh, made;

  assign weigh = weigh_valid ? partial_outputs_o[weigh_place[1:0]] : '0;

  weight_path u_weights (
    .clk_i,
    .rst_ni,
    .weigh_valid_i,
    .weigh_i,
    .ready_i        (weigh_ready),
    .weight_valid_i (made_valid),
    .weight_i       (made),
    .taken_i        (word_taken_i),
    .taken_o        (weigh_taken_o),
    .score_valid_o  (weigh_valid),
    .place_o        (weigh_place),
    .head_o         (weigh_head),
    .made_o         (word_made_o),
    .weight_valid_o,
    .weight_o,
    .word_o
  );

  // The softmax unit.
  logic        max_valid, exp_valid, finish_ready, unused_softmax;
  logic [15:0] largest, exponential, factor;
  logic [31:0] reciprocal;

  softmax_unit #(.LATE(LATE)) u_softmax (
    .clk_i,
    .rst_ni,
    .score_valid_i   (score_valid_o),
    .score_i         (score_o.bits),
    .scale_i,
    .mask_i          (score_o.masked),
    .head_i          (score_o.head),
    .first_i         (score_valid_o && tree_of_i.first),
    .finish_i        (finish_valid_i),
    .finish_head_i   (finish_i.head),
    .weigh_valid_i   (weigh_valid),
    .weigh_i         (weigh),
    .weigh_head_i    (weigh_head),
    .sum_valid_i,
    .sum_i,
    .sum_head_i,
    .scaled_valid_o  (scaled_o),
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
  assign busy_o         = score_valid_o || (weigh_valid && weigh_ready) || (sum_valid_i && sum_ready_o);
  assign unused_softmax = &{1'b0, max_valid, largest, exp_valid, exponential, factor, reciprocal};

  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (SCORES < 8 || SCORES > 131072 || SCORES != 1 << $clog2(SCORES))
    $fatal(1, "SCORES = %0d: expected a power of two, 8 to 131072", SCORES);

endmodule
