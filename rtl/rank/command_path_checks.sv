// SPDX-License-Identifier: MIT
// Checker of command_path: the rank PU never postpones more than eight REFs, and the pins have one owner.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module command_path_checks import pimlico_pkg::*; (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       first_i,
  input logic       hold_i,
  input logic       memory_i,
  input pins_t      host_pins_i,
  input logic       array_valid_i,
  input logic       bus_valid_i,
  input logic       array_taken_o,
  input logic       bus_taken_o,
  input pins_t      pins_o,
  input pins_t      pins,
  input logic [3:0] owed
);

  localparam logic [3:0] MOST = 4'd8;

  // What the host has postponed in memory mode is not the rank PU's, until a whole tREFI is left for it.
  logic       host_late_d, host_late_q;

  assign host_late_d = memory_i || (host_late_q && owed >= MOST);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) host_late_q <= 1'b0;
    else         host_late_q <= host_late_d;
  end

  `ASSERT(assert_postponed, host_late_d || owed <= MOST)
  `ASSERT(assert_owner, pins_o == (hold_i ? '0 : memory_i ? host_pins_i : first_i ? pins : '0))
  `ASSERT(assert_array_taken, !array_taken_o || (array_valid_i && !memory_i && !hold_i))
  `ASSERT(assert_bus_taken, !bus_taken_o || (bus_valid_i && !memory_i && !hold_i))

endmodule

bind command_path command_path_checks u_checks (.*);

`endif
