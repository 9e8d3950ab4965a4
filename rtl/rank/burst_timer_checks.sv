// SPDX-License-Identifier: MIT
// Checker of burst_timer: commands are four tCK apart or more, and each has a burst of four tCK.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module burst_timer_checks #(
  /// The longest latency.
  parameter int unsigned LONGEST = 48,
  /// Cycles of a burst.
  parameter int unsigned LENGTH  = 4
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       command_i,
  input logic [7:0] latency_i,
  input logic       busy_o,
  input logic [1:0] index_o,
  input logic       last_o
);

  logic [1:0] wait_d, wait_q;        // cycles in which no command may come
  logic [7:0] owed_d, owed_q;        // commands whose burst has not ended
  logic       busy_q;
  logic [1:0] index_q;

  assign wait_d = command_i ? 2'(LENGTH - 1) : wait_q == '0 ? 2'd0 : wait_q - 2'd1;
  assign owed_d = owed_q + 8'(command_i) - 8'(busy_o && last_o);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wait_q  <= '0;
      owed_q  <= '0;
      busy_q  <= 1'b0;
      index_q <= '0;
    end else begin
      wait_q  <= wait_d;
      owed_q  <= owed_d;
      busy_q  <= busy_o;
      index_q <= index_o;
    end
  end

  `ASSERT(assert_distance, !command_i || wait_q == '0)
  `ASSERT(assert_latency, !command_i || (latency_i != '0 && latency_i <= 8'(LONGEST)))
  `ASSERT(assert_owed, !busy_o || owed_q != '0)
  // A burst is whole: its cycles follow each other, and the next begins behind the last.
  `ASSERT(assert_whole, busy_q && index_q != 2'(LENGTH - 1) ? busy_o && index_o == index_q + 2'd1
                                                : !busy_o || index_o == '0)

endmodule

bind burst_timer burst_timer_checks #(.LONGEST(LONGEST), .LENGTH(LENGTH)) u_checks (.*);

`endif
