// SPDX-License-Identifier: MIT
// Checker of sequencer_array: what is accepted was requested, at most four MACs are not on the pins, and one
// that ends a sum is accepted so long after the one before that the results of a chunk can leave in between.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module sequencer_array_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       start_i,
  input logic [7:0] burst_i,
  input logic       next_last_i,
  input logic       taken_i,
  input logic       read_i,
  input logic       reads_o,
  input logic       closes_o,
  input logic [2:0] sent_q,
  input logic [3:0] lasts_q
);

  // Cycles since a MAC on the pins ended a sum, up to those in which the results of a chunk leave.
  logic [9:0] since_q, chunk;
  logic       ends;

  assign chunk = {burst_i < 8'd2 ? 8'd2 : burst_i, 2'd0};
  assign ends  = taken_i && reads_o && next_last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)                   since_q <= '1;
    else if (start_i)              since_q <= '1;
    else if (read_i && lasts_q[0]) since_q <= 10'd1;
    else if (since_q < chunk)      since_q <= since_q + 10'd1;
  end

  `ASSERT(assert_taken, !taken_i || reads_o || closes_o)
  `ASSERT(assert_one, !(reads_o && closes_o))
  `ASSERT(assert_sent, sent_q <= 3'd4 && (!read_i || sent_q != '0))
  `ASSERT(assert_lasts, lasts_q >> sent_q == '0)
  // It is on the pins two cycles later.
  `ASSERT(assert_chunk, !ends || lasts_q == '0 && since_q >= chunk - 10'd2)

endmodule

bind sequencer_array sequencer_array_checks u_checks (.*);

`endif
