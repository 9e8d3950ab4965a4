// SPDX-License-Identifier: MIT
// Floating-point adder. Contract: fp_add.md.

module fp_add #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  /// Pipeline registers, 0 to 4: after the adder, the alignment, the rounding, the normalisation, in this order.
  /// The fourth is for FAST = 1 and SUBNORMALS = 1.
  parameter  int unsigned STAGES     = 0,
  /// 1: carries by prefix trees, registers without reset; 0: carries that ripple, registers with reset.
  parameter  int unsigned FAST       = 0,
  /// 1: a register on the falling edge between the sum and its normalisation; 0: none.
  parameter  int unsigned HALF_STAGE = 0,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Rounded sum of the operands STAGES cycles earlier.
  output logic [WIDTH-1:0] result_o
);

  // Guard and round bit below the significand; a carry above it. What is below is one sticky bit.
  localparam int unsigned FIELD_WIDTH = (MAN_BITS + 1) + 2;
  localparam int unsigned SUM_WIDTH   = 1 + FIELD_WIDTH;
  // Shifts are sums of powers of two.
  localparam int unsigned STEPS       = $clog2(FIELD_WIDTH);
  // Zeros are counted with the sum.
  localparam bit          EARLY       = FAST != 0 && STAGES >= 2 && STAGES < 4;

  typedef struct packed {
    logic                   negative;  // sign of the larger operand
    logic                   subtract;
    logic                   fraction;  // the larger operand's is not 0: a NaN, if that is no number
    logic [EXP_BITS-1:0]    exponent;  // of the larger operand
    logic [MAN_BITS:0]      major;
    logic [FIELD_WIDTH-1:0] minor;     // aligned
    logic                   sticky;
  } aligned_t;

  typedef struct packed {
    logic                   negative;
    logic                   subtract;
    logic                   fraction;
    logic [EXP_BITS-1:0]    exponent;  // of a sum without carry
    logic [SUM_WIDTH-1:0]   sum;
    logic                   sticky;
  } sum_t;

  // Order by magnitude.
  logic                swap;
  logic                major_negative, minor_negative, major_hidden, minor_hidden;
  logic [EXP_BITS-1:0] major_field, minor_field, major_exponent, minor_exponent, distance;
  logic [MAN_BITS-1:0] major_mantissa, minor_mantissa;
  logic                unused_order;

  assign swap = b_i[WIDTH-2:0] > a_i[WIDTH-2:0];
  assign {major_negative, major_field, major_mantissa} = swap ? b_i : a_i;
  assign {minor_negative, minor_field, minor_mantissa} = swap ? a_i : b_i;

  assign major_hidden = major_field != '0;
  assign minor_hidden = minor_field != '0;

  // A subnormal number has the exponent of the smallest normal ones.
  if (SUBNORMALS != 0) begin : gen_exponents
    assign major_exponent = major_field | EXP_BITS'(!major_hidden);
    assign minor_exponent = minor_field | EXP_BITS'(!minor_hidden);
  end else begin : gen_fields
    assign major_exponent = major_field;
    assign minor_exponent = minor_field;
  end

  if (FAST != 0) begin : gen_fast_distance
    // Both differences, as the operands come, and the one that is not negative.
    logic [EXP_BITS-1:0] a_field, b_field, a_exponent, b_exponent;
    logic [EXP_BITS:0]   above, below;

    assign a_field      = a_i[WIDTH-2-:EXP_BITS];
    assign b_field      = b_i[WIDTH-2-:EXP_BITS];
    assign a_exponent   = a_field | EXP_BITS'(SUBNORMALS != 0 && a_field == '0);
    assign b_exponent   = b_field | EXP_BITS'(SUBNORMALS != 0 && b_field == '0);
    assign above        = {1'b0, a_exponent} - {1'b0, b_exponent};
    assign below        = {1'b0, b_exponent} - {1'b0, a_exponent};
    assign distance     = above[EXP_BITS] ? below[EXP_BITS-1:0] : above[EXP_BITS-1:0];
    assign unused_order = &{1'b0, below[EXP_BITS], minor_exponent};
  end else begin : gen_distance
    ripple_adder #(.WIDTH(EXP_BITS)) u_distance (
      .a_i     (major_exponent),
      .b_i     (~minor_exponent),
      .carry_i (1'b1),
      .sum_o   (distance),
      .carry_o (unused_order)
    );
  end

  // Align: the largest step first, as then the least is shifted. Beyond all steps, and where the
  // minor operand is flushed, the first step lets nothing through.
  logic                   far, kept, sticky;
  logic [FIELD_WIDTH-1:0] minor;

  assign far  = (distance >> STEPS) != '0;
  assign kept = !far && (SUBNORMALS != 0 || minor_hidden);

  always_comb begin
    minor  = {minor_hidden, minor_mantissa, 2'b00};
    sticky = far;
    for (int k = STEPS - 1; k >= 0; k--) begin
      logic                   first;
      logic [FIELD_WIDTH-1:0] lost;

      first  = k == STEPS - 1;
      lost   = minor & ((FIELD_WIDTH'(1) << (1 << k)) - FIELD_WIDTH'(1));
      sticky = sticky || ((kept || !first) && distance[k] && lost != '0);
      if (first && !kept)   minor = '0;
      else if (distance[k]) minor = minor >> (1 << k);
    end
  end

  aligned_t aligned_d, aligned_q;

  assign aligned_d = '{
    negative: major_negative,
    subtract: major_negative ^ minor_negative,
    fraction: major_mantissa != '0,
    exponent: major_exponent,
    major:    {major_hidden, major_mantissa},
    minor:    minor,
    sticky:   sticky
  };

  pipe #(.WIDTH($bits(aligned_t)), .RESET(FAST == 0), .ENABLED(STAGES >= 2)) u_aligned_pipe (
    .clk_i, .rst_ni, .data_i(aligned_d), .data_o(aligned_q)
  );

  // Add or subtract. What is below the round bit borrows one there.
  logic                   carry;
  logic [FIELD_WIDTH-1:0] sum;
  sum_t                   sum_d, sum_q;

  logic [FIELD_WIDTH-1:0] addend;
  logic                   carry_in;

  assign addend   = aligned_q.minor ^ {FIELD_WIDTH{aligned_q.subtract}};
  assign carry_in = aligned_q.subtract && !aligned_q.sticky;

  if (FAST != 0) begin : gen_fast_sum
    logic unused_low;

    assign {carry, sum, unused_low} = {1'b0, aligned_q.major, 2'b00, 1'b1} + {1'b0, addend, carry_in};
  end else begin : gen_sum
    ripple_adder #(.WIDTH(FIELD_WIDTH)) u_sum (
      .a_i     ({aligned_q.major, 2'b00}),
      .b_i     (addend),
      .carry_i (carry_in),
      .sum_o   (sum),
      .carry_o (carry)
    );
  end

  // The sum, as it is or as the falling edge finds it: what ripples before does not reach the shifter. What is
  // below the sum goes past, as only the rounding looks at it.
  logic [SUM_WIDTH-1:0] whole_sum, held_sum;

  assign whole_sum = {carry && !aligned_q.subtract, sum};

  if (HALF_STAGE != 0) begin : gen_half_stage
    logic [SUM_WIDTH-1:0] half_sum_q;

    always_ff @(negedge clk_i) half_sum_q <= whole_sum;

    assign held_sum = half_sum_q;
  end else begin : gen_no_half_stage
    assign held_sum = whole_sum;
  end

  assign sum_d = '{
    negative: aligned_q.negative,
    subtract: aligned_q.subtract,
    fraction: aligned_q.fraction,
    exponent: aligned_q.exponent,
    sum:      held_sum,
    sticky:   aligned_q.sticky
  };

  pipe #(.WIDTH($bits(sum_t)), .RESET(FAST == 0), .ENABLED(STAGES >= 1)) u_sum_pipe (
    .clk_i, .rst_ni, .data_i(sum_d), .data_o(sum_q)
  );

  // Shift the leading one to the top, or as far as the smallest exponent allows. The zeros above it are
  // counted ahead of the shifter: bits that are counted behind each of its steps would toggle all that
  // follow. The exponent of a number with the leading one at the top is that of sum_q and one more, less
  // the shift. EARLY: they are counted ahead of the register too, as the rounding has more to do than the
  // adder.
  logic [SUM_WIDTH-1:0] normalised;
  logic [STEPS-1:0]     shift;

  if (EARLY) begin : gen_early_count
    // A one where the smallest exponent is ends the count.
    logic [SUM_WIDTH-1:0] lowest;
    logic [STEPS-1:0]     shift_d;
    logic                 unused_empty;

    for (genvar b = 0; b < SUM_WIDTH; b++) begin : gen_lowest
      assign lowest[b] = SUBNORMALS != 0 && aligned_q.exponent == EXP_BITS'(SUM_WIDTH - 1 - b);
    end

    leading_zeros #(.WIDTH(SUM_WIDTH)) u_zeros (
      .data_i(sum_d.sum | lowest), .count_o(shift_d), .empty_o(unused_empty)
    );

    pipe #(.WIDTH(STEPS)) u_shift_pipe (.clk_i, .rst_ni, .data_i(shift_d), .data_o(shift));
  end else begin : gen_count
    logic [STEPS-1:0] zeros;
    logic             unused_empty;

    leading_zeros #(.WIDTH(SUM_WIDTH)) u_zeros (
      .data_i(sum_q.sum), .count_o(zeros), .empty_o(unused_empty)
    );

    // Of a sum of nothing, where numbers are flushed, it is so large that the exponent does not overflow.
    always_comb begin
      shift = zeros;
      if (SUBNORMALS != 0 && EXP_BITS'(zeros) > sum_q.exponent) shift = sum_q.exponent[STEPS-1:0];
    end
  end

  always_comb begin
    normalised = sum_q.sum;
    for (int k = STEPS - 1; k >= 0; k--) begin
      if (shift[k]) normalised = normalised << (1 << k);
    end
  end

  logic [WIDTH-1:0] result;

  if (STAGES >= 4) begin : gen_two_cycles
    // A rounding that has a cycle of its own finds the exponent field without its carry, and where the carry goes
    // on: past the lower half of the fraction, and past all of it.
    localparam int unsigned LOW = MAN_BITS / 2;

    typedef struct packed {
      logic                negative;
      logic                infinite;
      logic                nan;
      logic [EXP_BITS-1:0] exponent;
      logic [MAN_BITS-1:0] fraction;
      logic                guard;
      logic                below;      // something is below the guard bit
      logic                low_ones;
      logic                high_ones;
    } normalised_t;

    logic                leading, guard, nothing, no_number, too_large;
    logic [MAN_BITS-1:0] fraction;
    normalised_t         normal_d, normal_q;

    assign {leading, fraction, guard} = normalised[SUM_WIDTH-1-:MAN_BITS+2];

    assign nothing   = normalised == '0;
    assign no_number = &sum_q.exponent;
    // A carry of the rounding that makes infinity of the largest number leaves a fraction of 0.
    assign too_large = sum_q.sum[SUM_WIDTH-1] && sum_q.exponent == ~EXP_BITS'(1);

    // A difference of nothing is +0. A NaN is larger than any number, and where there is an infinity it
    // is the larger operand.
    assign normal_d = '{
      negative:  sum_q.negative && !(sum_q.subtract && nothing),
      infinite:  no_number || too_large,
      nan:       no_number && (sum_q.fraction || (sum_q.subtract && nothing)),
      exponent:  leading ? sum_q.exponent + EXP_BITS'(1) - EXP_BITS'(shift) : '0,
      fraction:  fraction,
      guard:     guard,
      below:     normalised[SUM_WIDTH-MAN_BITS-3:0] != '0 || sum_q.sticky,
      low_ones:  &fraction[LOW-1:0],
      high_ones: &fraction[MAN_BITS-1:LOW]
    };

    pipe #(.WIDTH($bits(normalised_t))) u_normal_pipe (
      .clk_i, .rst_ni, .data_i(normal_d), .data_o(normal_q)
    );

    // Round.
    logic [EXP_BITS-1:0] exponent;
    logic [MAN_BITS-1:0] mantissa;
    logic                up, carry_high, carry_exponent;

    assign up             = normal_q.guard && (normal_q.below || normal_q.fraction[0]);
    assign carry_high     = up && normal_q.low_ones;
    assign carry_exponent = carry_high && normal_q.high_ones;

    assign mantissa[LOW-1:0]        = normal_q.fraction[LOW-1:0] + LOW'(up);
    assign mantissa[MAN_BITS-1:LOW] = normal_q.fraction[MAN_BITS-1:LOW] + (MAN_BITS - LOW)'(carry_high);
    assign exponent                 = normal_q.exponent + EXP_BITS'(carry_exponent);

    fp_pack #(
      .EXP_BITS (EXP_BITS),
      .MAN_BITS (MAN_BITS)
    ) u_pack (
      .negative_i (normal_q.negative),
      .exponent_i (exponent),
      .mantissa_i (mantissa),
      .infinite_i (normal_q.infinite),
      .zero_i     (1'b0),
      .nan_i      (normal_q.nan),
      .result_o   (result)
    );
  end else begin : gen_one_cycle
    // Round.
    logic                leading, guard, below, up, carried;
    logic [MAN_BITS-1:0] fraction, mantissa;

    assign {leading, fraction, guard} = normalised[SUM_WIDTH-1-:MAN_BITS+2];

    assign below = |normalised[SUM_WIDTH-MAN_BITS-3:0] || sum_q.sticky;
    assign up    = guard && (below || fraction[0]);

    assign {carried, mantissa} = {1'b0, fraction} + (MAN_BITS + 1)'(up);

    // The exponent field is only known with the carry of the rounding, so that one addition is enough.
    logic [EXP_BITS-1:0] exponent;
    logic                overflow, underflow, nothing;

    if (SUBNORMALS != 0) begin : gen_gradual
      logic [EXP_BITS-1:0] lowered;
      logic [EXP_BITS:0]   field;
      logic                unused_carry;

      ripple_adder #(.WIDTH(EXP_BITS)) u_lowered (
        .a_i     (sum_q.exponent),
        .b_i     (~EXP_BITS'(shift)),
        .carry_i (1'b1),
        .sum_o   (lowered),
        .carry_o (unused_carry)
      );

      always_comb begin
        field = (EXP_BITS + 1)'(carried);
        if (leading) field = {1'b0, lowered} + (EXP_BITS + 1)'(1) + (EXP_BITS + 1)'(carried);
      end

      assign exponent  = field[EXP_BITS-1:0];
      assign overflow  = field[EXP_BITS] || &field[EXP_BITS-1:0];
      assign underflow = 1'b0;
      assign nothing   = !leading && normalised == '0;
    end else begin : gen_flush
      // One more, less the shift, is the shift's complement less 2^STEPS - 2.
      localparam logic signed [EXP_BITS+1:0] OFFSET = (1 << STEPS) - 2;

      logic        [EXP_BITS:0]   raised;
      logic signed [EXP_BITS+1:0] field;
      logic                       unused_carry;

      ripple_adder #(.WIDTH(EXP_BITS + 1)) u_exponent (
        .a_i     ({1'b0, sum_q.exponent}),
        .b_i     ({{(EXP_BITS + 1 - STEPS){1'b0}}, ~shift}),
        .carry_i (carried),
        .sum_o   (raised),
        .carry_o (unused_carry)
      );

      assign field     = signed'({1'b0, raised}) - OFFSET;
      assign exponent  = field[EXP_BITS-1:0];
      assign overflow  = !field[EXP_BITS+1] && (field[EXP_BITS] || &field[EXP_BITS-1:0]);
      assign underflow = !leading || field <= 0;
      assign nothing   = !leading || sum_q.exponent == '0;
    end

    // A difference of nothing is +0. A NaN is larger than any number, and where there is an infinity it
    // is the larger operand.
    logic no_number, nan;

    assign no_number = &sum_q.exponent;
    assign nan       = no_number && (sum_q.fraction || (sum_q.subtract && nothing));

    fp_pack #(
      .EXP_BITS (EXP_BITS),
      .MAN_BITS (MAN_BITS)
    ) u_pack (
      .negative_i (sum_q.negative && !(sum_q.subtract && nothing)),
      .exponent_i (exponent),
      .mantissa_i (mantissa),
      .infinite_i (overflow || no_number),
      .zero_i     (underflow),
      .nan_i      (nan),
      .result_o   (result)
    );
  end

  pipe #(.WIDTH(WIDTH), .RESET(FAST == 0), .ENABLED(STAGES >= 3)) u_result_pipe (
    .clk_i, .rst_ni, .data_i(result), .data_o(result_o)
  );

  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7 or 8, 23", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1 || STAGES > 4)
    $fatal(1, "SUBNORMALS = %0d, STAGES = %0d: expected 0 or 1, and 0 to 4", SUBNORMALS, STAGES);
  if (FAST > 1 || HALF_STAGE > 1)
    $fatal(1, "FAST, HALF_STAGE = %0d, %0d: expected 0 or 1", FAST, HALF_STAGE);
  if (STAGES == 4 && (FAST == 0 || SUBNORMALS == 0))
    $fatal(1, "FAST, SUBNORMALS = %0d, %0d: expected 1 and 1 with STAGES = 4", FAST, SUBNORMALS);

endmodule
