// SPDX-License-Identifier: MIT
// Scores on their way to the softmax unit, and its weights on their way to the data bus.
// Contract: weight_path.md.

module weight_path import pimlico_pkg::*; #(
  /// Words on their way, a power of two, 2 or more.
  parameter int unsigned WORDS = 16
) (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: none is on its way.
  input  logic        rst_ni,
  /// Scores in the buffer are to become a word of weights.
  input  logic        weigh_valid_i,
  /// The scores that are to become a word; stable until weigh is accepted.
  input  weigh_t      weigh_i,
  /// The softmax unit accepts a score, if there is one.
  input  logic        ready_i,
  /// The softmax unit has a weight.
  input  logic        weight_valid_i,
  /// The weight from the softmax unit.
  input  logic [15:0] weight_i,
  /// The oldest complete word leaves, only where there is one.
  input  logic        taken_i,
  /// The weigh is accepted, with its last score.
  output logic        taken_o,
  /// There is a score for the softmax unit.
  output logic        score_valid_o,
  /// Place of the score in the score buffer; 0 if there is none.
  output place_t      place_o,
  /// Query head of the score; 0 if there is none.
  output head_t       head_o,
  /// A word becomes complete, with the weight of this tCK.
  output logic        made_o,
  /// There is a weight.
  output logic        weight_valid_o,
  /// The weight with its head; 0 if there is none.
  output element_t    weight_o,
  /// The oldest complete word, 0 in the weights that it lacks; 0 if there is none.
  output logic [63:0] word_o
);

  // A word whose weights have not all come.
  typedef struct packed {
    head_t      head;
    logic [2:0] count;
  } coming_t;

  logic [1:0]       index_d, index_q, came_d, came_q;
  logic             takes, coming_valid, word_valid;
  coming_t          coming;
  logic [3:0][15:0] word, word_d, word_q;
  logic [63:0]      oldest;

  // Scores to the softmax unit.
  assign takes         = weigh_valid_i && ready_i;
  assign taken_o       = takes && {1'b0, index_q} + 3'd1 == weigh_i.count;
  assign score_valid_o = weigh_valid_i;
  assign place_o       = weigh_valid_i ? weigh_i.place + place_t'(index_q) : '0;
  assign head_o        = weigh_valid_i ? weigh_i.head : '0;

  always_comb begin
    index_d = index_q;
    if (takes) index_d = taken_o ? '0 : index_q + 2'd1;
  end

  fifo #(.WIDTH($bits(coming_t)), .DEPTH(WORDS)) u_coming (
    .clk_i,
    .rst_ni,
    .push_i  (takes && index_q == '0),
    .data_i  ({weigh_i.head, weigh_i.count}),
    .pop_i   (made_o),
    .valid_o (coming_valid),
    .data_o  (coming)
  );

  // Weights from it.
  assign weight_valid_o = weight_valid_i && coming_valid;
  assign weight_o       = weight_valid_o ? {coming.head, weight_i} : '0;
  assign made_o         = weight_valid_o && {1'b0, came_q} + 3'd1 == coming.count;

  always_comb begin
    word         = word_q;
    word[came_q] = weight_i;
    word_d       = word_q;
    came_d       = came_q;
    if (weight_valid_o) begin
      word_d = made_o ? '0 : word;
      came_d = made_o ? '0 : came_q + 2'd1;
    end
  end

  fifo #(.WIDTH(64), .DEPTH(WORDS)) u_words (
    .clk_i,
    .rst_ni,
    .push_i  (made_o),
    .data_i  (word),
    .pop_i   (taken_i),
    .valid_o (word_valid),
    .data_o  (oldest)
  );

  assign word_o = word_valid ? oldest : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q <= '0;
      came_q  <= '0;
      word_q  <= '0;
    end else begin
      index_q <= index_d;
      came_q  <= came_d;
      word_q  <= word_d;
    end
  end

  if (WORDS < 2 || WORDS != 1 << $clog2(WORDS))
    $fatal(1, "WORDS = %0d: expected a power of two, 2 or more", WORDS);

endmodule
