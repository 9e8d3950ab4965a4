// SPDX-License-Identifier: MIT
// The sequencer's requests of the softmax unit, and its counts of scores, reciprocals and words of weights.
// Contract: sequencer.md.
//
//   cycle             0    1    2
//   scaled_i          2                      the last scores are there
//   finishes_o             1    1
//   finish_taken_i              1

module sequencer_softmax (
  /// Clock.
  input  logic       clk_i,
  /// Asynchronous reset, active low.
  input  logic       rst_ni,
  /// An RD_RESULT of scores enters its queue.
  input  logic       scores_i,
  /// Scores that are scaled.
  input  logic [2:0] scaled_i,
  /// There is an entry that is the next to be requested.
  input  logic       next_valid_i,
  /// It is a FINISH; else a WEIGH.
  input  logic       next_finishes_i,
  /// A FINISH is accepted.
  input  logic       finish_taken_i,
  /// A WEIGH is accepted, with its last score.
  input  logic       weigh_taken_i,
  /// A head can be weighed.
  input  logic       finished_i,
  /// A word of weights is complete.
  input  logic       word_made_i,
  /// A WEIGH enters its queue.
  input  logic       weigh_push_i,
  /// A WR_WEIGHTS enters its queue.
  input  logic       weights_push_i,
  /// A WR_WEIGHTS is sent.
  input  logic       weights_send_i,
  /// After a fault no entry writes weights any more: complete words are dropped.
  input  logic       drops_i,
  /// A FINISH is requested.
  output logic       finishes_o,
  /// A WEIGH is requested.
  output logic       weighs_o,
  /// The oldest complete word of weights is dropped.
  output logic       drop_o,
  /// A word of weights is complete, in this cycle at the latest.
  output logic       has_word_o,
  /// There is no WEIGH without its WR_WEIGHTS.
  output logic       paired_o,
  /// There are as many WEIGHs without their WR_WEIGHTS as words of weights.
  output logic       full_o,
  /// Nothing is under way: no scores, reciprocals or words of weights.
  output logic       quiet_o
);

  // Words of weights under way, at the most.
  localparam int unsigned WORDS = 16;

  logic [9:0] scores_d, scores_q;        // requested and not in the score buffer
  logic [3:0] finishing_d, finishing_q;  // reciprocals
  logic [4:0] words_d, words_q;          // of weights: from the weigh to the bus request
  logic [4:0] complete_d, complete_q;    // those that are complete
  logic [4:0] unpaired_d, unpaired_q;    // WEIGHs without their WR_WEIGHTS
  logic       finishes_d, finishes_q, weighs_d, weighs_q, drops_d, drops_q;
  logic       done, word_taken, scores_there, heads_finished;

  // No scores enter while there is an entry, and no head where it is not sent.
  assign scores_there   = scores_q[9:3] == '0 && scores_q[2:0] == scaled_i;
  assign heads_finished = finishing_q[3:1] == '0 && finishing_q[0] == finished_i;

  assign done       = finish_taken_i || weigh_taken_i;
  assign finishes_d = next_valid_i && !done && next_finishes_i && scores_there;
  assign weighs_d   = next_valid_i && !done && !next_finishes_i && scores_there && heads_finished &&
                      words_q != 5'(WORDS);

  // No entry writes a word that is dropped.
  assign drops_d    = drops_i && complete_q != '0 && !drops_q;
  assign word_taken = weights_send_i || drops_q;

  assign scores_d    = scores_q - 10'(scaled_i) + (scores_i ? 10'd4 : 10'd0);
  assign finishing_d = finishing_q + 4'(finish_taken_i) - 4'(finished_i);
  assign words_d     = words_q + 5'(weigh_taken_i) - 5'(word_taken);
  assign complete_d  = complete_q + 5'(word_made_i) - 5'(word_taken);
  assign unpaired_d  = unpaired_q + 5'(weigh_push_i) - 5'(weights_push_i) - 5'(drops_q);

  assign finishes_o = finishes_q;
  assign weighs_o   = weighs_q;
  assign drop_o     = drops_q;
  assign has_word_o = complete_q != '0 || word_made_i;
  assign paired_o   = unpaired_q == '0;
  assign full_o     = unpaired_q == 5'(WORDS);
  assign quiet_o    = scores_q == '0 && finishing_q == '0 && words_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scores_q    <= '0;
      finishing_q <= '0;
      words_q     <= '0;
      complete_q  <= '0;
      unpaired_q  <= '0;
      finishes_q  <= 1'b0;
      weighs_q    <= 1'b0;
      drops_q     <= 1'b0;
    end else begin
      scores_q    <= scores_d;
      finishing_q <= finishing_d;
      words_q     <= words_d;
      complete_q  <= complete_d;
      unpaired_q  <= unpaired_d;
      finishes_q  <= finishes_d;
      weighs_q    <= weighs_d;
      drops_q     <= drops_d;
    end
  end

endmodule
