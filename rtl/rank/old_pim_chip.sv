// SPDX-License-Identifier: MIT
// A chip of the rank: the PUs at its banks, its shared buffer, and its eight data lines.
//
//     dq_i ──▶ beats put together ──▶ shared buffer ──┐     ┌── row_i: row buffers
//                                     [256 x 64 bits] ▼     ▼
//                                                   bank PU (16)
//     dq_o ◀── beats ◀── queue ◀── RD_RESULT ◀───── result registers
//
// The cell arrays are not in here: what an RD_ALL reads is at row_i in its tCK. Three clocks, whose
// edges are edges of clk_i:
//
//   tCK            0         1                        8
//   clk_i            |    |    |    |       ...         |    |       a beat
//   clk_tck_i             |         |                        |       the end of a tCK
//   clk_pu_i         |                                  |            the middle of a slot's first tCK
//   RD_ALL         1                                  1
//   row_o, shared_o   of the first                     of the second
//   result_o                                           with the first added
//
// The latches of the columns have the clock of the PUs: what an RD_ALL reads goes in with the edge that
// begins its slot, and the PUs take it with the edge that ends the slot, so that the multipliers have the
// whole of it. An RD_RESULT in the tCK in which a slot begins reads what this edge has brought.
//
//   WR_SHARED in tCK 0: beats from tCK CWL on, the word is written with the end of tCK CWL + 3.
//   RD_RESULT in tCK 0: the results are taken with the end of it, beats from tCK CL on.
//
// A word has a byte in each beat of the chip's data lines, the lowest first. RD_RESULT (column_i):
//
//   bit 7 = 0   scores: the sums of the four banks of group 1:0
//   bit 7 = 1   context: element 1:0 of bank 3:2 in each of the groups

