// SPDX-License-Identifier: MIT
// Global buffer of a channel of NeuPIMs, and its filling from a row of a bank. Part of pim_channel.
//
//   cycle           0    1    2    ...  16   17   18        copy_i in cycle 0
//   fill_o               1    1         1                   columns 0, 1, ..., 15 of the bank's row are read
//   data_i                    c0        c14  c15
//   word written                   0,1            30,31     visible to a beat from here on

module global_buffer (
  /// Clock: one edge per tCK.
  input  logic         clk_i,
  /// Asynchronous reset, active low: all words are zero.
  input  logic         rst_ni,
  /// A GWRITE: the row that a bank has open for MEM is copied.
  input  logic         copy_i,
  /// Bank of the GWRITE.
  input  logic [4:0]   bank_i,
  /// The bank's port reads the column that fill_o asks for.
  input  logic         taken_i,
  /// Column that was read in the last cycle.
  input  logic [511:0] data_i,
  /// A beat: a word is read.
  input  logic         beat_i,
  /// Word of the beat.
  input  logic [4:0]   word_i,
  /// A column of fill_bank_o is to be read.
  output logic         fill_o,
  /// Bank that is copied.
  output logic [4:0]   fill_bank_o,
  /// Column that is to be read.
  output logic [3:0]   fill_column_o,
  /// Word of the beat in the last cycle, or zero.
  output logic [255:0] word_o
);

  // The column that is read next, and the one that comes in this cycle.
  logic       fill_d, fill_q, comes_d, comes_q;
  logic [4:0] bank_d, bank_q;
  logic [3:0] column_d, column_q, coming_q;

  assign comes_d = fill_q && taken_i;

  always_comb begin
    fill_d   = fill_q && !(taken_i && column_q == '1);
    bank_d   = bank_q;
    column_d = column_q + 4'(comes_d);
    if (copy_i) begin
      fill_d   = 1'b1;
      bank_d   = bank_i;
      column_d = '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q   <= 1'b0;
      comes_q  <= 1'b0;
      bank_q   <= '0;
      column_q <= '0;
      coming_q <= '0;
    end else begin
      fill_q   <= fill_d;
      comes_q  <= comes_d;
      bank_q   <= bank_d;
      column_q <= column_d;
      coming_q <= column_q;
    end
  end

  // The words, and those that were written since the reset: the others are zero.
  logic [15:0]           filled_d, filled_q;
  logic [15:0][1:0][255:0] columns_q;
  logic [255:0]          word_d, word_q;

  for (genvar c = 0; c < 16; c++) begin : gen_column
    logic writes;

    assign writes      = comes_q && coming_q == 4'(c);
    assign filled_d[c] = filled_q[c] || writes;

    always_ff @(posedge clk_i) begin
      if (writes) columns_q[c] <= data_i;
    end
  end

  assign word_d = beat_i && filled_q[word_i[4:1]] ? columns_q[word_i[4:1]][word_i[0]] : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      filled_q <= '0;
      word_q   <= '0;
    end else begin
      filled_q <= filled_d;
      word_q   <= word_d;
    end
  end

  assign fill_o        = fill_q;
  assign fill_bank_o   = bank_q;
  assign fill_column_o = column_q;
  assign word_o        = word_q;

endmodule
