// SPDX-License-Identifier: MIT
// Checker of gemv_sequencer: beats keep their distance, and every command has as many as it asked for.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module gemv_sequencer_checks #(
  /// Words of a row.
  parameter int unsigned K_MAX = 32
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [3:0] dot_i,
  input logic       valid_i,
  input logic       gemv_i,
  input logic [4:0] count_i,
  input logic [4:0] word_i,
  input logic       read_i,
  input logic       ready_o,
  input logic       beat_o,
  input logic [4:0] beat_word_o,
  input logic       beat_first_o,
  input logic       beat_last_o,
  input logic       result_o,
  input logic       fault_o
);

  // Beats that are owed, those of the command in the last cycle among them; cycles since the last beat, up to 15; the
  // word that is next; bursts that are owed, at the most.
  logic [5:0] owed_d, owed_q, word_d, word_q;
  logic [3:0] since_d, since_q, dot_q;
  logic [6:0] bursts_d, bursts_q;
  logic       configured_q, of_gemv_q, valid_q, read_q, obeyed;

  assign obeyed = valid_i && ready_o && 6'(word_i) + (gemv_i ? 6'(count_i) : '0) < 6'(K_MAX);

  always_comb begin
    owed_d   = owed_q - 6'(beat_o && owed_q != '0);
    word_d   = beat_o ? word_q + 6'd1 : word_q;
    since_d  = beat_o ? 4'd1 : since_q == '1 ? since_q : since_q + 4'd1;
    bursts_d = bursts_q + 7'(beat_o && beat_last_o && of_gemv_q) + 7'(read_i && configured_q) - 7'(result_o);
    if (obeyed) begin
      owed_d = gemv_i ? 6'(count_i) + 6'd1 : 6'd1;
      word_d = 6'(word_i);
    end
    // Of bursts that meet, one may be lost.
    if (result_o && bursts_q == '0) bursts_d = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owed_q       <= '0;
      word_q       <= '0;
      since_q      <= '1;
      dot_q        <= '0;
      bursts_q     <= '0;
      configured_q <= 1'b0;
      of_gemv_q    <= 1'b0;
      valid_q      <= 1'b0;
      read_q       <= 1'b0;
    end else begin
      owed_q       <= owed_d;
      word_q       <= word_d;
      since_q      <= since_d;
      dot_q        <= configured_q ? dot_q : dot_i;
      bursts_q     <= bursts_d;
      configured_q <= 1'b1;
      of_gemv_q    <= obeyed ? gemv_i : of_gemv_q;
      valid_q      <= valid_i;
      read_q       <= read_i;
    end
  end

  `ASSERT(assert_owed, !beat_o || owed_q != '0)
  `ASSERT(assert_distance, !beat_o || since_q >= dot_q)
  `ASSERT(assert_word, !beat_o || 6'(beat_word_o) == word_q)
  `ASSERT(assert_flags, beat_o || !(beat_first_o || beat_last_o || beat_word_o != '0))
  `ASSERT(assert_last, !(of_gemv_q && beat_o) || beat_last_o == (owed_q == 6'd1))
  `ASSERT(assert_ready, !ready_o || owed_q <= 6'(beat_o))
  `ASSERT(assert_result, !result_o || bursts_q != '0)
  `ASSERT(assert_fault, !fault_o || valid_q || read_q || of_gemv_q)

endmodule

bind gemv_sequencer gemv_sequencer_checks #(.K_MAX(K_MAX)) u_checks (.*);

`endif
