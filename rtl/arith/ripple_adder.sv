// SPDX-License-Identifier: MIT
// An adder of full adders, each of which waits for the carry of the one below: the smallest there is.

module ripple_adder #(
  /// Width of the operands: 1 or more, as there is a last carry.
  parameter int unsigned WIDTH = 8
) (
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Carry in.
  input  logic             carry_i,
  /// Sum.
  output logic [WIDTH-1:0] sum_o,
  /// Carry out.
  output logic             carry_o
);

  for (genvar k = 0; k < WIDTH; k++) begin : gen_bit
    logic carry_in, carry;

    if (k == 0) begin : gen_first
      assign carry_in = carry_i;
    end else begin : gen_next
      assign carry_in = gen_bit[k-1].carry;
    end

    full_adder u_full_adder (
      .a_i     (a_i[k]),
      .b_i     (b_i[k]),
      .c_i     (carry_in),
      .sum_o   (sum_o[k]),
      .carry_o (carry)
    );
  end

  assign carry_o = gen_bit[WIDTH-1].carry;

endmodule
