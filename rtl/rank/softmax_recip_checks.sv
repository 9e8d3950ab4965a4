// SPDX-License-Identifier: MIT
// Checker of softmax_recip: one division at a time, which takes as long as its header says.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module softmax_recip_checks #(
  /// Cycles of a division.
  parameter int unsigned CYCLES = 14
) (
  input logic clk_i,
  input logic rst_ni,
  input logic start_i,
  input logic done_o
);

  localparam int unsigned COUNT_BITS = $clog2(CYCLES + 2);

  logic [COUNT_BITS-1:0] left_d, left_q;  // cycles until the division is done

  always_comb begin
    left_d = left_q == '0 ? '0 : left_q - COUNT_BITS'(1);
    if (start_i) left_d = COUNT_BITS'(CYCLES + 1);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else         left_q <= left_d;
  end

  `ASSERT(assert_start, !start_i || done_o)
  `ASSERT(assert_done, done_o == (left_q == '0))

endmodule

bind softmax_recip softmax_recip_checks #(.CYCLES(CYCLES)) u_checks (.*);

`endif
