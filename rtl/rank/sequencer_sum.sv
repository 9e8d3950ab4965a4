// SPDX-License-Identifier: MIT
// What an RD_RESULT reads, and what the adder unit does with it. Contract: sequencer.md, Commands.

module sequencer_sum import pimlico_pkg::*; (
  /// Sums have 32 bits: a burst of the context holds two of them, not four.
  input  logic       wide_i,
  /// Which results.
  input  word_t      word_i,
  /// Query head.
  input  head_t      head_i,
  /// Place in the score buffer, or among the partial sums.
  input  place_t     place_i,
  /// Begins a head, or a sum.
  input  logic       first_i,
  /// The sums are complete.
  input  logic       last_i,
  /// Scores: tokens of the burst.
  input  logic [2:0] count_i,
  /// Scores: they are kept.
  input  logic       keep_i,
  /// The address on the data bus.
  output word_t      address_o,
  /// What the adder unit does.
  output sum_t       sum_o
);

  result_address_t which, address;
  logic            unused;

  assign which     = result_address_t'(word_i);
  assign address_o = word_t'(address);
  assign unused    = &{1'b0, which.unused};

  // A burst of the context holds four sums of 16 bits or two of 32, of as many bank groups.
  always_comb begin
    sum_o        = '0;
    address      = '0;
    address.lane = which.lane;
    sum_o.place  = place_i;
    if (which.context_sums) begin
      address        = which;
      sum_o.kind     = SumContext;
      sum_o.head     = head_i;
      sum_o.first    = !which.upper;
      sum_o.last     = !wide_i || which.upper;
      sum_o.goes_on  = !first_i;
      sum_o.complete = last_i;
    end else if (which.upper) begin
      sum_o.kind     = SumOutputs;
      sum_o.goes_on  = !first_i;
      sum_o.complete = last_i;
    end else begin
      sum_o.kind   = SumScores;
      sum_o.head   = head_i;
      sum_o.first  = first_i;
      sum_o.tokens = count_i;
      sum_o.keep   = keep_i;
    end
    address.unused = '0;
  end

endmodule
