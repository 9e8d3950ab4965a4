// SPDX-License-Identifier: MIT
// REFs that are due in a channel of NeuPIMs, in turn of its pseudo-ranks. Part of channel_controller.
//
//   cycle     0    1   ...   R-1  R    R+1             refi_i = R, sampled in cycle 0
//   slack_o        R-1       1    R    R-1
//   owed_o         0         0    1    1               of pseudo-rank turn_o

module channel_refresh (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: no REF is due.
  input  logic        rst_ni,
  /// From one REF that is due to the next, in tCK; sampled in the first cycle after reset. 0 or 1: none.
  input  logic [19:0] refi_i,
  /// All banks are of one pseudo-rank; sampled likewise.
  input  logic        single_i,
  /// A REF is issued. Only where owed_o is set.
  input  logic        done_i,
  /// A REF is due.
  output logic        owed_o,
  /// The pseudo-rank of it, or of the next.
  output logic        turn_o,
  /// Cycles until the next is due; all ones without refresh.
  output logic [19:0] slack_o
);

  logic        configured_q, single, single_q, enabled, enabled_q, tick, turn_d, turn_q;
  logic [19:0] refi, refi_q, left_d, left_q;
  logic [3:0]  owed_d, owed_q;

  assign refi    = configured_q ? refi_q : refi_i;
  assign single  = configured_q ? single_q : single_i;
  assign enabled = configured_q ? enabled_q : refi_i[19:1] != '0;
  assign tick    = configured_q && enabled_q && left_q == 20'd1;
  assign left_d  = tick ? refi : (configured_q ? left_q : refi) - 20'd1;
  assign turn_d  = turn_q ^ (done_i && !single);

  always_comb begin
    owed_d = owed_q;
    if (tick && !done_i && owed_q != '1) owed_d = owed_q + 4'd1;
    if (done_i && !tick)                 owed_d = owed_q - 4'd1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      owed_q       <= '0;
      turn_q       <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      owed_q       <= owed_d;
      turn_q       <= turn_d;
    end
  end

  // Without a reset: read from the first cycle after it on.
  always_ff @(posedge clk_i) begin
    refi_q    <= refi;
    single_q  <= single;
    enabled_q <= enabled;
    left_q    <= left_d;
  end

  assign owed_o  = owed_q != '0;
  assign turn_o  = turn_q;
  assign slack_o = enabled_q ? left_q : '1;

endmodule
