// SPDX-License-Identifier: MIT
// Checker of softmax_unit: what comes out is as many cycles behind what went in as the contract says, the
// passes do not meet in the shared units, and a finish is done once.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module softmax_unit_checks #(
  /// 0: weights are normalised; 1: the context is.
  parameter int unsigned LATE      = 0,
  /// Width of the number of a query head.
  parameter int unsigned HEAD_BITS = 3
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 score_valid_i,
  input logic                 finish_i,
  input logic                 weigh_valid_i,
  input logic                 sum_valid_i,
  input logic                 scaled_valid_o,
  input logic                 max_valid_o,
  input logic                 exp_valid_o,
  input logic                 finish_ready_o,
  input logic                 finished_o,
  input logic                 weigh_ready_o,
  input logic                 weight_valid_o,
  input logic                 sum_ready_o,
  input logic                 context_valid_o,
  input logic [3:0]           place,       // of the scaled score in its chunk
  input logic [3:0]           element_q,   // that is subtracted from
  input logic                 active_q,
  input logic                 chunk_last,  // a chunk has the multiplier
  input logic                 normalise,   // a weight or a sum has it
  input logic                 pending_q,
  input logic                 dividing_q,
  input logic                 combine_q,   // a chunk's sum is written
  input logic [HEAD_BITS-1:0] combine_head_q,
  input logic [HEAD_BITS-1:0] finish_head_q
);

  localparam int unsigned WEIGHT = LATE != 0 ? 2 : 4;  // cycles from an element of pass 2 to its weight

  // What went in, the last cycle's first. exponentials_q: those of complete chunks that are to come.
  logic [3:0] position_d, position_q;
  logic [2:0] complete_d, complete_q;
  logic [4:0] exponentials_d, exponentials_q;
  logic [3:0] weigh_d, weigh_q;
  logic [1:0] sum_d, sum_q;
  logic       scored_q;
  logic       owed_d, owed_q;  // a finish was taken, and is not done

  assign position_d = position_q + 4'(score_valid_i);
  assign complete_d = {complete_q[1:0], score_valid_i && position_q == '1};
  assign weigh_d    = {weigh_q[2:0], weigh_valid_i && weigh_ready_o};
  assign sum_d      = {sum_q[0], sum_valid_i && sum_ready_o};
  assign owed_d     = (owed_q && !finished_o) || (finish_i && finish_ready_o);

  // The exponentials of a chunk begin four cycles behind its last score, and leave without a gap.
  always_comb begin
    exponentials_d = exponentials_q == '0 ? '0 : exponentials_q - 5'd1;
    if (complete_q[2]) exponentials_d = 5'd16;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      position_q     <= '0;
      complete_q     <= '0;
      exponentials_q <= '0;
      weigh_q        <= '0;
      sum_q          <= '0;
      scored_q       <= 1'b0;
      owed_q         <= 1'b0;
    end else begin
      position_q     <= position_d;
      complete_q     <= complete_d;
      exponentials_q <= exponentials_d;
      weigh_q        <= weigh_d;
      sum_q          <= sum_d;
      scored_q       <= score_valid_i;
      owed_q         <= owed_d;
    end
  end

  `ASSERT(assert_scaled, scaled_valid_o == scored_q)
  `ASSERT(assert_max, max_valid_o == complete_q[1])
  `ASSERT(assert_exponentials, exp_valid_o == (exponentials_q != '0))
  `ASSERT(assert_weight, weight_valid_o == weigh_q[WEIGHT-1])
  `ASSERT(assert_context, context_valid_o == (LATE != 0 && sum_q[1]))

  // A score is not overwritten before its exponential is on its way.
  `ASSERT(assert_chunk, !scaled_valid_o || !active_q || place <= element_q)
  `ASSERT(assert_multiplier, !(chunk_last && normalise))

  // The divider's operand stays as it is.
  `ASSERT(assert_operand, !(dividing_q && combine_q && combine_head_q == finish_head_q))

  `ASSERT(assert_one_finish, !(pending_q && dividing_q))
  `ASSERT(assert_finished, !finished_o || owed_q)
  `ASSERT(assert_finish_ready, finish_ready_o == (!owed_q || finished_o))

endmodule

bind softmax_unit softmax_unit_checks #(.LATE(LATE), .HEAD_BITS(HEAD_BITS)) u_checks (.*);

`endif
