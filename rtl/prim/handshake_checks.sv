// SPDX-License-Identifier: MIT
// Checker of a valid/ready handshake, for use in other checkers: what is offered stands until it is taken.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module handshake_checks #(
  /// Width of what is offered.
  parameter int unsigned WIDTH = 1
) (
  /// Clock.
  input logic             clk_i,
  /// Asynchronous reset, active low.
  input logic             rst_ni,
  /// Something is offered.
  input logic             valid_i,
  /// It is taken, if it is offered.
  input logic             ready_i,
  /// What is offered.
  input logic [WIDTH-1:0] data_i
);

  logic             waits_q;  // it was offered in the last cycle, and not taken
  logic [WIDTH-1:0] data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waits_q <= 1'b0;
    else         waits_q <= valid_i && !ready_i;
  end

  always_ff @(posedge clk_i) data_q <= data_i;

  `ASSERT(assert_stands, !waits_q || valid_i)
  `ASSERT(assert_stable, !waits_q || data_i == data_q)

endmodule

`endif
