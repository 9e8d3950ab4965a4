// SPDX-License-Identifier: MIT
// Hub of a module of AiM channels, with the channels: dispatcher, decode, feeder, EPU. Contract: aim_hub.md.

module aim_hub import pimlico_pkg::*; #(
  /// 1: two sides in each buffer of the channels, and two queues; 0: one side, and commands in order.
  parameter int unsigned PINGPONG = 1,
  /// Channels, a power of two, up to 32.
  parameter int unsigned CHANNELS = 2
) (
  /// Clock: one edge per cycle, a tCCD of two tCK.
  input  logic                                       clk_i,
  /// Asynchronous reset, active low.
  input  logic                                       rst_ni,
  /// Timings of the DRAM, in cycles: see aim_channel.
  input  timing_t                                    timing_i,
  /// From a command of one mode to the first of the other, in tCK; without a meaning with PINGPONG = 1.
  input  logic [7:0]                                 mode_change_i,
  /// Options: refresh.
  input  options_t                                   options_i,
  /// Size of a bank: rows and columns.
  input  bank_size_t                                 size_i,
  /// Factor of the scores in binary16.
  input  logic [15:0]                                scale_i,
  /// The host writes to the dispatcher: for an EPU cycle or more, as start_valid_i.
  input  logic                                       load_valid_i,
  /// The host's write: see dispatcher.
  input  load_t                                      load_i,
  /// A run is to start.
  input  logic                                       start_valid_i,
  /// The run that is to start.
  input  start_t                                     start_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [1:0][63:0]                           fetch_data_i,
  /// The entry at the last table_address_o.
  input  logic [15:0]                                table_data_i,
  /// There is a word of the host for a filling.
  input  logic                                       operand_valid_i,
  /// The word of the host.
  input  logic [15:0][15:0]                          operand_i,
  /// The host writes a column of every channel.
  input  logic                                       write_valid_i,
  /// The column.
  input  aim_write_t                                 write_i,
  /// Data of the next WR, by channel.
  input  logic [CHANNELS-1:0][15:0][15:0]            write_data_i,
  /// By channel, the column of every bank, of the RD_ALL on the pins in the last cycle.
  input  logic [CHANNELS-1:0][BANKS-1:0][15:0][15:0] cells_i,
  /// The words read last from the GPR, by memory.
  input  logic [CHANNELS-1:0][15:0][15:0]            gpr_data_i,
  /// The host's write is accepted, if there is one.
  output logic                                       load_ready_o,
  /// The command buffer takes the host's data.
  output logic                                       command_write_o,
  /// The Va2Pa table takes the host's data.
  output logic                                       table_write_o,
  /// The host has written more than fits.
  output logic                                       overflow_o,
  /// A start is accepted.
  output logic                                       start_ready_o,
  /// The command buffer is read.
  output logic                                       fetch_read_o,
  /// Address of the first of the two words that are read.
  output logic [13:0]                                fetch_address_o,
  /// The Va2Pa table is read.
  output logic                                       table_read_o,
  /// Address of the entry that is read; 0 if none is.
  output logic [15:0]                                table_address_o,
  /// The program has ended.
  output logic                                       end_valid_o,
  /// Status and address of the program's end, else 0.
  output run_end_t                                   end_o,
  /// Status of each request.
  output status_e [15:0]                             status_o,
  /// Fault of the run.
  output fault_e                                     fault_o,
  /// The word of the host is accepted, if there is one.
  output logic                                       operand_ready_o,
  /// The host's write is accepted, if there is one.
  output logic                                       write_ready_o,
  /// The data of the next WR are taken.
  output logic                                       write_taken_o,
  /// Memories of the GPR that are read.
  output logic [CHANNELS-1:0]                        gpr_read_o,
  /// The line that is read is one that results are added to.
  output logic                                       gpr_adds_o,
  /// Line of the GPR that is read; 0 if none is.
  output logic [13:0]                                gpr_read_address_o,
  /// Memories of the GPR that are written.
  output logic [CHANNELS-1:0]                        gpr_write_o,
  /// Line of the GPR that is written; 0 if none is.
  output logic [13:0]                                gpr_write_address_o,
  /// What is written, by memory; 0 if nothing is.
  output logic [CHANNELS-1:0][15:0][15:0]            gpr_write_data_o,
  /// The command pins of every channel in the first slot.
  output pins_t                                      pins_o,
  /// The command pins of every channel in the second slot.
  output pins_t                                      bus_pins_o,
  /// The data lines of the channels are driven.
  output logic                                       dq_valid_o,
  /// What is on the data lines of each channel, else 0.
  output logic [CHANNELS-1:0][15:0][15:0]            dq_o,
  /// Events of every channel.
  output aim_events_t                                events_o,
  /// Nothing is under way.
  output logic                                       idle_o,
  /// Nothing is under way, and a program has ended since the last start.
  output logic                                       over_o,
  /// Nothing is under way, all banks are closed, and no REF is owed.
  output logic                                       settled_o
);

  localparam int unsigned CHANNEL_BITS = $clog2(CHANNELS);

  // The EPU's clock has an edge at the end of every second cycle.
  logic second_d, second_q, clk_epu;

  assign second_d = !second_q;

  clock_gate u_clk_epu (.clk_i, .rst_ni, .enable_i(second_q), .clk_o(clk_epu));

  // The run.
  logic starts, running_d, running_q, ended_d, ended_q;

  assign starts    = start_valid_i && start_ready_o;
  assign running_d = starts || (running_q && !end_valid_o);
  assign ended_d   = !starts && (ended_q || end_valid_o);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      second_q  <= 1'b0;
      running_q <= 1'b0;
      ended_q   <= 1'b0;
    end else begin
      second_q  <= second_d;
      running_q <= running_d;
      ended_q   <= ended_d;
    end
  end

  // From the program to commands.
  logic         dispatch_ready, dispatch_valid;
  dispatch_t    dispatch;
  logic         command_valid, command_ready, fill_valid, fill_kept, fill_ready, results_begin, goes_on, weigh;
  aim_command_t command;
  logic [6:0]   fill_count;
  logic [4:0]   fill_elements;
  logic [13:0]  first_word;
  logic [2:0]   weigh_head;
  logic [19:0]  weigh_tokens;
  logic         results_room, no_results, feeding, feeder_idle, weighing, decoding;

  // The dispatcher has the EPU's clock. What it does takes effect in the second cycle of its own.
  logic     stop_d, stop_q, command_write, table_write, start_ready, fetch_read, table_read, end_valid;
  run_end_t run_end;

  assign stop_d = fault_o != FaultNone && !starts;

  always_ff @(posedge clk_epu or negedge rst_ni) begin
    if (!rst_ni) stop_q <= 1'b0;
    else         stop_q <= stop_d;
  end

  dispatcher u_dispatcher (
    .clk_i            (clk_epu),
    .stop_i           (stop_q),
    .dispatch_ready_i (dispatch_ready),
    .command_write_o  (command_write),
    .table_write_o    (table_write),
    .start_ready_o    (start_ready),
    .fetch_read_o     (fetch_read),
    .table_read_o     (table_read),
    .dispatch_valid_o (dispatch_valid),
    .dispatch_o       (dispatch),
    .end_valid_o      (end_valid),
    .end_o            (run_end),
    .rst_ni, .load_valid_i, .load_i, .start_valid_i, .start_i, .fetch_data_i, .table_data_i,
    .overflow_o, .fetch_address_o, .table_address_o, .status_o
  );

  assign load_ready_o    = second_q;
  assign command_write_o = second_q && command_write;
  assign table_write_o   = second_q && table_write;
  assign start_ready_o   = second_q && start_ready;
  assign fetch_read_o    = second_q && fetch_read;
  assign table_read_o    = second_q && table_read;
  assign end_valid_o     = second_q && end_valid;
  assign end_o           = second_q ? run_end : '0;

  aim_decode #(.CHANNELS(CHANNELS)) u_decode (
    .clk_i,
    .clk_epu_i        (clk_epu),
    .rst_ni,
    .second_i         (second_q),
    .size_i           (size_i),
    .start_i          (starts),
    .ended_i          (end_valid_o),
    .dispatch_valid_i (dispatch_valid),
    .dispatch_i       (dispatch),
    .write_valid_i    (write_valid_i),
    .write_i          (write_i),
    .command_ready_i  (command_ready),
    .fill_ready_i     (fill_ready),
    .room_i           (results_room),
    .no_results_i     (no_results),
    .feeding_i        (feeding),
    .weighing_i       (weighing),
    .dispatch_ready_o (dispatch_ready),
    .command_valid_o  (command_valid),
    .command_o        (command),
    .write_ready_o    (write_ready_o),
    .fill_valid_o     (fill_valid),
    .fill_kept_o      (fill_kept),
    .fill_count_o     (fill_count),
    .fill_elements_o  (fill_elements),
    .results_o        (results_begin),
    .goes_on_o        (goes_on),
    .weigh_o          (weigh),
    .word_o           (first_word),
    .head_o           (weigh_head),
    .tokens_o         (weigh_tokens),
    .busy_o           (decoding),
    .fault_o          (fault_o)
  );

  // Words for the global buffers.
  logic              operand_taken, feeder_reads, feeder_pair, adders_read, softmax_reads;
  logic [5:0]        operands;
  logic [13:0]       feeder_word;
  logic [15:0][15:0] operand;

  aim_feeder #(.CHANNELS(CHANNELS)) u_feeder (
    .clk_i,
    .rst_ni,
    .second_i        (second_q),
    .push_i          (fill_valid),
    .kept_i          (fill_kept),
    .word_i          (first_word),
    .count_i         (fill_count),
    .elements_i      (fill_elements),
    .operand_valid_i (operand_valid_i),
    .operand_i       (operand_i),
    .gpr_free_i      (!adders_read && !softmax_reads),
    .gpr_data_i      (gpr_data_i),
    .operand_taken_i (operand_taken),
    .ready_o         (fill_ready),
    .feeding_o       (feeding),
    .idle_o          (feeder_idle),
    .operand_ready_o (operand_ready_o),
    .gpr_read_o      (feeder_reads),
    .gpr_pair_o      (feeder_pair),
    .gpr_word_o      (feeder_word),
    .words_o         (operands),
    .word_o          (operand)
  );

  // The channels: all are told the same, and do the same at the same time.
  logic [CHANNELS-1:0]        ready, operands_taken, writes_taken, results_valid, dq_valid, idle, settled;
  pins_t [CHANNELS-1:0]       pins, bus_pins;
  aim_events_t [CHANNELS-1:0] events;

  for (genvar c = 0; c < CHANNELS; c++) begin : gen_channel
    aim_channel #(.PINGPONG(PINGPONG)) u_channel (
      .clk_i,
      .rst_ni,
      .timing_i        (timing_i),
      .mode_change_i   (mode_change_i),
      .options_i       (options_i),
      .command_valid_i (command_valid),
      .command_i       (command),
      .operands_i      (operands),
      .operand_i       (operand),
      .write_i         (write_data_i[c]),
      .cells_i         (cells_i[c]),
      .command_ready_o (ready[c]),
      .operand_taken_o (operands_taken[c]),
      .write_taken_o   (writes_taken[c]),
      .result_valid_o  (results_valid[c]),
      .dq_valid_o      (dq_valid[c]),
      .dq_o            (dq_o[c]),
      .pins_o          (pins[c]),
      .bus_pins_o      (bus_pins[c]),
      .events_o        (events[c]),
      .idle_o          (idle[c]),
      .settled_o       (settled[c])
    );
  end

  logic unused_channels;

  assign command_ready   = ready[0];
  assign operand_taken   = operands_taken[0];
  assign write_taken_o   = writes_taken[0];
  assign dq_valid_o      = dq_valid[0];
  assign pins_o          = pins[0];
  assign bus_pins_o      = bus_pins[0];
  assign events_o        = events[0];
  assign unused_channels = &{
    1'b0, ready, operands_taken, writes_taken, results_valid, dq_valid, pins, bus_pins, events, idle, settled
  };

  // The EPU.
  logic                            adders_write, softmax_writes;
  logic [13:0]                     adders_read_line, adders_write_line, softmax_read_word, softmax_write_word;
  logic [15:0][15:0]               softmax_data;
  logic [CHANNELS-1:0][15:0][15:0] adders_data;

  aim_adders #(.CHANNELS(CHANNELS)) u_adders (
    .clk_i,
    .clk_epu_i        (clk_epu),
    .rst_ni,
    .second_i         (second_q),
    .push_i           (results_begin),
    .line_i           (first_word >> CHANNEL_BITS),
    .goes_on_i        (goes_on),
    .result_valid_i   (results_valid[0]),
    .result_i         (dq_o),
    .gpr_data_i       (gpr_data_i),
    .room_o           (results_room),
    .empty_o          (no_results),
    .gpr_read_o       (adders_read),
    .gpr_read_line_o  (adders_read_line),
    .gpr_write_o      (adders_write),
    .gpr_write_line_o (adders_write_line),
    .gpr_write_data_o (adders_data)
  );

  aim_softmax #(.CHANNELS(CHANNELS)) u_softmax (
    .clk_i,
    .clk_epu_i        (clk_epu),
    .rst_ni,
    .second_i         (second_q),
    .scale_i          (scale_i),
    .start_i          (weigh),
    .word_i           (first_word),
    .tokens_i         (weigh_tokens),
    .head_i           (weigh_head),
    .gpr_data_i       (gpr_data_i),
    .busy_o           (weighing),
    .gpr_read_o       (softmax_reads),
    .gpr_read_word_o  (softmax_read_word),
    .gpr_write_o      (softmax_writes),
    .gpr_write_word_o (softmax_write_word),
    .gpr_write_data_o (softmax_data)
  );

  // The ports of the GPR. Softmax has them for itself; the adders go before the feeder.
  logic [13:0] read_word;

  function automatic logic [CHANNELS-1:0] memory_of(logic [13:0] word);
    return CHANNELS'(1) << (word & 14'(CHANNELS - 1));
  endfunction

  assign read_word = softmax_reads ? softmax_read_word : feeder_word;

  always_comb begin
    gpr_read_o         = '0;
    gpr_read_address_o = '0;
    if (softmax_reads || feeder_reads) begin
      gpr_read_o         = memory_of(read_word);
      if (feeder_pair) gpr_read_o |= memory_of(read_word + 14'd1);
      gpr_read_address_o = read_word >> CHANNEL_BITS;
    end
    if (adders_read) begin
      gpr_read_o         = '1;
      gpr_read_address_o = adders_read_line;
    end
  end

  always_comb begin
    gpr_write_o         = '0;
    gpr_write_address_o = '0;
    gpr_write_data_o    = '0;
    if (softmax_writes) begin
      gpr_write_o         = memory_of(softmax_write_word);
      gpr_write_address_o = softmax_write_word >> CHANNEL_BITS;
      gpr_write_data_o    = {CHANNELS{softmax_data}};
    end
    if (adders_write) begin
      gpr_write_o         = '1;
      gpr_write_address_o = adders_write_line;
      gpr_write_data_o    = adders_data;
    end
  end

  assign gpr_adds_o = adders_read;

  assign idle_o    = !running_q && !decoding && feeder_idle && no_results && !weighing && idle[0];
  assign over_o    = idle_o && ended_q;
  assign settled_o = idle_o && settled[0];

  if (PINGPONG > 1) $fatal(1, "PINGPONG = %0d: expected 0 or 1", PINGPONG);
  if (CHANNELS == 0 || CHANNELS > 32 || CHANNELS != 1 << $clog2(CHANNELS))
    $fatal(1, "CHANNELS = %0d: expected a power of two, 1 to 32", CHANNELS);

endmodule
