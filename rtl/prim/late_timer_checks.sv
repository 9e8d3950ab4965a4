// SPDX-License-Identifier: MIT
// Checker of late_timer: a distance that runs is not cut short, and over_o is set from its end on.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module late_timer_checks #(
  /// Width of the count.
  parameter int unsigned WIDTH = 8
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_i,
  input logic [WIDTH-1:0] clocks_i,
  input logic             over_o
);

  // Cycles since the last command, up to the longest distance, and the distance from there. The command of start_i was
  // in the last cycle.
  logic [WIDTH-1:0] since, since_d, since_q, distance, distance_q;
  logic             started, started_q;

  assign started = started_q || start_i;
  assign since   = start_i ? WIDTH'(1) : since_q;
  assign since_d = since == '1 ? since : since + WIDTH'(1);

  always_comb begin
    distance = distance_q;
    if (start_i) begin
      // What was left of the distance that ran, if that is more.
      distance = clocks_i;
      if (started_q && distance_q >= since_q && distance_q - since_q >= clocks_i) begin
        distance = distance_q - since_q + WIDTH'(1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      since_q    <= '0;
      distance_q <= '0;
      started_q  <= 1'b0;
    end else begin
      since_q    <= since_d;
      distance_q <= distance;
      started_q  <= started;
    end
  end

  `ASSERT(assert_over, over_o == (!started || since >= distance))

endmodule

bind late_timer late_timer_checks #(.WIDTH(WIDTH)) u_checks (.*);

`endif
