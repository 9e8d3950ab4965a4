// SPDX-License-Identifier: MIT
// Multiplication of two significands, made to be small, or to be fast (FAST): left to synthesis, or by a tree.
//
// Small: two bits of the multiplier at a time select 0, 1, 2 or 3 times the multiplicand, and a row of full
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
//
// SETS: the rows are added up in so many sets side by side, and then the sets. A late sum makes all rows
// after it change again, and a set has fewer of them: a bank PU takes 5 % less power with three than with one. Each
// addition of a set is wider than a row by what is below it: with WIDTH = 11, some 10 GE for each set more.

module significand_mul #(
  /// Width of the significands, hidden bits included: 3 or more.
  parameter int unsigned WIDTH = 11,
  /// 0: rows of full adders; 1: left to synthesis; 2: Booth's digits and a tree of carry-save adders.
  parameter int unsigned FAST  = 0,
  /// Sets of rows that are added up side by side, at most as many as rows; of no effect with FAST.
  parameter int unsigned SETS  = 3
) (
  /// Multiplicand.
  input  logic [WIDTH-1:0]   a_i,
  /// Multiplier.
  input  logic [WIDTH-1:0]   b_i,
  /// Product.
  output logic [2*WIDTH-1:0] product_o
);

  // Of some numbers, how many are left after so many levels, of which each makes two of three.
  function automatic int unsigned left(int unsigned numbers, int unsigned level);
    left = numbers;
    for (int unsigned l = 0; l < level; l++) left = left - left / 3;
  endfunction

  // Levels until two are left.
  function automatic int unsigned levels(int unsigned numbers);
    levels = 0;
    while (left(numbers, levels) > 2) levels++;
  endfunction

  if (FAST == 1) begin : gen_synthesis
    assign product_o = (2 * WIDTH)'(a_i) * (2 * WIDTH)'(b_i);
  end else if (FAST == 2) begin : gen_fast
    localparam int unsigned ROWS      = WIDTH / 2 + 1;
    localparam int unsigned LEVELS    = levels(ROWS);
    localparam int unsigned ROW_WIDTH = 3 * WIDTH + 4;

    logic [2*ROWS:0] multiplier;

    assign multiplier = (2 * ROWS + 1)'({b_i, 1'b0});

    for (genvar l = 0; l <= LEVELS; l++) begin : gen_level
      logic [left(ROWS, l)-1:0][2*WIDTH-1:0] number;

      if (l == 0) begin : gen_rows
        for (genvar r = 0; r < ROWS; r++) begin : gen_row
          logic                 minus, once, twice, unused_above;
          logic [WIDTH:0]       multiple;
          logic [ROW_WIDTH-1:0] row;

          assign minus    = multiplier[2*r+2];
          assign once     = multiplier[2*r+1] ^ multiplier[2*r];
          assign twice    = (multiplier[2*r+2] && !multiplier[2*r+1] && !multiplier[2*r])
                            || (!multiplier[2*r+2] && multiplier[2*r+1] && multiplier[2*r]);
          assign multiple = (({(WIDTH + 1){once}} & {1'b0, a_i}) | ({(WIDTH + 1){twice}} & {a_i, 1'b0}))
                            ^ {(WIDTH + 1){minus}};

          if (r == 0) begin : gen_first
            assign row = ROW_WIDTH'({!minus, minus, minus, multiple});
          end else begin : gen_next
            assign row = ROW_WIDTH'({1'b1, !minus, multiple, 1'b0, multiplier[2*r]}) << (2 * r - 2);
          end

          assign number[r]    = row[2*WIDTH-1:0];
          assign unused_above = &{1'b0, row[ROW_WIDTH-1:2*WIDTH]};
        end
      end else begin : gen_sums
        localparam int unsigned BEFORE = left(ROWS, l - 1);
        localparam int unsigned THREES = BEFORE / 3;

        for (genvar n = 0; n < THREES; n++) begin : gen_three
          logic [2*WIDTH-1:0] x, y, z, carries;
          logic               unused_carry;

          assign {z, y, x}     = gen_level[l-1].number[3*n+:3];
          assign carries       = (x & y) | (z & (x | y));
          assign number[2*n]   = x ^ y ^ z;
          assign number[2*n+1] = {carries[2*WIDTH-2:0], 1'b0};
          assign unused_carry  = carries[2*WIDTH-1];
        end
        for (genvar n = 3 * THREES; n < BEFORE; n++) begin : gen_over
          assign number[n-THREES] = gen_level[l-1].number[n];
        end
      end
    end

    carry_select_adder #(.WIDTH(2 * WIDTH)) u_sum (
      .a_i(gen_level[LEVELS].number[0]), .b_i(gen_level[LEVELS].number[1]), .sum_o(product_o)
    );
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

    for (genvar s = 0; s < SETS; s++) begin : gen_set
      localparam int unsigned FIRST       = s * ROWS / SETS;
      localparam int unsigned SET_ROWS    = (s + 1) * ROWS / SETS - FIRST;
      localparam int unsigned VALUE_WIDTH = 2 * (SET_ROWS - 1) + ROW_WIDTH;
      localparam int unsigned TOTAL_WIDTH = s == SETS - 1 ? 2 * (WIDTH - FIRST) : VALUE_WIDTH;

      // What the set's rows come to, and with the sets before it, both in units of 4^FIRST.
      logic [VALUE_WIDTH-1:0] value;
      logic [TOTAL_WIDTH-1:0] total;

      for (genvar r = 0; r < SET_ROWS; r++) begin : gen_row
        logic [1:0]           digit;
        logic [ROW_WIDTH-1:0] multiple, sum;  // in units of 4^(FIRST + r)

        assign digit    = multiplier[2*(FIRST+r)+:2];
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

        if (r == SET_ROWS - 1) begin : gen_high
          assign value[VALUE_WIDTH-1:2*r] = sum;
        end else begin : gen_low
          assign value[2*r+:2] = sum[1:0];
        end
      end

      if (s == 0) begin : gen_first
        assign total = value[TOTAL_WIDTH-1:0];
      end else begin : gen_add
        localparam int unsigned BELOW = FIRST - (s - 1) * ROWS / SETS;

        logic unused_total_carry;

        ripple_adder #(.WIDTH(TOTAL_WIDTH)) u_total (
          .a_i     (value[TOTAL_WIDTH-1:0]),
          .b_i     (TOTAL_WIDTH'(gen_set[s-1].total[2*BELOW+:WIDTH])),
          .carry_i (1'b0),
          .sum_o   (total),
          .carry_o (unused_total_carry)
        );
      end

      if (VALUE_WIDTH > TOTAL_WIDTH) begin : gen_above
        logic unused_above;
        assign unused_above = |value[VALUE_WIDTH-1:TOTAL_WIDTH];
      end

      if (s == SETS - 1) begin : gen_product_high
        assign product_o[2*WIDTH-1:2*FIRST] = total;
      end else begin : gen_product_low
        assign product_o[2*FIRST+:2*SET_ROWS] = total[2*SET_ROWS-1:0];
      end
    end
  end

  if (WIDTH < 3) $fatal(1, "WIDTH = %0d: expected 3 or more", WIDTH);
  if (FAST > 2) $fatal(1, "FAST = %0d: expected 0 to 2", FAST);
  if (SETS < 1 || SETS > (WIDTH + 1) / 2) $fatal(1, "SETS = %0d: expected 1 to a set for each row", SETS);

endmodule
