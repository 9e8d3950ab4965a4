// SPDX-License-Identifier: MIT
// PIM block at a bank of LPDDR5X-PIM: sixteen lanes that multiply, add and keep eight sums each. Contract: pim_block.md.

module pim_block #(
  /// Width of an element's exponent field.
  parameter  int unsigned EXP_BITS     = 8,
  /// Width of an element's trailing significand field.
  parameter  int unsigned MAN_BITS     = 7,
  /// 1: gradual underflow; 0: subnormal elements and products are flushed to zero.
  /// Sums of the same format are flushed too.
  parameter  int unsigned SUBNORMALS   = 1,
  /// Width of a sum's exponent field: at least EXP_BITS.
  parameter  int unsigned SUM_EXP_BITS = EXP_BITS,
  /// Width of a sum's trailing significand field.
  /// It is MAN_BITS (with SUM_EXP_BITS = EXP_BITS), or at least MAN_BITS + 2.
  parameter  int unsigned SUM_MAN_BITS = MAN_BITS,
  /// Elements of a burst.
  localparam int unsigned LANES        = 16,
  localparam int unsigned WIDTH        = 1 + EXP_BITS + MAN_BITS
) (
  /// Clock: one edge per column command in multi-bank mode, a step.
  input  logic                        clk_i,
  /// Asynchronous reset, active low: no command is under way.
  input  logic                        rst_ni,
  /// The burst on data_i goes to an input register (WR_IN).
  input  logic                        write_i,
  /// The burst on data_i is multiplied and added (MAC).
  input  logic                        mac_i,
  /// Sums of an output register are read (RD_OUT).
  input  logic                        read_i,
  /// WR_IN: input register; MAC and RD_OUT: output register.
  input  logic [2:0]                  register_i,
  /// MAC: element of the input registers, the factor of all lanes.
  input  logic [6:0]                  element_i,
  /// MAC: the product is added to +0 instead of the sum.
  input  logic                        first_i,
  /// WR_IN: inputs from the data bus; MAC: weights from the bank.
  input  logic [LANES-1:0][WIDTH-1:0] data_i,
  /// result_o is what the RD_OUT of the last step read.
  output logic                        result_valid_o,
  /// Sums of the lanes, each rounded to an element, or zero.
  output logic [LANES-1:0][WIDTH-1:0] result_o,
  /// The RD_OUT of the last step came before a MAC of its register was through.
  output logic                        stale_o
);

  localparam bit          WIDE           = SUM_EXP_BITS != EXP_BITS || SUM_MAN_BITS != MAN_BITS;
  localparam int unsigned SUM_WIDTH      = 1 + SUM_EXP_BITS + SUM_MAN_BITS;
  localparam int unsigned SUM_SUBNORMALS = WIDE ? 1 : SUBNORMALS;
  localparam int unsigned REGISTERS      = 8;
  // Pipeline registers that a command finds ahead: its burst, the operands, one within the multipliers, products, sums.
  localparam int unsigned BURST   = 1;
  localparam int unsigned PRODUCT = 4;
  localparam int unsigned SUM     = 5;

  typedef logic [LANES-1:0][WIDTH-1:0]     burst_t;
  typedef logic [LANES-1:0][SUM_WIDTH-1:0] sums_t;

  // A step has one command: of several the first of these.
  logic write, mac, read;

  assign write = write_i;
  assign mac   = mac_i && !write_i;
  assign read  = read_i && !mac_i && !write_i;

  // What accompanies a command through the pipeline.
  logic                  write_q;
  logic [SUM:BURST]      mac_d, mac_q;
  logic [SUM:BURST][2:0] register_d, register_q;
  logic [PRODUCT:BURST]  first_d, first_q;
  logic [6:0]            element_q;

  assign mac_d      = {mac_q[PRODUCT:BURST], mac};
  assign register_d = {register_q[PRODUCT:BURST], register_i};
  assign first_d    = {first_q[PRODUCT-1:BURST], first_i};

  // Inputs: eight registers.
  burst_t                 burst_q, operand_q;
  burst_t [REGISTERS-1:0] input_q;
  logic   [WIDTH-1:0]     factor_d, factor_q;

  for (genvar r = 0; r < REGISTERS; r++) begin : gen_input
    burst_t value_q;
    logic   loads, clk;

    assign loads = write_q && register_q[BURST] == 3'(r);

    clock_gate u_clk (.clk_i, .rst_ni, .enable_i(loads), .clk_o(clk));

    always_ff @(posedge clk) value_q <= burst_q;

    assign input_q[r] = value_q;
  end

  assign factor_d = input_q[element_q[6:4]][element_q[3:0]];

  always_ff @(posedge clk_i) begin
    burst_q    <= data_i;
    element_q  <= element_i;
    register_q <= register_d;
    first_q    <= first_d;
    operand_q  <= burst_q;
    factor_q   <= factor_d;
  end

  // Lanes. The sum that the last step has added goes ahead of its register, where the next MAC is of the same one.
  sums_t                 addend, sum_d, sum_q;
  sums_t [REGISTERS-1:0] out_q;
  logic                  forwards, clk_sum;
  burst_t                product_d, product_q;

  assign forwards = mac_q[SUM] && register_q[SUM] == register_q[PRODUCT];

  always_comb begin
    if (first_q[PRODUCT]) addend = '0;
    else if (forwards)    addend = sum_q;
    else                  addend = out_q[register_q[PRODUCT]];
  end

  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    logic [SUM_WIDTH-1:0] term;

    fp_mul #(
      .EXP_BITS   (EXP_BITS),
      .MAN_BITS   (MAN_BITS),
      .SUBNORMALS (SUBNORMALS),
      .STAGES     (1)
    ) u_mul (
      .clk_i,
      .rst_ni,
      .a_i      (operand_q[l]),
      .b_i      (factor_q),
      .result_o (product_d[l])
    );

    if (WIDE) begin : gen_widen
      fp_widen #(
        .EXP_BITS      (EXP_BITS),
        .MAN_BITS      (MAN_BITS),
        .SUBNORMALS    (SUBNORMALS),
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_widen (
        .clk_i,
        .rst_ni,
        .a_i      (product_q[l]),
        .result_o (term)
      );
    end else begin : gen_same
      assign term = product_q[l];
    end

    fp_add #(
      .EXP_BITS   (SUM_EXP_BITS),
      .MAN_BITS   (SUM_MAN_BITS),
      .SUBNORMALS (SUM_SUBNORMALS),
      .STAGES     (0)
    ) u_add (
      .clk_i,
      .rst_ni,
      .a_i      (term),
      .b_i      (addend[l]),
      .result_o (sum_d[l])
    );
  end

  clock_gate u_clk_sum (.clk_i, .rst_ni, .enable_i(mac_q[PRODUCT]), .clk_o(clk_sum));

  always_ff @(posedge clk_i)   product_q <= product_d;
  always_ff @(posedge clk_sum) sum_q     <= sum_d;

  // Sums: eight registers.
  for (genvar r = 0; r < REGISTERS; r++) begin : gen_output
    sums_t value_q;
    logic  loads, clk;

    assign loads = mac_q[SUM] && register_q[SUM] == 3'(r);

    clock_gate u_clk (.clk_i, .rst_ni, .enable_i(loads), .clk_o(clk));

    always_ff @(posedge clk) value_q <= sum_q;

    assign out_q[r] = value_q;
  end

  // Results.
  sums_t  whole;
  burst_t rounded, result_d, result_q;
  logic   result_valid_q, stale_d, stale_q;

  assign whole = out_q[register_i];

  if (WIDE) begin : gen_narrow
    for (genvar l = 0; l < LANES; l++) begin : gen_lane
      fp_narrow #(
        .EXP_BITS      (EXP_BITS),
        .MAN_BITS      (MAN_BITS),
        .SUBNORMALS    (SUBNORMALS),
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_narrow (
        .clk_i,
        .rst_ni,
        .a_i      (whole[l]),
        .result_o (rounded[l])
      );
    end
  end else begin : gen_as_it_is
    assign rounded = whole;
  end

  assign result_d = read ? rounded : '0;

  always_comb begin
    stale_d = 1'b0;
    for (int unsigned stage = BURST; stage <= SUM; stage++) begin
      if (read && mac_q[stage] && register_q[stage] == register_i) stale_d = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q        <= 1'b0;
      mac_q          <= '0;
      result_valid_q <= 1'b0;
      result_q       <= '0;
      stale_q        <= 1'b0;
    end else begin
      write_q        <= write;
      mac_q          <= mac_d;
      result_valid_q <= read;
      result_q       <= result_d;
      stale_q        <= stale_d;
    end
  end

  assign result_valid_o = result_valid_q;
  assign result_o       = result_q;
  assign stale_o        = stale_q;

  if (WIDTH != 16)
    $fatal(1, "EXP_BITS, MAN_BITS = %0d, %0d: expected elements of 16 bits", EXP_BITS, MAN_BITS);
  if (SUBNORMALS > 1) $fatal(1, "SUBNORMALS = %0d: expected 0 or 1", SUBNORMALS);
  if (!fp_pkg::is_format(EXP_BITS, MAN_BITS) ||
      !fp_pkg::is_sum_format(EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "expected formats: %0d, %0d, sums %0d, %0d", EXP_BITS, MAN_BITS, SUM_EXP_BITS, SUM_MAN_BITS);

endmodule
