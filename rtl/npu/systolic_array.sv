// SPDX-License-Identifier: MIT
// Systolic array of an NPU: activations stay, weights pass. Contract: systolic_array.md.

module systolic_array #(
  /// Rows: inputs of a tile. A power of two, 2 to 128.
  parameter  int unsigned ROWS     = 8,
  /// Columns: requests of a tile. A power of two, 2 to 128.
  parameter  int unsigned COLS     = 8,
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS = 5,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS = 10,
  localparam int unsigned WIDTH    = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock.
  input  logic                       clk_i,
  /// Asynchronous reset, active low: no load and no result is under way.
  input  logic                       rst_ni,
  /// Activations of a request are loaded.
  input  logic                       load_valid_i,
  /// Column of the request.
  input  logic [6:0]                 load_column_i,
  /// Activations of the request, one for each row.
  input  logic [ROWS-1:0][WIDTH-1:0] load_i,
  /// Weights of an output arrive.
  input  logic                       valid_i,
  /// The weights and those behind them meet the activations that have been loaded.
  input  logic                       swap_i,
  /// Weights of the output, one for each row.
  input  logic [ROWS-1:0][WIDTH-1:0] weight_i,
  /// What the products of each column are added to: binary32.
  input  logic [COLS-1:0][31:0]      sum_i,
  /// result_o has the sums of an output.
  output logic                       result_valid_o,
  /// Sum of each column: binary32.
  output logic [COLS-1:0][31:0]      result_o
);

  localparam int unsigned COLUMN_BITS = $clog2(COLS);
  // Cycles of an addition, and from a cell's inputs to its addition.
  localparam int unsigned ADD     = 4;
  localparam int unsigned TO_SUM  = 5;
  localparam int unsigned LATENCY = TO_SUM + ADD * ROWS + COLS - 1;

  typedef logic [WIDTH-1:0] number_t;

  typedef struct packed {
    logic                   load_valid;
    logic [COLUMN_BITS-1:0] load_column;
    logic                   swap;
  } control_t;

  // Where results are.
  logic [LATENCY:1] valid_d, valid_q;

  assign valid_d = {valid_q[LATENCY-1:1], valid_i};

  // Loads and swaps of row 0; row r has them r additions later.
  control_t control;

  assign control = '{
    load_valid:  load_valid_i && 32'(load_column_i) < COLS,
    load_column: load_column_i[COLUMN_BITS-1:0],
    swap:        valid_i && swap_i
  };

  control_t [ROWS-1:0] row_control;
  number_t  [ROWS-1:0] row_load, row_weight;

  assign row_control[0] = control;
  assign row_load[0]    = load_i[0];
  assign row_weight[0]  = weight_i[0];

  for (genvar r = 1; r < ROWS; r++) begin : gen_late_row
    control_t [ADD-1:0]   control_q;
    number_t  [ADD*r-1:0] load_q, weight_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) control_q <= '0;
      else         control_q <= {control_q[ADD-2:0], row_control[r-1]};
    end

    always_ff @(posedge clk_i) begin
      load_q   <= {load_q[ADD*r-2:0], load_i[r]};
      weight_q <= {weight_q[ADD*r-2:0], weight_i[r]};
    end

    assign row_control[r] = control_q[ADD-1];
    assign row_load[r]    = load_q[ADD*r-1];
    assign row_weight[r]  = weight_q[ADD*r-1];
  end

  // Sums: column c has them c cycles later than column 0, and shows them so many cycles earlier at its end.
  logic [COLS-1:0][31:0] top, bottom;

  for (genvar c = 0; c < COLS; c++) begin : gen_sums
    logic [TO_SUM+c-1:0][31:0] early_q;

    always_ff @(posedge clk_i) early_q <= {early_q[TO_SUM+c-2:0], sum_i[c]};

    assign top[c] = early_q[TO_SUM+c-1];

    if (c == COLS - 1) begin : gen_last
      assign result_o[c] = bottom[c];
    end else begin : gen_early
      logic [COLS-c-2:0][31:0] late_q;

      if (c == COLS - 2) begin : gen_one
        always_ff @(posedge clk_i) late_q <= bottom[c];
      end else begin : gen_several
        always_ff @(posedge clk_i) late_q <= {late_q[COLS-c-3:0], bottom[c]};
      end

      assign result_o[c] = late_q[COLS-c-2];
    end
  end

  // The cells: what goes right, and what goes down.
  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    control_t [COLS:0]       passing;
    number_t  [COLS:0]       load, weight;
    logic     [COLS-1:0][31:0] sum, above;

    assign passing[0] = row_control[r];
    assign load[0]    = row_load[r];
    assign weight[0]  = row_weight[r];

    if (r == 0) begin : gen_top
      assign above = top;
    end else begin : gen_below
      assign above = gen_row[r-1].sum;
    end

    for (genvar c = 0; c < COLS; c++) begin : gen_cell
      systolic_cell #(
        .COLUMN      (c),
        .COLUMN_BITS (COLUMN_BITS),
        .EXP_BITS    (EXP_BITS),
        .MAN_BITS    (MAN_BITS)
      ) u_cell (
        .clk_i,
        .rst_ni,
        .load_valid_i  (passing[c].load_valid),
        .load_column_i (passing[c].load_column),
        .load_i        (load[c]),
        .swap_i        (passing[c].swap),
        .weight_i      (weight[c]),
        .sum_i         (above[c]),
        .load_valid_o  (passing[c+1].load_valid),
        .load_column_o (passing[c+1].load_column),
        .load_o        (load[c+1]),
        .swap_o        (passing[c+1].swap),
        .weight_o      (weight[c+1]),
        .sum_o         (sum[c])
      );
    end

    // What leaves the last column goes nowhere.
    logic unused;

    assign unused = &{1'b0, passing[COLS], load[COLS], weight[COLS]};
  end

  assign bottom = gen_row[ROWS-1].sum;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= valid_d;
  end

  assign result_valid_o = valid_q[LATENCY];

  if (ROWS < 2 || ROWS > 128 || ROWS != 1 << $clog2(ROWS) || COLS < 2 || COLS > 128 || COLS != 1 << $clog2(COLS))
    $fatal(1, "ROWS, COLS = %0d, %0d: expected powers of two, 2 to 128", ROWS, COLS);
  if (WIDTH != 16 || !fp_pkg::is_format(EXP_BITS, MAN_BITS))
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected 5, 10 or 8, 7", EXP_BITS, MAN_BITS);

endmodule