module old_pim_chip #(
  /// Banks that have a PU, 0 or a power of two, from 0 on at equal distances, so that four of them are in
  /// four bank groups; for the others result_i has what theirs would.
  parameter int unsigned BANKS_BUILT = 16,
  /// Bursts between a command and its data.
  parameter int unsigned DEPTH       = 16
) (
  /// Clock: a beat, half a tCK.
  input  logic              clk_i,
  /// Clock: tCK.
  input  logic              clk_tck_i,
  /// Clock of the PUs and of the columns' latches.
  input  logic              clk_pu_i,
  /// Asynchronous reset, active low.
  input  logic              rst_ni,
  /// The second of the tCK's two beats.
  input  logic              second_i,
  /// CL.
  input  logic [7:0]        cl_i,
  /// CWL.
  input  logic [7:0]        cwl_i,
  /// RD_ALL is on the pins.
  input  logic              read_all_i,
  /// RD_RESULT is.
  input  logic              read_result_i,
  /// WR_SHARED is.
  input  logic              write_shared_i,
  /// Which results, which word.
  input  logic [7:0]        column_i,
  /// RD_ALL: the word of the shared buffer.
  input  logic [7:0]        shared_i,
  /// RD_ALL: accumulator mode.
  input  logic              accumulate_i,
  /// RD_ALL: begins a sum.
  input  logic              first_i,
  /// RD_ALL: ends a sum.
  input  logic              last_i,
  /// RD_ALL: the column, from each bank's row buffer.
  input  logic [15:0][63:0] row_i,
  /// The results of banks that have no PU in here.
  input  logic [15:0][63:0] result_i,
  /// The data lines.
  input  logic [7:0]        dq_i,
  /// What the chip drives on them; 0 if nothing.
  output logic [7:0]        dq_o,
  /// It drives them.
  output logic              drives_o,
  /// A word of the shared buffer is written.
  output logic              write_o,
  /// Which; 0 if none is.
  output logic [7:0]        write_word_o,
  /// What it gets.
  output logic [63:0]       write_data_o,
  /// The PUs' beat: there is one, accumulator mode, first, last.
  output logic [3:0]        beat_o,
  /// Its word of the shared buffer.
  output logic [63:0]       shared_o,
  /// Its column; 0 for banks without a PU.
  output logic [15:0][63:0] row_o,
  /// The PUs' results are new; those of banks that have one.
  output logic [15:0]       result_valid_o,
  /// The PUs' results.
  output logic [15:0][63:0] result_o
);

  localparam int unsigned BANKS = 16;

  // Words on their way to the shared buffer.
  logic        taking, taken;
  logic [1:0]  take_index;
  logic        take_ahead, word_valid, unused_take;
  logic [7:0]  word;
  logic [55:0] beats_d, beats_q;

  burst_timer u_take (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (write_shared_i),
    .latency_i (cwl_i),
    .ahead_o   (take_ahead),
    .busy_o    (taking),
    .index_o   (take_index),
    .last_o    (taken)
  );

  fifo #(.WIDTH(8), .DEPTH(DEPTH)) u_words (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (write_shared_i),
    .data_i  (column_i),
    .pop_i   (write_o),
    .valid_o (word_valid),
    .data_o  (word)
  );

  assign unused_take  = &{1'b0, take_ahead, take_index, word_valid};
  assign beats_d      = taking ? {dq_i, beats_q[55:8]} : beats_q;
  assign write_o      = taking && taken;
  assign write_word_o = write_o ? word : '0;
  assign write_data_o = write_o ? {dq_i, beats_q} : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beats_q <= '0;
    else         beats_q <= beats_d;
  end

  // The shared buffer.
  logic [63:0] shared;

  ram #(.WIDTH(64), .ELEMENTS(1), .DEPTH(256)) u_shared (
    .clk_i           (clk_tck_i),
    .write_i         (write_o),
    .write_address_i (write_word_o),
    .data_i          (write_data_o),
    .read_address_i  (shared_i),
    .data_o          (shared)
  );

  // The column of an RD_ALL for the PUs, and what they do with it.
  logic        valid_q, accumulate_q, first_q, last_q;
  logic [63:0] shared_q;

  always_ff @(posedge clk_pu_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q      <= 1'b0;
      accumulate_q <= 1'b0;
      first_q      <= 1'b0;
      last_q       <= 1'b0;
      shared_q     <= '0;
    end else begin
      valid_q <= read_all_i;
      if (read_all_i) begin
        accumulate_q <= accumulate_i;
        first_q      <= first_i;
        last_q       <= last_i;
        shared_q     <= shared;
      end
    end
  end

  assign beat_o   = {last_q, first_q, accumulate_q, valid_q};
  assign shared_o = shared_q;

  for (genvar b = 0; b < BANKS; b++) begin : gen_bank
    if (b * BANKS_BUILT % BANKS < BANKS_BUILT) begin : gen_pu
      logic [63:0] row_q;

      always_ff @(posedge clk_pu_i or negedge rst_ni) begin
        if (!rst_ni)         row_q <= '0;
        else if (read_all_i) row_q <= row_i[b];
      end

      bank_pu u_pu (
        .clk_i          (clk_pu_i),
        .rst_ni,
        .valid_i        (valid_q),
        .accumulate_i   (accumulate_q),
        .first_i        (first_q),
        .last_i         (last_q),
        .select_i       (2'(b / 4)),
        .row_i          (row_q),
        .shared_i       (shared_q),
        .result_valid_o (result_valid_o[b]),
        .result_o       (result_o[b])
      );

      assign row_o[b] = row_q;

      if (BANKS_BUILT < BANKS) begin : gen_unused
        logic unused_result;
        assign unused_result = &{1'b0, result_i[b]};
      end
    end else begin : gen_no_pu
      logic unused_row;

      assign unused_row        = &{1'b0, row_i[b]};
      assign row_o[b]          = '0;
      assign result_valid_o[b] = 1'b0;
      assign result_o[b]       = result_i[b];
    end
  end

  if (BANKS_BUILT == BANKS) begin : gen_all
    logic unused_results;
    assign unused_results = &{1'b0, result_i};
  end

  // Results on their way out.
  logic [3:0][15:0] chosen;
  logic [1:0]       drive_index;
  logic             drive_ahead, drive_last, results_valid, unused_drive;
  logic [7:0][7:0]  results;

  for (genvar n = 0; n < 4; n++) begin : gen_chosen
    logic [3:0] score_bank, context_bank;

    assign score_bank   = {column_i[1:0], 2'(n)};
    assign context_bank = {2'(n), column_i[3:2]};
    assign chosen[n]    = column_i[7] ? result_o[context_bank][16*column_i[1:0]+:16]
                                      : result_o[score_bank][15:0];
  end

  burst_timer u_drive (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (read_result_i),
    .latency_i (cl_i),
    .ahead_o   (drive_ahead),
    .busy_o    (drives_o),
    .index_o   (drive_index),
    .last_o    (drive_last)
  );

  fifo #(.WIDTH(64), .DEPTH(DEPTH)) u_results (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (read_result_i),
    .data_i  (chosen),
    .pop_i   (drives_o && drive_last),
    .valid_o (results_valid),
    .data_o  (results)
  );

  assign unused_drive = &{1'b0, drive_ahead, results_valid};
  assign dq_o         = drives_o ? results[{drive_index, second_i}] : '0;

endmodule
