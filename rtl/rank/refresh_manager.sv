// SPDX-License-Identifier: MIT
// Refresh manager of the rank PU: counts the REFs due, requests them. Contract: refresh_manager.md.

module refresh_manager #(
  /// REFs that may be postponed at any time, 1 to 14.
  parameter int unsigned MAX_POSTPONED = 8,
  /// Cycles that the rank controller has for a forced REF.
  parameter int unsigned MARGIN        = 256
) (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// Refresh is enabled; sampled in the first cycle after reset.
  input  logic        enable_i,
  /// tREFI, in tCK; sampled in the first cycle after reset.
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

  // refi_q is 0 where refresh is off, and then so is left_q, the cycles until the next REF becomes
  // due.
  logic        configured_q;
  logic [19:0] refi_d, refi_q, left_d, left_q;
  logic [3:0]  owed_d, owed_q;
  logic        head_ended_d, head_ended_q;
  logic        due, done;

  assign due          = configured_q && left_q == 20'd1;
  assign done         = done_i && owed_q != '0;
  assign head_ended_d = owed_q != '0 && (head_ended_q || head_end_i);

  always_comb begin
    refi_d = refi_q;
    left_d = left_q - 20'd1;
    if (!configured_q) begin
      refi_d = enable_i ? refi_i : '0;
      left_d = refi_d;
    end else if (due || left_q == '0) begin
      left_d = refi_q;
    end
  end

  always_comb begin
    owed_d = owed_q;
    if (due && !done && owed_q != '1) owed_d = owed_q + 4'd1;
    if (done && !due)                 owed_d = owed_q - 4'd1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      refi_q       <= '0;
      left_q       <= '0;
      owed_q       <= '0;
      head_ended_q <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      refi_q       <= refi_d;
      left_q       <= left_d;
      owed_q       <= owed_d;
      head_ended_q <= head_ended_d;
    end
  end

  assign refresh_o = owed_q != '0 && (idle_i || head_ended_q || owed_q >= MOST - 4'd1);
  assign force_o   = owed_q > MOST || (owed_q == MOST && left_q < 20'(MARGIN));
  assign owed_o    = owed_q;

  if (MAX_POSTPONED == 0 || MAX_POSTPONED > 14)
    $fatal(1, "MAX_POSTPONED = %0d: expected 1 to 14", MAX_POSTPONED);
  if (MARGIN == 0 || MARGIN >= 1 << 20) $fatal(1, "MARGIN = %0d: expected 1 to 2^20 - 1", MARGIN);

endmodule
