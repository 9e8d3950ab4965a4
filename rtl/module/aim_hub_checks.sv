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
  input logic                       second_q,
  input logic                       load_valid_i,
  input load_t                      load_i,
  input logic                       load_ready_o,
  input logic                       start_valid_i,
  input start_t                     start_i,
  input logic                       start_ready_o,
  input logic                       fetch_read_o,
  input logic                       table_read_o,
  input logic                       command_write_o,
  input logic                       table_write_o,
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

  // What the host offers stands for an EPU cycle: it is offered from the first cycle on.
  handshake_checks #(.WIDTH($bits(load_t))) u_load (
    .clk_i, .rst_ni, .valid_i(load_valid_i), .ready_i(load_ready_o), .data_i(load_i)
  );
  handshake_checks #(.WIDTH($bits(start_t))) u_start (
    .clk_i, .rst_ni, .valid_i(start_valid_i), .ready_i(start_ready_o), .data_i(start_i)
  );

  logic loads_q, starts_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {loads_q, starts_q} <= '0;
    else         {loads_q, starts_q} <= {load_valid_i, start_valid_i};
  end

  `ASSERT(assert_offers, !second_q || (load_valid_i == loads_q && start_valid_i == starts_q))

  // An access to a memory has two cycles.
  `ASSERT(assert_second, second_q || {fetch_read_o, table_read_o, command_write_o, table_write_o, gpr_read_o,
                                      gpr_write_o} == '0)

  // The GPR has a port to read and one to write, and no word is read as it is written.
  `ASSERT(assert_one_reads, $countones({adders_read, softmax_reads, feeder_reads}) <= 1)
  `ASSERT(assert_one_writes, !(adders_write && softmax_writes))
  `ASSERT(assert_not_both, (gpr_read_o & gpr_write_o) == '0 || gpr_read_address_o != gpr_write_address_o)

endmodule

bind aim_hub aim_hub_checks #(.CHANNELS(CHANNELS)) u_checks (.*);

`endif
