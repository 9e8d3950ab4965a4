// SPDX-License-Identifier: MIT
// Checker of softmax_unit: what comes out is as many cycles behind what went in as the contract says, the
// passes do not meet in the shared units, and a finish is done once.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module softmax_unit_checks #(
  /// 0: weights are normalised; 1: the context is.
  parameter  int unsigned LATE       = 0,
  /// Lanes.
  parameter  int unsigned GEAR       = 1,
  /// Width of the number of a group of scores in its chunk.
  parameter  int unsigned GROUP_BITS = 4,
  localparam int unsigned GROUPS     = 1 << GROUP_BITS
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  score_valid_i,
  input logic                  finish_i,
  input logic                  weigh_valid_i,
  input logic                  sum_valid_i,
  input logic                  scaled_valid_o,
  input logic                  max_valid_o,
  input logic                  exp_valid_o,
  input logic                  finish_ready_o,
  input logic                  finished_o,
  input logic                  weigh_ready_o,
  input logic                  weight_valid_o,
  input logic                  sum_ready_o,
  input logic                  context_valid_o,
  input logic [GROUP_BITS-1:0] place_q,      // of the scaled group in its chunk
  input logic [GROUP_BITS-1:0] element_q,    // the group that is subtracted from
  input logic                  active_q,
  input logic [2:0]            takes,        // a digit of a head's sum
  input logic                  takes_recip,  // a reciprocal
  input logic                  starts,       // a division
  input logic                  rescale_q,    // a digit has the multiplier
  input logic [6:0]            weigh_valid_q,
  input logic                  write,        // a chunk's sum
  input logic                  store,        // a reciprocal
  input logic                  pending_q,
  input logic                  draining_q,
  input logic                  dividing_q
);

  // Cycles from a chunk's last group to its first exponentials, from a group of pass 2 to its weights, from
  // a sum to its normalised value, and from a chunk's last exponentials to the write of its sum.
  localparam int unsigned MUL     = GEAR < 4 ? 2 : 1;
  localparam int unsigned EXP     = 11;
  localparam int unsigned WEIGHT  = LATE != 0 ? 7 : 8 + MUL;
  localparam int unsigned CONTEXT = 2 + MUL;
  localparam int unsigned WRITE   = EXP + GROUPS - 1 + (GEAR < 4 ? 7 : 4);

  // What went in, the last cycle's first. exponentials_q: those of complete chunks that are to come.
  logic [GROUP_BITS-1:0] position_d, position_q;
  logic [WRITE-1:0]      complete_d, complete_q;
  logic [GROUP_BITS:0]   exponentials_d, exponentials_q;
  logic [WEIGHT-1:0]     weigh_d, weigh_q;
  logic [CONTEXT-1:0]    sum_d, sum_q;
  logic [2:0]            scored_d, scored_q;
  logic                  owed_d, owed_q;  // a finish was taken, and is not done

  logic                  unused_weigh;

  assign unused_weigh = ^weigh_valid_q[5:0];

  assign position_d = position_q + GROUP_BITS'(score_valid_i);
  assign complete_d = {complete_q[WRITE-2:0], score_valid_i && position_q == '1};
  assign weigh_d    = {weigh_q[WEIGHT-2:0], weigh_valid_i && weigh_ready_o};
  assign sum_d      = {sum_q[CONTEXT-2:0], sum_valid_i && sum_ready_o};
  assign scored_d   = {scored_q[1:0], score_valid_i};
  assign owed_d     = (owed_q && !finished_o) || (finish_i && finish_ready_o);

  // The exponentials of a chunk leave without a gap.
  always_comb begin
    exponentials_d = exponentials_q == '0 ? '0 : exponentials_q - (GROUP_BITS + 1)'(1);
    if (complete_q[EXP-2]) exponentials_d = (GROUP_BITS + 1)'(GROUPS);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      position_q     <= '0;
      complete_q     <= '0;
      exponentials_q <= '0;
      weigh_q        <= '0;
      sum_q          <= '0;
      scored_q       <= '0;
      owed_q         <= 1'b0;
    end else begin
      position_q     <= position_d;
      complete_q     <= complete_d;
      exponentials_q <= exponentials_d;
      weigh_q        <= weigh_d;
      sum_q          <= sum_d;
      scored_q       <= scored_d;
      owed_q         <= owed_d;
    end
  end

  `ASSERT(assert_scaled, scaled_valid_o == scored_q[2])
  `ASSERT(assert_max, max_valid_o == complete_q[3])
  `ASSERT(assert_exponentials, exp_valid_o == (exponentials_q != '0))
  `ASSERT(assert_weight, weight_valid_o == weigh_q[WEIGHT-1])
  `ASSERT(assert_context, context_valid_o == (LATE != 0 && sum_q[CONTEXT-1]))
  `ASSERT(assert_write, write == complete_q[WRITE-1])

  // A group is not overwritten before its exponentials are on their way.
  `ASSERT(assert_chunk, !scaled_valid_o || !active_q || place_q <= element_q)
  // The heads' words and the multiplier have one user in a cycle.
  `ASSERT(assert_word, $countones({takes, takes_recip, starts}) <= 1)
  `ASSERT(assert_multiplier, LATE != 0 || !(rescale_q && weigh_valid_q[6]))
  `ASSERT(assert_store, !(write && store))

  `ASSERT(assert_one_finish, $countones({pending_q, draining_q, dividing_q}) <= 1)
  `ASSERT(assert_finished, !finished_o || owed_q)
  `ASSERT(assert_finish_ready, finish_ready_o == (!owed_q || finished_o))

endmodule

bind softmax_unit softmax_unit_checks #(.LATE(LATE), .GEAR(GEAR), .GROUP_BITS(GROUP_BITS)) u_checks (.*);

`endif
