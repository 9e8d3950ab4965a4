// SPDX-License-Identifier: MIT
// The rank: eight chips with PUs at their sixteen banks, and the rank PU on the module's buffer chip, as
// one design.
//
//            array and bus requests ──▶ rank controller ◀── refresh manager
//                                            │ commands
//    host's beats ──▶ operand path ──────────▼────────────────────┐
//    rank PU's    ──▶ (re-layout)   │ data bus   pim_chip, eight: shared buffer, bank PUs, results
//        ▲                          │                  ▲ rows_i
//        └─ weights ── softmax unit ◀─ adder unit ◀─ result path
//                          ▲ │           │  ▲ │
//                      score buffer ◀────┘  partial sums; context queue ──▶ host
//
// What is asked for goes in in the tCK in which it is taken, and passes the controller's queues whole. The
// cell arrays are outside: rows_i is what an RD_ALL on the pins reads, in its tCK.
//
// Clocks. A beat on the data bus is half a tCK, and the re-layout unit takes each; so clk_i is the clock
// of beats, and clock gates make the others of it. A tCK is two clocks, the first from the reset on:
//
//   tCK            |    0    |    1    |
//   second_q        0    1    0    1
//   clk_i          _|‾|__|‾|__|‾|__|‾|_
//   clk_tck        ______|‾|_______|‾|_     refresh manager
//   clk_pim        ______|‾|_______|‾|_     all that is clocked by tCK; not while memory_i is set
//   clk_pu         _|‾|________________     bank PUs: an RD_ALL is on the pins in tCK 0
//
// A flip-flop with an enable in each unit would do the same, with a multiplexer before each of its bits.
//
// Inputs stand for both clocks of a tCK. Outputs are those of the tCK in its second clock; all but dq_o,
// dq_valid_o and what the bank PUs make stand for both. The configuration, from ccd_s_i to scale_i, stands
// from the reset on, but for scale_i, which may change while nothing is under way.
//
// Times, in tCK. A request that is taken in 0 is on the pins in 2 or later.
//
//   RD_ALL in 0           the PUs have it with the beginning of the next slot: see pim_chip
//   WR_SHARED in 0        data in CWL to CWL + 3; written_o in CWL + 3, and an RD_ALL may use it in CWL + 4
//   RD_RESULT in 0        data in CL to CL + 3, the adder unit's input; score_o from CL + 4 on, the scaled
//                         score in the buffer from CL + 6 on; context_o from CL + 4 on
//
// In a tCK with hold_i no clock passes: whoever is in front of the rank has it for itself.
//
// Memory mode (memory_i) is here only for what it leaves behind: the refresh manager counts on. The
// way of the host's data to the chips as a memory is not in here.
//
// Decisions.
//
// - Sums are of binary16 and weights are normalised: L3's rank.
// - The score buffer has one port to read and one to write. Weighing and partial sums of a matrix do not
//   meet; where they do, the matrix comes first, and the score that is read or kept is wrong.
// - CL and CWL are at most 48, and tCCD_S is at least 4: then 16 bursts of a kind are on their way.
// - One slot_timer serves all chips. Each has one of its own in truth, and all would be alike.
// - BANKS_BUILT of CHIPS_BUILT chips have PUs; unbuilt_results_i stands for the others. All else is as in
//   the whole rank.

