// SPDX-License-Identifier: MIT
// The bursts that one side is going to drive on the data bus, in the order in which they came.
//
//   tCK       0          1          2          3          4
//   push_i    burst
//   busy_i                          1          1          1 ...     by a burst_timer
//   index_i                         0          1          2
//   second_i                        0    1     0    1     0    1    the tCK's second beat
//   data_o    0                     b0   b1    b2   b3    b4   b5

module burst_source #(
  /// Bursts that wait.
  parameter int unsigned DEPTH = 16
) (
  /// Clock: tCK.
  input  logic             clk_i,
  /// Asynchronous reset, active low: nothing waits.
  input  logic             rst_ni,
  /// A burst enters.
  input  logic             push_i,
  /// Its beats.
  input  logic [7:0][63:0] beats_i,
  /// The oldest burst is on the bus.
  input  logic             busy_i,
  /// Which of its tCK.
  input  logic [1:0]       index_i,
  /// The second of the tCK's two beats.
  input  logic             second_i,
  /// The beat; 0 if there is none.
  output logic [63:0]      data_o
);

  logic             valid, unused_valid;
  logic [7:0][63:0] beats;

  fifo #(.WIDTH(512), .DEPTH(DEPTH)) u_bursts (
    .clk_i,
    .rst_ni,
    .push_i,
    .data_i  (beats_i),
    .pop_i   (busy_i && index_i == '1),
    .valid_o (valid),
    .data_o  (beats)
  );

  assign unused_valid = valid;
  assign data_o       = busy_i ? beats[{index_i, second_i}] : '0;

endmodule
