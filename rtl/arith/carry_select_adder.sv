// SPDX-License-Identifier: MIT
// An adder in two halves: the upper one has both its sums ready when the lower one's carry comes.

module carry_select_adder #(
  /// Width of the operands, 2 or more.
  parameter int unsigned WIDTH = 32
) (
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Sum, without its carry.
  output logic [WIDTH-1:0] sum_o
);

  localparam int unsigned LOW  = WIDTH / 2;
  localparam int unsigned HIGH = WIDTH - LOW;

  logic [LOW:0]    low;
  logic [HIGH-1:0] high, next;

  assign low   = {1'b0, a_i[LOW-1:0]} + {1'b0, b_i[LOW-1:0]};
  assign high  = a_i[WIDTH-1:LOW] + b_i[WIDTH-1:LOW];
  assign next  = a_i[WIDTH-1:LOW] + b_i[WIDTH-1:LOW] + HIGH'(1);
  assign sum_o = {low[LOW] ? next : high, low[LOW-1:0]};

  if (WIDTH < 2) $fatal(1, "WIDTH = %0d: expected 2 or more", WIDTH);

endmodule
