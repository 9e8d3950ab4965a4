// SPDX-License-Identifier: MIT
// Checker of sequencer_results: at most four RD_RESULTs are accepted and not on the pins.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module sequencer_results_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       next_valid_i,
  input logic       send_i,
  input logic       taken_i,
  input logic [2:0] readers_q
);

  `ASSERT(assert_send, !send_i || next_valid_i)
  `ASSERT(assert_readers, readers_q <= 3'd4 && (!taken_i || readers_q != '0))

endmodule

bind sequencer_results sequencer_results_checks u_checks (.*);

`endif
