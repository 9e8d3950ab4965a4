// SPDX-License-Identifier: MIT
// A module with a rank, as one design: the dispatcher, the sequencer behind it, and the rank.
//
//   host ──▶ dispatcher ──▶ sequencer ──▶ pim_rank ──▶ command pins, data bus
//              ▲  │             ▲             │
//         command buffer,       └── events ───┘──▶ scores, context, outputs
//         Va2Pa table
//
// Its inputs are the host's writes, starts and operands, and what the cell arrays hold; there is nothing of
// the host's between a start and the results. Command buffer and Va2Pa table are memories outside, as they
// are of the dispatcher.
//
// Clocks. clk_i is the clock of beats on the data bus, and a tCK is two of them: see pim_rank. Inputs stand
// for both. Dispatcher and sequencer have a clock in every tCK, but for those in which the host has the pins
// (memory_i).
//
//   tCK             |    0    |    1    |    2    |
//   load_valid_i        1         0         0          or start_valid_i
//   clk_i           _|‾|__|‾|__|‾|__|‾|__|‾|__|‾|_
//   clk_module      ______|‾|_______|‾|_______|‾|_     dispatcher, sequencer
//   clk of the rank ________________|‾|_______|‾|_
//
// Where the host writes or starts a run, dispatcher and sequencer alone have a clock, and the rank stands
// still: the writes come while nothing runs, and take no time of the rank. That holds for the count of
// tREFI as well, as it does in the device; a host that writes for long has to allow for it.
//
// Runs. A start is given where start_ready_o is set and over_o is, but before the first. operand_i is the
// burst that the next WR_SHARED takes; operand_taken_o tells that it goes, and the next takes its place.

