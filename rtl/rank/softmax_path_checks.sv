// SPDX-License-Identifier: MIT
// Checker of softmax_path: the ports of the score buffer have one user at a time.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module softmax_path_checks (
  input logic clk_i,
  input logic rst_ni,
  input logic partial_read_i,
  input logic scaled_o,
  input logic keep_q,
  input logic partial_output,
  input logic weigh_valid
);

  `ASSERT(assert_read, !(partial_read_i && weigh_valid))
  `ASSERT(assert_write, !(partial_output && scaled_o && keep_q))

endmodule

bind softmax_path softmax_path_checks u_checks (.*);

`endif
