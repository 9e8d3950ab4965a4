// SPDX-License-Identifier: MIT
// Mode of an AiM's channel with single buffers: that of its arrays, or that of its data lines. Contract: aim_channel.md.
//
//   cycle        0    1   ...  13   14        mode_change_i = 33 tCK
//   array_i      1                            an RD_ALL on the pins
//   lines_o           0        0    1

module aim_modes (
  /// Clock: one edge per cycle.
  input  logic       clk_i,
  /// Asynchronous reset, active low: either mode may come.
  input  logic       rst_ni,
  /// From a command of one mode to the first of the other, in tCK; constant.
  input  logic [7:0] mode_change_i,
  /// An RD_ALL or a WR is on the pins.
  input  logic       array_i,
  /// A WR_SHARED is on the pins.
  input  logic       word_i,
  /// An RD_RESULT is on the pins.
  input  logic       results_i,
  /// Requests of the arrays may be made.
  output logic       arrays_o,
  /// Requests of the data lines may be made.
  output logic       lines_o
);

  logic [7:0] to_lines, to_arrays;

  // Cycles from a command to the first request, whose own command follows two cycles later. A command of the data
  // lines is in a second slot, and its burst is on the lines until three tCK behind it, or five (RD_RESULT).
  assign to_lines  = mode_change_i < 8'd6 ? '0 : (mode_change_i - 8'd4) >> 1;
  assign to_arrays = 8'((9'(mode_change_i) + (results_i ? 9'd3 : 9'd1)) >> 1);

  timer u_to_lines (
    .clk_i, .rst_ni, .start_i(array_i), .clocks_i(to_lines), .over_o(lines_o)
  );
  timer u_to_arrays (
    .clk_i, .rst_ni, .start_i(word_i || results_i), .clocks_i(to_arrays), .over_o(arrays_o)
  );

endmodule
