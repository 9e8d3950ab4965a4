// SPDX-License-Identifier: MIT
// Weights on their way from the softmax unit to the data bus, up to four to a word.
//
//   clock           0    1    2   ...  8    9    10
//   asked_i         1    1                            of a word of two
//   last_o          0    1
//   weight_valid_i                     1    1
//   ready_valid_o                                1    the word, until taken_i
//
// Sixteen words are on their way at the most: the first weight of another is not asked for.

module weight_words #(
  /// Words on their way, a power of two, 2 or more.
  parameter int unsigned WORDS = 16
) (
  /// Clock: tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: none is on its way.
  input  logic        rst_ni,
  /// Weights of the word that is asked for, 1 to 4.
  input  logic [2:0]  count_i,
  /// A weight is asked for. Only where room_o is set.
  input  logic        asked_i,
  /// A weight has come.
  input  logic        weight_valid_i,
  /// The weight.
  input  logic [15:0] weight_i,
  /// The word at ready_o goes to the data bus. Only where there is one.
  input  logic        taken_i,
  /// A weight may be asked for.
  output logic        room_o,
  /// Which of its word it is.
  output logic [1:0]  index_o,
  /// It is the word's last.
  output logic        last_o,
  /// No word is on its way.
  output logic        idle_o,
  /// A word is complete.
  output logic        ready_valid_o,
  /// The first that is; what it has less than four weights is 0.
  output logic [63:0] ready_o
);

  localparam int unsigned COUNT_BITS = $clog2(WORDS) + 1;

  logic [1:0]            asked_d, asked_q, came_d, came_q;
  logic [COUNT_BITS-1:0] words_d, words_q;
  logic [3:0][15:0]      word, word_d, word_q;
  logic                  begins, complete, coming;
  logic [2:0]            coming_count;

  assign room_o  = asked_q != '0 || words_q != COUNT_BITS'(WORDS);
  assign index_o = asked_q;
  assign last_o  = {1'b0, asked_q} + 3'd1 == count_i;
  assign idle_o  = words_q == '0;
  assign begins  = asked_i && asked_q == '0;

  always_comb begin
    asked_d = asked_q;
    if (asked_i) asked_d = last_o ? 2'd0 : asked_q + 2'd1;
    words_d = words_q + COUNT_BITS'(begins) - COUNT_BITS'(taken_i);
  end

  // How many weights the words have of which not all have come.
  fifo #(.WIDTH(3), .DEPTH(WORDS)) u_coming (
    .clk_i,
    .rst_ni,
    .push_i  (begins),
    .data_i  (count_i),
    .pop_i   (complete),
    .valid_o (coming),
    .data_o  (coming_count)
  );

  assign complete = weight_valid_i && coming && {1'b0, came_q} + 3'd1 == coming_count;

  always_comb begin
    word         = word_q;
    word[came_q] = weight_i;
    word_d       = word_q;
    came_d       = came_q;
    if (weight_valid_i && coming) begin
      word_d = complete ? '0 : word;
      came_d = complete ? '0 : came_q + 2'd1;
    end
  end

  fifo #(.WIDTH(64), .DEPTH(WORDS)) u_ready (
    .clk_i,
    .rst_ni,
    .push_i  (complete),
    .data_i  (word),
    .pop_i   (taken_i),
    .valid_o (ready_valid_o),
    .data_o  (ready_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asked_q <= '0;
      came_q  <= '0;
      words_q <= '0;
      word_q  <= '0;
    end else begin
      asked_q <= asked_d;
      came_q  <= came_d;
      words_q <= words_d;
      word_q  <= word_d;
    end
  end

endmodule
