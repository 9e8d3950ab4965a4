// SPDX-License-Identifier: MIT
// Register behind lines of double data rate: the two beats of a tCK, in its second half.
//
//   clk_i      |    |    |    |    |      a beat
//   data_i     a    b    c    d
//   pair_o          a b       c d
//
// The data are not reset.

module ddr_in #(
  /// Width of a beat.
  parameter int unsigned WIDTH = 8
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic                  clk_i,
  /// The beat.
  input  logic [WIDTH-1:0]      data_i,
  /// The last two beats, the first at the bottom.
  output logic [1:0][WIDTH-1:0] pair_o
);

  logic [WIDTH-1:0] first_d, first_q;

  assign first_d = data_i;

  always_ff @(posedge clk_i) begin
    first_q <= first_d;
  end

  assign pair_o = {data_i, first_q};

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);

endmodule
