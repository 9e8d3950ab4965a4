// SPDX-License-Identifier: MIT
// A channel of NeuPIMs as one design: its controller, and the row buffers, PUs and global buffer of its banks.
// Contract: pim_channel.md.

module pim_channel import channel_pkg::*; #(
  /// Banks that are built with row buffers and a PU, from the first on: whole groups, 4 to 32. The others have none.
  parameter int unsigned BANKS        = 4,
  /// Width of a sum's exponent field; elements are binary16.
  parameter int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field.
  parameter int unsigned SUM_MAN_BITS = 10
) (
  /// Clock: one edge per tCK.
  input  logic                            clk_i,
  /// Asynchronous reset, active low: there is no request, and all rows are closed.
  input  logic                            rst_ni,
  /// tRCD, in tCK; sampled in the first cycle after reset, as all timings and modes.
  input  logic [7:0]                      rcd_i,
  /// tRCD of WR, in tCK.
  input  logic [7:0]                      rcd_wr_i,
  /// tRCD of dot products, in tCK.
  input  logic [7:0]                      rcd_pim_i,
  /// max(tRAS, tRC - tRP), in tCK.
  input  logic [7:0]                      ras_i,
  /// tRP, in tCK.
  input  logic [7:0]                      rp_i,
  /// tRTP, in tCK.
  input  logic [7:0]                      rtp_i,
  /// WR to PRE, in tCK.
  input  logic [7:0]                      wr_to_pre_i,
  /// WR to RD in another bank group, in tCK.
  input  logic [7:0]                      wr_to_rd_s_i,
  /// WR to RD in the same bank group, in tCK.
  input  logic [7:0]                      wr_to_rd_l_i,
  /// tRRD_S, in tCK.
  input  logic [7:0]                      rrd_s_i,
  /// tRRD_L, in tCK.
  input  logic [7:0]                      rrd_l_i,
  /// tFAW, in tCK.
  input  logic [7:0]                      faw_i,
  /// Length of a GWRITE, in tCK.
  input  logic [7:0]                      copy_i,
  /// Time that is added to every estimate, in tCK.
  input  logic [7:0]                      guard_i,
  /// tRFC, in tCK.
  input  logic [9:0]                      rfc_i,
  /// From one REF that is due to the next, of either pseudo-rank, in tCK; 0 or 1: no refresh.
  input  logic [19:0]                     refi_i,
  /// RD to data, in tCK.
  input  logic [4:0]                      cl_i,
  /// WR to data, in tCK.
  input  logic [4:0]                      cwl_i,
  /// Last dot product to the results, in tCK.
  input  logic [4:0]                      latency_i,
  /// Between bursts of different drivers of the data bus, in tCK.
  input  logic [3:0]                      rtrs_i,
  /// Between a burst from the DRAM and one to it, in tCK.
  input  logic [3:0]                      gap_i,
  /// Dot product to dot product, in tCK.
  input  logic [3:0]                      dot_i,
  /// All banks are of one pseudo-rank; else of two.
  input  logic                            single_i,
  /// The banks have a single row buffer; else two.
  input  logic                            blocked_i,
  /// A PIM_PRECHARGE is of one bank; else of all.
  input  logic                            bankwise_i,
  /// PIM_ACTIVATIONs do not count in the window of ACTs, as in the authors' simulator.
  input  logic                            simulator_i,
  /// ACTs are kept out of the time in which PIM activates.
  input  logic                            steer_i,
  /// A request of MEM.
  input  logic                            mem_valid_i,
  /// Whether the request is a write; else a read.
  input  logic                            mem_write_i,
  /// Bank of the request for MEM: pseudo-rank, group, bank.
  input  logic [4:0]                      mem_bank_i,
  /// Row of the request for MEM.
  input  logic [14:0]                     mem_row_i,
  /// Column of the request for MEM, in bursts.
  input  logic [3:0]                      mem_column_i,
  /// Tag of the request for MEM.
  input  logic [7:0]                      mem_tag_i,
  /// A request of PIM.
  input  logic                            pim_valid_i,
  /// Kind of the request: HEADER, GWRITE, GEMV, DOTPRODUCT, RDRESULT from 0 on.
  input  logic [2:0]                      pim_kind_i,
  /// Bank of a GWRITE.
  input  logic [4:0]                      pim_bank_i,
  /// Row of a HEADER or GWRITE.
  input  logic [14:0]                     pim_row_i,
  /// First word of a GEMV or DOTPRODUCT.
  input  logic [4:0]                      pim_word_i,
  /// Dot products of a HEADER or GEMV, less one.
  input  logic [4:0]                      pim_count_i,
  /// Bursts of results of a HEADER, less one.
  input  logic [2:0]                      pim_results_i,
  /// The DOTPRODUCT begins a sum.
  input  logic                            pim_first_i,
  /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
  input  logic                            pim_last_i,
  /// Data of the WR that was on the pins in the last cycle.
  input  logic [511:0]                    mem_data_i,
  /// Rows that were activated in the last cycle, by the place of their bank in its group.
  input  logic [3:0][31:0][255:0]         cells_i,
  /// A request of MEM is accepted.
  output logic                            mem_ready_o,
  /// A request of PIM is accepted.
  output logic                            pim_ready_o,
  /// The command on the pins: a ChannelCommand.
  output logic [3:0]                      command_o,
  /// Bank of the command; the first of the pseudo-rank or group that it is for.
  output logic [4:0]                      bank_o,
  /// The PIM_PRECHARGE is of all banks.
  output logic                            all_o,
  /// Row of an ACT or PIM_ACTIVATION.
  output logic [14:0]                     row_o,
  /// Column of an RD or WR; first word of dot products.
  output logic [4:0]                      column_o,
  /// Dot products of a GEMV, less one.
  output logic [4:0]                      count_o,
  /// The DOTPRODUCT begins a sum.
  output logic                            first_o,
  /// The DOTPRODUCT ends a sum.
  output logic                            last_o,
  /// The command on the pins is of a request of MEM.
  output logic                            mem_issued_o,
  /// Tag of the request.
  output logic [7:0]                      mem_tag_o,
  /// The command on the pins is the next GWRITE, GEMV, DOTPRODUCT or RDRESULT.
  output logic                            pim_issued_o,
  /// An operation was admitted in the last cycle.
  output logic                            admit_o,
  /// Estimate of the operation, in tCK, or zero.
  output logic [14:0]                     estimate_o,
  /// Why MEM moved no burst: a MemLost, or zero.
  output logic [2:0]                      mem_lost_o,
  /// Why PIM made no dot products: a PimLost, or zero.
  output logic [3:0]                      pim_lost_o,
  /// There is no request.
  output logic                            idle_o,
  /// In the last cycle a request of PIM was dropped.
  output logic                            fault_o,
  /// Rows of the cell arrays are activated: of one bank, or of a group.
  output logic                            activate_o,
  /// The rows are for PIM, of the banks of a group; else for MEM, of one bank.
  output logic                            activate_pim_o,
  /// Bank whose row is activated, or the first of the group; else zero.
  output logic [4:0]                      activate_bank_o,
  /// Row that is activated, or zero.
  output logic [14:0]                     activate_row_o,
  /// A column is written to the cell arrays: that of a WR.
  output logic                            restore_o,
  /// Bank of the column that is written, or zero.
  output logic [4:0]                      restore_bank_o,
  /// Row of the column that is written, or zero.
  output logic [14:0]                     restore_row_o,
  /// Column that is written, or zero.
  output logic [3:0]                      restore_column_o,
  /// Data that are written to the cell arrays, or zero.
  output logic [511:0]                    restore_data_o,
  /// read_data_o is the column of an RD.
  output logic                            read_o,
  /// Column that was read for an RD, or zero.
  output logic [511:0]                    read_data_o,
  /// results_o are those of a GEMV, on their way to the pins.
  output logic                            gemv_results_o,
  /// results_o are those that an RDRESULT has read, on their way to the pins.
  output logic                            read_results_o,
  /// Results of all banks, or zero.
  output logic [BANKS-1:0][15:0]          results_o,
  /// A burst of results begins on the data bus.
  output logic                            burst_o,
  /// In the last cycle a row was opened that the other row buffer of its bank holds.
  output logic                            conflict_o,
  /// In the last cycle a WR wrote the row that the PIM row buffer of its bank holds.
  output logic                            stale_o,
  /// In the last cycle a command found a row buffer in a wrong state.
  output logic                            misuse_o,
  /// In the last cycle dot products came too early, or results met on the data bus.
  output logic                            overrun_o
);

  // -------------------------------------------------------------------------------------------------
  // The controller, and what the DRAM samples with it
  // -------------------------------------------------------------------------------------------------

  channel_controller u_controller (
    .clk_i,
    .rst_ni,
    .rcd_i,
    .rcd_wr_i,
    .rcd_pim_i,
    .ras_i,
    .rp_i,
    .rtp_i,
    .wr_to_pre_i,
    .wr_to_rd_s_i,
    .wr_to_rd_l_i,
    .rrd_s_i,
    .rrd_l_i,
    .faw_i,
    .copy_i,
    .guard_i,
    .rfc_i,
    .refi_i,
    .cl_i,
    .cwl_i,
    .latency_i,
    .rtrs_i,
    .gap_i,
    .dot_i,
    .single_i,
    .blocked_i,
    .bankwise_i,
    .simulator_i,
    .steer_i,
    .mem_valid_i,
    .mem_write_i,
    .mem_bank_i,
    .mem_row_i,
    .mem_column_i,
    .mem_tag_i,
    .pim_valid_i,
    .pim_kind_i,
    .pim_bank_i,
    .pim_row_i,
    .pim_word_i,
    .pim_count_i,
    .pim_results_i,
    .pim_first_i,
    .pim_last_i,
    .mem_ready_o,
    .pim_ready_o,
    .command_o,
    .bank_o,
    .all_o,
    .row_o,
    .column_o,
    .count_o,
    .first_o,
    .last_o,
    .mem_issued_o,
    .mem_tag_o,
    .pim_issued_o,
    .admit_o,
    .estimate_o,
    .mem_lost_o,
    .pim_lost_o,
    .idle_o,
    .fault_o
  );

  logic configured_q, single_d, single_q;

  assign single_d = configured_q ? single_q : single_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      single_q     <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      single_q     <= single_d;
    end
  end

  // -------------------------------------------------------------------------------------------------
  // Behind the pins: the command that was on them in the last cycle
  // -------------------------------------------------------------------------------------------------

  command_e    command_q;
  logic [4:0]  bank_q, column_q, count_q;
  logic        all_q, first_q, last_q;
  logic [14:0] row_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      command_q <= None;
      bank_q    <= '0;
      column_q  <= '0;
      count_q   <= '0;
      all_q     <= 1'b0;
      first_q   <= 1'b0;
      last_q    <= 1'b0;
      row_q     <= '0;
    end else begin
      command_q <= command_e'(command_o);
      bank_q    <= bank_o;
      column_q  <= column_o;
      count_q   <= count_o;
      all_q     <= all_o;
      first_q   <= first_o;
      last_q    <= last_o;
      row_q     <= row_o;
    end
  end

  // -------------------------------------------------------------------------------------------------
  // Beats of dot products. The word of a beat is at the PUs in the next cycle.
  // -------------------------------------------------------------------------------------------------

  // A command is one cycle behind its tCK on the pins, a beat two.
  localparam logic [4:0] BEHIND = 5'd2;

  logic       is_gemv, is_dot, of_gemv_d, of_gemv_q, unused_ready;
  logic       beat, beat_first, beat_last, dot_q, first_dot_q, last_dot_q, begun_d, begun_q;
  logic [4:0] word;

  assign is_gemv = command_q == PimGemv;
  assign is_dot  = command_q == PimDotProduct;

  gemv_sequencer u_sequencer (
    .clk_i,
    .rst_ni,
    .dot_i,
    .latency_i    (latency_i > BEHIND ? latency_i - BEHIND : 5'd1),
    .cl_i         (cl_i == '0 ? cl_i : cl_i - 5'd1),
    .valid_i      (is_gemv || is_dot),
    .gemv_i       (is_gemv),
    .count_i      (count_q),
    .word_i       (column_q),
    .first_i      (first_q),
    .last_i       (last_q),
    .read_i       (command_q == PimReadResult),
    .ready_o      (unused_ready),
    .beat_o       (beat),
    .beat_word_o  (word),
    .beat_first_o (beat_first),
    .beat_last_o  (beat_last),
    .result_o     (burst_o),
    .fault_o      (overrun_o)
  );

  // Results of a GEMV leave when the PUs have them, LATENCY cycles behind their last beat.
  localparam int unsigned LATENCY = 7;

  logic [LATENCY-1:0] sends_d, sends_q;

  assign of_gemv_d = is_gemv || is_dot ? is_gemv : of_gemv_q;
  assign sends_d   = {sends_q[LATENCY-2:0], beat && beat_last && of_gemv_q};
  assign begun_d   = begun_q || dot_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      of_gemv_q   <= 1'b0;
      dot_q       <= 1'b0;
      first_dot_q <= 1'b0;
      last_dot_q  <= 1'b0;
      begun_q     <= 1'b0;
      sends_q     <= '0;
    end else begin
      of_gemv_q   <= of_gemv_d;
      dot_q       <= beat;
      first_dot_q <= beat_first;
      last_dot_q  <= beat_last;
      begun_q     <= begun_d;
      sends_q     <= sends_d;
    end
  end

  // -------------------------------------------------------------------------------------------------
  // The global buffer and the banks
  // -------------------------------------------------------------------------------------------------

  logic                    fill;
  logic [4:0]              fill_bank;
  logic [3:0]              fill_column;
  logic [255:0]            factors;
  logic [511:0]            fill_data;
  logic [BANKS-1:0]        taken, read, restore, sum_valid, conflict, stale, misuse;
  logic [BANKS-1:0][511:0] data, restore_data;
  logic [BANKS-1:0][14:0]  restore_row;
  logic [BANKS-1:0][3:0]   restore_column;
  logic [BANKS-1:0][15:0]  sums;

  global_buffer u_global (
    .clk_i,
    .rst_ni,
    .copy_i        (command_q == PimGwrite),
    .bank_i        (bank_q),
    .taken_i       (&taken),
    .data_i        (fill_data),
    .beat_i        (beat),
    .word_i        (word),
    .fill_o        (fill),
    .fill_bank_o   (fill_bank),
    .fill_column_o (fill_column),
    .word_o        (factors)
  );

  for (genvar b = 0; b < BANKS; b++) begin : gen_bank
    pim_bank #(
      .BANK         (5'(b)),
      .SUM_EXP_BITS (SUM_EXP_BITS),
      .SUM_MAN_BITS (SUM_MAN_BITS)
    ) u_bank (
      .clk_i,
      .rst_ni,
      .single_i         (single_q),
      .command_i        (command_q),
      .bank_i           (bank_q),
      .all_i            (all_q),
      .row_i            (row_q),
      .column_i         (column_q[3:0]),
      .data_i           (mem_data_i),
      .cells_i          (cells_i[b%4]),
      .fill_i           (fill),
      .fill_bank_i      (fill_bank),
      .fill_column_i    (fill_column),
      .beat_i           (beat),
      .word_i           (word),
      .dot_i            (dot_q),
      .first_i          (first_dot_q || !begun_q),
      .last_i           (last_dot_q),
      .factors_i        (factors),
      .taken_o          (taken[b]),
      .read_o           (read[b]),
      .data_o           (data[b]),
      .restore_o        (restore[b]),
      .restore_row_o    (restore_row[b]),
      .restore_column_o (restore_column[b]),
      .restore_data_o   (restore_data[b]),
      .sum_valid_o      (sum_valid[b]),
      .sum_o            (sums[b]),
      .conflict_o       (conflict[b]),
      .stale_o          (stale[b]),
      .misuse_o         (misuse[b])
    );
  end

  // What the banks put out is zero where there is nothing.
  always_comb begin
    fill_data        = '0;
    read_data_o      = '0;
    restore_bank_o   = '0;
    restore_row_o    = '0;
    restore_column_o = '0;
    restore_data_o   = '0;
    for (int unsigned b = 0; b < BANKS; b++) begin
      fill_data        |= read[b] ? '0 : data[b];
      read_data_o      |= read[b] ? data[b] : '0;
      restore_bank_o   |= restore[b] ? 5'(b) : '0;
      restore_row_o    |= restore_row[b];
      restore_column_o |= restore_column[b];
      restore_data_o   |= restore_data[b];
    end
  end

  // -------------------------------------------------------------------------------------------------
  // Results, rows and faults
  // -------------------------------------------------------------------------------------------------

  // The PUs have had a result since the reset: before, theirs are not specified.
  logic has_sums_d, has_sums_q, is_here;

  assign has_sums_d = has_sums_q || &sum_valid;
  assign is_here    = 32'(bank_q) < BANKS;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) has_sums_q <= 1'b0;
    else         has_sums_q <= has_sums_d;
  end

  assign gemv_results_o  = &sum_valid && sends_q[LATENCY-1];
  assign read_results_o  = command_q == PimReadResult;
  assign results_o       = has_sums_d && (gemv_results_o || read_results_o) ? sums : '0;
  assign activate_o      = (command_q == Act || command_q == PimActivation) && is_here;
  assign activate_pim_o  = command_q == PimActivation && is_here;
  assign activate_bank_o = activate_o ? bank_q : '0;
  assign activate_row_o  = activate_o ? row_q : '0;
  assign restore_o       = |restore;
  assign read_o          = |read;
  assign conflict_o      = |conflict;
  assign stale_o         = |stale;
  assign misuse_o        = |misuse;

  if (BANKS < 4 || BANKS > 32 || BANKS % 4 != 0) $fatal(1, "BANKS = %0d: expected 4, 8, ..., 32", BANKS);
  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);

endmodule
