// SPDX-License-Identifier: MIT
// Checker of sequencer_softmax: what comes was requested, and no counter runs over.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module sequencer_softmax_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [2:0] scaled_i,
  input logic       finish_taken_i,
  input logic       weigh_taken_i,
  input logic       finished_i,
  input logic       word_made_i,
  input logic       finishes_o,
  input logic       weighs_o,
  input logic [9:0] scores_q,
  input logic [3:0] finishing_q,
  input logic [4:0] words_q,
  input logic [4:0] complete_q,
  input logic [4:0] unpaired_q
);

  localparam int unsigned WORDS = 16;

  `ASSERT(assert_taken, (!finish_taken_i || finishes_o) && (!weigh_taken_i || weighs_o))
  `ASSERT(assert_scaled, 10'(scaled_i) <= scores_q)
  `ASSERT(assert_finished, !finished_i || finishing_q != '0)
  `ASSERT(assert_word_made, !word_made_i || complete_q != words_q)
  `ASSERT(assert_unpaired, unpaired_q <= 5'(WORDS))
  `ASSERT(assert_words, words_q <= 5'(WORDS) && complete_q <= words_q)

endmodule

bind sequencer_softmax sequencer_softmax_checks u_checks (.*);

`endif
