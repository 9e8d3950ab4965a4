// SPDX-License-Identifier: MIT
// Two row buffers of a bank, one for RD and WR and one for dot products. Contract: dual_row_buffer.md.

module dual_row_buffer #(
  /// Words of 256 bits in a row: a power of two, 4 to 32.
  parameter int unsigned WORDS = 32,
  /// 1: a row buffer for MEM and one for PIM; 0: one for both.
  parameter int unsigned DUAL  = 1
) (
  /// Clock: one edge per tCK.
  input  logic                    clk_i,
  /// Asynchronous reset, active low: no row is open.
  input  logic                    rst_ni,
  /// A row is activated.
  input  logic                    activate_i,
  /// A row buffer is closed.
  input  logic                    precharge_i,
  /// The bank is refreshed.
  input  logic                    refresh_i,
  /// The activation or precharge is of the PIM row buffer; else of the MEM row buffer.
  input  logic                    pim_i,
  /// Row that is activated.
  input  logic [14:0]             row_i,
  /// Row of the cell array that was activated in the last cycle.
  input  logic [WORDS-1:0][255:0] cells_i,
  /// An RD or WR has the MEM row buffer.
  input  logic                    mem_valid_i,
  /// The access is a WR.
  input  logic                    mem_write_i,
  /// Column of the RD or WR: two words.
  input  logic [3:0]              mem_column_i,
  /// Data of the WR.
  input  logic [511:0]            mem_data_i,
  /// A dot product has the PIM row buffer.
  input  logic                    pim_valid_i,
  /// Word of the row for the dot product.
  input  logic [4:0]              pim_word_i,
  /// The MEM row buffer holds a row.
  output logic                    mem_open_o,
  /// Row of the last activation for MEM.
  output logic [14:0]             mem_row_o,
  /// The PIM row buffer holds a row.
  output logic                    pim_open_o,
  /// Row of the last activation for PIM.
  output logic [14:0]             pim_row_o,
  /// mem_data_o is the column of the RD in the last cycle.
  output logic                    mem_data_valid_o,
  /// Column that was read in the last cycle, or zero.
  output logic [511:0]            mem_data_o,
  /// pim_data_o is the word of the dot product in the last cycle.
  output logic                    pim_data_valid_o,
  /// Word for the PU that was read in the last cycle, or zero.
  output logic [255:0]            pim_data_o,
  /// A column is written to the cell array: that of the WR in the last cycle.
  output logic                    restore_o,
  /// Row of the column that is written to the cell array, or zero.
  output logic [14:0]             restore_row_o,
  /// Column that is written to the cell array, or zero.
  output logic [3:0]              restore_column_o,
  /// Data that are written to the cell array, or zero.
  output logic [511:0]            restore_data_o,
  /// The activation in the last cycle opened the row that the other buffer holds.
  output logic                    row_conflict_o,
  /// The WR in the last cycle wrote the row that the PIM row buffer holds.
  output logic                    stale_o,
  /// A command or an access in the last cycle found its buffer in a wrong state.
  output logic                    misuse_o
);

  localparam int unsigned BUFFERS     = DUAL != 0 ? 2 : 1;
  localparam int unsigned MEM         = 0;
  localparam int unsigned PIM         = BUFFERS - 1;
  localparam int unsigned COLUMNS     = WORDS / 2;
  localparam int unsigned WORD_BITS   = $clog2(WORDS);
  localparam int unsigned COLUMN_BITS = $clog2(COLUMNS);

  // Which buffers hold a row, and which of these take it from the array in this cycle.
  logic [BUFFERS-1:0]       open_d, open_q, sense_d, sense_q;
  logic [BUFFERS-1:0][14:0] row_d, row_q;
  // The buffer that is meant; those that can be read, and those that hold row_i.
  logic [BUFFERS-1:0]       target, ready, holds;

  assign target  = DUAL != 0 && pim_i ? BUFFERS'(1) << PIM : BUFFERS'(1);
  assign sense_d = activate_i ? target : '0;
  assign open_d  = sense_d | (open_q & ~(precharge_i ? target : '0));
  assign ready   = open_q & ~sense_q;

  always_comb begin
    row_d = row_q;
    for (int unsigned buffer = 0; buffer < BUFFERS; buffer++) begin
      holds[buffer] = open_q[buffer] && row_q[buffer] == row_i;
      if (sense_d[buffer]) row_d[buffer] = row_i;
    end
  end

  // Accesses. Where there is one buffer there is one column decoder, which RD and WR have first.
  logic mem_access, mem_read_d, mem_read_q, mem_write_d, mem_write_q, pim_read_d, pim_read_q;

  assign mem_access  = mem_valid_i && ready[MEM] && 32'(mem_column_i) < COLUMNS;
  assign mem_read_d  = mem_access && !mem_write_i;
  assign mem_write_d = mem_access && mem_write_i;
  assign pim_read_d  = pim_valid_i && ready[PIM] && 32'(pim_word_i) < WORDS && (DUAL != 0 || !mem_valid_i);

  // Faults.
  logic conflict_d, conflict_q, stale_d, stale_q, misuse_d, misuse_q;

  assign conflict_d = activate_i && |(holds & ~target);
  assign stale_d    = DUAL != 0 && mem_write_d && open_q[PIM] && row_q[MEM] == row_q[PIM];
  assign misuse_d   = |(sense_d & open_q) || (refresh_i && |open_q) || (mem_valid_i && !mem_access) ||
                      (pim_valid_i && !pim_read_d) || (activate_i && (precharge_i || refresh_i)) ||
                      (precharge_i && refresh_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q      <= '0;
      sense_q     <= '0;
      row_q       <= '0;
      mem_read_q  <= 1'b0;
      mem_write_q <= 1'b0;
      pim_read_q  <= 1'b0;
      conflict_q  <= 1'b0;
      stale_q     <= 1'b0;
      misuse_q    <= 1'b0;
    end else begin
      open_q      <= open_d;
      sense_q     <= sense_d;
      row_q       <= row_d;
      mem_read_q  <= mem_read_d;
      mem_write_q <= mem_write_d;
      pim_read_q  <= pim_read_d;
      conflict_q  <= conflict_d;
      stale_q     <= stale_d;
      misuse_q    <= misuse_d;
    end
  end

  // The rows. A WR changes its column alone.
  logic [COLUMN_BITS-1:0]    column;
  logic [COLUMNS-1:0]        column_write;
  logic [COLUMNS-1:0][511:0] mem_columns_q;
  logic [WORDS-1:0][255:0]   pim_words;

  assign column = COLUMN_BITS'(mem_column_i);

  for (genvar c = 0; c < COLUMNS; c++) begin : gen_column
    assign column_write[c] = mem_write_d && column == COLUMN_BITS'(c);

    always_ff @(posedge clk_i) begin
      if (sense_q[MEM] || column_write[c]) mem_columns_q[c] <= column_write[c] ? mem_data_i : cells_i[2*c+:2];
    end
  end

  if (DUAL != 0) begin : gen_pim
    logic [WORDS-1:0][255:0] pim_words_q;

    always_ff @(posedge clk_i) begin
      if (sense_q[PIM]) pim_words_q <= cells_i;
    end

    assign pim_words = pim_words_q;
  end else begin : gen_shared
    assign pim_words = mem_columns_q;
  end

  // What is read, and what goes to the array: registers that are zero where there is nothing.
  logic [511:0] mem_data_d, mem_data_q, restore_data_d, restore_data_q;
  logic [255:0] pim_data_d, pim_data_q;
  logic [14:0]  restore_row_d, restore_row_q;
  logic [3:0]   restore_column_d, restore_column_q;

  assign mem_data_d       = mem_read_d ? mem_columns_q[column] : '0;
  assign pim_data_d       = pim_read_d ? pim_words[WORD_BITS'(pim_word_i)] : '0;
  assign restore_row_d    = mem_write_d ? row_q[MEM] : '0;
  assign restore_column_d = mem_write_d ? mem_column_i : '0;
  assign restore_data_d   = mem_write_d ? mem_data_i : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mem_data_q       <= '0;
      pim_data_q       <= '0;
      restore_row_q    <= '0;
      restore_column_q <= '0;
      restore_data_q   <= '0;
    end else begin
      mem_data_q       <= mem_data_d;
      pim_data_q       <= pim_data_d;
      restore_row_q    <= restore_row_d;
      restore_column_q <= restore_column_d;
      restore_data_q   <= restore_data_d;
    end
  end

  assign mem_open_o       = open_q[MEM];
  assign mem_row_o        = row_q[MEM];
  assign pim_open_o       = open_q[PIM];
  assign pim_row_o        = row_q[PIM];
  assign mem_data_valid_o = mem_read_q;
  assign mem_data_o       = mem_data_q;
  assign pim_data_valid_o = pim_read_q;
  assign pim_data_o       = pim_data_q;
  assign restore_o        = mem_write_q;
  assign restore_row_o    = restore_row_q;
  assign restore_column_o = restore_column_q;
  assign restore_data_o   = restore_data_q;
  assign row_conflict_o   = conflict_q;
  assign stale_o          = stale_q;
  assign misuse_o         = misuse_q;

  if (WORDS < 4 || WORDS > 32 || (WORDS & (WORDS - 1)) != 0 || DUAL > 1)
    $fatal(1, "WORDS, DUAL = %0d, %0d: expected a power of two, 4 to 32, and 0 or 1", WORDS, DUAL);

endmodule
