// SPDX-License-Identifier: MIT
// Bursts that one side is going to drive on the data bus. Contract: burst_source.md.

module burst_source #(
  /// Width of a beat.
  parameter int unsigned WIDTH = 64,
  /// Bursts that wait, the one on the bus included: a power of two, 2 or more.
  parameter int unsigned DEPTH = 16
) (
  /// Clock: one edge per tCK.
  input  logic                  clk_i,
  /// Asynchronous reset, active low: nothing waits.
  input  logic                  rst_ni,
  /// A burst enters, only where there is room.
  input  logic                  push_i,
  /// Beats of the burst that enters, the first at the bottom.
  input  logic [7:0][WIDTH-1:0] beats_i,
  /// The oldest burst is on the bus, only where there is one.
  input  logic                  busy_i,
  /// tCK of the burst on the bus, 0 to 3.
  input  logic [1:0]            index_i,
  /// The second of the two beats of a tCK.
  input  logic                  second_i,
  /// A burst waits, or is on the bus.
  output logic                  valid_o,
  /// Beat on the bus; 0 without busy_i.
  output logic [WIDTH-1:0]      data_o
);

  logic [7:0][WIDTH-1:0] beats;

  fifo #(.WIDTH(8 * WIDTH), .DEPTH(DEPTH)) u_bursts (
    .clk_i,
    .rst_ni,
    .push_i,
    .data_i  (beats_i),
    .pop_i   (busy_i && index_i == '1),
    .valid_o,
    .data_o  (beats)
  );

  assign data_o = busy_i ? beats[{index_i, second_i}] : '0;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
