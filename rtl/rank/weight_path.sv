// SPDX-License-Identifier: MIT
// Scores on their way from the score buffer to the softmax unit, and its weights on their way to the data bus.
// Contract: weight_path.md.

module weight_path import pimlico_pkg::*; #(
  /// Words on their way, a power of two, 2 or more.
  parameter int unsigned WORDS = 16,
  /// Lanes: scores and weights of a cycle: 1, 2 or 4.
  parameter int unsigned GEAR  = 1
) (
  /// Clock: one edge per cycle of the core, GEAR tCK.
  input  logic                  clk_i,
  /// Asynchronous reset, active low: none is on its way.
  input  logic                  rst_ni,
  /// Scores in the buffer are to become a word of weights.
  input  logic                  weigh_valid_i,
  /// The scores that are to become a word; stable until weigh is accepted.
  input  weigh_t                weigh_i,
  /// The score buffer has its read port for others.
  input  logic                  busy_i,
  /// The softmax unit accepts a group of scores, if there is one.
  input  logic                  ready_i,
  /// The softmax unit has a group of weights.
  input  logic                  weight_valid_i,
  /// The weights from the softmax unit.
  input  logic [GEAR-1:0][15:0] weight_i,
  /// The oldest complete word leaves, only where there is one.
  input  logic                  taken_i,
  /// The weigh is accepted: the last of its scores are asked for.
  output logic                  taken_o,
  /// Scores are asked for; they are there in the next cycle.
  output logic                  read_o,
  /// Place of the first score that is asked for in the score buffer; 0 if there is none.
  output place_t                place_o,
  /// There is a group of scores for the softmax unit.
  output logic                  score_valid_o,
  /// Element of the score buffer's word that is the first score of the group.
  output logic [1:0]            element_o,
  /// Query head of the scores.
  output head_t                 head_o,
  /// A word becomes complete, with the weights of this cycle.
  output logic                  made_o,
  /// There are weights, by lane.
  output logic [GEAR-1:0]       weight_valid_o,
  /// The weights with their head; 0 where there is none.
  output element_t [GEAR-1:0]   weight_o,
  /// The oldest complete word, 0 in the weights that it lacks; 0 if there is none.
  output logic [63:0]           word_o
);

  localparam logic [1:0] STEP = 2'(GEAR);

  // A word whose weights have not all come.
  typedef struct packed {
    head_t      head;
    logic [2:0] count;
  } coming_t;

  logic [1:0]       index_d, index_q, came_d, came_q, element_d, element_q;
  logic             score_valid_d, score_valid_q, ends, comes, coming_valid, word_valid;
  head_t            head_d, head_q;
  coming_t          coming;
  logic [3:0][15:0] word, word_d, word_q;
  logic [63:0]      oldest;

  // Scores to the softmax unit: a group is asked for as soon as that before it is accepted.
  assign read_o  = weigh_valid_i && !busy_i && (!score_valid_q || ready_i);
  assign ends    = {1'b0, index_q} + 3'(GEAR) >= weigh_i.count;
  assign taken_o = read_o && ends;
  assign place_o = weigh_valid_i ? weigh_i.place + place_t'(index_q) : '0;

  assign score_valid_o = score_valid_q;
  assign element_o     = element_q;
  assign head_o        = head_q;

  always_comb begin
    index_d       = index_q;
    score_valid_d = (score_valid_q && !ready_i) || read_o;
    element_d     = element_q;
    head_d        = head_q;
    if (read_o) begin
      index_d   = ends ? '0 : index_q + STEP;
      element_d = place_o[1:0];
      head_d    = weigh_i.head;
    end
  end

  fifo #(.WIDTH($bits(coming_t)), .DEPTH(WORDS)) u_coming (
    .clk_i,
    .rst_ni,
    .push_i  (read_o && index_q == '0),
    .data_i  ({weigh_i.head, weigh_i.count}),
    .pop_i   (made_o),
    .valid_o (coming_valid),
    .data_o  (coming)
  );

  // Weights from it.
  assign comes  = weight_valid_i && coming_valid;
  assign made_o = comes && {1'b0, came_q} + 3'(GEAR) >= coming.count;

  for (genvar g = 0; g < GEAR; g++) begin : gen_lane
    assign weight_valid_o[g] = comes && {1'b0, came_q} + 3'(g) < coming.count;
    assign weight_o[g]       = weight_valid_o[g] ? {coming.head, weight_i[g]} : '0;
  end

  always_comb begin
    word = word_q;
    for (int unsigned g = 0; g < GEAR; g++) begin
      if (weight_valid_o[g]) word[2'(came_q + 2'(g))] = weight_i[g];
    end
    word_d = word_q;
    came_d = came_q;
    if (comes) begin
      word_d = made_o ? '0 : word;
      came_d = made_o ? '0 : came_q + STEP;
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
      index_q       <= '0;
      score_valid_q <= 1'b0;
      came_q        <= '0;
      word_q        <= '0;
    end else begin
      index_q       <= index_d;
      score_valid_q <= score_valid_d;
      came_q        <= came_d;
      word_q        <= word_d;
    end
  end

  always_ff @(posedge clk_i) begin
    element_q <= element_d;
    head_q    <= head_d;
  end

  if (WORDS < 2 || WORDS != 1 << $clog2(WORDS))
    $fatal(1, "WORDS = %0d: expected a power of two, 2 or more", WORDS);
  if (GEAR != 1 && GEAR != 2 && GEAR != 4) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule
