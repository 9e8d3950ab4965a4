// SPDX-License-Identifier: MIT
// A module in its channel as one design: the host's side, and the module with its rank. Contract: pim_dimm.md.

module pim_dimm import pimlico_pkg::*; #(
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
  /// The host's command pins.
  input  dram_pins_t       host_pins_i,
  /// The host drives its data bus.
  input  logic             host_dq_valid_i,
  /// The beat that the host drives.
  input  beat_t            host_dq_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [1:0][63:0] fetch_data_i,
  /// The entry at the last table_address_o.
  input  logic [15:0]      table_data_i,
  /// The column of every bank: of the RD on the pins, of the RD_ALL RL_MAC before.
  input  columns_t         cells_i,
  /// The command buffer takes the data of load_o.
  output logic             command_write_o,
  /// The Va2Pa table takes the data of load_o.
  output logic             table_write_o,
  /// What the dispatcher is written, else 0.
  output load_t            load_o,
  /// The command buffer is read.
  output logic             fetch_read_o,
  /// Address of the first of the two words that are read.
  output logic [13:0]      fetch_address_o,
  /// The Va2Pa table is read.
  output logic             table_read_o,
  /// Address of the entry that is read; 0 if none is.
  output logic [15:0]      table_address_o,
  /// The command pins of the chips.
  output dram_pins_t       pins_o,
  /// The chips' data bus is driven.
  output logic             dq_valid_o,
  /// A beat on the chips' data bus, which is pulled up.
  output beat_t            dq_o,
  /// The module drives the host's data bus.
  output logic             host_dq_valid_o,
  /// The beat that the module drives, else 0.
  output beat_t            host_dq_o,
  /// A column is written to the cell arrays with the end of this beat.
  output logic             cells_write_valid_o,
  /// The column that is written, from the first beat of its tCK on, else 0.
  output cell_write_t      cells_write_o,
  /// The module does not own the chips' command pins.
  output logic             memory_o,
  /// Events of the cycle of the core.
  output rank_events_t     events_o,
  /// Busy units and lost slots, for statistics.
  output activity_t        activity_o,
  /// Scores, weights, context and outputs of the cycle of the core.
  output rank_results_t    results_o
);

  logic           owns, module_dq_valid, load_valid, start_valid, start_ready, overflow, end_valid, over;
  logic           operand_valid, operand_taken, refreshes, unused;
  beat_t          module_dq;
  pins_t          host_pins;
  start_t         start;
  logic [15:0]    scale;
  logic [6:0]     operands;
  burst_t         operand;
  run_end_t       run_end;
  status_e [15:0] status;
  fault_e         fault;

  assign refreshes = {pins_o.cs_n, pins_o.act_n, pins_o.ras_n, pins_o.cas_n, pins_o.we_n} == 5'b01001;
  assign unused    = &{1'b0, start_ready};

  host_port #(.GEAR(GEAR)) u_host (
    .module_dq_valid_i (module_dq_valid),
    .module_dq_i       (module_dq),
    .overflow_i        (overflow),
    .end_valid_i       (end_valid),
    .end_i             (run_end),
    .status_i          (status),
    .fault_i           (fault),
    .over_i            (over),
    .settled_i         (activity_o.settled),
    .refresh_i         (refreshes),
    .operand_taken_i   (operand_taken),
    .results_i         (results_o),
    .owns_o            (owns),
    .pins_o            (host_pins),
    .load_valid_o      (load_valid),
    .start_valid_o     (start_valid),
    .start_o           (start),
    .scale_o           (scale),
    .operands_o        (operands),
    .operand_valid_o   (operand_valid),
    .operand_o         (operand),
    .clk_i, .rst_ni, .timing_i, .host_pins_i, .host_dq_i, .memory_o, .host_dq_valid_o, .host_dq_o, .load_o
  );

  pim_module #(
    .SUM_EXP_BITS (SUM_EXP_BITS),
    .SUM_MAN_BITS (SUM_MAN_BITS),
    .LATE         (LATE),
    .SCORES       (SCORES),
    .GEAR         (GEAR)
  ) u_module (
    .scale_i         (scale),
    .memory_i        (memory_o),
    .host_pins_i     (host_pins),
    .host_dq_valid_i (host_dq_valid_i && owns),
    .load_valid_i    (load_valid),
    .load_i          (load_o),
    .start_valid_i   (start_valid),
    .start_i         (start),
    .operands_i      (operands),
    .operand_valid_i (operand_valid),
    .operand_i       (operand),
    .overflow_o      (overflow),
    .start_ready_o   (start_ready),
    .end_valid_o     (end_valid),
    .end_o           (run_end),
    .status_o        (status),
    .fault_o         (fault),
    .over_o          (over),
    .operand_taken_o (operand_taken),
    .host_dq_valid_o (module_dq_valid),
    .host_dq_o       (module_dq),
    .clk_i, .rst_ni, .timing_i, .options_i, .size_i, .host_dq_i, .fetch_data_i, .table_data_i, .cells_i,
    .command_write_o, .table_write_o, .fetch_read_o, .fetch_address_o, .table_read_o, .table_address_o,
    .pins_o, .dq_valid_o, .dq_o, .cells_write_valid_o, .cells_write_o, .events_o, .activity_o, .results_o
  );

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (LATE > 1) $fatal(1, "LATE = %0d: expected 0 or 1", LATE);
  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (SCORES < 8 || SCORES > 131072 || SCORES != 1 << $clog2(SCORES))
    $fatal(1, "SCORES = %0d: expected a power of two, 8 to 131072", SCORES);

endmodule
