// SPDX-License-Identifier: MIT
// Checker of activation_window: the ages of the last four banks that were activated say what may come.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module activation_window_checks (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [7:0] faw_i,
  input logic       act_i,
  input logic       pim_activation_i,
  input logic       act_ready_o,
  input logic       pim_ready_o,
  input logic [2:0] used_o
);

  // Cycles since each was activated, up to 255; the latest is the first.
  logic [3:0][7:0] age_d, age_q;
  logic      [3:0] is_near;
  logic            configured_q;
  logic      [7:0] faw_q;

  always_comb begin
    age_d = age_q;
    if (act_i)            age_d = {age_q[2:0], 8'd0};
    if (pim_activation_i) age_d = '0;
    for (int unsigned n = 0; n < 4; n++) begin
      if (age_d[n] != '1) age_d[n] = age_d[n] + 8'd1;
      is_near[n] = configured_q && age_q[n] < faw_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      age_q        <= '1;
      configured_q <= 1'b0;
      faw_q        <= '0;
    end else begin
      age_q        <= age_d;
      configured_q <= 1'b1;
      faw_q        <= configured_q ? faw_q : faw_i;
    end
  end

  `ASSERT(assert_act, act_ready_o == !is_near[3])
  `ASSERT(assert_pim, pim_ready_o == !is_near[0])
  `ASSERT(assert_used, 32'(used_o) == $countones(is_near))
  // What the surrounding unit has to keep.
  `ASSERT(assert_one_command, !(act_i && pim_activation_i))
  `ASSERT(assert_act_waits, !act_i || act_ready_o)
  `ASSERT(assert_pim_waits, !pim_activation_i || pim_ready_o)

endmodule

bind activation_window activation_window_checks u_checks (.*);

`endif
