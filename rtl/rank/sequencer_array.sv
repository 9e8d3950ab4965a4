// SPDX-License-Identifier: MIT
// The sequencer's requests of the array port: MACs, and CLOSE_ALL at the end of a head or of a run.
// Contract: sequencer.md.
//
//   cycle             0    1    2    3    4
//   next_valid_i      1    1    1    1
//   reads_o           0    1    1    0    1    a MAC, held until it is taken; then the next
//   taken_i                     1         1

module sequencer_array (
  /// Clock.
  input  logic       clk_i,
  /// Asynchronous reset, active low.
  input  logic       rst_ni,
  /// A run starts.
  input  logic       start_i,
  /// Cycles of a burst on the data bus.
  input  logic [7:0] burst_i,
  /// There is an entry that is the next to be requested.
  input  logic       next_valid_i,
  /// It is a CLOSE_ALL; else a MAC.
  input  logic       next_closes_i,
  /// The MAC ends a sum.
  input  logic       next_last_i,
  /// The word of the MAC is there, in this cycle at the latest.
  input  logic       word_there_i,
  /// The MAC may not end its sum in the next cycle.
  input  logic       waits_i,
  /// Only the array queue has something to do.
  input  logic       quiet_i,
  /// All that was dispatched in the run is done.
  input  logic       ended_i,
  /// The request is accepted.
  input  logic       taken_i,
  /// The oldest MAC is on the pins.
  input  logic       read_i,
  /// A CLOSE_ALL enters the queue.
  input  logic       close_push_i,
  /// A MAC is requested.
  output logic       reads_o,
  /// A CLOSE_ALL is requested.
  output logic       closes_o,
  /// A head ends.
  output logic       head_end_o,
  /// The last that was accepted is a CLOSE_ALL.
  output logic       closed_o
);

  logic [2:0] sent_d, sent_q, sent;     // MACs that are accepted and not on the pins
  logic [3:0] lasts_d, lasts_q, lasts;  // whether each ends a sum, the oldest at the bottom
  logic [9:0] pace_d, pace_q;           // cycles until a MAC that ends a sum may be requested
  logic [7:0] between;                  // cycles from one RD_RESULT to the next
  logic       closed_d, closed_q, head_ended_d, head_ended_q;
  logic       reads_d, reads_q, closes_d, closes_q;  // the request
  logic       may_end;

  assign may_end  = !waits_i && lasts_q == '0 && pace_q[9:1] == '0;
  assign between  = burst_i < 8'd2 ? 8'd2 : burst_i;
  assign reads_d  = next_valid_i && !next_closes_i && !taken_i &&
                    (reads_q || word_there_i && (!next_last_i || may_end));
  assign closes_d = !taken_i && !start_i &&
                    (next_valid_i ? next_closes_i && sent_q == '0 && quiet_i : ended_i && !closed_q);

  assign reads_o    = reads_q;
  assign closes_o   = closes_q;
  assign head_end_o = closes_q && !head_ended_q;
  assign closed_o   = closed_q;

  always_comb begin
    closed_d     = taken_i ? closes_q : closed_q;
    head_ended_d = head_ended_q || closes_q;
    if (taken_i && reads_q || close_push_i) head_ended_d = 1'b0;
    sent    = sent_q - 3'(read_i);
    lasts   = read_i ? lasts_q >> 1 : lasts_q;
    sent_d  = sent;
    lasts_d = lasts;
    if (taken_i && reads_q) begin
      sent_d             = sent + 3'd1;
      lasts_d[sent[1:0]] = next_last_i;
    end
    pace_d = pace_q == '0 ? '0 : pace_q - 10'd1;
    if (read_i && lasts_q[0]) begin
      // The results of a chunk leave in four bursts, and so do those of the next: see sequencer.md, Faults.
      pace_d = {between, 2'd0} - 10'd3;
    end
    if (start_i) begin
      closed_d     = 1'b0;
      head_ended_d = 1'b0;
      pace_d       = '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_q       <= '0;
      lasts_q      <= '0;
      pace_q       <= '0;
      closed_q     <= 1'b0;
      head_ended_q <= 1'b0;
      reads_q      <= 1'b0;
      closes_q     <= 1'b0;
    end else begin
      sent_q       <= sent_d;
      lasts_q      <= lasts_d;
      pace_q       <= pace_d;
      closed_q     <= closed_d;
      head_ended_q <= head_ended_d;
      reads_q      <= reads_d;
      closes_q     <= closes_d;
    end
  end

endmodule
