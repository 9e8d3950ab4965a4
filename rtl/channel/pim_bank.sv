// SPDX-License-Identifier: MIT
// A bank of a channel of NeuPIMs: its part of the commands, its row buffers and its PU. Part of pim_channel.

module pim_bank import channel_pkg::*; #(
  /// Number of the bank in the channel.
  parameter logic [4:0]  BANK         = 5'd0,
  /// Width of a sum's exponent field.
  parameter int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field.
  parameter int unsigned SUM_MAN_BITS = 10
) (
  /// Clock: one edge per tCK.
  input  logic               clk_i,
  /// Asynchronous reset, active low: both row buffers are closed.
  input  logic               rst_ni,
  /// All banks are of one pseudo-rank; else of two.
  input  logic               single_i,
  /// The command that the banks obey in this cycle.
  input  command_e           command_i,
  /// Bank of the command; the first of the pseudo-rank or group that it is for.
  input  logic [4:0]         bank_i,
  /// The PIM_PRECHARGE is of all banks.
  input  logic               all_i,
  /// Row of an ACT or PIM_ACTIVATION.
  input  logic [14:0]        row_i,
  /// Column of an RD or WR.
  input  logic [3:0]         column_i,
  /// Data of a WR.
  input  logic [511:0]       data_i,
  /// Row that was activated in the last cycle.
  input  logic [31:0][255:0] cells_i,
  /// A column of a bank is read for the global buffer.
  input  logic               fill_i,
  /// The bank that it is of.
  input  logic [4:0]         fill_bank_i,
  /// That column.
  input  logic [3:0]         fill_column_i,
  /// A beat: a word is read for the PU.
  input  logic               beat_i,
  /// Word of the beat.
  input  logic [4:0]         word_i,
  /// The PU takes the word of the beat in the last cycle.
  input  logic               dot_i,
  /// It begins a sum.
  input  logic               first_i,
  /// It ends a sum.
  input  logic               last_i,
  /// Word of the global buffer, for the beat in the last cycle.
  input  logic [255:0]       factors_i,
  /// The bank's port reads the column for the global buffer; where the bank is another one as well.
  output logic               taken_o,
  /// data_o is the column of an RD in the last cycle.
  output logic               read_o,
  /// Column that was read in the last cycle, for an RD or the global buffer; else zero.
  output logic [511:0]       data_o,
  /// A column is written to the cell array.
  output logic               restore_o,
  /// Row of the column that is written to the cell array, or zero.
  output logic [14:0]        restore_row_o,
  /// Column that is written to the cell array, or zero.
  output logic [3:0]         restore_column_o,
  /// Data that are written to the cell array, or zero.
  output logic [511:0]       restore_data_o,
  /// result_o is new in this cycle.
  output logic               sum_valid_o,
  /// The PU's last result.
  output logic [15:0]        sum_o,
  /// In the last cycle a row was opened that the other row buffer holds.
  output logic               conflict_o,
  /// In the last cycle a WR wrote the row that the PIM row buffer holds.
  output logic               stale_o,
  /// In the last cycle a command found its row buffer in a wrong state.
  output logic               misuse_o
);

  localparam int unsigned SUM_WIDTH = 1 + SUM_EXP_BITS + SUM_MAN_BITS;

  // Whether a command is of this bank.
  logic is_bank, is_group, is_rank, accesses, fills;

  assign is_bank  = bank_i == BANK;
  assign is_group = bank_i[4:2] == BANK[4:2];
  assign is_rank  = single_i || bank_i[4] == BANK[4];
  assign accesses = (command_i == Rd || command_i == Wr) && is_bank;
  assign fills    = fill_i && fill_bank_i == BANK && !accesses;
  assign taken_o  = !(fill_bank_i == BANK && accesses);

  logic         data_valid, reads_d, reads_q;
  logic [255:0] word;
  logic         unused_word_valid, unused_mem_open, unused_pim_open;
  logic [14:0]  unused_mem_row, unused_pim_row;

  assign reads_d = command_i == Rd && is_bank;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) reads_q <= 1'b0;
    else         reads_q <= reads_d;
  end

  dual_row_buffer #(.WORDS(32), .DUAL(1)) u_rows (
    .clk_i,
    .rst_ni,
    .activate_i       ((command_i == Act && is_bank) || (command_i == PimActivation && is_group)),
    .precharge_i      ((command_i == Pre && is_bank) || (command_i == PreAll && is_rank) ||
                       (command_i == PimPrecharge && (all_i || is_bank))),
    .refresh_i        (command_i == Ref && is_rank),
    .pim_i            (command_i == PimActivation || command_i == PimPrecharge),
    .row_i,
    .cells_i,
    .mem_valid_i      (accesses || fills),
    .mem_write_i      (command_i == Wr && is_bank),
    .mem_column_i     (accesses ? column_i : fill_column_i),
    .mem_data_i       (data_i),
    .pim_valid_i      (beat_i),
    .pim_word_i       (word_i),
    .mem_open_o       (unused_mem_open),
    .mem_row_o        (unused_mem_row),
    .pim_open_o       (unused_pim_open),
    .pim_row_o        (unused_pim_row),
    .mem_data_valid_o (data_valid),
    .mem_data_o       (data_o),
    .pim_data_valid_o (unused_word_valid),
    .pim_data_o       (word),
    .restore_o,
    .restore_row_o,
    .restore_column_o,
    .restore_data_o,
    .row_conflict_o   (conflict_o),
    .stale_o,
    .misuse_o
  );

  assign read_o = data_valid && reads_q;

  // The PU. Its results are elements, in the low bits of the first lane.
  logic [15:0][SUM_WIDTH-1:0] result;
  logic                       unused_result;

  bank_pu #(
    .LANES        (16),
    .SUM_EXP_BITS (SUM_EXP_BITS),
    .SUM_MAN_BITS (SUM_MAN_BITS)
  ) u_pu (
    .clk_i,
    .rst_ni,
    .valid_i        (dot_i),
    .accumulate_i   (1'b0),
    .first_i,
    .last_i,
    .row_i          (word),
    .shared_i       (factors_i),
    .result_valid_o (sum_valid_o),
    .result_o       (result)
  );

  assign sum_o         = result[0][15:0];
  assign unused_result = ^{result[15:1], result[0] >> 16};

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);

endmodule
