// SPDX-License-Identifier: MIT
// A timing between two commands: counts the clocks down in which the second must not come.
//
//   clock     0         1    2    3
//   start_i   1         0    0    0         the first command, clocks_i = 3
//   over_o    x         0    0    1         the second may come
//
// With clocks_i of 0 or 1 it may come in the next clock. Over after reset.

module timer #(
  /// Width of the count.
  parameter int unsigned WIDTH = 8,
  /// 1: a start does not shorten the time that runs; 0: all are equally long.
  parameter int unsigned KEEP  = 0
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Start now.
  input  logic             start_i,
  /// So many clocks.
  input  logic [WIDTH-1:0] clocks_i,
  /// The time is over.
  output logic             over_o
);

  logic [WIDTH-1:0] left, left_d, left_q;
  logic             longer;

  assign left   = left_q == '0 ? '0 : left_q - WIDTH'(1);
  assign longer = KEEP == 0 || clocks_i > left;
  assign left_d = start_i && longer ? clocks_i : left;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else         left_q <= left_d;
  end

  // In the clock after the start all of clocks_i is left, so that the last one to wait shows as 2.
  assign over_o = left_q[WIDTH-1:1] == '0;

  if (WIDTH < 2) $fatal(1, "WIDTH = %0d: expected 2 or more", WIDTH);
  if (KEEP > 1) $fatal(1, "KEEP = %0d: expected 0 or 1", KEEP);

endmodule
