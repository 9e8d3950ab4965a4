// SPDX-License-Identifier: MIT
// Softmax of scores in the GPR, in place: scale, finish, weigh. Contract: aim_hub.md.
//
//   EPU cycle      0    1    2    3    4   ...  10   11   12
//   state          rest scale
//   gpr_read_o          w0                  w1              the word of two cycles later
//   loads_q                  1                   1
//   groups_q            0    0    8    7         1    8    7    groups of the word that are left
//   gpr_write_o                                       w0   with its eighth group, 3 cycles behind it

module aim_softmax #(
  /// Channels, a power of two, up to 32.
  parameter int unsigned CHANNELS = 2
) (
  /// Clock: one edge per cycle.
  input  logic                            clk_i,
  /// Clock of the EPU: one edge in two cycles.
  input  logic                            clk_epu_i,
  /// Asynchronous reset, active low.
  input  logic                            rst_ni,
  /// The second cycle of an EPU cycle.
  input  logic                            second_i,
  /// Factor of the scores in binary16.
  input  logic [15:0]                     scale_i,
  /// Softmax begins. Only where busy_o is clear.
  input  logic                            start_i,
  /// First word of the scores.
  input  logic [13:0]                     word_i,
  /// Scores, 1 or more.
  input  logic [19:0]                     tokens_i,
  /// Query head.
  input  logic [2:0]                      head_i,
  /// The words read last from the GPR.
  input  logic [CHANNELS-1:0][15:0][15:0] gpr_data_i,
  /// Softmax is busy.
  output logic                            busy_o,
  /// A word of the GPR is read.
  output logic                            gpr_read_o,
  /// The word that is read.
  output logic [13:0]                     gpr_read_word_o,
  /// A word of the GPR is written.
  output logic                            gpr_write_o,
  /// The word that is written.
  output logic [13:0]                     gpr_write_word_o,
  /// What is written.
  output logic [15:0][15:0]               gpr_write_data_o
);

  localparam int unsigned BANK_BITS = CHANNELS > 1 ? $clog2(CHANNELS) : 1;
  localparam logic [3:0]  GROUPS    = 4'd8;

  typedef enum logic [2:0] {
    StateRest   = 3'd0,
    StateScale  = 3'd1,
    StateFinish = 3'd2,
    StateDivide = 3'd3,
    StateWeigh  = 3'd4
  } state_e;

  // The request.
  logic        busy_d, busy_q, ends;
  logic [13:0] base_d, base_q;
  logic [19:0] tokens_d, tokens_q;
  logic [2:0]  head_d, head_q;
  logic [14:0] words;

  assign busy_d   = start_i || (busy_q && !(second_i && ends));
  assign base_d   = start_i ? word_i : base_q;
  assign tokens_d = start_i ? tokens_i : tokens_q;
  assign head_d   = start_i ? head_i : head_q;
  assign words    = 15'(tokens_q[19:4]) + 15'(tokens_q[3:0] != '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else         busy_q <= busy_d;
  end

  always_ff @(posedge clk_i) begin
    base_q   <= base_d;
    tokens_q <= tokens_d;
    head_q   <= head_d;
  end

  // State.
  state_e state_d, state_q;
  logic   begins, written, finish_ready, finished, scaling, weighing;

  assign scaling  = state_q == StateScale;
  assign weighing = state_q == StateWeigh;
  assign begins   = (state_q == StateRest && busy_q) || (state_q == StateDivide && finished);
  assign ends     = weighing && written;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateRest:   if (busy_q) state_d = StateScale;
      StateScale:  if (written) state_d = StateFinish;
      StateFinish: if (finish_ready) state_d = StateDivide;
      StateDivide: if (finished) state_d = StateWeigh;
      default:     if (written) state_d = StateRest;
    endcase
  end

  // Words are read and given in groups of two elements.
  logic                 reads, loads_d, loads_q, load, given, weigh_ready;
  logic [14:0]          reads_left_d, reads_left_q;
  logic [13:0]          read_word_d, read_word_q;
  logic [BANK_BITS-1:0] bank_d, bank_q;
  logic [3:0]           groups_d, groups_q;
  logic [7:0][31:0]     word_d, word_q;
  logic [19:0]          at_d, at_q;  // number of the first element of the group

  assign given   = (scaling || (weighing && weigh_ready)) && groups_q != '0;
  assign reads   = (scaling || weighing) && reads_left_q != '0 && !loads_q &&
                   (groups_q == '0 || (groups_q == 4'd2 && given));
  assign load    = loads_q && (groups_q == '0 || (groups_q == 4'd1 && given));
  assign loads_d = reads || (loads_q && !load);
  assign bank_d  = reads && CHANNELS > 1 ? read_word_q[BANK_BITS-1:0] : bank_q;
  assign at_d    = begins ? '0 : at_q + (given ? 20'd2 : 20'd0);

  always_comb begin
    reads_left_d = reads_left_q - 15'(reads);
    read_word_d  = read_word_q + 14'(reads);
    if (begins) begin
      reads_left_d = words;
      read_word_d  = base_q;
    end
  end

  always_comb begin
    groups_d = groups_q - 4'(given);
    word_d   = given ? word_q >> 32 : word_q;
    if (load) begin
      groups_d = GROUPS;
      word_d   = gpr_data_i[bank_q];
    end
  end

  // The unit.
  logic             scaled_valid, weight_valid;
  logic [1:0][15:0] scaled, weight, made, unused_exp;
  logic [1:0]       masked;
  logic             unused_max_valid, unused_exp_valid, unused_sum_ready, unused_context_valid;
  logic [15:0]      unused_max, unused_factor, unused_context;
  logic [31:0]      unused_recip;

  assign masked[0] = at_q >= tokens_q;
  assign masked[1] = at_q + 20'd1 >= tokens_q;

  softmax_unit #(.GEAR(2)) u_softmax (
    .clk_i           (clk_epu_i),
    .rst_ni          (rst_ni),
    .score_valid_i   (scaling && given),
    .score_i         (word_q[0]),
    .scale_i         (scale_i),
    .mask_i          (masked),
    .head_i          (head_q),
    .first_i         (at_q < 20'd16),
    .finish_i        (state_q == StateFinish),
    .finish_head_i   (head_q),
    .weigh_valid_i   (weighing && groups_q != '0),
    .weigh_i         (word_q[0]),
    .weigh_head_i    (head_q),
    .sum_valid_i     (1'b0),
    .sum_i           ('0),
    .sum_head_i      ('0),
    .scaled_valid_o  (scaled_valid),
    .scaled_o        (scaled),
    .max_valid_o     (unused_max_valid),
    .max_o           (unused_max),
    .exp_valid_o     (unused_exp_valid),
    .exp_o           (unused_exp),
    .factor_o        (unused_factor),
    .finish_ready_o  (finish_ready),
    .finished_o      (finished),
    .recip_o         (unused_recip),
    .weigh_ready_o   (weigh_ready),
    .weight_valid_o  (weight_valid),
    .weight_o        (weight),
    .sum_ready_o     (unused_sum_ready),
    .context_valid_o (unused_context_valid),
    .context_o       (unused_context)
  );

  // What it makes is collected, and written with the eighth group of a word.
  logic             makes, completes;
  logic [2:0]       made_d, made_q;
  logic [6:0][31:0] collected_d, collected_q;
  logic [14:0]      writes_left_d, writes_left_q;
  logic [13:0]      write_word_d, write_word_q;

  assign makes       = scaled_valid || weight_valid;
  assign made        = weight_valid ? weight : scaled;
  assign completes   = makes && made_q == '1;
  assign written     = completes && writes_left_q == 15'd1;
  assign made_d      = made_q + 3'(makes);
  assign collected_d = makes ? {made, collected_q[6:1]} : collected_q;

  always_comb begin
    writes_left_d = writes_left_q - 15'(completes);
    write_word_d  = write_word_q + 14'(completes);
    if (begins) begin
      writes_left_d = words;
      write_word_d  = base_q;
    end
  end

  always_ff @(posedge clk_epu_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= StateRest;
      loads_q  <= 1'b0;
      groups_q <= '0;
      made_q   <= '0;
    end else begin
      state_q  <= state_d;
      loads_q  <= loads_d;
      groups_q <= groups_d;
      made_q   <= made_d;
    end
  end

  // Without a reset: the state and the counts of groups say whether these count.
  always_ff @(posedge clk_epu_i) begin
    reads_left_q  <= reads_left_d;
    read_word_q   <= read_word_d;
    bank_q        <= bank_d;
    word_q        <= word_d;
    at_q          <= at_d;
    collected_q   <= collected_d;
    writes_left_q <= writes_left_d;
    write_word_q  <= write_word_d;
  end

  assign busy_o           = busy_q;
  assign gpr_read_o       = second_i && reads;
  assign gpr_read_word_o  = read_word_q;
  assign gpr_write_o      = second_i && completes;
  assign gpr_write_word_o = write_word_q;
  assign gpr_write_data_o = {made, collected_q};

  if (CHANNELS == 0 || CHANNELS > 32 || CHANNELS != 1 << $clog2(CHANNELS))
    $fatal(1, "CHANNELS = %0d: expected a power of two, 1 to 32", CHANNELS);

endmodule
