// SPDX-License-Identifier: MIT
// A gate in a clock: lets a falling edge pass where enable_i is set.
//
//   clk_i      __|‾‾|__|‾‾|__|‾‾|__
//   enable_i   0  11111100000
//   clk_o      ‾‾‾‾‾|__|‾‾‾‾‾‾‾‾‾‾‾
//
// The enable comes from registers of the rising edge and has the first half of the clock to settle. While
// the clock is high so is clk_o, so that it has no glitch, and no register is needed.
// A cell of the library takes this module's place.

module falling_gate (
  /// Clock.
  input  logic clk_i,
  /// The next falling edge passes. Settled by then, and until the next rising edge.
  input  logic enable_i,
  /// The clock with the falling edges that pass.
  output logic clk_o
);

  assign clk_o = clk_i || !enable_i;

endmodule
