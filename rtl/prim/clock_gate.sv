// SPDX-License-Identifier: MIT
// A gate in a clock: lets an edge pass where enable_i is set.
//
//   clk_i      __|‾‾|__|‾‾|__|‾‾|__
//   enable_i   0  1     0
//   enable_q   00000|11111|000000      taken at the falling edge
//   clk_o      ________|‾‾|________
//
// The enable is taken by a flip-flop at the falling edge before, and not by a latch: so there is no
// latch in the design, clk_o has no glitch, and the enable has the first half of the clock to settle.
// A cell of the library takes this module's place.

module clock_gate #(
  /// Edges pass during reset, and the first after it: 0 or 1.
  parameter int unsigned OPEN_IN_RESET = 0
) (
  /// Clock.
  input  logic clk_i,
  /// Asynchronous reset, active low: edges pass if OPEN_IN_RESET says so.
  input  logic rst_ni,
  /// The next rising edge passes. Settled by the falling edge.
  input  logic enable_i,
  /// The clock with the edges that pass.
  output logic clk_o
);

  logic enable_q;

  always_ff @(negedge clk_i or negedge rst_ni) begin
    if (!rst_ni) enable_q <= 1'(OPEN_IN_RESET);
    else         enable_q <= enable_i;
  end

  assign clk_o = clk_i && enable_q;

  if (OPEN_IN_RESET > 1) $fatal(1, "OPEN_IN_RESET = %0d: expected 0 or 1", OPEN_IN_RESET);

endmodule
