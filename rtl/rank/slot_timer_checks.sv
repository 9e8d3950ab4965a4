// SPDX-License-Identifier: MIT
// Checker of slot_timer: a slot begins RL_MAC after each RD_ALL, tCCD_L after the one before without one, and no
// more than IDLE_SLOTS of those.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module slot_timer_checks #(
  /// Slots without an RD_ALL after which the clock stands still.
  parameter int unsigned IDLE_SLOTS = 5,
  /// The longest latency, in cycles.
  parameter int unsigned LONGEST    = 12
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       enable_i,
  input logic       arrives,
  input logic [7:0] latency_i,
  input logic [7:0] slot_i,
  input logic       begin_o
);

  logic [7:0] since_d, since_q;  // tCK since a slot began
  logic [7:0] idle_d, idle_q;    // slots that began since the last RD_ALL

  assign since_d = begin_o ? 8'd1 : since_q == '1 ? since_q : since_q + 8'd1;
  assign idle_d  = !begin_o ? idle_q : arrives ? '0 : idle_q + 8'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      since_q <= '1;
      idle_q  <= 8'(IDLE_SLOTS);
    end else begin
      since_q <= since_d;
      idle_q  <= idle_d;
    end
  end

  `ASSERT(assert_read, !(enable_i && arrives) || begin_o)
  `ASSERT(assert_enabled, !begin_o || enable_i)
  `ASSERT(assert_slot, !begin_o || arrives || since_q >= slot_i)
  `ASSERT(assert_idle, !begin_o || arrives || idle_q < 8'(IDLE_SLOTS))
  `ASSERT(assert_latency, latency_i <= 8'(LONGEST))

endmodule

bind slot_timer slot_timer_checks #(.IDLE_SLOTS(IDLE_SLOTS), .LONGEST(LONGEST)) u_checks (.*);

`endif
