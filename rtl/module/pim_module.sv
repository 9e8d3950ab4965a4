// SPDX-License-Identifier: MIT
// A module with a rank as one design: dispatcher, sequencer, rank. Contract: pim_module.md.

module pim_module import pimlico_pkg::*; #(
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
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Timings of the DRAM. CL, CWL, tCCD_L and RL_MAC are multiples of GEAR.
  input  timing_t          timing_i,
  /// Options of the rank: refresh.
  input  options_t         options_i,
  /// Size of a bank: rows and columns.
  input  bank_size_t       size_i,
  /// Factor of the scores in binary16.
  input  logic [15:0]      scale_i,
  /// Memory mode: the host uses the chips as its memory.
  input  logic             memory_i,
  /// Memory mode: the host's command.
  input  pins_t            host_pins_i,
  /// Memory mode: the host drives its data bus.
  input  logic             host_dq_valid_i,
  /// Memory mode: the beat that the host drives.
  input  beat_t            host_dq_i,
  /// The host writes to the module.
  input  logic             load_valid_i,
  /// The host's write: see dispatcher.
  input  load_t            load_i,
  /// A run is to start.
  input  logic             start_valid_i,
  /// The run that is to start.
  input  start_t           start_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [1:0][63:0] fetch_data_i,
  /// The entry at the last table_address_o.
  input  logic [15:0]      table_data_i,
  /// Bursts of the host for WR_SHARED that are still to be taken; 127 for more.
  input  logic [6:0]       operands_i,
  /// The host's next burst is there. Once set, it is set until that burst is taken.
  input  logic             operand_valid_i,
  /// The host's burst for its next WR_SHARED, in the host's order; with operand_valid_i.
  input  burst_t           operand_i,
  /// The column of every bank: of the RD on the pins, of the RD_ALL RL_MAC before.
  input  columns_t         cells_i,
  /// The command buffer takes the host's data.
  output logic             command_write_o,
  /// The Va2Pa table takes the host's data.
  output logic             table_write_o,
  /// The host has written more than fits.
  output logic             overflow_o,
  /// A start is accepted.
  output logic             start_ready_o,
  /// The command buffer is read.
  output logic             fetch_read_o,
  /// Address of the first of the two words that are read.
  output logic [13:0]      fetch_address_o,
  /// The Va2Pa table is read.
  output logic             table_read_o,
  /// Address of the entry that is read; 0 if none is.
  output logic [15:0]      table_address_o,
  /// The program has ended.
  output logic             end_valid_o,
  /// Status and address of the program's end, else 0.
  output run_end_t         end_o,
  /// Status of each request.
  output status_e [15:0]   status_o,
  /// Fault of the run: see sequencer.
  output fault_e           fault_o,
  /// Everything that the run dispatched is done, and all banks are closed or about to be.
  output logic             over_o,
  /// The host's burst is taken.
  output logic             operand_taken_o,
  /// The command pins.
  output dram_pins_t       pins_o,
  /// The chips' data bus is driven.
  output logic             dq_valid_o,
  /// A beat on the chips' data bus, which is pulled up.
  output beat_t            dq_o,
  /// Memory mode: the rank drives the host's data bus.
  output logic             host_dq_valid_o,
  /// Memory mode: the beat that the rank drives, else 0.
  output beat_t            host_dq_o,
  /// A column is written to the cell arrays with the end of this beat.
  output logic             cells_write_valid_o,
  /// The column that is written, from the first beat of its tCK on, else 0.
  output cell_write_t      cells_write_o,
  /// Events of the cycle of the core, for the sequencer.
  output rank_events_t     events_o,
  /// Busy units and lost slots, for statistics.
  output activity_t        activity_o,
  /// Scores, weights, context and outputs of the cycle of the core.
  output rank_results_t    results_o
);

  logic           host, last_beat, clk_module;
  logic           dispatch_ready, dispatch_valid;
  dispatch_t      dispatch;
  logic           array_valid, bus_valid, finish_valid, weigh_valid, weights_drop, head_end;
  array_request_t array;
  bus_request_t   bus;
  finish_t        finish;
  weigh_t         weigh;

  assign host            = load_valid_i || start_valid_i;
  assign operand_taken_o = events_o.bus_taken && bus.write && bus.host;

  clock_gate u_clk_module (.clk_i, .rst_ni, .enable_i(last_beat && (host || !memory_i)), .clk_o(clk_module));

  dispatcher u_dispatcher (
    .clk_i            (clk_module),
    .stop_i           (fault_o != FaultNone),
    .dispatch_ready_i (dispatch_ready),
    .dispatch_valid_o (dispatch_valid),
    .dispatch_o       (dispatch),
    .rst_ni, .load_valid_i, .load_i, .start_valid_i, .start_i, .fetch_data_i, .table_data_i,
    .command_write_o, .table_write_o, .overflow_o, .start_ready_o, .fetch_read_o, .fetch_address_o,
    .table_read_o, .table_address_o, .end_valid_o, .end_o, .status_o
  );

  // Idle cycles of the adder unit between a burst of the context and one of scores or outputs: result_path.md.
  localparam int unsigned TREE_AFTER_CONTEXT = GEAR == 1 ? 11 : GEAR == 2 ? 9 : 8;

  // Cycles from one RD_RESULT to the next: a burst of four tCK, or a longer tCCD_RESULT.
  logic [7:0] burst;

  assign burst = timing_i.ccd_result <= 8'd4 ? 8'(4 / GEAR) :
                                               8'((9'(timing_i.ccd_result) + 9'(GEAR) - 9'd1) >> $clog2(GEAR));

  sequencer #(.SCORES(SCORES), .TREE_AFTER_CONTEXT(TREE_AFTER_CONTEXT)) u_sequencer (
    .clk_i            (clk_module),
    .burst_i          (burst),
    .wide_i           (SUM_EXP_BITS != 5),
    .start_i          (start_valid_i && start_ready_o),
    .done_i           (end_valid_o),
    .dispatch_valid_i (dispatch_valid),
    .dispatch_i       (dispatch),
    .events_i         (events_o),
    .dispatch_ready_o (dispatch_ready),
    .done_o           (over_o),
    .array_valid_o    (array_valid),
    .array_o          (array),
    .bus_valid_o      (bus_valid),
    .bus_o            (bus),
    .finish_valid_o   (finish_valid),
    .finish_o         (finish),
    .weigh_valid_o    (weigh_valid),
    .weigh_o          (weigh),
    .weights_drop_o   (weights_drop),
    .head_end_o       (head_end),
    .rst_ni, .size_i, .operands_i, .operand_valid_i, .fault_o
  );

  pim_rank #(
    .SUM_EXP_BITS (SUM_EXP_BITS),
    .SUM_MAN_BITS (SUM_MAN_BITS),
    .LATE         (LATE),
    .SCORES       (SCORES),
    .GEAR         (GEAR)
  ) u_rank (
    .hold_i           (host && !memory_i),
    .array_valid_i    (array_valid),
    .array_i          (array),
    .bus_valid_i      (bus_valid),
    .bus_i            (bus),
    .finish_valid_i   (finish_valid),
    .finish_i         (finish),
    .weigh_valid_i    (weigh_valid),
    .weigh_i          (weigh),
    .weights_drop_i   (weights_drop),
    .head_end_i       (head_end),
    .last_o           (last_beat),
    .clk_i, .rst_ni, .timing_i, .options_i, .scale_i, .memory_i, .host_pins_i, .host_dq_valid_i, .host_dq_i,
    .operand_i, .cells_i, .pins_o, .dq_valid_o, .dq_o, .host_dq_valid_o, .host_dq_o, .cells_write_valid_o,
    .cells_write_o, .events_o, .activity_o, .results_o
  );

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (SCORES < 8 || SCORES > 131072 || SCORES != 1 << $clog2(SCORES))
    $fatal(1, "SCORES = %0d: expected a power of two, 8 to 131072", SCORES);

endmodule
