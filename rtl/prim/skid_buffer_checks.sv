// SPDX-License-Identifier: MIT
// Checker of skid_buffer: there is room for what enters, an entry for what leaves, and a waiting entry stays.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module skid_buffer_checks #(
  /// Width of an entry.
  parameter int unsigned WIDTH = 8
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             push_i,
  input logic             pop_i,
  input logic             ready_o,
  input logic             valid_o,
  input logic [WIDTH-1:0] data_o
);

  logic [1:0] count_d, count_q;

  assign count_d = count_q + 2'(push_i) - 2'(pop_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_d;
  end

  `ASSERT(assert_room, !push_i || ready_o)
  `ASSERT(assert_entry, !pop_i || valid_o)
  `ASSERT(assert_count, count_q <= 2'd2 && valid_o == (count_q != '0) && ready_o == (count_q != 2'd2))

  handshake_checks #(.WIDTH(WIDTH)) u_oldest (
    .clk_i, .rst_ni, .valid_i(valid_o), .ready_i(pop_i), .data_i(data_o)
  );

endmodule

bind skid_buffer skid_buffer_checks #(.WIDTH(WIDTH)) u_checks (.*);

`endif
