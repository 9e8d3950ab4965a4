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
  input logic       host_busy,
  input logic       host_waits,
  input logic       pu_busy,
  input logic       pu_waits,
  input logic       relaid_valid,
  input logic [1:0] leaving  // to the chips, to the host
);

  `ASSERT(assert_host, !host_busy || host_waits)
  `ASSERT(assert_pu, !pu_busy || pu_waits)
  `ASSERT(assert_one_driver, !(memory_i && host_dq_valid_i && chips_valid_i))
  `ASSERT(assert_one_way, !(leaving[1] && pu_busy))
  `ASSERT(assert_group, relaid_valid == |leaving)

endmodule

bind operand_path operand_path_checks u_checks (.*);

`endif
