// SPDX-License-Identifier: MIT
// Checker of refresh_manager: a REF falls due at every multiple of tREFI, each REF on the pins pays one back, and
// a forced request stands until it is served.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module refresh_manager_checks #(
  /// REFs that may be postponed at any time.
  parameter int unsigned MAX_POSTPONED = 8
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        enable_i,
  input logic [19:0] refi_i,
  input logic        done_i,
  input logic        refresh_o,
  input logic        force_o,
  input logic [3:0]  owed_o
);

  logic        configured_q;
  logic [19:0] refi_d, refi_q, since_d, since_q;  // since_q: cycles since the last multiple of tREFI
  logic [3:0]  owed_d, owed_q;
  logic        due, forced_q;

  assign refi_d = configured_q ? refi_q : enable_i ? refi_i : '0;
  assign due    = configured_q && refi_q != '0 && since_q == refi_q - 20'd1;

  always_comb begin
    since_d = !configured_q || due ? '0 : since_q + 20'd1;
    owed_d  = owed_q;
    if (done_i && owed_d != '0) owed_d = owed_d - 4'd1;
    // One that falls due as 15 are owed is lost, but not where one is paid back in the same cycle.
    if (due && owed_d != '1) owed_d = owed_d + 4'd1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      refi_q       <= '0;
      since_q      <= '0;
      owed_q       <= '0;
      forced_q     <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      refi_q       <= refi_d;
      since_q      <= since_d;
      owed_q       <= owed_d;
      forced_q     <= force_o && !done_i;
    end
  end

  `ASSERT(assert_owed, owed_o == owed_q)
  `ASSERT(assert_request, !refresh_o || owed_o != '0)
  `ASSERT(assert_force, !force_o || (refresh_o && owed_o >= 4'(MAX_POSTPONED)))
  `ASSERT(assert_late, force_o || owed_o <= 4'(MAX_POSTPONED))
  `ASSERT(assert_stands, !forced_q || force_o)

endmodule

bind refresh_manager refresh_manager_checks #(.MAX_POSTPONED(MAX_POSTPONED)) u_checks (.*);

`endif
