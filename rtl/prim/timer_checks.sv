// SPDX-License-Identifier: MIT
// Checker of timer: a distance that runs is not cut short, and over_o is set from its end on.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module timer_checks #(
  /// Width of the count.
  parameter int unsigned WIDTH = 8
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_i,
  input logic [WIDTH-1:0] clocks_i,
  input logic             over_o
);

  // Cycles since the last start, up to the longest distance, and the distance from there.
  logic [WIDTH-1:0] since_d, since_q, distance_d, distance_q;
  logic             started_d, started_q;

  assign started_d = started_q || start_i;

  always_comb begin
    since_d    = since_q == '1 ? since_q : since_q + WIDTH'(1);
    distance_d = distance_q;
    if (start_i) begin
      // What is left of the distance that ran, if that is more.
      distance_d = clocks_i;
      if (started_q && distance_q > since_q && distance_q - since_q > clocks_i) begin
        distance_d = distance_q - since_q;
      end
      since_d = WIDTH'(1);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      since_q    <= '0;
      distance_q <= '0;
      started_q  <= 1'b0;
    end else begin
      since_q    <= since_d;
      distance_q <= distance_d;
      started_q  <= started_d;
    end
  end

  `ASSERT(assert_over, over_o == (!started_q || since_q >= distance_q))

endmodule

bind timer timer_checks #(.WIDTH(WIDTH)) u_checks (.*);

`endif
