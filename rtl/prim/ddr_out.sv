// SPDX-License-Identifier: MIT
// Register in front of lines of double data rate: of two beats, one in each half of a tCK.
//
//   clk_i      |    |    |    |    |    |      a beat
//   clk_tck_i       |         |         |      the end of a tCK
//   second_i   0    1    0    1    0    1
//   pair_i     a b       c d
//   data_o               a    b    c    d
//
// The data are not reset: data_o is unspecified until the first edge of clk_tck_i.

module ddr_out #(
  /// Width of a beat.
  parameter int unsigned WIDTH = 8
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic                  clk_i,
  /// Clock: one edge per tCK, one of clk_i's.
  input  logic                  clk_tck_i,
  /// The second of the two beats of a tCK.
  input  logic                  second_i,
  /// The beats of the next tCK, the first at the bottom.
  input  logic [1:0][WIDTH-1:0] pair_i,
  /// The beat.
  output logic [WIDTH-1:0]      data_o
);

  logic [WIDTH-1:0] second_d, second_q, data_d, data_q;

  assign second_d = pair_i[1];
  assign data_d   = second_i ? pair_i[0] : second_q;

  always_ff @(posedge clk_tck_i) begin
    second_q <= second_d;
  end

  always_ff @(posedge clk_i) begin
    data_q <= data_d;
  end

  assign data_o = data_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);

endmodule
