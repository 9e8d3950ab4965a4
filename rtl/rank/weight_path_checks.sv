// SPDX-License-Identifier: MIT
// Checker of weight_path: a weigh stands until it is taken, and a weight belongs to one.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module weight_path_checks import pimlico_pkg::*; (
  input logic   clk_i,
  input logic   rst_ni,
  input logic   weigh_valid_i,
  input weigh_t weigh_i,
  input logic   weight_valid_i,
  input logic   taken_o,
  input logic   coming_valid
);

  handshake_checks #(.WIDTH($bits(weigh_t))) u_weigh (
    .clk_i, .rst_ni, .valid_i(weigh_valid_i), .ready_i(taken_o), .data_i(weigh_i)
  );

  `ASSERT(assert_count, !weigh_valid_i || weigh_i.count inside {[3'd1:3'd4]})
  `ASSERT(assert_weight, !weight_valid_i || coming_valid)

endmodule

bind weight_path weight_path_checks u_checks (.*);

`endif
