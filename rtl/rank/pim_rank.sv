// SPDX-License-Identifier: MIT
// A rank as one design: eight chips with bank PUs, and the rank PU. Contract: pim_rank.md.

module pim_rank import pimlico_pkg::*; #(
  /// Width of a sum's exponent field: 5, or 8 for sums of 32 bits.
  parameter int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field: 10, or 23 for sums of 32 bits.
  parameter int unsigned SUM_MAN_BITS = 10,
  /// 0: weights are normalised; 1: they are exponentials, and the context is normalised.
  parameter int unsigned LATE         = 0,
  /// Places of the score buffer, a power of two, 8 to 131072.
  parameter int unsigned SCORES       = 131072,
  /// Gear: tCK in a cycle of the core, 1, 2 or 4.
  parameter int unsigned GEAR         = DEFAULT_GEAR
) (
  /// Clock: a beat, half a tCK.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// Timings of the DRAM. CL, CWL, tCCD_L and RL_MAC are multiples of GEAR.
  input  timing_t        timing_i,
  /// Options of the rank: refresh.
  input  options_t       options_i,
  /// Factor of the scores in binary16.
  input  logic [15:0]    scale_i,
  /// The rank stands still: the cycle of the core does not exist for it.
  input  logic           hold_i,
  /// Memory mode: the host uses the chips as its memory.
  input  logic           memory_i,
  /// Memory mode: the host's command.
  input  pins_t          host_pins_i,
  /// Memory mode: the host drives its data bus.
  input  logic           host_dq_valid_i,
  /// Memory mode: the beat that the host drives.
  input  beat_t          host_dq_i,
  /// There is a request for the banks.
  input  logic           array_valid_i,
  /// The request for the banks.
  input  array_request_t array_i,
  /// There is a request for the data bus.
  input  logic           bus_valid_i,
  /// The request for the data bus.
  input  bus_request_t   bus_i,
  /// The host's burst for its next WR_SHARED, in the host's order.
  input  burst_t         operand_i,
  /// The scores of a head are complete.
  input  logic           finish_valid_i,
  /// The head whose scores are complete.
  input  finish_t        finish_i,
  /// Scores in the buffer are to become a word of weights.
  input  logic           weigh_valid_i,
  /// The scores of the word; stable until they are taken.
  input  weigh_t         weigh_i,
  /// The oldest complete word of weights is dropped.
  input  logic           weights_drop_i,
  /// A head ends: REFs that were postponed are issued now.
  input  logic           head_end_i,
  /// The column of every bank: of the RD on the pins, of the RD_ALL RL_MAC before.
  input  columns_t       cells_i,
  /// Last beat of the cycle of the core.
  output logic           last_o,
  /// The chips' command pins.
  output dram_pins_t     pins_o,
  /// The chips' data bus is driven.
  output logic           dq_valid_o,
  /// A beat on the chips' data bus, which is pulled up.
  output beat_t          dq_o,
  /// Memory mode: the rank drives the host's data bus.
  output logic           host_dq_valid_o,
  /// Memory mode: the beat that the rank drives, else 0.
  output beat_t          host_dq_o,
  /// A column is written to the cell arrays with the end of this beat.
  output logic           cells_write_valid_o,
  /// The column that is written, from the first beat of its tCK on, else 0.
  output cell_write_t    cells_write_o,
  /// Events of the cycle of the core, for the sequencer.
  output rank_events_t   events_o,
  /// Busy units and lost slots, for statistics.
  output activity_t      activity_o,
  /// Scores, weights, context and outputs of the cycle of the core.
  output rank_results_t  results_o
);

  localparam int unsigned SUM_WIDTH = 1 + SUM_EXP_BITS + SUM_MAN_BITS;
  localparam int unsigned BEATS     = 2 * GEAR;
  localparam int unsigned BEAT_BITS = $clog2(BEATS);

  // Clocks: the beat of the cycle of the core tells which of them have an edge.
  logic [BEAT_BITS-1:0] beat_d, beat_q;
  logic                 second, first_tck, last_beat, runs, slot_begins;
  logic                 clk_beat, clk_tck, clk_data, clk_core, clk_pim, clk_pu;

  assign beat_d    = beat_q + BEAT_BITS'(1);
  assign second    = beat_q[0];
  assign first_tck = (beat_q >> 1) == '0;
  assign last_beat = &beat_q;
  assign last_o    = last_beat;
  assign runs      = !memory_i && !hold_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else         beat_q <= beat_d;
  end

  clock_gate u_clk_beat (.clk_i, .rst_ni, .enable_i(!hold_i), .clk_o(clk_beat));
  clock_gate u_clk_tck (.clk_i, .rst_ni, .enable_i(second && !hold_i), .clk_o(clk_tck));
  clock_gate u_clk_data (.clk_i, .rst_ni, .enable_i(second && runs), .clk_o(clk_data));
  clock_gate u_clk_core (.clk_i, .rst_ni, .enable_i(last_beat && !hold_i), .clk_o(clk_core));
  clock_gate u_clk_pim (.clk_i, .rst_ni, .enable_i(last_beat && runs), .clk_o(clk_pim));
  clock_gate u_clk_pu (.clk_i, .rst_ni, .enable_i(beat_q == '0 && slot_begins), .clk_o(clk_pu));

  // Commands.
  timing_t      cycles;
  pins_t        on_pins, command;
  mac_t         mac;
  bus_request_t transfer;
  logic         array_taken, bus_taken, lost_row_switch, lost_refresh, idle, closed;
  logic         read_all, read_result, write_shared, unused_transfer;

  core_timing #(.GEAR(GEAR)) u_timing (.tck_i(timing_i), .cycles_o(cycles));

  command_path u_commands (
    .clk_i             (clk_tck),
    .clk_core_i        (clk_core),
    .clk_pim_i         (clk_pim),
    .rst_ni,
    .first_i           (first_tck),
    .timing_i          (cycles),
    .options_i,
    .hold_i,
    .memory_i,
    .host_pins_i,
    .array_valid_i,
    .array_i,
    .bus_valid_i,
    .bus_i,
    .head_end_i,
    .array_taken_o     (array_taken),
    .bus_taken_o       (bus_taken),
    .pins_o            (on_pins),
    .command_o         (command),
    .mac_o             (mac),
    .transfer_o        (transfer),
    .lost_row_switch_o (lost_row_switch),
    .lost_refresh_o    (lost_refresh),
    .idle_o            (idle),
    .settled_o         (closed)
  );

  pin_encoder u_encoder (.command_i(on_pins), .pins_o);

  assign read_all        = command.command == PinRdAll;
  assign read_result     = command.command == PinRdResult;
  assign write_shared    = command.command == PinWrShared && first_tck;
  assign unused_transfer = &{1'b0, mac, transfer.write, transfer.address, command.bank, command.row, command.column};

  slot_timer u_slots (
    .clk_i      (clk_core),
    .rst_ni,
    .enable_i   (runs),
    .read_all_i (read_all),
    .latency_i  (cycles.rl_mac),
    .slot_i     (cycles.ccd_l),
    .begin_o    (slot_begins)
  );

  // Operands, and the host's data.
  logic        operand_valid, chips_drive;
  beat_t       operand, chips_dq;
  logic [63:0] weights;

  operand_path u_operands (
    .clk_i           (clk_beat),
    .clk_tck_i       (clk_data),
    .rst_ni,
    .second_i        (second),
    .cwl_i           (timing_i.cwl),
    .memory_i,
    .push_i          (bus_taken && bus_i.write && last_beat),
    .host_i          (bus_i.host),
    .burst_i         (operand_i),
    .word_i          (weights),
    .wr_shared_i     (write_shared),
    .wr_host_i       (transfer.host),
    .host_dq_valid_i,
    .host_dq_i,
    .chips_valid_i   (chips_drive),
    .chips_dq_i      (chips_dq),
    .valid_o         (operand_valid),
    .data_o          (operand),
    .host_dq_valid_o,
    .host_dq_o
  );

  // The chips and their data bus, of which each has a byte lane.
  logic    [CHIPS-1:0] drives, shared_written, cells_write, new_results, chip_idle, unlocked;
  bank_t   [CHIPS-1:0] write_bank;
  column_t [CHIPS-1:0] write_column;
  cells_t              write_data;
  logic                unused_chips;

  for (genvar c = 0; c < CHIPS; c++) begin : gen_chip
    logic [BANKS-1:0][63:0] cells;

    for (genvar b = 0; b < BANKS; b++) begin : gen_bank
      assign cells[b] = cells_i[b][c];
    end

    pim_chip #(
      .SUM_EXP_BITS (SUM_EXP_BITS),
      .SUM_MAN_BITS (SUM_MAN_BITS)
    ) u_chip (
      .clk_i                (clk_beat),
      .clk_tck_i            (clk_tck),
      .clk_pu_i             (clk_pu),
      .rst_ni,
      .second_i             (second),
      .cl_i                 (timing_i.cl),
      .cwl_i                (timing_i.cwl),
      .rl_mac_i             (timing_i.rl_mac),
      .pins_i               (pins_o),
      .cells_i              (cells),
      .dq_i                 (dq_o[8*c+:8]),
      .dq_o                 (chips_dq[8*c+:8]),
      .drives_o             (drives[c]),
      .written_o            (shared_written[c]),
      .cells_write_o        (cells_write[c]),
      .cells_write_bank_o   (write_bank[c]),
      .cells_write_column_o (write_column[c]),
      .cells_write_data_o   (write_data[c]),
      .result_valid_o       (new_results[c]),
      .unlocked_o           (unlocked[c]),
      .idle_o               (chip_idle[c])
    );
  end

  always_comb begin
    dq_o = '1;
    if (chips_drive)        dq_o = chips_dq;
    else if (operand_valid) dq_o = operand;
  end

  assign chips_drive         = drives[0];
  assign dq_valid_o          = chips_drive || operand_valid;
  assign cells_write_valid_o = second && !hold_i && cells_write[0];
  assign cells_write_o       = {write_bank[0], write_column[0], write_data};
  assign unused_chips        = &{1'b0, drives, shared_written, cells_write, write_bank, write_column,
                                 new_results, chip_idle, unlocked};

  // Results to the adder unit.
  logic [CHIPS-1:0][SUM_WIDTH-1:0]            kept_sums, lanes;
  logic [GEAR-1:0][CHIPS-1:0][SUM_WIDTH-1:0]  adder_x;
  logic [GEAR-1:0][SUM_WIDTH-1:0]             adder_partial;
  logic [GEAR-1:0]                            adder_accumulate;
  logic [3:0][15:0]                           kept_outputs;
  logic                                       adder_valid, adder_begin, adder_goes_on, results_idle;
  logic                                       outputs_read, sums_read;
  place_t                                     outputs_place;
  logic [7:0]                                 sums_place;
  tree_sum_t                                  tree_of;
  lane_sums_t                                 lanes_of;
  logic                                       tree_valid, lanes_valid;
  logic [GEAR-1:0][15:0]                      tree;

  result_path #(
    .GEAR         (GEAR),
    .SUM_EXP_BITS (SUM_EXP_BITS),
    .SUM_MAN_BITS (SUM_MAN_BITS)
  ) u_results (
    .clk_i             (clk_beat),
    .clk_core_i        (clk_pim),
    .rst_ni,
    .cl_i              (cycles.cl),
    .read_result_i     (read_result),
    .sum_i             (transfer.sum),
    .dq_i              (dq_o),
    .partial_outputs_i (kept_outputs),
    .partial_read_o    (outputs_read),
    .partial_place_o   (outputs_place),
    .sums_read_o       (sums_read),
    .sums_place_o      (sums_place),
    .valid_o           (adder_valid),
    .accumulate_o      (adder_accumulate),
    .x_o               (adder_x),
    .partial_o         (adder_partial),
    .begin_o           (adder_begin),
    .goes_on_o         (adder_goes_on),
    .tree_o            (tree_of),
    .lanes_valid_o     (lanes_valid),
    .lanes_o           (lanes_of),
    .idle_o            (results_idle)
  );

  adder_unit #(
    .GEAR         (GEAR),
    .SUM_EXP_BITS (SUM_EXP_BITS),
    .SUM_MAN_BITS (SUM_MAN_BITS)
  ) u_adder (
    .clk_i        (clk_pim),
    .rst_ni,
    .valid_i      (adder_valid),
    .accumulate_i (adder_accumulate),
    .x_i          (adder_x),
    .partial_i    (adder_partial),
    .begin_i      (adder_begin),
    .goes_on_i    (adder_goes_on),
    .start_i      (kept_sums),
    .tree_valid_o (tree_valid),
    .tree_o       (tree),
    .lanes_o      (lanes)
  );

  // The context: partial sums come back, complete ones leave. The softmax unit normalises one in a cycle.
  localparam int unsigned CONTEXT_LANES = LATE != 0 ? 1 : GEAR;

  logic                           sum_valid, sum_ready, late_valid, context_valid, context_idle, unused_sums;
  logic [CONTEXT_LANES-1:0][31:0] sums;
  head_t                          sum_head;
  logic [15:0]                    late_context;
  element_t [CONTEXT_LANES-1:0]   context_element;

  assign unused_sums = &{1'b0, sums};

  ram_1r1w #(.WIDTH(CHIPS * SUM_WIDTH), .DEPTH(256)) u_partial_sums (
    .clk_i           (clk_pim),
    .write_i         (lanes_valid && !lanes_of.complete),
    .write_address_i (lanes_of.place),
    .data_i          (lanes),
    .read_i          (sums_read),
    .read_address_i  (sums_place),
    .data_o          (kept_sums)
  );

  context_queue #(
    .GEAR         (CONTEXT_LANES),
    .LATE         (LATE),
    .SUM_EXP_BITS (SUM_EXP_BITS),
    .SUM_MAN_BITS (SUM_MAN_BITS),
    .DEPTH        (LATE != 0 ? 256 : 128)
  ) u_context (
    .clk_i           (clk_pim),
    .rst_ni,
    .push_i          (lanes_valid && lanes_of.complete),
    .head_i          (lanes_of.head),
    .sums_i          (lanes),
    .sum_ready_i     (sum_ready),
    .context_valid_i (late_valid),
    .context_i       ({CONTEXT_LANES{late_context}}),
    .sum_valid_o     (sum_valid),
    .sum_o           (sums),
    .sum_head_o      (sum_head),
    .valid_o         (context_valid),
    .element_o       (context_element),
    .idle_o          (context_idle)
  );

  // Scores and weights, and outputs of a matrix.
  logic                  finish_taken, finished, weigh_taken, word_made, softmax_busy;
  logic [2:0]            scaled;
  logic [GEAR-1:0]       score_valid, output_valid, weight_valid;
  score_t [GEAR-1:0]     score;
  logic [GEAR-1:0][15:0] output_element;
  element_t [GEAR-1:0]   weight;

  softmax_path #(
    .LATE   (LATE),
    .SCORES (SCORES),
    .GEAR   (GEAR)
  ) u_softmax (
    .clk_i             (clk_pim),
    .rst_ni,
    .scale_i,
    .tree_valid_i      (tree_valid),
    .tree_i            (tree),
    .tree_of_i         (tree_of),
    .partial_read_i    (outputs_read),
    .partial_place_i   (outputs_place),
    .finish_valid_i,
    .finish_i,
    .weigh_valid_i,
    .weigh_i,
    .word_taken_i      (weights_drop_i || (bus_taken && bus_i.write && !bus_i.host)),
    .sum_valid_i       (sum_valid),
    .sum_i             (sums[0]),
    .sum_head_i        (sum_head),
    .score_valid_o     (score_valid),
    .score_o           (score),
    .output_valid_o    (output_valid),
    .output_o          (output_element),
    .partial_outputs_o (kept_outputs),
    .scaled_o          (scaled),
    .finish_taken_o    (finish_taken),
    .finished_o        (finished),
    .weigh_taken_o     (weigh_taken),
    .word_made_o       (word_made),
    .weight_valid_o    (weight_valid),
    .weight_o          (weight),
    .word_o            (weights),
    .sum_ready_o       (sum_ready),
    .context_valid_o   (late_valid),
    .context_o         (late_context),
    .busy_o            (softmax_busy)
  );

  assign results_o = '{
    score_valid:     4'(score_valid),                      score:           ($bits(results_o.score))'(score),
    weight_valid:    4'(weight_valid),                     weight:          ($bits(results_o.weight))'(weight),
    context_valid:   4'({CONTEXT_LANES{context_valid}}),
    context_element: ($bits(results_o.context_element))'(context_element),
    output_valid:    4'(output_valid),                     output_element:  64'(output_element)
  };

  // What happens.
  always_comb begin
    events_o = '{
      array_taken: array_taken, bus_taken: bus_taken, finish_taken: finish_taken, weigh_taken: weigh_taken,
      read: read_all, results_taken: read_result, written: shared_written[0],
      results: slot_begins && new_results[0], scaled: scaled, finished: finished, word_made: word_made,
      context_made: context_valid ? 3'(CONTEXT_LANES) : '0, output_made: output_valid[0] ? 3'(GEAR) : '0
    };
    activity_o = '{
      lost_row_switch: lost_row_switch, lost_refresh: lost_refresh, opens: read_all && mac.opens,
      adder: chips_drive, softmax: softmax_busy, default: '0
    };
    if (!runs) {events_o, activity_o} = '0;
    activity_o.idle    = idle;
    activity_o.settled = closed && chip_idle[0] && results_idle && context_idle;
  end

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (SCORES < 8 || SCORES > 131072 || SCORES != 1 << $clog2(SCORES))
    $fatal(1, "SCORES = %0d: expected a power of two, 8 to 131072", SCORES);

endmodule
