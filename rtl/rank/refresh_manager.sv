// SPDX-License-Identifier: MIT
// The rank PU's refresh manager: counts the REFs that fall due and says when one is wanted, so that
// the rank refreshes between heads, or when idle, or at a row switch, and only at last by force.
//
// A clock is one tCK. In the first clock after reset enable_i and refi_i (tREFI) are latched; a
// tREFI of 0 switches refresh off like enable_i = 0. From the second clock on, called clock 0 here,
// a REF falls due at every multiple of tREFI but 0, and each done_i pays one back:
//
//   clock      0  ...  R-1  R    R+1  ...  R+5  R+6            R = tREFI, rank idle from R+1 on
//   owed_o     0       0    1    1         1    0
//   idle_i     0       0    0    1         1    1
//   refresh_o  0       0    0    1         1    0              refresh_o follows idle_i at once
//   done_i                                 1                   the REF is on the pins
//
// A done_i while nothing is owed does not count: REFs are not pulled in. A REF that falls due as
// another is done leaves owed_o as it is. owed_o stops at 15: so many are lost anyway.
//
// JESD79-4 allows 8 REFs to be postponed at any time: at the multiple of tREFI where the ninth
// falls due, the first must have come. So owed_o = MAX_POSTPONED may stand until the next falls
// due.
//
// refresh_o, a REF where it does no harm, while any is owed and
//   - idle_i is set; or
//   - a head_end_i was seen (in an earlier clock) since owed_o was last 0, so that all that is owed
//     is caught up on; or
//   - owed_o is MAX_POSTPONED - 1 or more, so that a row switch can take it: there is a whole tREFI
//     in which one may come.
// force_o, a REF now, while owed_o is MAX_POSTPONED and fewer than MARGIN clocks remain until the
// next falls due (in the last clock before it, one clock remains), or owed_o is more.
//
// MARGIN must cover what the rank controller needs from force_o to the REF: the longest wait before
// PRE, tRP, and three clocks for its registers. 256 does for every preset; with a tREFI below it
// force_o is set as soon as MAX_POSTPONED are owed.

module refresh_manager #(
  /// REFs that may be postponed at any time, 1 to 14.
  parameter int unsigned MAX_POSTPONED = 8,
  /// Clocks that the rank controller has for a forced REF.
  parameter int unsigned MARGIN        = 256
) (
  /// Clock: tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// Refresh is on. Latched in the first clock, as is refi_i.
  input  logic        enable_i,
  /// tREFI.
  input  logic [19:0] refi_i,
  /// A head is done.
  input  logic        head_end_i,
  /// The rank has nothing to do.
  input  logic        idle_i,
  /// A REF is on the pins.
  input  logic        done_i,
  /// A REF is wanted, where it does no harm.
  output logic        refresh_o,
  /// A REF is wanted now.
  output logic        force_o,
  /// REFs that are due.
  output logic [3:0]  owed_o
);

  localparam logic [3:0] MOST = 4'(MAX_POSTPONED);

  // refi_q is 0 where refresh is off, and then so is left_q, the clocks until the next REF falls
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

endmodule
