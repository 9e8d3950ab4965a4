// SPDX-License-Identifier: MIT
// Beats of dot products and bursts of results from PIM_GEMV and its parts. Contract: gemv_sequencer.md.

module gemv_sequencer #(
  /// Dot products of a GEMV at the most, and words of a row: 2 to 32.
  parameter int unsigned K_MAX = 32
) (
  /// Clock: one edge per tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: nothing is under way.
  input  logic       rst_ni,
  /// Beat to beat, in tCK; sampled in the first cycle after reset, as all timings.
  input  logic [3:0] dot_i,
  /// Last beat of a GEMV to its burst of results, in tCK.
  input  logic [4:0] latency_i,
  /// RDRESULT to its burst of results, in tCK.
  input  logic [4:0] cl_i,
  /// A GEMV or DOTPRODUCT is on the pins.
  input  logic       valid_i,
  /// The command is a GEMV; else a DOTPRODUCT.
  input  logic       gemv_i,
  /// Dot products of the GEMV, less one.
  input  logic [4:0] count_i,
  /// First word of the row and of the global buffer.
  input  logic [4:0] word_i,
  /// The DOTPRODUCT begins a sum.
  input  logic       first_i,
  /// The DOTPRODUCT ends a sum.
  input  logic       last_i,
  /// An RDRESULT is on the pins.
  input  logic       read_i,
  /// A GEMV or DOTPRODUCT may be on the pins.
  output logic       ready_o,
  /// A beat: each PU takes a word of its row and one of the global buffer.
  output logic       beat_o,
  /// Word of the beat, or zero.
  output logic [4:0] beat_word_o,
  /// The beat begins a sum.
  output logic       beat_first_o,
  /// The beat ends a sum.
  output logic       beat_last_o,
  /// A burst of results begins on the data bus.
  output logic       result_o,
  /// In the last cycle a command was not obeyed, or a burst was asked for that meets another.
  output logic       fault_o
);

  // Timings. Delays of 0 count as 1. An event n cycles ahead is bit n - 1.
  function automatic logic [31:0] ahead(input logic [4:0] cycles);
    return cycles == '0 ? 32'd1 : 32'd1 << (cycles - 5'd1);
  endfunction

  logic        configured_q;
  logic [3:0]  dot_d, dot_q;
  logic [31:0] latency_d, latency_q, cl_d, cl_q;

  assign dot_d     = configured_q ? dot_q : dot_i == '0 ? 4'd1 : dot_i;
  assign latency_d = configured_q ? latency_q : ahead(latency_i);
  assign cl_d      = configured_q ? cl_q : ahead(cl_i);

  // The beats of a command: the first in the next cycle, each further one dot_q behind. gap_q: cycles until there
  // may be another, 1 in the last of them; left_q: beats of the GEMV still to come.
  logic       is_within, take, goes_on, read;
  logic [4:0] left_d, left_q;
  logic [3:0] gap_d, gap_q;
  logic       due_d, due_q, ready_d, ready_q;

  assign is_within = 6'(word_i) + (gemv_i ? 6'(count_i) : '0) < 6'(K_MAX);
  assign take      = valid_i && ready_q && is_within;
  assign goes_on   = due_q && left_q != '0;
  assign read      = read_i && configured_q;

  always_comb begin
    left_d = left_q - 5'(goes_on);
    gap_d  = gap_q - 4'(gap_q != '0);
    if (take) left_d = gemv_i ? count_i : '0;
    if (take || goes_on) gap_d = dot_q;
    due_d   = gap_d == 4'd1;
    ready_d = left_d == '0 && gap_d[3:1] == '0;
  end

  logic       beat_d, beat_q, first_d, first_q, last_d, last_q, sends_d, sends_q;
  logic [4:0] word_d, word_q, beat_word;

  assign beat_d = take || goes_on;

  always_comb begin
    word_d  = goes_on ? word_q + 5'd1 : word_q;
    first_d = 1'b0;
    last_d  = goes_on && left_q == 5'd1;
    sends_d = last_d;
    if (take) begin
      word_d  = word_i;
      first_d = gemv_i || first_i;
      last_d  = gemv_i ? count_i == '0 : last_i;
      sends_d = gemv_i && count_i == '0;
    end
  end

  assign beat_word = beat_q ? word_q : '0;

  // The bursts of results that are to come, bit 0 for this cycle. One takes two cycles of the data bus.
  logic [31:0] bursts_d, bursts_q, of_gemv, of_read, near_bursts;
  logic        meets, fault_d, fault_q;

  assign of_gemv     = sends_q ? latency_q : '0;
  assign of_read     = read ? cl_q : '0;
  assign bursts_d    = bursts_q >> 1 | of_gemv | of_read;
  assign near_bursts = bursts_q | bursts_q >> 1 | bursts_q >> 2;
  assign meets       = ((of_gemv | of_read) & near_bursts) != '0 ||
                       (of_gemv & (of_read | of_read << 1 | of_read >> 1)) != '0;
  assign fault_d     = (valid_i && !take) || (read_i && !read) || (valid_i && read_i) || meets;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      left_q       <= '0;
      gap_q        <= '0;
      due_q        <= 1'b0;
      ready_q      <= 1'b0;
      beat_q       <= 1'b0;
      first_q      <= 1'b0;
      last_q       <= 1'b0;
      sends_q      <= 1'b0;
      bursts_q     <= '0;
      fault_q      <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      left_q       <= left_d;
      gap_q        <= gap_d;
      due_q        <= due_d;
      ready_q      <= ready_d;
      beat_q       <= beat_d;
      first_q      <= first_d;
      last_q       <= last_d;
      sends_q      <= sends_d;
      bursts_q     <= bursts_d;
      fault_q      <= fault_d;
    end
  end

  // Without a reset: the timings are read from the first cycle after it on, the word with a beat.
  always_ff @(posedge clk_i) begin
    dot_q     <= dot_d;
    latency_q <= latency_d;
    cl_q      <= cl_d;
    word_q    <= word_d;
  end

  assign ready_o      = ready_q;
  assign beat_o       = beat_q;
  assign beat_word_o  = beat_word;
  assign beat_first_o = first_q;
  assign beat_last_o  = last_q;
  assign result_o     = bursts_q[0];
  assign fault_o      = fault_q;

  if (K_MAX < 2 || K_MAX > 32) $fatal(1, "K_MAX = %0d: expected 2 to 32", K_MAX);

endmodule
