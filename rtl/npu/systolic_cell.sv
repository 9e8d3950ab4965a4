// SPDX-License-Identifier: MIT
// A cell of systolic_array: holds an activation, multiplies it by a weight and adds to a sum. Contract: systolic_array.md.

module systolic_cell #(
  /// Number of the cell's column.
  parameter  int unsigned COLUMN      = 0,
  /// Width of a column's number.
  parameter  int unsigned COLUMN_BITS = 3,
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS    = 5,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS    = 10,
  localparam int unsigned WIDTH       = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic                   clk_i,
  /// Asynchronous reset, active low: no load and no swap is under way.
  input  logic                   rst_ni,
  /// An activation passes on load_i.
  input  logic                   load_valid_i,
  /// Column that the activation is for.
  input  logic [COLUMN_BITS-1:0] load_column_i,
  /// The activation.
  input  logic [WIDTH-1:0]       load_i,
  /// The weight on weight_i meets the activation that has been loaded.
  input  logic                   swap_i,
  /// A weight passes.
  input  logic [WIDTH-1:0]       weight_i,
  /// Sum of the rows above, five cycles behind the weight.
  input  logic [31:0]            sum_i,
  /// load_valid_i of the last cycle.
  output logic                   load_valid_o,
  /// load_column_i of the last cycle.
  output logic [COLUMN_BITS-1:0] load_column_o,
  /// load_i of the last cycle.
  output logic [WIDTH-1:0]       load_o,
  /// swap_i of the last cycle.
  output logic                   swap_o,
  /// weight_i of the last cycle.
  output logic [WIDTH-1:0]       weight_o,
  /// Sum with this row, four cycles behind sum_i.
  output logic [31:0]            sum_o
);

  // Registers within them.
  localparam int unsigned MUL_STAGES = 2;
  localparam int unsigned ADD_STAGES = 4;

  logic                   load_valid_q, swap_q, takes;
  logic [COLUMN_BITS-1:0] load_column_q;
  logic [WIDTH-1:0]       load_q, weight_q, next_q, active_q;
  logic [WIDTH-1:0]       product_d, product_q;
  logic [31:0]            term_d, term_q;

  assign takes = load_valid_i && load_column_i == COLUMN_BITS'(COLUMN);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_valid_q <= 1'b0;
      swap_q       <= 1'b0;
    end else begin
      load_valid_q <= load_valid_i;
      swap_q       <= swap_i;
    end
  end

  always_ff @(posedge clk_i) begin
    load_column_q <= load_column_i;
    load_q        <= load_i;
    weight_q      <= weight_i;
    product_q     <= product_d;
    term_q        <= term_d;
  end

  always_ff @(posedge clk_i) begin
    if (takes) next_q <= load_i;
  end

  always_ff @(posedge clk_i) begin
    if (swap_i) active_q <= next_q;
  end

  fp_mul #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS),
    .STAGES   (MUL_STAGES),
    .FAST     (2)
  ) u_mul (
    .clk_i,
    .rst_ni,
    .a_i      (weight_q),
    .b_i      (active_q),
    .result_o (product_d)
  );

  fp_widen #(
    .EXP_BITS (EXP_BITS),
    .MAN_BITS (MAN_BITS)
  ) u_widen (
    .clk_i,
    .rst_ni,
    .a_i      (product_q),
    .result_o (term_d)
  );

  fp_add #(
    .EXP_BITS (8),
    .MAN_BITS (23),
    .STAGES   (ADD_STAGES),
    .FAST     (1)
  ) u_add (
    .clk_i,
    .rst_ni,
    .a_i      (term_q),
    .b_i      (sum_i),
    .result_o (sum_o)
  );

  assign load_valid_o  = load_valid_q;
  assign load_column_o = load_column_q;
  assign load_o        = load_q;
  assign swap_o        = swap_q;
  assign weight_o      = weight_q;

  if (COLUMN_BITS == 0 || COLUMN >= 1 << COLUMN_BITS)
    $fatal(1, "COLUMN, COLUMN_BITS = %0d, %0d: expected a column of so many bits", COLUMN, COLUMN_BITS);
  if (WIDTH != 16 || !fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);

endmodule
