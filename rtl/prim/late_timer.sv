// SPDX-License-Identifier: MIT
// A timing between two commands, as `timer`, that is told of the first command a cycle late: what chooses commands does not have
// to start timers in the same cycle.
//
//   clock     0         1    2    3
//   command   first
//   start_i   0         1    0    0         clocks_i = 3, counted from the command
//   over_o    x         0    0    1         the second may come
//
// With clocks_i of 0 or 1 it may come in clock 1. Over after reset. over_o follows start_i in the same clock.

module late_timer #(
  /// Width of the count.
  parameter int unsigned WIDTH = 8,
  /// 1: a start does not shorten the time that runs; 0: all are equally long.
  parameter int unsigned KEEP  = 0
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// The command was in the last clock.
  input  logic             start_i,
  /// So many clocks from the command on.
  input  logic [WIDTH-1:0] clocks_i,
  /// The time is over.
  output logic             over_o
);

  // left_q is what is left of clocks_i two cycles after the command; it stands still at the end. The
  // last cycle to wait shows as 2, and over_q is made then.
  logic [WIDTH-1:0] left_d, left_q;
  logic             over_d, over_q, load, is_none;

  assign is_none = clocks_i[WIDTH-1:1] == '0;
  assign load    = start_i && (KEEP == 0 || over_q || clocks_i > left_q);

  always_comb begin
    left_d = left_q - WIDTH'(!over_q);
    over_d = over_q || left_q == WIDTH'(2);
    if (load) begin
      left_d = clocks_i - WIDTH'(1);
      over_d = is_none || clocks_i == WIDTH'(2);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) over_q <= 1'b1;
    else         over_q <= over_d;
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
  end

  // A time that is kept is over if it was, and none was added.
  assign over_o = start_i ? is_none && (KEEP == 0 || over_q) : over_q;

  if (WIDTH < 2) $fatal(1, "WIDTH = %0d: expected 2 or more", WIDTH);
  if (KEEP > 1) $fatal(1, "KEEP = %0d: expected 0 or 1", KEEP);

endmodule
