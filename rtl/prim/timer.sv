// SPDX-License-Identifier: MIT
// A timing between two commands: counts the clocks down in which the second must not come.
//
//   clock     0         1    2    3
//   start_i   1         0    0    0         the first command, clocks_i = 3
//   over_o    x         0    0    1         the second may come
//
// With clocks_i of 0 or 1 it may come in the next clock. Over after reset. over_o is a register.

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

  // left_q is what is left of clocks_i in the cycle after the start; it stands still at the end. The
  // last cycle to wait shows as 2, and over_q is made then.
  logic [WIDTH-1:0] left_d, left_q;
  logic             over_d, over_q, load;

  assign load = start_i && (KEEP == 0 || over_q || clocks_i >= left_q);

  always_comb begin
    left_d = left_q - WIDTH'(!over_q);
    over_d = over_q || left_q == WIDTH'(2);
    if (load) begin
      left_d = clocks_i;
      over_d = clocks_i[WIDTH-1:1] == '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) over_q <= 1'b1;
    else         over_q <= over_d;
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
  end

  assign over_o = over_q;

  if (WIDTH < 2) $fatal(1, "WIDTH = %0d: expected 2 or more", WIDTH);
  if (KEEP > 1) $fatal(1, "KEEP = %0d: expected 0 or 1", KEEP);

endmodule
