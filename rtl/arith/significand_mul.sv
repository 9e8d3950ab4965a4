// SPDX-License-Identifier: MIT
// Multiplication of two significands, made to be small, or (FAST) left to synthesis, which makes it fast.
//
// Two bits of the multiplier at a time select 0, 1, 2 or 3 times the multiplicand, and a row of full
// adders adds that to what the rows before have come to:
//
//   multiplier    b5 b4 b3 b2 b1 b0
//   row 0                        {3,2,1,0} x a
//   row 1                  {3,2,1,0} x a << 2          + row 0
//   row 2            {3,2,1,0} x a << 4                + rows 0 and 1
//
// Decision. Half as many rows as bits, at the price of one addition for 3a: a bit of two rows costs a
// selection (2.6 gate equivalents, GE) and a full adder (5), where a row for each bit costs an AND and a
// full adder twice. Digits of -2 to 2 (Booth) would save 3a, but their selection costs 4, and there
// are signs to extend. A carry waits for the one below it; as the rows overlap, the last sum is ready
// after some 2 WIDTH full adders.

module significand_mul #(
  /// Width of the significands, hidden bits included.
  parameter int unsigned WIDTH = 11,
  /// 1: the product is left to synthesis; 0: rows of full adders.
  parameter int unsigned FAST  = 0
) (
  /// Multiplicand.
  input  logic [WIDTH-1:0]   a_i,
  /// Multiplier.
  input  logic [WIDTH-1:0]   b_i,
  /// Product.
  output logic [2*WIDTH-1:0] product_o
);

  if (FAST != 0) begin : gen_fast
    assign product_o = (2 * WIDTH)'(a_i) * (2 * WIDTH)'(b_i);
  end else begin : gen_small
    localparam int unsigned ROWS      = (WIDTH + 1) / 2;
    localparam int unsigned ROW_WIDTH = WIDTH + 2;

    logic [ROW_WIDTH-1:0] once, twice, thrice;
    logic                 unused_carry;
    logic [2*ROWS-1:0]    multiplier;

    assign once       = ROW_WIDTH'(a_i);
    assign twice      = {1'b0, a_i, 1'b0};
    assign multiplier = (2 * ROWS)'(b_i);

    ripple_adder #(.WIDTH(ROW_WIDTH)) u_thrice (
      .a_i(once), .b_i(twice), .carry_i(1'b0), .sum_o(thrice), .carry_o(unused_carry)
    );

    for (genvar r = 0; r < ROWS; r++) begin : gen_row
      logic [1:0]           digit;
      logic [ROW_WIDTH-1:0] multiple, sum;  // in units of 4^r

      assign digit    = multiplier[2*r+:2];
      assign multiple = ({ROW_WIDTH{digit == 2'd1}} & once) | ({ROW_WIDTH{digit == 2'd2}} & twice)
                        | ({ROW_WIDTH{digit == 2'd3}} & thrice);

      if (r == 0) begin : gen_first
        assign sum = multiple;
      end else begin : gen_add
        logic unused_row_carry;

        ripple_adder #(.WIDTH(ROW_WIDTH)) u_sum (
          .a_i     (ROW_WIDTH'(gen_row[r-1].sum[ROW_WIDTH-1:2])),
          .b_i     (multiple),
          .carry_i (1'b0),
          .sum_o   (sum),
          .carry_o (unused_row_carry)
        );
      end

      if (r == ROWS - 1) begin : gen_high
        assign product_o[2*WIDTH-1:2*r] = sum[2*(WIDTH-r)-1:0];
        if (ROW_WIDTH > 2 * (WIDTH - r)) begin : gen_above
          logic unused_above;
          assign unused_above = |sum[ROW_WIDTH-1:2*(WIDTH-r)];
        end
      end else begin : gen_low
        assign product_o[2*r+:2] = sum[1:0];
      end
    end
  end

  if (WIDTH < 2) $fatal(1, "WIDTH = %0d: expected 2 or more", WIDTH);
  if (FAST > 1) $fatal(1, "FAST = %0d: expected 0 or 1", FAST);

endmodule
