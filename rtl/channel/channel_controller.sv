// SPDX-License-Identifier: MIT
// Controller of a channel of NeuPIMs: reads and writes through the MEM row buffers, dot products through those of PIM.
// Contract: channel_controller.md.

module channel_controller import channel_pkg::*; #(
  /// Reads that wait, a power of two, 4 or more.
  parameter int unsigned READS       = 32,
  /// Writes that wait, a power of two, 4 or more.
  parameter int unsigned WRITES      = 32,
  /// Row buffers of a bank where there is one mode alone, 1 or 2; 0: blocked_i says which.
  parameter int unsigned ROW_BUFFERS = 0
) (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: there is no request, and all rows are closed.
  input  logic        rst_ni,
  /// tRCD, in tCK; sampled in the first cycle after reset, as all timings and modes.
  input  logic [7:0]  rcd_i,
  /// tRCD of WR, in tCK.
  input  logic [7:0]  rcd_wr_i,
  /// tRCD of dot products, in tCK.
  input  logic [7:0]  rcd_pim_i,
  /// max(tRAS, tRC - tRP), in tCK.
  input  logic [7:0]  ras_i,
  /// tRP, in tCK.
  input  logic [7:0]  rp_i,
  /// tRTP, in tCK.
  input  logic [7:0]  rtp_i,
  /// WR to PRE, in tCK.
  input  logic [7:0]  wr_to_pre_i,
  /// WR to RD in another bank group, in tCK.
  input  logic [7:0]  wr_to_rd_s_i,
  /// WR to RD in the same bank group, in tCK.
  input  logic [7:0]  wr_to_rd_l_i,
  /// tRRD_S, in tCK.
  input  logic [7:0]  rrd_s_i,
  /// tRRD_L, in tCK.
  input  logic [7:0]  rrd_l_i,
  /// tFAW, in tCK.
  input  logic [7:0]  faw_i,
  /// Length of a GWRITE, in tCK.
  input  logic [7:0]  copy_i,
  /// Time that is added to every estimate, in tCK.
  input  logic [7:0]  guard_i,
  /// tRFC, in tCK.
  input  logic [9:0]  rfc_i,
  /// From one REF that is due to the next, of either pseudo-rank, in tCK; 0 or 1: no refresh.
  input  logic [19:0] refi_i,
  /// RD to data, in tCK.
  input  logic [4:0]  cl_i,
  /// WR to data, in tCK.
  input  logic [4:0]  cwl_i,
  /// Last dot product to the results, in tCK.
  input  logic [4:0]  latency_i,
  /// Between bursts of different drivers of the data bus, in tCK.
  input  logic [3:0]  rtrs_i,
  /// Between a burst from the DRAM and one to it, in tCK.
  input  logic [3:0]  gap_i,
  /// Dot product to dot product, in tCK.
  input  logic [3:0]  dot_i,
  /// All banks are of one pseudo-rank; else of two.
  input  logic        single_i,
  /// The banks have a single row buffer; else two.
  input  logic        blocked_i,
  /// A PIM_PRECHARGE is of one bank; else of all.
  input  logic        bankwise_i,
  /// PIM_ACTIVATIONs do not count in the window of ACTs, as in the authors' simulator.
  input  logic        simulator_i,
  /// ACTs are kept out of the time in which PIM activates.
  input  logic        steer_i,
  /// A request of MEM.
  input  logic        mem_valid_i,
  /// Whether the request is a write; else a read.
  input  logic        mem_write_i,
  /// Bank of the request for MEM: pseudo-rank, group, bank.
  input  logic [4:0]  mem_bank_i,
  /// Row of the request for MEM.
  input  logic [14:0] mem_row_i,
  /// Column of the request for MEM, in bursts.
  input  logic [3:0]  mem_column_i,
  /// Tag of the request for MEM.
  input  logic [7:0]  mem_tag_i,
  /// A request of PIM.
  input  logic        pim_valid_i,
  /// Kind of the request: HEADER, GWRITE, GEMV, DOTPRODUCT, RDRESULT from 0 on.
  input  logic [2:0]  pim_kind_i,
  /// Bank of a GWRITE.
  input  logic [4:0]  pim_bank_i,
  /// Row of a HEADER or GWRITE.
  input  logic [14:0] pim_row_i,
  /// First word of a GEMV or DOTPRODUCT.
  input  logic [4:0]  pim_word_i,
  /// Dot products of a HEADER or GEMV, less one.
  input  logic [4:0]  pim_count_i,
  /// Bursts of results of a HEADER, less one.
  input  logic [2:0]  pim_results_i,
  /// The DOTPRODUCT begins a sum.
  input  logic        pim_first_i,
  /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
  input  logic        pim_last_i,
  /// A request of MEM is accepted.
  output logic        mem_ready_o,
  /// A request of PIM is accepted.
  output logic        pim_ready_o,
  /// The command on the pins: a ChannelCommand.
  output logic [3:0]  command_o,
  /// Bank of the command; the first of the pseudo-rank or group that it is for.
  output logic [4:0]  bank_o,
  /// The PIM_PRECHARGE is of all banks.
  output logic        all_o,
  /// Row of an ACT or PIM_ACTIVATION.
  output logic [14:0] row_o,
  /// Column of an RD or WR; first word of dot products.
  output logic [4:0]  column_o,
  /// Dot products of a GEMV, less one.
  output logic [4:0]  count_o,
  /// The DOTPRODUCT begins a sum.
  output logic        first_o,
  /// The DOTPRODUCT ends a sum.
  output logic        last_o,
  /// The command on the pins is of a request of MEM.
  output logic        mem_issued_o,
  /// Tag of the request.
  output logic [7:0]  mem_tag_o,
  /// The command on the pins is the next GWRITE, GEMV, DOTPRODUCT or RDRESULT.
  output logic        pim_issued_o,
  /// An operation was admitted in the last cycle.
  output logic        admit_o,
  /// Estimate of the operation, in tCK, or zero.
  output logic [14:0] estimate_o,
  /// Why MEM moved no burst: a MemLost, or zero.
  output logic [2:0]  mem_lost_o,
  /// Why PIM made no dot products: a PimLost, or zero.
  output logic [3:0]  pim_lost_o,
  /// There is no request.
  output logic        idle_o,
  /// In the last cycle a request of PIM was dropped.
  output logic        fault_o
);

  // Timings and modes, once they were sampled.
  typedef struct packed {
    logic [7:0] rcd;
    logic [7:0] rcd_wr;
    logic [7:0] rcd_pim;
    logic [7:0] ras;
    logic [7:0] rp;
    logic [7:0] rtp;
    logic [7:0] wr_to_pre;
    logic [7:0] wr_to_rd_s;
    logic [7:0] wr_to_rd_l;
    logic [7:0] rrd_s;
    logic [7:0] rrd_l;
    logic [7:0] faw;
    logic [7:0] copy;
    logic [9:0] rfc;
    logic [4:0] cl;
    logic [4:0] cwl;
    logic [4:0] latency;
    logic [3:0] rtrs;
    logic [3:0] gap;
    logic [3:0] dot;
    logic       single;
    logic       blocked;
    logic       bankwise;
    logic       simulator;
    logic       steer;
  } times_t;

  logic   configured_q;
  times_t times_d, times_q;

  // A constant where there is one mode alone.
  logic blocked;

  assign blocked = ROW_BUFFERS == 0 ? times_q.blocked : ROW_BUFFERS == 1;
  assign times_d = configured_q ? times_q :
                   {rcd_i, rcd_wr_i, rcd_pim_i, ras_i, rp_i, rtp_i, wr_to_pre_i, wr_to_rd_s_i, wr_to_rd_l_i, rrd_s_i,
                    rrd_l_i, faw_i, copy_i, rfc_i, cl_i, cwl_i, latency_i, rtrs_i, gap_i, dot_i, single_i, blocked_i,
                    bankwise_i, simulator_i, steer_i};

  // The command that is chosen, on the pins in the next cycle; what REF and PIM have chosen, before MEM has what they leave.
  pins_t       pins_d, pins_q, before_mem, of_refresh_d, of_refresh_q;
  logic        rank_of_pins;
  logic [31:0] banks_of_refresh;

  // Banks of the pseudo-ranks.
  logic [1:0][31:0] banks;

  assign banks[0]         = times_q.single ? 32'hFFFF_FFFF : 32'h0000_FFFF;
  assign banks[1]         = times_q.single ? 32'h0000_0000 : 32'hFFFF_0000;
  assign rank_of_pins     = !times_q.single && pins_d.bank[4];
  assign banks_of_refresh = banks[!times_q.single && of_refresh_q.bank[4]];

  // -------------------------------------------------------------------------------------------------
  // What is waited for
  // -------------------------------------------------------------------------------------------------

  logic        op_valid, op_gwrite, op_admitted, admits, queue_empty, mem_empty;
  logic [4:0]  op_bank, command_count;
  logic [14:0] op_row, staged_row, estimate, pim_row;
  logic        pim_may_close, pim_any, pim_rests, holds_reads;
  logic [1:0]  holds_writes, holds_acts;
  pins_t       of_pim, closes_pim, release_pim, of_mem;
  pim_lost_e   pim_lost;
  mem_lost_e   mem_lost;
  logic        owner_d, owner_q, slot_taken;
  logic [31:0] closes_mask;
  logic [4:0]  column_bank, act_bank, precharge_bank;
  logic [14:0] act_row;

  logic [31:0] open, hit, way, read_ready, write_ready, precharge_ready, closed, pim_open, pim_act_ready, quiet;

  channel_banks u_banks (
    .clk_i,
    .rst_ni,
    .rcd_i             (times_q.rcd),
    .rcd_wr_i          (times_q.rcd_wr),
    .ras_i             (times_q.ras),
    .rp_i              (times_q.rp),
    .rtp_i             (times_q.rtp),
    .wr_to_pre_i       (times_q.wr_to_pre),
    .copy_i            (times_q.copy),
    .act_i             (of_mem.command == Act),
    .precharge_i       (of_mem.command == Pre),
    .precharge_all_i   (of_refresh_q.command == PreAll),
    .rd_i              (of_mem.command == Rd),
    .wr_i              (of_mem.command == Wr),
    .pim_opens_i       (of_pim.command == Act),
    .pim_closes_i      (of_pim.command == Pre),
    .pim_act_i         (of_pim.command == PimActivation),
    .pim_precharge_i   (before_mem.command == PimPrecharge),
    .gwrite_i          (of_pim.command == PimGwrite),
    .column_bank_i     (column_bank),
    .act_bank_i        (act_bank),
    .precharge_bank_i  (precharge_bank),
    .pim_bank_i        (before_mem.bank),
    .all_i             (before_mem.all),
    .row_i             (slot_taken ? of_pim.row : act_row),
    .rank_i            (banks_of_refresh),
    .mem_want_i        (staged_row),
    .pim_want_i        (op_row),
    .open_o            (open),
    .hit_o             (hit),
    .way_o             (way),
    .read_ready_o      (read_ready),
    .write_ready_o     (write_ready),
    .precharge_ready_o (precharge_ready),
    .closed_o          (closed),
    .pim_open_o        (pim_open),
    .pim_act_ready_o   (pim_act_ready),
    .quiet_o           (quiet)
  );

  logic [1:0] read_bus, write_bus, turned, act_over, faw_over, rfc_over, room, window;
  logic [7:0] turned_group, act_group;
  logic       rcd_over, dot_over, copy_over, short_over, rtp_over, ras_over, result_over, burst_over, steer_over, pim_closed;
  logic       copy_soon, dot_soon, close_soon, is_short, read_meets, write_meets;
  logic [8:0] span;

  channel_gates u_gates (
    .clk_i,
    .rst_ni,
    .ras_i           (times_q.ras),
    .rcd_pim_i       (times_q.rcd_pim),
    .rp_i            (times_q.rp),
    .rtp_i           (times_q.rtp),
    .wr_to_rd_s_i    (times_q.wr_to_rd_s),
    .wr_to_rd_l_i    (times_q.wr_to_rd_l),
    .rrd_s_i         (times_q.rrd_s),
    .rrd_l_i         (times_q.rrd_l),
    .faw_i           (times_q.faw),
    .window_i        (faw_i),
    .copy_i          (times_q.copy),
    .rfc_i           (times_q.rfc),
    .cl_i            (times_q.cl),
    .cwl_i           (times_q.cwl),
    .latency_i       (times_q.latency),
    .rtrs_i          (times_q.rtrs),
    .gap_i           (times_q.gap),
    .dot_i           (times_q.dot),
    .simulator_i     (times_q.simulator),
    .act_i           (pins_d.command == Act),
    .rd_i            (of_mem.command == Rd),
    .wr_i            (of_mem.command == Wr),
    .ref_i           (of_refresh_q.command == Ref),
    .pim_act_i       (of_pim.command == PimActivation),
    .pim_precharge_i (before_mem.command == PimPrecharge),
    .gwrite_i        (of_pim.command == PimGwrite),
    .dot_product_i   (of_pim.command == PimDotProduct),
    .gemv_i          (of_pim.command == PimGemv),
    .read_result_i   (of_pim.command == PimReadResult),
    .rank_i          (rank_of_pins),
    .group_i         (pins_d.bank[4:2]),
    .read_o          (read_bus),
    .write_o         (write_bus),
    .turned_o        (turned),
    .turned_group_o  (turned_group),
    .act_o           (act_over),
    .act_group_o     (act_group),
    .faw_o           (faw_over),
    .rfc_o           (rfc_over),
    .room_o          (room),
    .window_o        (window),
    .rcd_o           (rcd_over),
    .dot_o           (dot_over),
    .copy_o          (copy_over),
    .short_o         (short_over),
    .rtp_o           (rtp_over),
    .ras_o           (ras_over),
    .result_o        (result_over),
    .burst_o         (burst_over),
    .copy_soon_o     (copy_soon),
    .dot_soon_o      (dot_soon),
    .close_soon_o    (close_soon),
    .steer_o         (steer_over),
    .pim_closed_o    (pim_closed),
    .is_short_o      (is_short),
    .count_next_i    (command_count),
    .span_o          (span),
    .read_meets_o    (read_meets),
    .write_meets_o   (write_meets)
  );

  logic        owed, turn;
  logic [19:0] slack;

  channel_refresh u_refresh (
    .clk_i,
    .rst_ni,
    .refi_i,
    .single_i,
    .done_i  (of_refresh_q.command == Ref),
    .owed_o  (owed),
    .turn_o  (turn),
    .slack_o (slack)
  );

  // -------------------------------------------------------------------------------------------------
  // What comes next
  // -------------------------------------------------------------------------------------------------

  logic [31:0] of_turn;

  assign of_turn = banks[turn];

  channel_pim u_pim (
    .clk_i,
    .rst_ni,
    .rtp_i,
    .rp_i,
    .rcd_pim_i,
    .faw_i,
    .dot_i,
    .copy_i,
    .guard_i,
    .dot_q_i           (times_q.dot),
    .copy_q_i          (times_q.copy),
    .single_i          (times_q.single),
    .blocked_i         (blocked),
    .bankwise_i        (times_q.bankwise),
    .simulator_i       (times_q.simulator),
    .steer_i           (times_q.steer),
    .valid_i           (pim_valid_i),
    .kind_i            (pim_kind_i),
    .bank_i            (pim_bank_i),
    .row_i             (pim_row_i),
    .word_i            (pim_word_i),
    .count_i           (pim_count_i),
    .results_i         (pim_results_i),
    .first_i           (pim_first_i),
    .last_i            (pim_last_i),
    .pim_act_i         (of_pim.command == PimActivation),
    .pim_precharge_i   (before_mem.command == PimPrecharge),
    .pim_act_row_i     (of_pim.row),
    .owed_i            (owed),
    .of_turn_i         (of_turn),
    .slack_i           (slack),
    .owner_i           (owner_q),
    .mem_empty_i       (mem_empty),
    .open_i            (open),
    .way_i             (way),
    .read_ready_i      (read_ready),
    .precharge_ready_i (precharge_ready),
    .closed_i          (closed),
    .pim_open_i        (pim_open),
    .pim_act_ready_i   (pim_act_ready),
    .turned_i          (turned),
    .turned_group_i    (turned_group),
    .act_over_i        (act_over),
    .act_group_i       (act_group),
    .faw_over_i        (faw_over),
    .rfc_over_i        (rfc_over),
    .room_i            (room),
    .window_i          (window),
    .rcd_over_i        (rcd_over),
    .dot_over_i        (dot_over),
    .copy_over_i       (copy_over),
    .short_over_i      (short_over),
    .rtp_over_i        (rtp_over),
    .ras_over_i        (ras_over),
    .result_over_i     (result_over),
    .burst_over_i      (burst_over),
    .copy_soon_i       (copy_soon),
    .dot_soon_i        (dot_soon),
    .close_soon_i      (close_soon),
    .steer_over_i      (steer_over),
    .pim_closed_i      (pim_closed),
    .is_short_i        (is_short),
    .span_i            (span),
    .ready_o           (pim_ready_o),
    .op_valid_o        (op_valid),
    .op_gwrite_o       (op_gwrite),
    .op_bank_o         (op_bank),
    .op_row_o          (op_row),
    .op_admitted_o     (op_admitted),
    .command_count_o   (command_count),
    .admits_o          (admits),
    .estimate_o        (estimate),
    .of_pim_o          (of_pim),
    .closes_pim_o      (closes_pim),
    .pim_may_close_o   (pim_may_close),
    .pim_any_o         (pim_any),
    .pim_rests_o       (pim_rests),
    .pim_row_o         (pim_row),
    .holds_reads_o     (holds_reads),
    .holds_writes_o    (holds_writes),
    .holds_acts_o      (holds_acts),
    .pim_lost_o        (pim_lost),
    .empty_o           (queue_empty),
    .fault_o
  );

  // REF, and what is closed before it: decided in a cycle and issued in the next. Nothing else changes the rows of the pseudo-rank in
  // between, and what is issued shows in what is decided a cycle later.
  logic [31:0] open_of_turn;

  assign open_of_turn = open & of_turn;

  always_comb begin
    of_refresh_d = '0;
    if (owed && of_refresh_q.command == None) begin
      if (&(quiet | ~of_turn) && rfc_over[turn]) begin
        of_refresh_d.command = Ref;
        of_refresh_d.bank    = {turn, 4'd0};
      end else if (open_of_turn != '0 && (precharge_ready & open_of_turn) == open_of_turn) begin
        of_refresh_d.command = PreAll;
        of_refresh_d.bank    = {turn, 4'd0};
      end else if (|(pim_open & of_turn) && pim_may_close) begin
        of_refresh_d = closes_pim;
      end
    end
  end

  // With a single row buffer: who has the channel, and what PIM closes for MEM.
  logic releases;

  // Nothing is admitted while MEM has a request.
  assign releases    = blocked && owner_q && !mem_empty && !op_admitted;
  assign release_pim = releases && pim_any && !owed && pim_may_close ? closes_pim : '0;

  always_comb begin
    owner_d = owner_q;
    if (!owner_q)                                           owner_d = op_valid && mem_empty;
    else if (releases && !pim_any && pim_closed && copy_over) owner_d = 1'b0;
    if (!blocked)                                           owner_d = 1'b0;
  end

  // MEM has the slot that they leave. One of them at the most is not zero: there is none of PIM's while a REF is due, and PIM closes rows
  // for MEM where it has no operation under way.
  assign before_mem = of_refresh_q | of_pim | release_pim;
  assign slot_taken = before_mem.command != None;

  always_comb begin
    closes_mask = '0;
    if (of_mem.command == Pre)          closes_mask[precharge_bank] = 1'b1;
    if (of_pim.command == Pre)          closes_mask[of_pim.bank]    = 1'b1;
    if (of_refresh_q.command == PreAll) closes_mask                 = banks_of_refresh;
  end

  channel_mem #(.READS(READS), .WRITES(WRITES)) u_mem (
    .clk_i,
    .rst_ni,
    .valid_i           (mem_valid_i),
    .write_i           (mem_write_i),
    .bank_i            (mem_bank_i),
    .row_i             (mem_row_i),
    .column_i          (mem_column_i),
    .tag_i             (mem_tag_i),
    .single_i          (times_q.single),
    .blocked_i         (blocked),
    .opens_i           (pins_d.command == Act),
    .opens_bank_i      (pins_d.bank),
    .opens_row_i       (pins_d.row),
    .closes_i          (closes_mask),
    .slot_taken_i      (slot_taken),
    .owed_i            (owed),
    .of_turn_i         (of_turn),
    .banks_i           (banks),
    .owner_i           (owner_q),
    .op_valid_i        (op_valid),
    .op_gwrite_i       (op_gwrite),
    .op_bank_i         (op_bank),
    .op_row_i          (op_row),
    .pim_rests_i       (pim_rests),
    .pim_row_i         (pim_row),
    .holds_reads_i     (holds_reads),
    .holds_writes_i    (holds_writes),
    .holds_acts_i      (holds_acts),
    .hit_i             (hit),
    .read_ready_i      (read_ready),
    .write_ready_i     (write_ready),
    .precharge_ready_i (precharge_ready),
    .closed_i          (closed),
    .read_bus_i        (read_bus),
    .write_bus_i       (write_bus),
    .turned_i          (turned),
    .turned_group_i    (turned_group),
    .act_over_i        (act_over),
    .act_group_i       (act_group),
    .faw_over_i        (faw_over),
    .rfc_over_i        (rfc_over),
    .room_i            (room),
    .read_meets_i      (read_meets),
    .write_meets_i     (write_meets),
    .ready_o           (mem_ready_o),
    .mem_empty_o       (mem_empty),
    .staged_row_o      (staged_row),
    .of_mem_o          (of_mem),
    .column_bank_o     (column_bank),
    .act_bank_o        (act_bank),
    .precharge_bank_o  (precharge_bank),
    .act_row_o         (act_row),
    .mem_lost_o        (mem_lost)
  );

  // -------------------------------------------------------------------------------------------------
  // The pins
  // -------------------------------------------------------------------------------------------------

  logic        admit_d, admit_q;
  logic [14:0] estimate_d, estimate_q;
  mem_lost_e   mem_lost_d, mem_lost_q;
  pim_lost_e   pim_lost_d, pim_lost_q;

  // Who asks whether a command of REF or PIM was chosen looks at theirs alone: MEM's choice waits for them.
  assign pins_d = before_mem | of_mem;

  assign admit_d    = admits;
  assign estimate_d = admits ? estimate : '0;
  // In the first cycle nothing is chosen.
  assign mem_lost_d = configured_q ? mem_lost : MemNone;
  assign pim_lost_d = configured_q ? pim_lost : PimNone;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      of_refresh_q <= '0;
      pins_q       <= '0;
      admit_q      <= 1'b0;
      estimate_q   <= '0;
      mem_lost_q   <= MemNone;
      pim_lost_q   <= PimNone;
      owner_q      <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      of_refresh_q <= of_refresh_d;
      pins_q       <= pins_d;
      admit_q      <= admit_d;
      estimate_q   <= estimate_d;
      mem_lost_q   <= mem_lost_d;
      pim_lost_q   <= pim_lost_d;
      owner_q      <= owner_d;
    end
  end

  // Without a reset: read from the first cycle after it on.
  always_ff @(posedge clk_i) times_q <= times_d;

  assign command_o    = pins_q.command;
  assign bank_o       = pins_q.bank;
  assign all_o        = pins_q.all;
  assign row_o        = pins_q.row;
  assign column_o     = pins_q.column;
  assign count_o      = pins_q.count;
  assign first_o      = pins_q.first;
  assign last_o       = pins_q.last;
  assign mem_issued_o = pins_q.of_mem;
  assign mem_tag_o    = pins_q.tag;
  assign pim_issued_o = pins_q.of_pim;
  assign admit_o      = admit_q;
  assign estimate_o   = estimate_q;
  assign mem_lost_o   = mem_lost_q;
  assign pim_lost_o   = pim_lost_q;
  assign idle_o       = mem_empty && queue_empty;

  if (ROW_BUFFERS > 2) $fatal(1, "ROW_BUFFERS = %0d: expected 0 to 2", ROW_BUFFERS);

endmodule
