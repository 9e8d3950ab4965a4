// SPDX-License-Identifier: MIT
// Timings that the banks of a channel of NeuPIMs share: between activations, on the data bus, and of dot products. Part of
// channel_controller.
//
// A bit of an output says that what it is of does not hold a command back in this cycle.

module channel_gates (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: nothing is waited for.
  input  logic        rst_ni,
  /// tRAS, in tCK; as all timings, a register that does not change.
  input  logic [7:0]  ras_i,
  /// tRCD of dot products, in tCK.
  input  logic [7:0]  rcd_pim_i,
  /// tRP, in tCK.
  input  logic [7:0]  rp_i,
  /// tRTP, in tCK.
  input  logic [7:0]  rtp_i,
  /// WR to RD in another bank group, in tCK.
  input  logic [7:0]  wr_to_rd_s_i,
  /// WR to RD in the same bank group, in tCK.
  input  logic [7:0]  wr_to_rd_l_i,
  /// tRRD_S, in tCK.
  input  logic [7:0]  rrd_s_i,
  /// tRRD_L, in tCK.
  input  logic [7:0]  rrd_l_i,
  /// tFAW, in tCK; its first value counts for the window.
  input  logic [7:0]  faw_i,
  /// tFAW, as the window samples it in the first cycle after reset.
  input  logic [7:0]  window_i,
  /// Length of a GWRITE, in tCK.
  input  logic [7:0]  copy_i,
  /// tRFC, in tCK.
  input  logic [9:0]  rfc_i,
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
  /// PIM_ACTIVATIONs do not count in the window of ACTs.
  input  logic        simulator_i,
  /// The command of this cycle is an ACT.
  input  logic        act_i,
  /// It is an RD.
  input  logic        rd_i,
  /// It is a WR.
  input  logic        wr_i,
  /// It is a REF.
  input  logic        ref_i,
  /// It is a PIM_ACTIVATION.
  input  logic        pim_act_i,
  /// It is a PIM_PRECHARGE.
  input  logic        pim_precharge_i,
  /// It is a PIM_GWRITE.
  input  logic        gwrite_i,
  /// It is a PIM_DOTPRODUCT.
  input  logic        dot_product_i,
  /// It is a PIM_GEMV.
  input  logic        gemv_i,
  /// It is a PIM_RDRESULT.
  input  logic        read_result_i,
  /// Pseudo-rank of its bank.
  input  logic        rank_i,
  /// Group of its bank.
  input  logic [2:0]  group_i,
  /// RD, for the data bus, by pseudo-rank.
  output logic [1:0]  read_o,
  /// WR, for the data bus, by pseudo-rank.
  output logic [1:0]  write_o,
  /// tWTR_S is over, by pseudo-rank.
  output logic [1:0]  turned_o,
  /// tWTR_L is over, by group.
  output logic [7:0]  turned_group_o,
  /// tRRD_S is over, by pseudo-rank.
  output logic [1:0]  act_o,
  /// tRRD_L is over, by group.
  output logic [7:0]  act_group_o,
  /// tFAW behind a PIM_ACTIVATION is over, by pseudo-rank.
  output logic [1:0]  faw_o,
  /// tRFC is over, by pseudo-rank.
  output logic [1:0]  rfc_o,
  /// The window of tFAW has room for an ACT, by pseudo-rank.
  output logic [1:0]  room_o,
  /// The window of tFAW is empty, by pseudo-rank.
  output logic [1:0]  window_o,
  /// tRCD of dot products is over.
  output logic        rcd_o,
  /// The dot products before are over.
  output logic        dot_o,
  /// The GWRITE is over.
  output logic        copy_o,
  /// A GEMV whose results come soon may come, for the data bus.
  output logic        short_o,
  /// tRTP behind the dot products is over.
  output logic        rtp_o,
  /// tRAS of PIM was over in the last cycle, in which none of its rows was opened.
  output logic        ras_o,
  /// The results of the dot products are there.
  output logic        result_o,
  /// RDRESULT, for the data bus.
  output logic        burst_o,
  /// In the next cycle copy_o is set.
  output logic        copy_soon_o,
  /// In the next cycle dot_o is set.
  output logic        dot_soon_o,
  /// In the next cycle rtp_o and ras_o are set.
  output logic        close_soon_o,
  /// An ACT would hold the next activations of PIM back.
  output logic        steer_o,
  /// tRP of the last PIM_PRECHARGE is over.
  output logic        pim_closed_o,
  /// A GEMV of count_next_i is one whose results come soon.
  output logic        is_short_o,
  /// Dot products, less one, of the GEMV that is asked for; one that comes was asked for in the last cycle.
  input  logic [4:0]  count_next_i,
  /// From the first of them to the last, in tCK.
  output logic [8:0]  span_o,
  /// An RD of this cycle would meet results on the data bus.
  output logic        read_meets_o,
  /// A WR of this cycle would meet results on the data bus.
  output logic        write_meets_o
);

  // A burst, in tCK.
  localparam logic [6:0] BURST = 7'd2;
  // Last dot products are known so many cycles ahead where results are held against bursts.
  localparam logic [8:0] LOOK  = 9'd32;

  // What is left of a time, or one cycle.
  function automatic logic [10:0] rest(input logic [10:0] cycles, input logic [10:0] less);
    return cycles > less ? cycles - less : 11'd1;
  endfunction

  // Times that others make, registers as well.
  logic [6:0]  to_other_d, to_other_q, rd_to_wr_d, rd_to_wr_q, wr_to_other_d, wr_to_other_q;
  logic [6:0]  rd_to_short_d, rd_to_short_q, wr_to_short_d, wr_to_short_q, result_to_short_d, result_to_short_q;
  logic [6:0]  read_end, write_end;
  logic [63:0] read_mask_d, read_mask_q, write_mask_d, write_mask_q;

  assign read_end          = 7'(cl_i) + BURST + 7'(rtrs_i);
  assign write_end         = 7'(cwl_i) + BURST + 7'(rtrs_i);
  assign to_other_d        = BURST + 7'(rtrs_i);
  assign rd_to_wr_d        = 7'(rest(11'(cl_i) + 11'(BURST) + 11'(gap_i), 11'(cwl_i)));
  assign wr_to_other_d     = 7'(rest(11'(write_end), 11'(cl_i)));
  assign rd_to_short_d     = 7'(rest(11'(read_end), 11'(latency_i)));
  assign wr_to_short_d     = 7'(rest(11'(write_end), 11'(latency_i)));
  assign result_to_short_d = 7'(rest(11'(cl_i) + 11'(BURST), 11'(latency_i)));

  always_comb begin
    for (int unsigned n = 0; n < 64; n++) begin
      read_mask_d[n]  = 7'(n) < read_end && 7'(n) + to_other_d > 7'(cl_i);
      write_mask_d[n] = 7'(n) < write_end && 7'(n) + BURST + 7'(gap_i) > 7'(cwl_i);
    end
  end

  always_ff @(posedge clk_i) begin
    to_other_q        <= to_other_d;
    rd_to_wr_q        <= rd_to_wr_d;
    wr_to_other_q     <= wr_to_other_d;
    rd_to_short_q     <= rd_to_short_d;
    wr_to_short_q     <= wr_to_short_d;
    result_to_short_q <= result_to_short_d;
    read_mask_q       <= read_mask_d;
    write_mask_q      <= write_mask_d;
  end

  // Times less one, for what is said a cycle ahead.
  logic [7:0]  copy_less_d, copy_less_q, rtp_less_d, rtp_less_q;
  logic [3:0]  dot_less_d, dot_less_q;
  // From the last dot product to the first ACT that would hold PIM back; less than nothing where tFAW is long.
  logic [10:0] steer_less_d, steer_less_q;

  assign copy_less_d  = copy_i - 8'(copy_i != '0);
  assign rtp_less_d   = rtp_i - 8'(rtp_i != '0);
  assign dot_less_d   = dot_i - 4'(dot_i != '0);
  assign steer_less_d = 11'(rtp_i) + 11'(rp_i) + 11'd1 - 11'(faw_i);

  always_ff @(posedge clk_i) begin
    copy_less_q  <= copy_less_d;
    rtp_less_q   <= rtp_less_d;
    dot_less_q   <= dot_less_d;
    steer_less_q <= steer_less_d;
  end

  // The command of the last cycle: timers are started by it, so that no command waits for them.
  logic       act_q, rd_q, wr_q, ref_q, pim_act_q, pim_precharge_q, gwrite_q, dots_d, dots_q, read_result_q, rank_q;
  logic [2:0] group_q;
  logic [8:0] span_q;

  // span_q is of the command that was asked for in the last cycle, and so of one that comes: a GEMV was asked for then, and what comes without
  // that follows none. In the cycle behind it these are still its own.
  logic [9:0]  dot_span_d, dot_span_q, dot_soon_d, dot_soon_q, rtp_span_d, rtp_span_q, rtp_soon_d, rtp_soon_q;
  logic [9:0]  result_span_d, result_span_q, steer_span_d, steer_span_q;
  logic [10:0] steer_sum;

  assign span_o        = 9'(count_next_i) * 9'(dot_i);
  assign dot_span_d    = 10'(span_q) + 10'(dot_i);
  assign dot_soon_d    = 10'(span_q) + 10'(dot_less_q);
  assign rtp_span_d    = 10'(span_q) + 10'(rtp_i);
  assign rtp_soon_d    = 10'(span_q) + 10'(rtp_less_q);
  assign result_span_d = 10'(span_q) + 10'(latency_i);
  assign steer_sum     = 11'(span_q) + steer_less_q;
  assign steer_span_d  = steer_sum[10] ? '0 : steer_sum[9:0];
  assign dots_d        = dot_product_i || gemv_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {act_q, rd_q, wr_q, ref_q, pim_act_q, pim_precharge_q, gwrite_q, dots_q, read_result_q} <= '0;
    end else begin
      act_q           <= act_i;
      rd_q            <= rd_i;
      wr_q            <= wr_i;
      ref_q           <= ref_i;
      pim_act_q       <= pim_act_i;
      pim_precharge_q <= pim_precharge_i;
      gwrite_q        <= gwrite_i;
      dots_q          <= dots_d;
      read_result_q   <= read_result_i;
    end
  end

  // Without a reset: of the command.
  always_ff @(posedge clk_i) begin
    rank_q        <= rank_i;
    group_q       <= group_i;
    span_q        <= span_o;
    dot_span_q    <= dot_span_d;
    dot_soon_q    <= dot_soon_d;
    rtp_span_q    <= rtp_span_d;
    rtp_soon_q    <= rtp_soon_d;
    result_span_q <= result_span_d;
    steer_span_q  <= steer_span_d;
  end

  for (genvar rank = 0; rank < 2; rank++) begin : gen_rank
    logic       own, is_own, starts_read, starts_write;
    logic [6:0] read_clocks, write_clocks;

    assign own          = rank_q == 1'(rank);
    assign is_own       = rank_i == 1'(rank);
    assign starts_read  = rd_q || (wr_q && !own) || gwrite_q;
    assign starts_write = rd_q || wr_q;
    assign write_clocks = rd_q ? rd_to_wr_q : own ? BURST : to_other_q;

    always_comb begin
      read_clocks = BURST;
      if (rd_q && !own) read_clocks = to_other_q;
      if (wr_q)         read_clocks = wr_to_other_q;
    end

    late_timer #(.WIDTH(7), .KEEP(1)) u_read (
      .clk_i, .rst_ni, .start_i(starts_read), .clocks_i(read_clocks), .over_o(read_o[rank])
    );
    late_timer #(.WIDTH(7), .KEEP(1)) u_write (
      .clk_i, .rst_ni, .start_i(starts_write), .clocks_i(write_clocks), .over_o(write_o[rank])
    );
    late_timer #(.WIDTH(8)) u_turned (
      .clk_i, .rst_ni, .start_i(wr_q && own), .clocks_i(wr_to_rd_s_i), .over_o(turned_o[rank])
    );
    late_timer #(.WIDTH(8)) u_act (
      .clk_i, .rst_ni, .start_i(act_q && own), .clocks_i(rrd_s_i), .over_o(act_o[rank])
    );
    late_timer #(.WIDTH(8)) u_faw (
      .clk_i, .rst_ni, .start_i(pim_act_q && own), .clocks_i(faw_i), .over_o(faw_o[rank])
    );
    late_timer #(.WIDTH(10)) u_rfc (
      .clk_i, .rst_ni, .start_i(ref_q && own), .clocks_i(rfc_i), .over_o(rfc_o[rank])
    );

    /* verilator lint_off PINCONNECTEMPTY */
    activation_window u_window (
      .clk_i,
      .rst_ni,
      .faw_i            (window_i),
      .act_i            (act_i && is_own),
      .pim_activation_i (pim_act_i && is_own && !simulator_i),
      .act_ready_o      (room_o[rank]),
      .pim_ready_o      (window_o[rank]),
      .used_o           ()
    );
    /* verilator lint_on PINCONNECTEMPTY */
  end

  for (genvar group = 0; group < 8; group++) begin : gen_group
    late_timer #(.WIDTH(8)) u_turned (
      .clk_i, .rst_ni, .start_i(wr_q && group_q == 3'(group)), .clocks_i(wr_to_rd_l_i), .over_o(turned_group_o[group])
    );
    late_timer #(.WIDTH(8)) u_act (
      .clk_i, .rst_ni, .start_i(act_q && group_q == 3'(group)), .clocks_i(rrd_l_i), .over_o(act_group_o[group])
    );
  end

  // Dot products.
  logic [6:0] short_clocks, burst_clocks;

  assign is_short_o    = 10'(span_o) + 10'(latency_i) < 10'(read_end);
  assign short_clocks  = rd_q ? rd_to_short_q : wr_q ? wr_to_short_q : result_to_short_q;
  assign burst_clocks  = rd_q ? to_other_q : wr_q ? wr_to_other_q : BURST;

  late_timer #(.WIDTH(8)) u_rcd (
    .clk_i, .rst_ni, .start_i(pim_act_q), .clocks_i(rcd_pim_i), .over_o(rcd_o)
  );
  late_timer #(.WIDTH(10)) u_dot (
    .clk_i, .rst_ni, .start_i(dots_q), .clocks_i(dot_span_q), .over_o(dot_o)
  );
  late_timer #(.WIDTH(8)) u_copy (
    .clk_i, .rst_ni, .start_i(gwrite_q), .clocks_i(copy_i), .over_o(copy_o)
  );
  late_timer #(.WIDTH(7), .KEEP(1)) u_short (
    .clk_i, .rst_ni, .start_i(rd_q || wr_q || read_result_q), .clocks_i(short_clocks), .over_o(short_o)
  );
  late_timer #(.WIDTH(10)) u_rtp (
    .clk_i, .rst_ni, .start_i(dots_q), .clocks_i(rtp_span_q), .over_o(rtp_o)
  );
  late_timer #(.WIDTH(10)) u_result (
    .clk_i, .rst_ni, .start_i(dots_q), .clocks_i(result_span_q), .over_o(result_o)
  );
  late_timer #(.WIDTH(7), .KEEP(1)) u_burst (
    .clk_i, .rst_ni, .start_i(rd_q || wr_q || read_result_q), .clocks_i(burst_clocks), .over_o(burst_o)
  );
  late_timer #(.WIDTH(10)) u_steer (
    .clk_i, .rst_ni, .start_i(dots_q), .clocks_i(steer_span_q), .over_o(steer_o)
  );
  late_timer #(.WIDTH(8)) u_pim_closed (
    .clk_i, .rst_ni, .start_i(pim_precharge_q), .clocks_i(rp_i), .over_o(pim_closed_o)
  );

  // A cycle ahead.
  logic rtp_soon, ras_soon, ras_q;

  assign close_soon_o = rtp_soon && ras_soon;
  assign ras_o        = ras_q && !pim_act_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ras_q <= 1'b1;
    else         ras_q <= ras_soon;
  end

  late_timer #(.WIDTH(8)) u_copy_soon (
    .clk_i, .rst_ni, .start_i(gwrite_q), .clocks_i(copy_less_q), .over_o(copy_soon_o)
  );
  late_timer #(.WIDTH(10)) u_dot_soon (
    .clk_i, .rst_ni, .start_i(dots_q), .clocks_i(dot_soon_q), .over_o(dot_soon_o)
  );
  late_timer #(.WIDTH(10)) u_rtp_soon (
    .clk_i, .rst_ni, .start_i(dots_q), .clocks_i(rtp_soon_q), .over_o(rtp_soon)
  );
  late_timer #(.WIDTH(8)) u_ras_soon (
    .clk_i, .rst_ni, .start_i(pim_act_q), .clocks_i(ras_i), .over_o(ras_soon)
  );

  // Bursts of results that are to come: bit n begins n cycles from now. The last dot product of a long GEMV is waited for until it
  // is near enough. Which bit a command sets is known before the command.
  logic [63:0] results_d, results_q, of_gemv, of_long, of_read;
  logic [8:0]  left_d, left_q;
  logic        waits_d, waits_q, is_long, enters;

  assign is_long = span_q > LOOK;
  assign enters  = waits_q && left_q == LOOK + 9'd1;
  assign waits_d = gemv_i ? is_long : waits_q && !enters;
  assign left_d  = gemv_i ? span_q : left_q - 9'd1;

  always_comb begin
    of_gemv                                    = '0;
    of_long                                    = '0;
    of_read                                    = '0;
    of_gemv[6'(span_q + 9'(latency_i) - 9'd1)] = !is_long;
    of_long[6'(LOOK + 9'(latency_i) - 9'd1)]   = enters;
    of_read[6'(cl_i) - 6'd1]                   = 1'b1;
  end

  assign results_d = results_q >> 1 | of_long | (gemv_i ? of_gemv : '0) | (read_result_i ? of_read : '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      results_q <= '0;
      waits_q   <= 1'b0;
    end else begin
      results_q <= results_d;
      waits_q   <= waits_d;
    end
  end

  always_ff @(posedge clk_i) left_q <= left_d;

  assign read_meets_o  = |(results_q & read_mask_q);
  assign write_meets_o = |(results_q & write_mask_q);

endmodule
