// SPDX-License-Identifier: MIT
// Checker of operand_path: a burst on the bus is one that entered, and one side drives at a time.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module operand_path_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       memory_i,
  input logic       host_dq_valid_i,
  input logic       chips_valid_i,
  input logic       host_asks,
  input logic       host_waits,
  input logic       host_enters,
  input logic       pu_asks,
  input logic       pu_waits,
  input logic       pu_enters,
  input logic       relaid_valid,
  input logic       valid_o,
  input logic       host_dq_valid_o
);

  `ASSERT(assert_host, !host_asks || host_waits)
  `ASSERT(assert_pu, !pu_asks || pu_waits)
  `ASSERT(assert_one_driver, !(memory_i && host_dq_valid_i && chips_valid_i))
  `ASSERT(assert_one_side, !(host_enters && pu_enters))
  `ASSERT(assert_one_way, !(valid_o && host_dq_valid_o))
  `ASSERT(assert_group, relaid_valid == (valid_o || host_dq_valid_o))

endmodule

bind operand_path operand_path_checks u_checks (.*);

`endif
