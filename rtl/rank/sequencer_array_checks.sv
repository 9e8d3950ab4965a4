// SPDX-License-Identifier: MIT
// Checker of sequencer_array: what is accepted was requested, and at most four MACs are not on the pins.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module sequencer_array_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       taken_i,
  input logic       read_i,
  input logic       reads_o,
  input logic       closes_o,
  input logic [2:0] sent_q
);

  `ASSERT(assert_taken, !taken_i || reads_o || closes_o)
  `ASSERT(assert_one, !(reads_o && closes_o))
  `ASSERT(assert_sent, sent_q <= 3'd4 && (!read_i || sent_q != '0))

endmodule

bind sequencer_array sequencer_array_checks u_checks (.*);

`endif
