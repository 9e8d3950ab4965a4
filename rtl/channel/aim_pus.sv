// SPDX-License-Identifier: MIT
// What an AiM's channel computes with: global buffer, a PU at each bank, result registers. Contract: aim_channel.md.
//
//   cycle             0    1    2   ...  27   28   29
//   read_i            1                                    RD_ALL on the pins: a word is read
//   cells_i                c                               the PUs' beat
//   new_o                                1                 the result is written to its register
//   read_results_i                            1
//   result_valid_o                                 1

module aim_pus import pimlico_pkg::*; #(
  /// 1: two sides in each buffer; 0: one.
  parameter int unsigned PINGPONG = 1
) (
  /// Clock: one edge per cycle.
  input  logic                         clk_i,
  /// Asynchronous reset, active low.
  input  logic                         rst_ni,
  /// A word is written to the global buffer.
  input  logic                         write_i,
  /// The word.
  input  logic [15:0][15:0]            word_i,
  /// The word is the last of its filling.
  input  logic                         write_last_i,
  /// An RD_ALL is on the pins.
  input  logic                         read_i,
  /// What the PUs do with its column.
  input  mac_t                         mac_i,
  /// The column of every bank, of the RD_ALL in the last cycle.
  input  logic [BANKS-1:0][15:0][15:0] cells_i,
  /// Results are read, and their side is freed.
  input  logic                         read_results_i,
  /// New results are written to the result registers.
  output logic                         new_o,
  /// result_o are the results that were read in the last cycle.
  output logic                         result_valid_o,
  /// The results, by bank; else 0.
  output logic [BANKS-1:0][15:0]       result_o,
  /// A word is written where there is no room, or read where there is none.
  output logic                         hazard_o
);

  localparam int unsigned WORDS = 64;

  // The global buffer. A word and its column are at the PUs a cycle after the RD_ALL.
  logic              free, filled, unused_word_valid, unused_mac;
  logic [8:0]        unused_words;
  logic [15:0][15:0] word;
  logic              beat_d, beat_q, first_d, first_q, last_d, last_q;

  pingpong_buffer #(.WIDTH(256), .DEPTH(WORDS), .PING_PONG(PINGPONG)) u_global (
    .clk_i,
    .rst_ni,
    .write_valid_i  (write_i),
    .write_data_i   (word_i),
    .write_last_i   (write_last_i),
    .read_valid_i   (read_i),
    .read_address_i (mac_i.word),
    .release_i      (read_i && mac_i.opens),
    .write_ready_o  (free),
    .read_ready_o   (filled),
    .read_words_o   (unused_words),
    .data_valid_o   (unused_word_valid),
    .data_o         (word)
  );

  assign beat_d     = read_i;
  assign first_d    = mac_i.first;
  assign last_d     = mac_i.last;
  assign unused_mac = mac_i.accumulate;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= 1'b0;
    else         beat_q <= beat_d;
  end

  always_ff @(posedge clk_i) begin
    first_q <= first_d;
    last_q  <= last_d;
  end

  // The PUs. All have results in the same cycle.
  logic [BANKS-1:0]       made;
  logic [BANKS-1:0][15:0] sums;

  for (genvar b = 0; b < BANKS; b++) begin : gen_pu
    tree_pu u_pu (
      .clk_i,
      .rst_ni,
      .valid_i        (beat_q),
      .first_i        (first_q),
      .last_i         (last_q),
      .row_i          (cells_i[b]),
      .shared_i       (word),
      .result_valid_o (made[b]),
      .result_o       (sums[b])
    );
  end

  // The result registers.
  logic       has_room, has_results, unused_made;
  logic [8:0] unused_count;

  assign new_o       = made[0];
  assign unused_made = &{1'b0, made};

  pingpong_buffer #(.WIDTH(256), .DEPTH(1), .PING_PONG(PINGPONG)) u_results (
    .clk_i,
    .rst_ni,
    .write_valid_i  (new_o),
    .write_data_i   (sums),
    .write_last_i   (new_o),
    .read_valid_i   (read_results_i),
    .read_address_i ('0),
    .release_i      (read_results_i),
    .write_ready_o  (has_room),
    .read_ready_o   (has_results),
    .read_words_o   (unused_count),
    .data_valid_o   (result_valid_o),
    .data_o         (result_o)
  );

  assign hazard_o = (write_i && !free) || (read_i && !filled) || (new_o && !has_room) || (read_results_i && !has_results);

  if (PINGPONG > 1) $fatal(1, "PINGPONG = %0d: expected 0 or 1", PINGPONG);

endmodule
