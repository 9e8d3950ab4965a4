// SPDX-License-Identifier: MIT
// PIM's side of the controller of a channel of NeuPIMs: operations, when they are admitted, and their next command. Part of
// channel_controller.

module channel_pim import channel_pkg::*; (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: there is no request, and all rows are closed.
  input  logic        rst_ni,
  /// tRTP, in tCK; sampled in the first cycle after reset, as all timings that the estimate takes.
  input  logic [7:0]  rtp_i,
  /// tRP, in tCK.
  input  logic [7:0]  rp_i,
  /// tRCD of dot products, in tCK.
  input  logic [7:0]  rcd_pim_i,
  /// tFAW, in tCK.
  input  logic [7:0]  faw_i,
  /// Dot product to dot product, in tCK.
  input  logic [3:0]  dot_i,
  /// Length of a GWRITE, in tCK.
  input  logic [7:0]  copy_i,
  /// Time that is added to every estimate, in tCK.
  input  logic [7:0]  guard_i,
  /// Dot product to dot product, as a register.
  input  logic [3:0]  dot_q_i,
  /// Length of a GWRITE, as a register.
  input  logic [7:0]  copy_q_i,
  /// All banks are of one pseudo-rank.
  input  logic        single_i,
  /// The banks have a single row buffer.
  input  logic        blocked_i,
  /// A PIM_PRECHARGE is of one bank.
  input  logic        bankwise_i,
  /// PIM_ACTIVATIONs do not wait for the window.
  input  logic        simulator_i,
  /// ACTs are kept out of the time in which PIM activates.
  input  logic        steer_i,
  /// A request.
  input  logic        valid_i,
  /// Its kind.
  input  logic [2:0]  kind_i,
  /// Bank of a GWRITE.
  input  logic [4:0]  bank_i,
  /// Row of a HEADER or GWRITE.
  input  logic [14:0] row_i,
  /// First word of a GEMV or DOTPRODUCT.
  input  logic [4:0]  word_i,
  /// Dot products of a HEADER or GEMV, less one.
  input  logic [4:0]  count_i,
  /// Bursts of results of a HEADER, less one.
  input  logic [2:0]  results_i,
  /// The DOTPRODUCT begins a sum.
  input  logic        first_i,
  /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
  input  logic        last_i,
  /// The command of this cycle is a PIM_ACTIVATION.
  input  logic        pim_act_i,
  /// The command of this cycle is a PIM_PRECHARGE.
  input  logic        pim_precharge_i,
  /// Row of the PIM_ACTIVATION.
  input  logic [14:0] pim_act_row_i,
  /// A REF is due.
  input  logic        owed_i,
  /// Banks of its pseudo-rank.
  input  logic [31:0] of_turn_i,
  /// Cycles until the next REF is due.
  input  logic [19:0] slack_i,
  /// With a single row buffer: PIM has the channel.
  input  logic        owner_i,
  /// There is no request of MEM.
  input  logic        mem_empty_i,
  /// Banks with an open row of MEM.
  input  logic [31:0] open_i,
  /// Banks that hold the operation's row in MEM.
  input  logic [31:0] way_i,
  /// Banks that may have a GWRITE.
  input  logic [31:0] read_ready_i,
  /// Banks with an open row of MEM that may have a PRE.
  input  logic [31:0] precharge_ready_i,
  /// Banks without a row of MEM, for tRP.
  input  logic [31:0] closed_i,
  /// Banks with an open row of PIM.
  input  logic [31:0] pim_open_i,
  /// Banks that may open the operation's row for PIM.
  input  logic [31:0] pim_act_ready_i,
  /// tWTR_S is over, by pseudo-rank.
  input  logic [1:0]  turned_i,
  /// tWTR_L is over, by group.
  input  logic [7:0]  turned_group_i,
  /// tRRD_S is over, by pseudo-rank.
  input  logic [1:0]  act_over_i,
  /// tRRD_L is over, by group.
  input  logic [7:0]  act_group_i,
  /// tFAW behind a PIM_ACTIVATION is over, by pseudo-rank.
  input  logic [1:0]  faw_over_i,
  /// tRFC is over, by pseudo-rank.
  input  logic [1:0]  rfc_over_i,
  /// The window has room for an ACT, by pseudo-rank.
  input  logic [1:0]  room_i,
  /// The window is empty, by pseudo-rank.
  input  logic [1:0]  window_i,
  /// tRCD of dot products is over.
  input  logic        rcd_over_i,
  /// The dot products before are over.
  input  logic        dot_over_i,
  /// The GWRITE is over.
  input  logic        copy_over_i,
  /// A short GEMV may come, for the data bus.
  input  logic        short_over_i,
  /// tRTP behind the dot products is over.
  input  logic        rtp_over_i,
  /// tRAS of PIM is over since a cycle.
  input  logic        ras_over_i,
  /// The results are there.
  input  logic        result_over_i,
  /// RDRESULT may come, for the data bus.
  input  logic        burst_over_i,
  /// In the next cycle the GWRITE is over.
  input  logic        copy_soon_i,
  /// In the next cycle the dot products before are over.
  input  logic        dot_soon_i,
  /// In the next cycle rows of PIM may be closed, for tRTP and tRAS.
  input  logic        close_soon_i,
  /// An ACT would hold the next activations back.
  input  logic        steer_over_i,
  /// tRP of the last PIM_PRECHARGE is over.
  input  logic        pim_closed_i,
  /// A GEMV of command_count_o is a short one.
  input  logic        is_short_i,
  /// From its first dot product to its last, in tCK.
  input  logic [8:0]  span_i,
  /// A request is accepted.
  output logic        ready_o,
  /// There is an operation.
  output logic        op_valid_o,
  /// It is a GWRITE.
  output logic        op_gwrite_o,
  /// Bank of the GWRITE.
  output logic [4:0]  op_bank_o,
  /// Row of the operation.
  output logic [14:0] op_row_o,
  /// It is admitted.
  output logic        op_admitted_o,
  /// Dot products, less one, of its next command; zero if it is no GEMV.
  output logic [4:0]  command_count_o,
  /// It is admitted in this cycle.
  output logic        admits_o,
  /// Its estimate.
  output logic [14:0] estimate_o,
  /// PIM's command.
  output pins_t       of_pim_o,
  /// The command that closes rows of PIM.
  output pins_t       closes_pim_o,
  /// It may come, if there are any.
  output logic        pim_may_close_o,
  /// A row of PIM is open.
  output logic        pim_any_o,
  /// None is, for tRP.
  output logic        pim_rests_o,
  /// The row of PIM that is open, or was last.
  output logic [14:0] pim_row_o,
  /// MEM may have no RD.
  output logic        holds_reads_o,
  /// MEM may have no WR, by pseudo-rank.
  output logic [1:0]  holds_writes_o,
  /// MEM may have no ACT, by pseudo-rank.
  output logic [1:0]  holds_acts_o,
  /// Why there are no dot products.
  output pim_lost_e   pim_lost_o,
  /// There is no request.
  output logic        empty_o,
  /// In the last cycle a request was dropped.
  output logic        fault_o
);

  localparam logic [2:0] Gemv       = 3'd2;
  localparam logic [2:0] DotProduct = 3'd3;
  localparam logic [2:0] ReadResult = 3'd4;

  logic       takes, command_asked, command_first, command_last;
  logic [4:0] op_count, command_word, command_count;
  logic [2:0] op_results, command_kind;

  pim_queue u_queue (
    .clk_i,
    .rst_ni,
    .valid_i         (valid_i),
    .kind_i          (kind_i),
    .bank_i          (bank_i),
    .row_i           (row_i),
    .word_i          (word_i),
    .count_i         (count_i),
    .results_i       (results_i),
    .first_i         (first_i),
    .last_i          (last_i),
    .admit_i         (admits_o),
    .refresh_i       (owed_i),
    .taken_i         (takes),
    .ready_o         (ready_o),
    .op_valid_o      (op_valid_o),
    .op_gwrite_o     (op_gwrite_o),
    .op_bank_o       (op_bank_o),
    .op_row_o        (op_row_o),
    .op_count_o      (op_count),
    .op_results_o    (op_results),
    .admitted_o      (op_admitted_o),
    .command_valid_o (command_asked),
    .command_kind_o  (command_kind),
    .command_word_o  (command_word),
    .command_count_o (command_count),
    .command_first_o (command_first),
    .command_last_o  (command_last),
    .empty_o         (empty_o),
    .fault_o         (fault_o)
  );

  // Rows of PIM: all that are open are pim_row_q.
  logic [14:0] pim_row_d, pim_row_q;
  logic [7:0]  group_any, group_all, group_ready;
  logic        same_row, pim_holds, pim_differs;

  assign pim_row_d = pim_act_i ? pim_act_row_i : pim_row_q;

  for (genvar group = 0; group < 8; group++) begin : gen_group
    assign group_any[group]   = |pim_open_i[4*group +: 4];
    assign group_all[group]   = &pim_open_i[4*group +: 4];
    assign group_ready[group] = &pim_act_ready_i[4*group +: 4];
  end

  assign pim_any_o       = |pim_open_i;
  assign same_row        = pim_row_q == op_row_o;
  assign pim_holds       = &group_all && same_row;
  assign pim_differs     = pim_any_o && (!same_row || group_any != group_all);
  assign pim_rests_o     = !pim_any_o && pim_closed_i;
  assign pim_may_close_o = rtp_over_i && ras_over_i;

  // The estimate. It is there when the operation and the rows have been the same for four cycles.
  localparam logic [2:0] SETTLES = 3'd4;

  logic        rows_change, estimate_valid, estimate_fits, settled, fits;
  logic [2:0]  stable_d, stable_q;

  assign rows_change = pim_act_i || pim_precharge_i;
  assign settled     = stable_q == SETTLES;
  assign stable_d    = !op_valid_o || rows_change ? '0 : settled ? SETTLES : stable_q + 3'd1;
  assign fits        = estimate_valid && estimate_fits;

  latency_estimator u_estimator (
    .clk_i,
    .rst_ni,
    .rtp_i,
    .rp_i,
    .rcd_i         (rcd_pim_i),
    .faw_i,
    .dot_i,
    .copy_i,
    .guard_i,
    .valid_i       (op_valid_o),
    .gwrite_i      (op_gwrite_o),
    .precharges_i  (op_gwrite_o || !pim_differs ? 6'd0 : bankwise_i ? 6'd32 : 6'd1),
    .activations_i (pim_holds ? 4'd0 : single_i ? 4'd8 : 4'd4),
    .count_i       (op_count),
    .results_i     (op_results),
    .slack_i       (slack_i),
    .valid_o       (estimate_valid),
    .estimate_o    (estimate_o),
    .admit_o       (estimate_fits)
  );

  // Before the admission: what is in the way, and whether the first command could come in the next cycle.
  logic        may_own, clashes, clears_pim, begins, rests, known_q;
  logic [31:0] in_the_way, way_ready_d, way_ready_q, way_ready, op_mask_d, op_mask_q;

  assign may_own    = !blocked_i || (owner_i && mem_empty_i);
  assign clashes    = blocked_i || same_row;
  assign clears_pim = op_gwrite_o && pim_any_o && clashes;
  assign rests      = &rfc_over_i && copy_soon_i;

  // Banks and rows are held against the operation's from its second cycle on.
  always_comb begin
    op_mask_d            = '0;
    op_mask_d[op_bank_o] = 1'b1;
    in_the_way           = blocked_i ? open_i : way_i;
    if (op_gwrite_o) in_the_way = op_mask_q & open_i & ~way_i;
    if (!known_q)    in_the_way = '0;
  end

  // Which of these may be closed is known a cycle later. MEM closes rows, too, and leaves them alone otherwise.
  assign way_ready_d = !op_valid_o || op_admitted_o || owed_i || !may_own ? '0 : in_the_way & precharge_ready_i;
  assign way_ready   = way_ready_q & open_i;

  always_comb begin
    if (op_gwrite_o)      begins = dot_soon_i;
    else if (pim_differs) begins = close_soon_i;
    else if (pim_holds)   begins = dot_soon_i;
    else                  begins = &(group_any | group_ready) && (!blocked_i || &closed_i);
  end

  assign admits_o = op_valid_o && !op_admitted_o && !owed_i && may_own && in_the_way == '0 && !clears_pim && settled && fits &&
                    rests && begins;

  // Which groups are opened next, and whether now.
  logic             goes, gwrite_row, gwrite_act, gwrite_copy;
  logic [1:0]       rank_waits, rank_ready, rank_acts, in_window;
  logic [1:0][2:0]  next_group;

  assign goes = op_valid_o && op_admitted_o && !owed_i;

  for (genvar rank = 0; rank < 2; rank++) begin : gen_rank
    logic [7:0] closed_groups;
    logic       may_activate;

    for (genvar group = 0; group < 8; group++) begin : gen_closed
      assign closed_groups[group] = !group_any[group] && (single_i ? rank == 0 : group / 4 == rank);
    end

    always_comb begin
      next_group[rank] = '0;
      for (int group = 7; group >= 0; group--) if (closed_groups[group]) next_group[rank] = 3'(group);
    end

    assign may_activate     = rfc_over_i[rank] && faw_over_i[rank] && act_over_i[rank] && act_group_i[next_group[rank]];
    assign rank_waits[rank] = |closed_groups;
    assign rank_ready[rank] = rank_waits[rank] && group_ready[next_group[rank]];
    assign rank_acts[rank]  = rank_ready[rank] && may_activate && (simulator_i || window_i[rank]);
    assign in_window[rank]  = rank_ready[rank] && (!(simulator_i || window_i[rank]) || !faw_over_i[rank]);
  end

  // What is over before the REF: the slack is one less in the next cycle, in which nothing goes if the REF is due. A GEMV is known
  // when it has been asked for in a cycle.
  logic       seen_d, seen_q, short_d, short_q, gemv_fits_d, gemv_fits_q, dot_fits_d, dot_fits_q, copy_fits_d, copy_fits_q;
  logic [9:0] gemv_takes;

  assign gemv_takes  = 10'(span_i) + 10'(dot_q_i);
  assign seen_d      = command_asked && !takes;
  assign short_d     = is_short_i;
  assign gemv_fits_d = slack_i > 20'(gemv_takes) + 20'd1;
  assign dot_fits_d  = slack_i > 20'(dot_q_i) + 20'd1;
  assign copy_fits_d = slack_i > 20'(copy_q_i) + 20'd1;

  // The command of a GEMV whose row is open.
  logic is_gemv, is_read, is_short_gemv, command_valid, command_ready, command_bus, command_fits, command_goes;

  assign is_gemv         = command_kind == Gemv;
  assign command_count_o = is_gemv ? command_count : '0;
  assign is_read       = command_kind == ReadResult;
  assign is_short_gemv = is_gemv && short_q;
  assign command_valid = command_asked && (!is_gemv || seen_q);
  assign command_ready = is_read ? result_over_i : rcd_over_i && dot_over_i && copy_over_i;
  assign command_bus   = is_read ? burst_over_i : !is_short_gemv || short_over_i;
  assign command_fits  = is_read || (is_gemv ? gemv_fits_q : dot_fits_q);
  assign command_goes  = command_valid && command_ready && command_bus && command_fits;

  // A GWRITE.
  logic       op_rank;
  logic [2:0] op_group;

  assign op_rank    = !single_i && op_bank_o[4];
  assign op_group   = op_bank_o[4:2];
  assign gwrite_row = |(open_i & op_mask_q);
  assign gwrite_act  = |(closed_i & op_mask_q) && !(clashes && !pim_rests_o) && rfc_over_i[op_rank] && faw_over_i[op_rank] &&
                       act_over_i[op_rank] && act_group_i[op_group] && room_i[op_rank] && copy_fits_q;
  assign gwrite_copy = |(read_ready_i & op_mask_q) && turned_i[op_rank] && turned_group_i[op_group] && dot_over_i && copy_over_i &&
                       copy_fits_q;

  // What PIM puts on the pins, closes, and holds back.
  always_comb begin
    closes_pim_o         = '0;
    closes_pim_o.command = PimPrecharge;
    closes_pim_o.all     = !bankwise_i;
    closes_pim_o.bank    = bankwise_i ? lowest(pim_open_i & (owed_i ? of_turn_i : '1)) : '0;
  end

  always_comb begin
    of_pim_o       = '0;
    takes        = 1'b0;
    holds_reads_o  = 1'b0;
    holds_writes_o = '0;
    holds_acts_o   = '0;
    if (goes && op_gwrite_o) begin
      holds_writes_o[op_rank] = 1'b1;
      if (!gwrite_row) begin
        holds_acts_o[op_rank] = 1'b1;
        if (gwrite_act) begin
          of_pim_o.command = Act;
          of_pim_o.bank    = op_bank_o;
          of_pim_o.row     = op_row_o;
        end
      end else if (gwrite_copy) begin
        takes          = 1'b1;
        of_pim_o.command = PimGwrite;
        of_pim_o.bank    = op_bank_o;
        of_pim_o.of_pim  = 1'b1;
      end
    end else if (goes && pim_differs) begin
      holds_acts_o = {2{steer_i}};
      if (pim_may_close_o) of_pim_o = closes_pim_o;
    end else if (goes && rank_waits != '0) begin
      holds_acts_o = rank_waits & (rank_ready | {2{steer_i}});
      if (rank_acts != '0) begin
        of_pim_o.command = PimActivation;
        of_pim_o.bank    = {rank_acts[0] ? next_group[0] : next_group[1], 2'd0};
        of_pim_o.row     = op_row_o;
      end
    end else if (goes) begin
      holds_reads_o = command_valid && (is_short_gemv || (is_read && command_ready));
      if (command_goes) begin
        takes          = 1'b1;
        of_pim_o.of_pim  = 1'b1;
        of_pim_o.column  = is_read ? '0 : command_word;
        of_pim_o.command = is_read ? PimReadResult : is_gemv ? PimGemv : PimDotProduct;
        of_pim_o.count   = command_count_o;
        of_pim_o.first   = command_kind == DotProduct && command_first;
        of_pim_o.last    = command_kind == DotProduct && command_last;
      end
    end else if (op_valid_o && !owed_i && may_own) begin
      if (clears_pim) begin
        if (pim_may_close_o) of_pim_o = closes_pim_o;
      end else if (way_ready != '0) begin
        of_pim_o.command = Pre;
        of_pim_o.bank    = lowest(way_ready);
      end
    end
    if (!goes) holds_acts_o = {2{op_valid_o && !op_gwrite_o && !pim_holds && steer_i && !owed_i && steer_over_i && !rtp_over_i}};
  end

  // Why there are no dot products.
  always_comb begin
    pim_lost_o = PimNone;
    if (!op_valid_o || !dot_over_i) begin
      pim_lost_o = PimNone;
    end else if (goes) begin
      if (op_gwrite_o)                pim_lost_o = PimFills;
      else if (pim_differs)         pim_lost_o = PimActivates;
      else if (rank_waits != '0)    pim_lost_o = in_window != '0 ? PimWindow : PimActivates;
      else if (command_goes)        pim_lost_o = PimNone;
      else if (!rcd_over_i)           pim_lost_o = PimActivates;
      else if (!command_valid)      pim_lost_o = PimFeed;
      else if (command_ready)       pim_lost_o = command_fits ? PimBus : PimAdmission;
    end else begin
      if (owed_i || !(&rfc_over_i))          pim_lost_o = PimRefresh;
      else if (op_gwrite_o || !copy_over_i)  pim_lost_o = PimFills;
      else if (!may_own || |in_the_way)  pim_lost_o = PimMemRow;
      else if (settled && !fits)         pim_lost_o = PimAdmission;
      else                               pim_lost_o = PimActivates;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pim_row_q   <= '0;
      stable_q    <= '0;
      way_ready_q <= '0;
      known_q     <= 1'b0;
      seen_q      <= 1'b0;
      short_q     <= 1'b0;
      gemv_fits_q <= 1'b0;
      dot_fits_q  <= 1'b0;
      copy_fits_q <= 1'b0;
    end else begin
      pim_row_q   <= pim_row_d;
      stable_q    <= stable_d;
      way_ready_q <= way_ready_d;
      known_q     <= op_valid_o;
      seen_q      <= seen_d;
      short_q     <= short_d;
      gemv_fits_q <= gemv_fits_d;
      dot_fits_q  <= dot_fits_d;
      copy_fits_q <= copy_fits_d;
    end
  end

  // Without a reset: known_q says whether there is an operation.
  always_ff @(posedge clk_i) op_mask_q <= op_mask_d;

  assign pim_row_o = pim_row_q;

endmodule