module pim_rank #(
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
  /// Everything stands still: a tCK that is none of the rank's.
  input  logic                   hold_i,
  /// The host has the pins: all stands still but the refresh manager.
  input  logic                   memory_i,
  /// Memory: the host's command is a REF.
  input  logic                   memory_refresh_i,
  /// An array request.
  input  logic                   array_valid_i,
  /// 1: all banks closed; 0: a column of every bank to its PU.
  input  logic                   array_close_i,
  /// Row.
  input  logic [15:0]            array_row_i,
  /// Column.
  input  logic [7:0]             array_column_i,
  /// Word of the shared buffers.
  input  logic [7:0]             array_shared_i,
  /// Accumulator mode of the bank PUs.
  input  logic                   array_accumulate_i,
  /// Begins a sum.
  input  logic                   array_first_i,
  /// Ends a sum.
  input  logic                   array_last_i,
  /// A bus request.
  input  logic                   bus_valid_i,
  /// 1: WR_SHARED; 0: RD_RESULT.
  input  logic                   bus_write_i,
  /// Word of the shared buffers, or which results.
  input  logic [7:0]             bus_address_i,
  /// WR_SHARED: the burst is the host's, in its order.
  input  logic                   bus_host_i,
  /// WR_SHARED: the beats of the host, or 64 bits for each chip.
  input  logic [7:0][63:0]       bus_data_i,
  /// RD_RESULT: 0 scores, 1 outputs of a matrix, 2 context.
  input  logic [1:0]             sum_kind_i,
  /// Scores, context: query head.
  input  logic [2:0]             sum_head_i,
  /// Scores: in the first chunk of their head. Context: begins a sum.
  input  logic                   sum_first_i,
  /// Context: ends a sum.
  input  logic                   sum_last_i,
  /// Scores: tokens that there are, 0 to 4.
  input  logic [2:0]             sum_tokens_i,
  /// Place of the first in the score buffer; context: among the partial sums.
  input  logic [16:0]            sum_place_i,
  /// Scores: they are kept.
  input  logic                   sum_keep_i,
  /// Outputs, context: go on from a partial sum.
  input  logic                   sum_goes_on_i,
  /// Outputs, context: complete; otherwise they become partial sums.
  input  logic                   sum_complete_i,
  /// The scores of a head are complete.
  input  logic                   finish_valid_i,
  /// Which head.
  input  logic [2:0]             finish_head_i,
  /// A score in the buffer becomes a weight.
  input  logic                   weigh_valid_i,
  /// Its place.
  input  logic [16:0]            weigh_place_i,
  /// Its head.
  input  logic [2:0]             weigh_head_i,
  /// A head ends: REFs that were postponed come now.
  input  logic                   head_end_i,
  /// In the tCK of an RD_ALL: the column, of each bank and chip.
  input  logic [15:0][7:0][63:0] rows_i,
  /// Results of banks whose PU is not built, of each bank and chip.
  input  logic [15:0][7:0][63:0] unbuilt_results_i,
  /// The second clock of the tCK.
  output logic                   second_o,
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

  localparam int unsigned CHIPS = 8;
  localparam int unsigned BANKS = 16;
  localparam int unsigned DEPTH = 16;  // bursts on their way

  localparam logic [3:0] RD_ALL    = 4'd7;
  localparam logic [3:0] RD_RESULT = 4'd8;
  localparam logic [3:0] WR_SHARED = 4'd9;
  localparam logic [1:0] OUTPUTS   = 2'd1;
  localparam logic [1:0] CONTEXT   = 2'd2;

  // Clocks.
  logic second_q, tck_ends, slot_begins, clk_tck, clk_pim, clk_pu;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) second_q <= 1'b0;
    else         second_q <= !second_q;
  end

  assign second_o = second_q;
  assign tck_ends = second_q && !hold_i;

  clock_gate u_clk_tck (.clk_i, .rst_ni, .enable_i(tck_ends), .clk_o(clk_tck));
  clock_gate u_clk_pim (.clk_i, .rst_ni, .enable_i(tck_ends && !memory_i), .clk_o(clk_pim));
  clock_gate u_clk_pu (.clk_i, .rst_ni, .enable_i(!second_q && slot_begins), .clk_o(clk_pu));

  // Commands. The controller hears from the refresh manager a tCK late.
  logic       array_ready, bus_ready, array_issued, bus_issued, refresh_issued, unused_issued;
  logic       refresh_wanted, refresh_forced, wanted_q, forced_q;
  logic [3:0] refresh_owed;
  logic       read_all, read_result, write_shared;

  pimlico_pkg::timing_t        timing;
  pimlico_pkg::array_request_t array_request;
  pimlico_pkg::bus_request_t   bus_request, transfer;
  pimlico_pkg::pins_t          pins;
  pimlico_pkg::mac_t           read;

  assign timing = '{
    ccd_s: ccd_s_i, ccd_l: ccd_l_i, rrd_s: rrd_s_i, rrd_l: rrd_l_i, rcd: rcd_i, rcd_wr: rcd_wr_i,
    rcd_mac: rcd_mac_i, ras: ras_i, rp: rp_i, rc: rc_i, rtp: rtp_i, faw: faw_i,
    rd_to_wr: rd_to_wr_i, wr_to_rd_s: wr_to_rd_s_i, wr_to_rd_l: wr_to_rd_l_i,
    wr_to_pre: wr_to_pre_i, cl: cl_i, cwl: cwl_i, rfc: rfc_i, refi: refi_i
  };
  assign array_request = '{
    kind:   array_close_i ? pimlico_pkg::ArrayCloseAll : pimlico_pkg::ArrayReadAll,
    bank:   '0,
    row:    array_row_i,
    column: array_column_i,
    mac:    '{
      word: array_shared_i, accumulate: array_accumulate_i, first: array_first_i,
      last: array_last_i, opens: 1'b0
    }
  };
  assign bus_request = '{
    write:   bus_write_i,
    address: bus_address_i,
    host:    bus_host_i,
    sum:     '{
      kind: pimlico_pkg::sum_kind_e'(sum_kind_i), head: sum_head_i, first: sum_first_i,
      last: sum_last_i, tokens: sum_tokens_i, place: sum_place_i, keep: sum_keep_i,
      goes_on: sum_goes_on_i, complete: sum_complete_i
    }
  };

  rank_controller u_controller (
    .clk_i            (clk_pim),
    .rst_ni,
    .timing_i         (timing),
    .staggered_i,
    .array_valid_i,
    .array_i          (array_request),
    .bus_valid_i,
    .bus_i            (bus_request),
    .refresh_i        (wanted_q),
    .force_i          (forced_q),
    .array_ready_o    (array_ready),
    .bus_ready_o      (bus_ready),
    .pins_o           (pins),
    .mac_o            (read),
    .transfer_o       (transfer),
    .array_issued_o   (array_issued),
    .bus_issued_o     (bus_issued),
    .refresh_issued_o (refresh_issued),
    .lost_row_switch_o,
    .lost_refresh_o,
    .idle_o
  );

  assign {command_o, bank_o, row_o, column_o} = pins;

  refresh_manager u_refresh (
    .clk_i      (clk_tck),
    .rst_ni,
    .enable_i   (refresh_enable_i),
    .refi_i,
    .head_end_i (head_end_i && !memory_i),
    .idle_i     (idle_o || memory_i),
    .done_i     (memory_i ? memory_refresh_i : refresh_issued),
    .refresh_o  (refresh_wanted),
    .force_o    (refresh_forced),
    .owed_o     (refresh_owed)
  );

  always_ff @(posedge clk_tck or negedge rst_ni) begin
    if (!rst_ni) begin
      wanted_q <= 1'b0;
      forced_q <= 1'b0;
    end else begin
      wanted_q <= refresh_wanted;
      forced_q <= refresh_forced;
    end
  end

  assign unused_issued = &{1'b0, array_issued, bus_issued, read.opens, transfer.write,
                           transfer.address};
  assign read_all      = command_o == RD_ALL;
  assign read_result   = command_o == RD_RESULT;
  assign write_shared  = command_o == WR_SHARED;
  assign array_taken_o = array_valid_i && array_ready;
  assign bus_taken_o   = bus_valid_i && bus_ready;

  slot_timer u_slots (
    .clk_i      (clk_tck),
    .rst_ni,
    .enable_i   (!memory_i && !hold_i),
    .read_all_i (read_all),
    .slot_i     (ccd_l_i),
    .begin_o    (slot_begins)
  );

  // Operands.
  logic        operand_valid;
  logic [63:0] operand;

  old_operand_path #(.DEPTH(DEPTH)) u_operands (
    .clk_i,
    .clk_tck_i   (clk_pim),
    .rst_ni,
    .second_i    (second_q),
    .cwl_i,
    .push_i      (bus_taken_o && bus_write_i),
    .host_i      (bus_host_i),
    .burst_i     (bus_data_i),
    .wr_shared_i (write_shared),
    .wr_host_i   (transfer.host),
    .valid_o     (operand_valid),
    .data_o      (operand)
  );

  // The chips, and the data bus. A chip has a byte lane of it.
  logic [CHIPS-1:0]                   drives, shared_written;
  logic [CHIPS-1:0][7:0]              chip_dq, written_word;
  logic [CHIPS-1:0][63:0]             shared_data;
  logic [CHIPS-1:0][3:0]              pu_beat;
  logic [CHIPS-1:0][63:0]             pu_shared;
  logic [CHIPS-1:0][BANKS-1:0][63:0]  pu_row, pu_result;
  logic [CHIPS-1:0][BANKS-1:0]        pu_result_valid;

  for (genvar c = 0; c < CHIPS; c++) begin : gen_chip
    logic [BANKS-1:0][63:0] rows, results;

    for (genvar b = 0; b < BANKS; b++) begin : gen_bank
      assign rows[b]    = rows_i[b][c];
      assign results[b] = unbuilt_results_i[b][c];
    end

    old_pim_chip #(
      .BANKS_BUILT (c < CHIPS_BUILT ? BANKS_BUILT : 0),
      .DEPTH       (DEPTH)
    ) u_chip (
      .clk_i,
      .clk_tck_i      (clk_pim),
      .clk_pu_i       (clk_pu),
      .rst_ni,
      .second_i       (second_q),
      .cl_i,
      .cwl_i,
      .read_all_i     (read_all),
      .read_result_i  (read_result),
      .write_shared_i (write_shared),
      .column_i       (column_o),
      .shared_i       (read.word),
      .accumulate_i   (read.accumulate),
      .first_i        (read.first),
      .last_i         (read.last),
      .row_i          (rows),
      .result_i       (results),
      .dq_i           (dq_o[8*c+:8]),
      .dq_o           (chip_dq[c]),
      .drives_o       (drives[c]),
      .write_o        (shared_written[c]),
      .write_word_o   (written_word[c]),
      .write_data_o   (shared_data[c]),
      .beat_o         (pu_beat[c]),
      .shared_o       (pu_shared[c]),
      .row_o          (pu_row[c]),
      .result_valid_o (pu_result_valid[c]),
      .result_o       (pu_result[c])
    );
  end

  always_comb begin
    if (drives[0])          dq_o = chip_dq;
    else if (operand_valid) dq_o = operand;
    else                    dq_o = '1;
  end

  assign dq_valid_o      = drives[0] || operand_valid;
  assign read_o          = read_all;
  assign results_taken_o = read_result;
  assign written_o       = shared_written[0];
  assign results_o       = slot_begins && pu_result_valid[0][0];

  // Results to the adder unit.
  logic [CHIPS-1:0][15:0] kept_sums, partial;
  logic [3:0][15:0]       kept_scores;
  logic                   adder_valid, adder_accumulate, adder_first, adder_last;
  logic [15:0]            adder_partial, tree;
  logic [CHIPS-1:0][15:0] adder_x, lanes;
  logic                   tree_valid, lanes_valid;
  logic                   tree_output, tree_first, tree_masked, tree_keep, tree_complete;
  logic [2:0]             tree_head;
  logic [16:0]            tree_place;
  logic                   sums_valid, sums_complete;
  logic [7:0]             sums_place;

  assign partial = transfer.sum.kind == CONTEXT ? kept_sums : {64'd0, kept_scores};

  old_result_path #(.DEPTH(DEPTH)) u_results (
    .clk_i,
    .clk_tck_i        (clk_pim),
    .rst_ni,
    .cl_i,
    .read_result_i    (read_result),
    .kind_i           (transfer.sum.kind),
    .head_i           (transfer.sum.head),
    .first_i          (transfer.sum.first),
    .last_i           (transfer.sum.last),
    .tokens_i         (transfer.sum.tokens),
    .place_i          (transfer.sum.place),
    .keep_i           (transfer.sum.keep),
    .goes_on_i        (transfer.sum.goes_on),
    .complete_i       (transfer.sum.complete),
    .partial_i        (partial),
    .dq_i             (dq_o),
    .valid_o          (adder_valid),
    .accumulate_o     (adder_accumulate),
    .first_o          (adder_first),
    .last_o           (adder_last),
    .partial_o        (adder_partial),
    .x_o              (adder_x),
    .tree_output_o    (tree_output),
    .tree_head_o      (tree_head),
    .tree_first_o     (tree_first),
    .tree_masked_o    (tree_masked),
    .tree_keep_o      (tree_keep),
    .tree_complete_o  (tree_complete),
    .tree_place_o     (tree_place),
    .lanes_valid_o    (sums_valid),
    .lanes_complete_o (sums_complete),
    .lanes_place_o    (sums_place)
  );

  adder_unit u_adder (
    .clk_i         (clk_pim),
    .rst_ni,
    .valid_i       (adder_valid),
    .accumulate_i  (adder_accumulate),
    .first_i       (adder_first),
    .last_i        (adder_last),
    .partial_i     (adder_partial),
    .x_i           (adder_x),
    .tree_valid_o  (tree_valid),
    .tree_o        (tree),
    .lanes_valid_o (lanes_valid),
    .lanes_o       (lanes)
  );

  // The context: partial sums come back, complete ones go to the host.
  ram #(.WIDTH(16), .ELEMENTS(CHIPS), .DEPTH(256)) u_partial_sums (
    .clk_i           (clk_pim),
    .write_i         ({CHIPS{sums_valid && !sums_complete}}),
    .write_address_i (sums_place),
    .data_i          (lanes),
    .read_address_i  (transfer.sum.place[7:0]),
    .data_o          (kept_sums)
  );

  old_context_queue u_context (
    .clk_i   (clk_pim),
    .rst_ni,
    .push_i  (sums_valid && sums_complete),
    .sums_i  (lanes),
    .valid_o (context_valid_o),
    .data_o  (context_o)
  );

  // Scores to the softmax unit, and outputs of a matrix.
  logic output_done, partial_output;

  assign score_valid_o  = tree_valid && !tree_output;
  assign score_o        = score_valid_o ? tree : '0;
  assign output_done    = tree_valid && tree_output && tree_complete;
  assign partial_output = tree_valid && tree_output && !tree_complete;
  assign output_valid_o = output_done;
  assign output_o       = output_done ? tree : '0;

  // The score buffer: four scores in a word.
  logic        keeps, keep_d, keep_q;
  logic [16:0] place_d, place_q, kept_place;
  logic [14:0] read_word;
  logic [15:0] weigh, scaled;

  assign keep_d     = score_valid_o ? tree_keep : keep_q;
  assign place_d    = score_valid_o ? tree_place : place_q;
  assign keeps      = partial_output || (scaled_o && keep_q);
  assign kept_place = partial_output ? tree_place : place_q;
  assign read_word  = read_result && transfer.sum.kind == OUTPUTS ? transfer.sum.place[16:2]
                                                              : weigh_place_i[16:2];
  assign weigh      = weigh_valid_i ? kept_scores[weigh_place_i[1:0]] : '0;

  always_ff @(posedge clk_pim or negedge rst_ni) begin
    if (!rst_ni) begin
      keep_q  <= 1'b0;
      place_q <= '0;
    end else begin
      keep_q  <= keep_d;
      place_q <= place_d;
    end
  end

  ram #(.WIDTH(16), .ELEMENTS(4), .DEPTH(32768)) u_scores (
    .clk_i           (clk_pim),
    .write_i         (4'(keeps) << kept_place[1:0]),
    .write_address_i (kept_place[16:2]),
    .data_i          ({4{partial_output ? tree : scaled}}),
    .read_address_i  (read_word),
    .data_o          (kept_scores)
  );

  // The softmax unit.
  logic        score_mask, score_first, max_valid, exp_valid, finish_ready, weigh_ready;
  logic [2:0]  score_head, finish_head, weigh_head;
  logic [15:0] largest, exponential, factor, weight, late_context;
  logic [31:0] reciprocal;
  logic        sum_ready, late_valid, unused_late;

  assign score_mask  = score_valid_o && tree_masked;
  assign score_first = score_valid_o && tree_first;
  assign score_head  = score_valid_o ? tree_head : '0;
  assign finish_head = finish_valid_i ? finish_head_i : '0;
  assign weigh_head  = weigh_valid_i ? weigh_head_i : '0;

  softmax_unit u_softmax (
    .clk_i           (clk_pim),
    .rst_ni,
    .score_valid_i   (score_valid_o),
    .score_i         (score_o),
    .scale_i,
    .mask_i          (score_mask),
    .head_i          (score_head),
    .first_i         (score_first),
    .finish_i        (finish_valid_i),
    .finish_head_i   (finish_head),
    .weigh_valid_i,
    .weigh_i         (weigh),
    .weigh_head_i    (weigh_head),
    .sum_valid_i     (1'b0),
    .sum_i           ('0),
    .sum_head_i      ('0),
    .scaled_valid_o  (scaled_o),
    .scaled_o        (scaled),
    .max_valid_o     (max_valid),
    .max_o           (largest),
    .exp_valid_o     (exp_valid),
    .exp_o           (exponential),
    .factor_o        (factor),
    .finish_ready_o  (finish_ready),
    .finished_o,
    .recip_o         (reciprocal),
    .weigh_ready_o   (weigh_ready),
    .weight_valid_o,
    .weight_o        (weight),
    .sum_ready_o     (sum_ready),
    .context_valid_o (late_valid),
    .context_o       (late_context)
  );

  assign finish_taken_o = finish_valid_i && finish_ready;
  assign weigh_taken_o  = weigh_valid_i && weigh_ready;
  assign weight_o       = weight_valid_o ? weight : '0;

  // What the bench alone looks at.
  logic unused_probes;

  assign unused_late   = &{1'b0, sum_ready, late_valid, late_context};
  assign unused_probes = &{1'b0, refresh_owed, drives, shared_written, written_word, shared_data,
                           pu_beat, pu_shared, pu_row, pu_result, pu_result_valid, lanes_valid,
                           max_valid, largest, exp_valid, exponential, factor, reciprocal};

endmodule
