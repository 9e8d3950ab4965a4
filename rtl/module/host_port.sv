// SPDX-License-Identifier: MIT
// The host's side of the module: windows in the rank's addresses, and who owns the chips' pins.
// Contract: host_port.md.

module host_port import pimlico_pkg::*; #(
  /// Gear: tCK in a cycle of the core, 1, 2 or 4.
  parameter int unsigned GEAR = DEFAULT_GEAR
) (
  /// Clock: a beat, half a tCK.
  input  logic           clk_i,
  /// Asynchronous reset, active low: the host owns the pins, and the queue is empty.
  input  logic           rst_ni,
  /// Timings of the DRAM, in tCK: CL, CWL, tRP and tRFC are used.
  input  timing_t        timing_i,
  /// The host's command pins.
  input  dram_pins_t     host_pins_i,
  /// A beat of the host's data bus.
  input  beat_t          host_dq_i,
  /// The module drives the host's data bus.
  input  logic           module_dq_valid_i,
  /// The beat that the module drives, else 0.
  input  beat_t          module_dq_i,
  /// The host has written more to the dispatcher than fits.
  input  logic           overflow_i,
  /// The program has ended.
  input  logic           end_valid_i,
  /// Status and address of the program's end, else 0.
  input  run_end_t       end_i,
  /// Status of each request.
  input  status_e [15:0] status_i,
  /// Fault of the run.
  input  fault_e         fault_i,
  /// Everything that the run dispatched is done.
  input  logic           over_i,
  /// Nothing is in flight in the rank, and all banks are closed.
  input  logic           settled_i,
  /// A REF is on the chips' pins.
  input  logic           refresh_i,
  /// The operand is taken.
  input  logic           operand_taken_i,
  /// Scores, weights, context and outputs of the cycle of the core.
  input  rank_results_t  results_i,
  /// Memory mode: the host's commands reach the chips, or none does.
  output logic           memory_o,
  /// The host owns the chips' command pins: its data reach them.
  output logic           owns_o,
  /// Memory mode: the host's command for the chips.
  output pins_t          pins_o,
  /// The host's data bus is driven.
  output logic           host_dq_valid_o,
  /// A beat on the host's data bus, else 0.
  output beat_t          host_dq_o,
  /// The dispatcher is written.
  output logic           load_valid_o,
  /// What is written, else 0.
  output load_t          load_o,
  /// A run starts.
  output logic           start_valid_o,
  /// The run that starts, else 0.
  output start_t         start_o,
  /// Factor of the scores in binary16, of the last START.
  output logic [15:0]    scale_o,
  /// Operands that the run has not taken yet; 127 for more.
  output logic [6:0]     operands_o,
  /// The next operand is there.
  output logic           operand_valid_o,
  /// The burst at the head of the queue.
  output burst_t         operand_o
);

  localparam int unsigned BEATS     = 2 * GEAR;
  localparam int unsigned BEAT_BITS = $clog2(BEATS);

  // Clocks: the beat of the cycle of the core tells which of them have an edge.
  logic [BEAT_BITS-1:0] beat_d, beat_q;
  logic [1:0]           tck;
  logic                 second, last_tck, clk_tck, clk_core;

  assign beat_d   = beat_q + BEAT_BITS'(1);
  assign second   = beat_q[0];
  assign tck      = 2'(3'(beat_q) >> 1);
  assign last_tck = tck == 2'(GEAR - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else         beat_q <= beat_d;
  end

  clock_gate u_clk_tck (.clk_i, .rst_ni, .enable_i(second), .clk_o(clk_tck));
  clock_gate u_clk_core (.clk_i, .rst_ni, .enable_i(second && last_tck), .clk_o(clk_core));

  // The host's command: for the chips, and for the windows.
  pins_t      command, of_chips;
  logic       window_write, window_operand, window_read, window_outputs;
  logic [1:0] window;
  logic [5:0] window_burst;

  host_decoder u_decoder (.pins_i(host_pins_i), .command_o(command));

  host_modes u_modes (
    .cl_i      (timing_i.cl),
    .cwl_i     (timing_i.cwl),
    .command_i (command),
    .command_o (of_chips)
  );

  assign pins_o = owns_o ? of_chips : '0;

  host_windows u_windows (
    .clk_i     (clk_tck),
    .rst_ni,
    .command_i (command),
    .write_o   (window_write),
    .operand_o (window_operand),
    .read_o    (window_read),
    .window_o  (window),
    .outputs_o (window_outputs),
    .burst_o   (window_burst)
  );

  // What the host writes.
  logic        head_valid, head_operand, pop, waits, lost, refused, runs, ready;
  logic [15:0] taken;

  host_queue u_queue (
    .clk_i,
    .clk_tck_i  (clk_tck),
    .clk_core_i (clk_core),
    .rst_ni,
    .second_i   (second),
    .last_i     (last_tck),
    .cwl_i      (timing_i.cwl),
    .write_i    (window_write),
    .operand_i  (window_operand),
    .host_dq_i,
    .pop_i      (pop),
    .started_i  (start_valid_o),
    .valid_o    (head_valid),
    .operand_o  (head_operand),
    .burst_o    (operand_o),
    .waits_o    (waits),
    .lost_o     (lost),
    .taken_o    (taken)
  );

  host_messages u_messages (
    .clk_i     (clk_core),
    .rst_ni,
    .valid_i   (head_valid),
    .operand_i (head_operand),
    .burst_i   (operand_o),
    .runs_i    (runs),
    .ready_i   (ready),
    .operand_taken_i,
    .pop_o     (pop),
    .load_valid_o,
    .load_o,
    .start_valid_o,
    .start_o,
    .scale_o,
    .operands_o,
    .operand_valid_o,
    .refused_o (refused)
  );

  // Whose the pins are.
  logic       is_left, rests, ends;
  logic [1:0] state, all_packed, unfinished;

  host_owner u_owner (
    .clk_i        (clk_tck),
    .clk_core_i   (clk_core),
    .rst_ni,
    .last_i       (last_tck),
    .rp_i         (timing_i.rp),
    .rfc_i        (timing_i.rfc),
    .precharge_i  (command.command == PinPreAll),
    .waits_i      (waits),
    .start_i      (start_valid_o),
    .settled_i    (over_i && settled_i),
    .packed_i     (all_packed == '1),
    .unfinished_i (unfinished != '0),
    .refresh_i,
    .host_o       (owns_o),
    .left_o       (is_left),
    .runs_o       (runs),
    .ready_o      (ready),
    .rests_o      (rests),
    .ends_o       (ends),
    .state_o      (state)
  );

  assign memory_o = !runs;

  // What the module makes: context, outputs.
  logic [1:0][GEAR-1:0]       result_valid;
  logic [1:0][GEAR-1:0][15:0] result;
  logic [1:0]                 reads;
  logic [5:0]                 read_burst;
  logic [1:0][15:0]           count;
  burst_t [1:0]               burst;

  for (genvar g = 0; g < GEAR; g++) begin : gen_element
    assign result_valid[0][g] = results_i.context_valid[g];
    assign result[0][g]       = results_i.context_element[g].bits;
    assign result_valid[1][g] = results_i.output_valid[g];
    assign result[1][g]       = results_i.output_element[g];
  end

  for (genvar s = 0; s < 2; s++) begin : gen_stream
    host_results #(.GEAR(GEAR)) u_results (
      .clk_i,
      .clk_tck_i    (clk_tck),
      .rst_ni,
      .second_i     (second),
      .last_i       (last_tck),
      .valid_i      (result_valid[s]),
      .element_i    (result[s]),
      .flush_i      (last_tck && rests),
      .read_i       (reads[s]),
      .read_burst_i (read_burst),
      .packed_o     (all_packed[s]),
      .unfinished_o (unfinished[s]),
      .count_o      (count[s]),
      .burst_o      (burst[s])
    );
  end

  // What the host reads.
  logic [2:0][63:0] status;

  host_status u_status (
    .clk_i      (clk_core),
    .rst_ni,
    .state_i    (state),
    .left_i     (is_left),
    .waits_i    (waits),
    .lost_i     (lost),
    .refused_i  (refused),
    .taken_i    (taken),
    .contexts_i (count[0]),
    .outputs_i  (count[1]),
    .start_i    (start_valid_o),
    .ends_i     (ends),
    .overflow_i,
    .end_valid_i,
    .end_i,
    .status_i,
    .fault_i,
    .words_o    (status)
  );

  logic             drives_d;
  logic [1:0][63:0] pair;
  beat_t            beat;

  host_reader u_reader (
    .clk_i           (clk_tck),
    .rst_ni,
    .cl_i            (timing_i.cl),
    .read_i          (window_read),
    .window_i        (window),
    .outputs_i       (window_outputs),
    .burst_i         (window_burst),
    .status_i        (status),
    .contexts_i      (burst[0]),
    .outputs_burst_i (burst[1]),
    .read_contexts_o (reads[0]),
    .read_outputs_o  (reads[1]),
    .burst_o         (read_burst),
    .drives_o        (drives_d),
    .pair_o          (pair)
  );

  ddr_out #(.WIDTH(64)) u_beats (
    .clk_i, .clk_tck_i(clk_tck), .second_i(second), .pair_i(pair), .data_o(beat)
  );

  // The select between it and the module: each byte lane has a register of its own, as one would have the load of all.
  for (genvar lane = 0; lane < 8; lane++) begin : gen_lane
    logic drives_q;

    (* keep *)
    always_ff @(posedge clk_tck or negedge rst_ni) begin
      if (!rst_ni) drives_q <= 1'b0;
      else         drives_q <= drives_d;
    end

    assign host_dq_o[8*lane+:8] = drives_q ? beat[8*lane+:8] : module_dq_i[8*lane+:8];
  end

  assign host_dq_valid_o = gen_lane[0].drives_q || module_dq_valid_i;

  logic unused;

  assign unused = &{1'b0, timing_i, results_i};

  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule
