// SPDX-License-Identifier: MIT
// Results of the bank PUs on their way from the data bus through the adder unit: what the unit does with
// each element of a burst, and whose a sum is that comes out of it.
//
//   tCK             0          ...   C-1       C         C+1       C+2       C+3       C = cl_i
//   read_result_i   1, kind_i, partial_i, ...
//   data bus                                   e0        e1        e2        e3
//   adder unit                       partial   e0        e1        e2        e3
//
// An element takes the two beats of a tCK, low byte first, so that it is whole in the second. What
// each kind of burst is for:
//
//   0   scores: each element is added up over the chips
//   1   outputs: likewise; with goes_on_i the adder unit adds a partial sum to each element
//   2   context: the burst's elements are added up for each chip. With first_i they begin a sum; with
//       goes_on_i too it begins with the partial sums of the chips, in the tCK before the burst. With
//       last_i they end it
//
//   adder unit's input    tree, e_n                          context, e3 of a burst with last_i
//   tCK                   0    1    2    3    4              0    1
//   tree_*_o, lanes_*_o                       whose it is         whose they are
//
// partial_i is looked at in the tCK of the command.

module old_result_path #(
  /// Bursts between RD_RESULT and their data.
  parameter int unsigned DEPTH = 16
) (
  /// Clock: a beat, half a tCK.
  input  logic             clk_i,
  /// Clock: tCK.
  input  logic             clk_tck_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// CL.
  input  logic [7:0]       cl_i,
  /// An RD_RESULT is on the pins. This and what follows belongs to it.
  input  logic             read_result_i,
  /// What the burst is for.
  input  logic [1:0]       kind_i,
  /// Scores: query head.
  input  logic [2:0]       head_i,
  /// Scores: in the head's first chunk. Context: begins a sum.
  input  logic             first_i,
  /// Context: ends a sum.
  input  logic             last_i,
  /// Scores: tokens that there are, 0 to 4; the elements behind them are masked.
  input  logic [2:0]       tokens_i,
  /// Scores, outputs: place of the first in the score buffer. Context: among the partial sums.
  input  logic [16:0]      place_i,
  /// Scores: they are kept.
  input  logic             keep_i,
  /// Outputs, context: go on from a partial sum.
  input  logic             goes_on_i,
  /// Outputs, context: complete; otherwise they are partial sums.
  input  logic             complete_i,
  /// Context: the partial sum of each chip. Outputs: that of each element, in the low half.
  input  logic [7:0][15:0] partial_i,
  /// The data bus.
  input  logic [63:0]      dq_i,
  /// To the adder unit, in the second beat.
  output logic             valid_o,
  /// Accumulator mode.
  output logic             accumulate_o,
  /// From +0.
  output logic             first_o,
  /// The sum ends.
  output logic             last_o,
  /// The partial sum of an output.
  output logic [15:0]      partial_o,
  /// An element of each chip.
  output logic [7:0][15:0] x_o,
  /// The adder unit's sum over the chips, if there is one, is an output; otherwise a score.
  output logic             tree_output_o,
  /// Score: query head.
  output logic [2:0]       tree_head_o,
  /// Score: in the head's first chunk.
  output logic             tree_first_o,
  /// Score: there is no such token.
  output logic             tree_masked_o,
  /// Score: it is kept.
  output logic             tree_keep_o,
  /// Output: it is complete.
  output logic             tree_complete_o,
  /// Its place.
  output logic [16:0]      tree_place_o,
  /// The adder unit's sums of the chips are those of a burst that ends a sum.
  output logic             lanes_valid_o,
  /// They are complete.
  output logic             lanes_complete_o,
  /// Their place among the partial sums.
  output logic [7:0]       lanes_place_o
);

  localparam int unsigned TREE_LATENCY = 4;
  localparam logic [1:0]  OUTPUTS      = 2'd1;
  localparam logic [1:0]  CONTEXT      = 2'd2;

  typedef struct packed {
    logic [1:0]       kind;
    logic [2:0]       head;
    logic             first;
    logic             last;
    logic [2:0]       tokens;
    logic [16:0]      place;
    logic             keep;
    logic             goes_on;
    logic             complete;
    logic [7:0][15:0] partial;
  } burst_t;

  typedef struct packed {
    logic        is_output;
    logic [2:0]  head;
    logic        first;
    logic        masked;
    logic        keep;
    logic        complete;
    logic [16:0] place;
  } tree_t;

  // The burst that is on the bus, or is going to be in the next tCK.
  burst_t     entering, burst;
  logic       ahead, busy, last, burst_valid, unused_valid;
  logic [1:0] index;

  assign entering = '{
    kind: kind_i, head: head_i, first: first_i, last: last_i, tokens: tokens_i, place: place_i,
    keep: keep_i, goes_on: goes_on_i, complete: complete_i, partial: partial_i
  };

  burst_timer u_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (read_result_i),
    .latency_i (cl_i),
    .ahead_o   (ahead),
    .busy_o    (busy),
    .index_o   (index),
    .last_o    (last)
  );

  fifo #(.WIDTH($bits(burst_t)), .DEPTH(DEPTH)) u_bursts (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (read_result_i),
    .data_i  (entering),
    .pop_i   (busy && last),
    .valid_o (burst_valid),
    .data_o  (burst)
  );

  assign unused_valid = burst_valid;

  // The low bytes of the elements wait for the high ones.
  logic [63:0]      low_q;
  logic [7:0][15:0] element;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) low_q <= '0;
    else         low_q <= dq_i;
  end

  for (genvar chip = 0; chip < 8; chip++) begin : gen_element
    assign element[chip] = {dq_i[8*chip+:8], low_q[8*chip+:8]};
  end

  // The adder unit's input.
  logic context_burst, partial_sums;

  assign context_burst = burst.kind == CONTEXT;
  assign partial_sums  = context_burst && burst.first && burst.goes_on;

  always_comb begin
    valid_o      = 1'b0;
    accumulate_o = 1'b0;
    first_o      = 1'b0;
    last_o       = 1'b0;
    partial_o    = '0;
    x_o          = '0;
    if (busy) begin
      valid_o      = 1'b1;
      accumulate_o = context_burst;
      x_o          = element;
      if (context_burst) begin
        first_o = index == '0 && burst.first && !burst.goes_on;
        last_o  = last && burst.last;
      end else begin
        first_o = burst.kind != OUTPUTS || !burst.goes_on;
        last_o  = 1'b1;
        if (!first_o) partial_o = burst.partial[{1'b0, index}];
      end
    end else if (ahead && partial_sums) begin
      valid_o      = 1'b1;
      accumulate_o = 1'b1;
      first_o      = 1'b1;
      x_o          = burst.partial;
    end
  end

  // Whose the sums are.
  tree_t [TREE_LATENCY-1:0] tree_d, tree_q;
  logic                     lanes_valid_q, lanes_complete_q;
  logic [7:0]               lanes_place_q;

  always_comb begin
    tree_d    = tree_q << $bits(tree_t);
    tree_d[0] = '{
      is_output: burst.kind == OUTPUTS,
      head:      burst.head,
      first:     burst.first,
      masked:    {1'b0, index} >= burst.tokens,
      keep:      burst.keep,
      complete:  burst.complete,
      place:     burst.place + 17'(index)
    };
  end

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tree_q           <= '0;
      lanes_valid_q    <= 1'b0;
      lanes_complete_q <= 1'b0;
      lanes_place_q    <= '0;
    end else begin
      tree_q           <= tree_d;
      lanes_valid_q    <= accumulate_o && last_o;
      lanes_complete_q <= burst.complete;
      lanes_place_q    <= burst.place[7:0];
    end
  end

  assign tree_output_o    = tree_q[TREE_LATENCY-1].is_output;
  assign tree_head_o      = tree_q[TREE_LATENCY-1].head;
  assign tree_first_o     = tree_q[TREE_LATENCY-1].first;
  assign tree_masked_o    = tree_q[TREE_LATENCY-1].masked;
  assign tree_keep_o      = tree_q[TREE_LATENCY-1].keep;
  assign tree_complete_o  = tree_q[TREE_LATENCY-1].complete;
  assign tree_place_o     = tree_q[TREE_LATENCY-1].place;
  assign lanes_valid_o    = lanes_valid_q;
  assign lanes_complete_o = lanes_complete_q;
  assign lanes_place_o    = lanes_place_q;

endmodule
