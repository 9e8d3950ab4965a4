// SPDX-License-Identifier: MIT
// Refresh manager of the rank PU: counts the REFs due, requests them. Contract: refresh_manager.md.

module refresh_manager #(
  /// REFs that may be postponed at any time, 1 to 14.
  parameter int unsigned MAX_POSTPONED = 8,
  /// Cycles that the rank controller has for a forced REF.
  parameter int unsigned MARGIN        = 256
) (
  /// Clock: one edge per cycle of the rank controller.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// Refresh is enabled; sampled in the first cycle after reset.
  input  logic        enable_i,
  /// tREFI, in cycles; sampled in the first cycle after reset.
  input  logic [19:0] refi_i,
  /// A head ends.
  input  logic        head_end_i,
  /// The rank is idle.
  input  logic        idle_i,
  /// A REF is on the pins.
  input  logic        done_i,
  /// A REF is requested, where it costs no bandwidth.
  output logic        refresh_o,
  /// A REF is requested now.
  output logic        force_o,
  /// REFs that are due.
  output logic [3:0]  owed_o
);

  localparam logic [3:0] MOST = 4'(MAX_POSTPONED);

  // left_q: cycles until the next REF becomes due. due_q: it is 1; near_q: it is less than MARGIN. Both are made
  // of what left_q is about to be, as requests are of what owed_q is about to be.
  logic        configured_q, enabled_d, enabled_q, reload;
  logic [19:0] refi, refi_q, left_d, left_q;
  logic        due_d, due_q, near_d, near_q;

  assign refi      = configured_q ? refi_q : refi_i;
  assign enabled_d = configured_q ? enabled_q : enable_i && refi_i != '0;
  assign reload    = !configured_q || due_q;

  always_comb begin
    left_d = left_q - 20'd1;
    due_d  = left_q == 20'd2;
    near_d = near_q || left_q == 20'(MARGIN);
    if (reload) begin
      left_d = refi;
      due_d  = refi[19:1] == '0;
      near_d = refi < 20'(MARGIN);
    end
    if (!enabled_d) due_d = 1'b0;
  end

  // What is owed, and so requested.
  logic [3:0] owed_d, owed_q;
  logic       done, head_ended_d, head_ended_q, refresh_d, refresh_q, force_d, force_q;

  assign done         = done_i && owed_q != '0;
  assign head_ended_d = owed_q != '0 && (head_ended_q || head_end_i);

  always_comb begin
    owed_d = owed_q;
    if (due_q && !done && owed_q != '1) owed_d = owed_q + 4'd1;
    if (done && !due_q)                 owed_d = owed_q - 4'd1;
  end

  // Cycles in which the rank has been idle, up to those of a pause between two sums.
  localparam logic [4:0] PAUSE = 5'd16;

  logic [4:0] idle_d, idle_q;

  assign idle_d    = !idle_i ? '0 : idle_q == PAUSE ? PAUSE : idle_q + 5'd1;
  assign refresh_d = owed_d != '0 && (head_ended_d || owed_d >= MOST - 4'd1);
  assign force_d   = owed_d > MOST || (owed_d == MOST && near_d);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      due_q        <= 1'b0;
      owed_q       <= '0;
      idle_q       <= '0;
      head_ended_q <= 1'b0;
      refresh_q    <= 1'b0;
      force_q      <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      due_q        <= due_d;
      owed_q       <= owed_d;
      idle_q       <= idle_d;
      head_ended_q <= head_ended_d;
      refresh_q    <= refresh_d;
      force_q      <= force_d;
    end
  end

  // Without a reset: read from the first cycle after it on.
  always_ff @(posedge clk_i) begin
    refi_q    <= refi;
    enabled_q <= enabled_d;
    left_q    <= left_d;
    near_q    <= near_d;
  end

  assign refresh_o = refresh_q || (owed_q != '0 && idle_i && idle_q == PAUSE);
  assign force_o   = force_q;
  assign owed_o    = owed_q;

  if (MAX_POSTPONED == 0 || MAX_POSTPONED > 14)
    $fatal(1, "MAX_POSTPONED = %0d: expected 1 to 14", MAX_POSTPONED);
  if (MARGIN == 0 || MARGIN >= 1 << 20) $fatal(1, "MARGIN = %0d: expected 1 to 2^20 - 1", MARGIN);

endmodule
