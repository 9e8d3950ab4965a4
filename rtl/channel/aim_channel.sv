// SPDX-License-Identifier: MIT
// Channel of an AiM with its controller: queues, rank controller, buffers, PUs. Contract: aim_channel.md.

module aim_channel import pimlico_pkg::*; #(
  /// 1: two sides in each buffer, and two queues; 0: one side, and commands in order.
  parameter int unsigned PINGPONG = 1
) (
  /// Clock: one edge per cycle, a tCCD of two tCK.
  input  logic                         clk_i,
  /// Asynchronous reset, active low.
  input  logic                         rst_ni,
  /// Timings of the DRAM, in cycles.
  input  timing_t                      timing_i,
  /// From a command of one mode to the first of the other, in tCK; without a meaning with PINGPONG = 1.
  input  logic [7:0]                   mode_change_i,
  /// Options: refresh.
  input  options_t                     options_i,
  /// There is a command.
  input  logic                         command_valid_i,
  /// The command.
  input  aim_command_t                 command_i,
  /// Words that are there for WR_SHAREDs, 0 to 32.
  input  logic [5:0]                   operands_i,
  /// The next of them.
  input  logic [15:0][15:0]            operand_i,
  /// Data of the next WR.
  input  logic [15:0][15:0]            write_i,
  /// The column of every bank, of the RD_ALL on the pins in the last cycle.
  input  logic [BANKS-1:0][15:0][15:0] cells_i,
  /// The queue of the command has room.
  output logic                         command_ready_o,
  /// The next word is on the data lines.
  output logic                         operand_taken_o,
  /// The data of the next WR are on the data lines.
  output logic                         write_taken_o,
  /// Results are on the data lines.
  output logic                         result_valid_o,
  /// The data lines are driven.
  output logic                         dq_valid_o,
  /// What is on the data lines, else 0.
  output logic [15:0][15:0]            dq_o,
  /// The command pins in the first slot.
  output pins_t                        pins_o,
  /// The command pins in the second slot.
  output pins_t                        bus_pins_o,
  /// Events of the cycle.
  output aim_events_t                  events_o,
  /// Nothing is under way.
  output logic                         idle_o,
  /// Nothing is under way, all banks are closed, and no REF is owed.
  output logic                         settled_o
);

  // Cycles from an RD_ALL on the pins to the first in which RD_RESULT may be requested for its sum: the PU has the
  // result 27 cycles after it, and the RD_RESULT is on the pins two cycles after the request and reads in the next.
  localparam int unsigned RESULT_LATENCY = 25;
  // Cycles from a WR to its data, at the most.
  localparam int unsigned MOST_CWL       = 32;

  // What is on the pins.
  logic         array_issued, bus_issued, refresh_issued, rd_all, wr, word, result;
  mac_t         mac;
  bus_request_t transfer;

  assign rd_all = pins_o.command == PinRdAll;
  assign wr     = pins_o.command == PinWr;
  assign word   = bus_pins_o.command == PinWrShared;
  assign result = bus_pins_o.command == PinRdResult;

  // A command goes to one of three queues.
  logic is_fill, is_results, accepted, array_room, fill_room, results_room;

  assign is_fill         = command_i.kind == AimFill;
  assign is_results      = command_i.kind == AimResults;
  assign command_ready_o = is_fill ? fill_room : is_results ? results_room : array_room;
  assign accepted        = command_valid_i && command_ready_o;

  // Mode.
  logic arrays, lines;

  if (PINGPONG != 0) begin : gen_one_mode
    logic unused_mode;

    assign arrays      = 1'b1;
    assign lines       = 1'b1;
    assign unused_mode = &{1'b0, mode_change_i};
  end else begin : gen_modes
    aim_modes u_modes (
      .clk_i, .rst_ni, .mode_change_i,
      .array_i   (rd_all || wr),
      .word_i    (word),
      .results_i (result),
      .arrays_o  (arrays),
      .lines_o   (lines)
    );
  end

  // Requests.
  logic           array_valid, array_ready, array_empty, ends, closes;
  logic           bus_valid, bus_ready, fills_empty, bus_quiet, bus_held, requests, words_ahead;
  logic           results_empty, room, due;
  array_request_t array;
  bus_request_t   bus;
  logic [2:0]     front;
  logic [5:0]     sums;

  aim_array_port #(.PINGPONG(PINGPONG)) u_array (
    .clk_i,
    .rst_ni,
    .push_i        (accepted && !is_fill && !is_results),
    .command_i     (command_i),
    .mode_i        (arrays),
    .filled_i      (word && transfer.sum.last),
    .no_sums_i     (sums == '0),
    .room_i        (room),
    .array_ready_i (array_ready),
    .ready_o       (array_room),
    .empty_o       (array_empty),
    .array_valid_o (array_valid),
    .array_o       (array),
    .ends_o        (ends),
    .closes_o      (closes)
  );

  aim_bus_port #(.PINGPONG(PINGPONG)) u_bus (
    .clk_i,
    .rst_ni,
    .push_i          (accepted && is_fill),
    .count_i         (command_i.count),
    .mode_i          (lines),
    .sums_i          (sums),
    .due_i           (due),
    .freed_i         (rd_all && mac.opens),
    .operands_i      (operands_i),
    .operand_taken_i (operand_taken_o),
    .bus_ready_i     (bus_ready),
    .issued_i        (bus_issued),
    .ready_o         (fill_room),
    .empty_o         (fills_empty),
    .quiet_o         (bus_quiet),
    .bus_valid_o     (bus_valid),
    .bus_o           (bus),
    .requests_o      (requests),
    .held_o          (bus_held),
    .front_o         (front),
    .words_o         (words_ahead)
  );

  aim_sums #(.LATENCY(RESULT_LATENCY)) u_sums (
    .clk_i,
    .rst_ni,
    .push_i      (accepted && is_results),
    .ends_i      (ends),
    .ended_i     (rd_all && mac.last),
    .requested_i (requests),
    .left_i      (result),
    .front_i     (front),
    .words_i     (!fills_empty || words_ahead || bus_held),
    .ready_o     (results_room),
    .empty_o     (results_empty),
    .sums_o      (sums),
    .room_o      (room),
    .due_o       (due)
  );

  // Rank controller, and refresh manager behind registers.
  logic       refresh_d, refresh_q, force_d, force_q, controller_idle;
  logic [3:0] owed;

  rank_controller #(.SLOTS(2)) u_controller (
    .clk_i,
    .rst_ni,
    .timing_i          (timing_i),
    .array_valid_i     (array_valid),
    .array_i           (array),
    .bus_valid_i       (bus_valid),
    .bus_i             (bus),
    .refresh_i         (refresh_q),
    .force_i           (force_q),
    .array_ready_o     (array_ready),
    .bus_ready_o       (bus_ready),
    .pins_o            (pins_o),
    .bus_pins_o        (bus_pins_o),
    .mac_o             (mac),
    .transfer_o        (transfer),
    .array_issued_o    (array_issued),
    .bus_issued_o      (bus_issued),
    .refresh_issued_o  (refresh_issued),
    .lost_row_switch_o (events_o.lost_row_switch),
    .lost_refresh_o    (events_o.lost_refresh),
    .idle_o            (controller_idle)
  );

  refresh_manager u_refresh (
    .clk_i,
    .rst_ni,
    .enable_i   (options_i.refresh),
    .refi_i     (timing_i.refi),
    .head_end_i (closes),
    .idle_i     (controller_idle),
    .done_i     (refresh_issued),
    .refresh_o  (refresh_d),
    .force_o    (force_d),
    .owed_o     (owed)
  );

  // The data lines: a word a cycle after its WR_SHARED, which is written in the next; results read in the cycle after their
  // RD_RESULT, and on the lines in the next; data of a WR CWL after it.
  logic                word_d, word_q, word_last_d, word_last_q, written_d, written_q, written_last_d, written_last_q;
  logic                read_results_d, read_results_q, hazard, unused;
  logic [15:0][15:0]   written_word_d, written_word_q, result_word;
  logic [MOST_CWL-1:0] writes_d, writes_q;

  assign word_d          = word;
  assign word_last_d     = transfer.sum.last;
  assign written_d       = word_q;
  assign written_last_d  = word_last_q;
  assign written_word_d  = word_q ? operand_i : written_word_q;
  assign read_results_d  = result;
  assign writes_d        = {writes_q[MOST_CWL-2:0], wr};
  assign operand_taken_o = word_q;
  assign write_taken_o   = writes_q[5'(timing_i.cwl - 8'd1)];
  assign unused          = &{1'b0, transfer, mac, hazard};

  always_comb begin
    dq_o = result_word;
    if (operand_taken_o) dq_o = operand_i;
    if (write_taken_o) dq_o = write_i;
  end

  assign dq_valid_o = operand_taken_o || write_taken_o || result_valid_o;

  aim_pus #(.PINGPONG(PINGPONG)) u_pus (
    .clk_i,
    .rst_ni,
    .write_i        (written_q),
    .word_i         (written_word_q),
    .write_last_i   (written_last_q),
    .read_i         (rd_all),
    .mac_i          (mac),
    .cells_i        (cells_i),
    .read_results_i (read_results_q),
    .new_o          (events_o.results),
    .result_valid_o (result_valid_o),
    .result_o       (result_word),
    .hazard_o       (hazard)
  );

  // Array requests that are accepted and not on the pins; data of WRs that are to come; whether a bank is open.
  logic [2:0] array_left_d, array_left_q;
  logic [5:0] writes_left_d, writes_left_q;
  logic       open_d, open_q;

  assign array_left_d  = array_left_q + 3'(array_valid && array_ready) - 3'(array_issued);
  assign writes_left_d = writes_left_q + 6'(wr) - 6'(write_taken_o);

  always_comb begin
    open_d = open_q;
    if (pins_o.command inside {PinAct, PinActAll}) open_d = 1'b1;
    if (pins_o.command == PinPreAll) open_d = 1'b0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      refresh_q      <= 1'b0;
      force_q        <= 1'b0;
      word_q         <= 1'b0;
      written_q      <= 1'b0;
      read_results_q <= 1'b0;
      writes_q       <= '0;
      array_left_q   <= '0;
      writes_left_q  <= '0;
      open_q         <= 1'b0;
    end else begin
      refresh_q      <= refresh_d;
      force_q        <= force_d;
      word_q         <= word_d;
      written_q      <= written_d;
      read_results_q <= read_results_d;
      writes_q       <= writes_d;
      array_left_q   <= array_left_d;
      writes_left_q  <= writes_left_d;
      open_q         <= open_d;
    end
  end

  // Without a reset: word_q and written_q say whether these count.
  always_ff @(posedge clk_i) begin
    word_last_q    <= word_last_d;
    written_last_q <= written_last_d;
    written_word_q <= written_word_d;
  end

  assign events_o.read    = rd_all;
  assign events_o.written = written_q;

  assign idle_o    = array_empty && fills_empty && results_empty && bus_quiet && array_left_q == '0 && sums == '0 &&
                     writes_left_q == '0 && !(word_q || written_q || read_results_q || result_valid_o);
  assign settled_o = idle_o && !open_q && owed == '0;

  if (PINGPONG > 1) $fatal(1, "PINGPONG = %0d: expected 0 or 1", PINGPONG);

endmodule
