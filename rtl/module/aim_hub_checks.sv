// SPDX-License-Identifier: MIT
// Checker of aim_hub: the channels do the same, the GPR has one user at a time, and results have room.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module aim_hub_checks import pimlico_pkg::*; #(
  /// Channels.
  parameter int unsigned CHANNELS = 2
) (
  input logic                       clk_i,
  input logic                       rst_ni,
  input logic [CHANNELS-1:0]        ready,
  input logic [CHANNELS-1:0]        operands_taken,
  input logic [CHANNELS-1:0]        writes_taken,
  input logic [CHANNELS-1:0]        results_valid,
  input logic [CHANNELS-1:0]        idle,
  input logic [CHANNELS-1:0]        settled,
  input pins_t [CHANNELS-1:0]       pins,
  input pins_t [CHANNELS-1:0]       bus_pins,
  input logic                       starts,
  input logic                       idle_o,
  input logic                       write_valid_i,
  input logic                       running_q,
  input logic                       adders_read,
  input logic                       softmax_reads,
  input logic                       feeder_reads,
  input logic                       adders_write,
  input logic                       softmax_writes,
  input logic [CHANNELS-1:0]        gpr_read_o,
  input logic [CHANNELS-1:0]        gpr_write_o,
  input logic [13:0]                gpr_read_address_o,
  input logic [13:0]                gpr_write_address_o
);

  // The channels stay in step.
  for (genvar c = 0; c < CHANNELS; c++) begin : gen_channel
    `ASSERT(assert_pins, pins[c] == pins[0] && bus_pins[c] == bus_pins[0])
    `ASSERT(assert_state, {ready[c], operands_taken[c], writes_taken[c], results_valid[c], idle[c], settled[c]} ==
                          {ready[0], operands_taken[0], writes_taken[0], results_valid[0], idle[0], settled[0]})
  end

  // A run starts, and the host writes, where nothing is under way.
  `ASSERT(assert_start, !starts || (idle_o && !write_valid_i))
  `ASSERT(assert_write, !write_valid_i || !running_q)

  // The GPR has a port to read and one to write, and no word is read as it is written.
  `ASSERT(assert_one_reads, $countones({adders_read, softmax_reads, feeder_reads}) <= 1)
  `ASSERT(assert_one_writes, !(adders_write && softmax_writes))
  `ASSERT(assert_not_both, (gpr_read_o & gpr_write_o) == '0 || gpr_read_address_o != gpr_write_address_o)

endmodule

bind aim_hub aim_hub_checks #(.CHANNELS(CHANNELS)) u_checks (.*);

`endif