module pim_module #(
  /// Chips from 0 on whose bank PUs are built: 1 to 8.
  parameter int unsigned CHIPS_BUILT = 8,
  /// Banks of each of them that have a PU: 1, 2, 4, 8 or 16, at equal distances.
  parameter int unsigned BANKS_BUILT = 16
) (
  /// Clock: a beat, half a tCK.
  input  logic                   clk_i,
  /// Asynchronous reset, active low.
  input  logic                   rst_ni,
  /// tCCD_S.
  input  logic [7:0]             ccd_s_i,
  /// tCCD_L, and so the slot of the bank PUs.
  input  logic [7:0]             ccd_l_i,
  /// tRRD_S.
  input  logic [7:0]             rrd_s_i,
  /// tRRD_L.
  input  logic [7:0]             rrd_l_i,
  /// tRCD of RD.
  input  logic [7:0]             rcd_i,
  /// tRCD of WR.
  input  logic [7:0]             rcd_wr_i,
  /// tRCD of RD_ALL.
  input  logic [7:0]             rcd_mac_i,
  /// tRAS.
  input  logic [7:0]             ras_i,
  /// tRP.
  input  logic [7:0]             rp_i,
  /// tRTP.
  input  logic [7:0]             rtp_i,
  /// From RD to WR.
  input  logic [7:0]             rd_to_wr_i,
  /// From WR to RD of another bank group.
  input  logic [7:0]             wr_to_rd_s_i,
  /// From WR to RD of the same bank group.
  input  logic [7:0]             wr_to_rd_l_i,
  /// From WR to PRE.
  input  logic [7:0]             wr_to_pre_i,
  /// tFAW.
  input  logic [7:0]             faw_i,
  /// tRC.
  input  logic [7:0]             rc_i,
  /// tRFC.
  input  logic [15:0]            rfc_i,
  /// 1: a row is opened bank by bank; 0: by one ACT_ALL.
  input  logic                   staggered_i,
  /// CL.
  input  logic [7:0]             cl_i,
  /// CWL.
  input  logic [7:0]             cwl_i,
  /// Refresh is on.
  input  logic                   refresh_enable_i,
  /// tREFI.
  input  logic [19:0]            refi_i,
  /// Factor of the scores.
  input  logic [15:0]            scale_i,
  /// Rows of a bank.
  input  logic [16:0]            bank_rows_i,
  /// Columns of a row.
  input  logic [8:0]             bank_columns_i,
  /// The host has the pins: all stands still but the refresh manager.
  input  logic                   memory_i,
  /// Memory: the host's command is a REF.
  input  logic                   memory_refresh_i,
  /// The host writes to the module: see dispatcher.
  input  logic                   load_valid_i,
  /// What it writes.
  input  logic [2:0]             load_kind_i,
  /// Where.
  input  logic [15:0]            load_address_i,
  /// The data.
  input  logic [63:0]            load_data_i,
  /// A run is to start.
  input  logic                   start_valid_i,
  /// Its request.
  input  logic [3:0]             start_request_i,
  /// Its first word.
  input  logic [13:0]            start_address_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [3:0][63:0]       fetch_data_i,
  /// The entry at the last table_address_o.
  input  logic [15:0]            table_data_i,
  /// Bursts that the host has ready for WR_SHARED; 127 for more.
  input  logic [6:0]             operands_i,
  /// The first of them, in its order.
  input  logic [7:0][63:0]       operand_i,
  /// In the tCK of an RD_ALL: the column, of each bank and chip.
  input  logic [15:0][7:0][63:0] rows_i,
  /// Results of banks whose PU is not built, of each bank and chip.
  input  logic [15:0][7:0][63:0] unbuilt_results_i,
  /// The command buffer takes the host's data.
  output logic                   command_write_o,
  /// The Va2Pa table takes the host's data.
  output logic                   table_write_o,
  /// The host has written what does not fit.
  output logic                   overflow_o,
  /// A start is taken if there is one.
  output logic                   start_ready_o,
  /// The command buffer is read.
  output logic                   fetch_read_o,
  /// First of the four words.
  output logic [13:0]            fetch_address_o,
  /// The Va2Pa table is read.
  output logic                   table_read_o,
  /// Its entry.
  output logic [15:0]            table_address_o,
  /// The program has ended.
  output logic                   ended_o,
  /// How.
  output logic [3:0]             ended_status_o,
  /// At which word.
  output logic [13:0]            ended_address_o,
  /// Status of each request.
  output logic [15:0][3:0]       status_o,
  /// What is wrong with the run: see sequencer.
  output logic [3:0]             fault_o,
  /// The run is over: all that it dispatched is done, and all banks are closed or going to be.
  output logic                   over_o,
  /// The host's burst is taken.
  output logic                   operand_taken_o,
  /// Command on the pins, as of rank_controller.
  output logic [3:0]             command_o,
  /// Its bank.
  output logic [3:0]             bank_o,
  /// Its row.
  output logic [15:0]            row_o,
  /// Its column.
  output logic [7:0]             column_o,
  /// Somebody drives the data bus.
  output logic                   dq_valid_o,
  /// A beat on the data bus, which is pulled up.
  output logic [63:0]            dq_o,
  /// The array request is taken.
  output logic                   array_taken_o,
  /// The bus request is taken.
  output logic                   bus_taken_o,
  /// The finish is taken.
  output logic                   finish_taken_o,
  /// The weighing is taken.
  output logic                   weigh_taken_o,
  /// An RD_ALL is on the pins.
  output logic                   read_o,
  /// An RD_RESULT is.
  output logic                   results_taken_o,
  /// A word of the shared buffers is written.
  output logic                   written_o,
  /// The bank PUs have new results.
  output logic                   results_o,
  /// There is a score, before scaling.
  output logic                   score_valid_o,
  /// The score; 0 if there is none, as those below.
  output logic [15:0]            score_o,
  /// A score has been scaled.
  output logic                   scaled_o,
  /// A head can be weighed.
  output logic                   finished_o,
  /// There is a weight.
  output logic                   weight_valid_o,
  /// The weight.
  output logic [15:0]            weight_o,
  /// There is an element of the context.
  output logic                   context_valid_o,
  /// The element.
  output logic [15:0]            context_o,
  /// There is an output of a matrix.
  output logic                   output_valid_o,
  /// The output.
  output logic [15:0]            output_o,
  /// The controller has nothing queued.
  output logic                   idle_o,
  /// A read could not be chosen for its row.
  output logic                   lost_row_switch_o,
  /// A read could not be chosen for a refresh.
  output logic                   lost_refresh_o
);

  // The host's clocks.
  logic host, second, clk_module;

  assign host = load_valid_i || start_valid_i;

  clock_gate u_clk_module (
    .clk_i,
    .rst_ni,
    .enable_i (second && (host || !memory_i)),
    .clk_o    (clk_module)
  );

  // Commands.
  pimlico_pkg::load_t     load;
  pimlico_pkg::start_t    start;
  pimlico_pkg::dispatch_t dispatch;
  pimlico_pkg::run_end_t  ended;
  logic                   dispatch_ready, dispatch_valid;

  assign load  = '{
    kind: pimlico_pkg::load_kind_e'(load_kind_i), address: load_address_i, data: load_data_i
  };
  assign start = '{request: start_request_i, address: start_address_i};

  dispatcher u_dispatcher (
    .clk_i            (clk_module),
    .rst_ni,
    .load_valid_i,
    .load_i           (load),
    .start_valid_i,
    .start_i          (start),
    .stop_i           (fault_o != '0),
    .fetch_data_i,
    .table_data_i,
    .dispatch_ready_i (dispatch_ready),
    .command_write_o,
    .table_write_o,
    .overflow_o,
    .start_ready_o,
    .fetch_read_o,
    .fetch_address_o,
    .table_read_o,
    .table_address_o,
    .dispatch_valid_o (dispatch_valid),
    .dispatch_o       (dispatch),
    .end_valid_o      (ended_o),
    .end_o            (ended),
    .status_o
  );

  assign ended_status_o  = ended.status;
  assign ended_address_o = ended.address;

  // Requests.
  pimlico_pkg::bank_size_t     size;
  pimlico_pkg::rank_events_t   events;
  pimlico_pkg::array_request_t array;
  pimlico_pkg::bus_request_t   bus;
  pimlico_pkg::finish_t        finish;
  pimlico_pkg::weigh_t         weigh;
  logic                        array_valid, bus_valid, finish_valid, weigh_valid, head_end;
  logic                        weights_drop, word_taken, word_made, word_weighed;

  assign size   = '{rows: bank_rows_i, columns: bank_columns_i};
  assign events = '{
    array_taken: array_taken_o, bus_taken: bus_taken_o, finish_taken: finish_taken_o,
    weigh_taken: word_weighed, read: read_o, results_taken: results_taken_o, written: written_o,
    results: results_o, scaled: scaled_o, finished: finished_o, word_made: word_made,
    context_made: context_valid_o, output_made: output_valid_o
  };

  sequencer u_sequencer (
    .clk_i            (clk_module),
    .rst_ni,
    .size_i           (size),
    .burst_i          (8'd4),
    .wide_i           (1'b0),
    .start_i          (start_valid_i && start_ready_o),
    .done_i           (ended_o),
    .operands_i,
    .dispatch_valid_i (dispatch_valid),
    .dispatch_i       (dispatch),
    .events_i         (events),
    .dispatch_ready_o (dispatch_ready),
    .fault_o,
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
    .head_end_o       (head_end)
  );

  // Weights. What passes them has the clock of the sequencer: the rank shows nothing while it stands still.
  logic                  score_valid, weights_valid;
  pimlico_pkg::place_t   score_place;
  pimlico_pkg::head_t    score_head;
  pimlico_pkg::element_t weights;
  logic [63:0]           word;

  assign word_taken = bus_taken_o && bus.write && !bus.host || weights_drop;

  weight_path u_weights (
    .clk_i          (clk_module),
    .rst_ni,
    .weigh_valid_i  (weigh_valid),
    .weigh_i        (weigh),
    .ready_i        (weigh_taken_o),
    .weight_valid_i (weight_valid_o),
    .weight_i       (weight_o),
    .taken_i        (word_taken),
    .taken_o        (word_weighed),
    .score_valid_o  (score_valid),
    .place_o        (score_place),
    .head_o         (score_head),
    .made_o         (word_made),
    .weight_valid_o (weights_valid),
    .weight_o       (weights),
    .word_o         (word)
  );

  logic [7:0][63:0] bus_data;
  logic             unused_request;

  always_comb begin
    bus_data = '0;
    if (bus.write) bus_data = {8{word}};
    if (bus.host) bus_data = operand_i;
  end

  assign operand_taken_o = bus_taken_o && bus.host;
  // Whose row it is was of use for the look-up; the first of an operator is, for statistics.
  assign unused_request  = &{1'b0, array.kind, array.bank, array.mac.opens, weights_valid, weights};

  pim_rank #(
    .CHIPS_BUILT (CHIPS_BUILT),
    .BANKS_BUILT (BANKS_BUILT)
  ) u_rank (
    .clk_i,
    .rst_ni,
    .ccd_s_i,
    .ccd_l_i,
    .rrd_s_i,
    .rrd_l_i,
    .rcd_i,
    .rcd_wr_i,
    .rcd_mac_i,
    .ras_i,
    .rp_i,
    .rtp_i,
    .rd_to_wr_i,
    .wr_to_rd_s_i,
    .wr_to_rd_l_i,
    .wr_to_pre_i,
    .faw_i,
    .rc_i,
    .rfc_i,
    .staggered_i,
    .cl_i,
    .cwl_i,
    .refresh_enable_i,
    .refi_i,
    .scale_i,
    .hold_i             (host),
    .memory_i,
    .memory_refresh_i,
    .array_valid_i      (array_valid),
    .array_close_i      (array.kind == pimlico_pkg::ArrayCloseAll),
    .array_row_i        (array.row),
    .array_column_i     (array.column),
    .array_shared_i     (array.mac.word),
    .array_accumulate_i (array.mac.accumulate),
    .array_first_i      (array.mac.first),
    .array_last_i       (array.mac.last),
    .bus_valid_i        (bus_valid),
    .bus_write_i        (bus.write),
    .bus_address_i      (bus.address),
    .bus_host_i         (bus.host),
    .bus_data_i         (bus_data),
    .sum_kind_i         (bus.sum.kind),
    .sum_head_i         (bus.sum.head),
    .sum_first_i        (bus.sum.first),
    .sum_last_i         (bus.sum.last),
    .sum_tokens_i       (bus.sum.tokens),
    .sum_place_i        (bus.sum.place),
    .sum_keep_i         (bus.sum.keep),
    .sum_goes_on_i      (bus.sum.goes_on),
    .sum_complete_i     (bus.sum.complete),
    .finish_valid_i     (finish_valid),
    .finish_head_i      (finish.head),
    .weigh_valid_i      (score_valid),
    .weigh_place_i      (score_place),
    .weigh_head_i       (score_head),
    .head_end_i         (head_end),
    .rows_i,
    .unbuilt_results_i,
    .second_o           (second),
    .command_o,
    .bank_o,
    .row_o,
    .column_o,
    .dq_valid_o,
    .dq_o,
    .array_taken_o,
    .bus_taken_o,
    .finish_taken_o,
    .weigh_taken_o,
    .read_o,
    .results_taken_o,
    .written_o,
    .results_o,
    .score_valid_o,
    .score_o,
    .scaled_o,
    .finished_o,
    .weight_valid_o,
    .weight_o,
    .context_valid_o,
    .context_o,
    .output_valid_o,
    .output_o,
    .idle_o,
    .lost_row_switch_o,
    .lost_refresh_o
  );

endmodule
