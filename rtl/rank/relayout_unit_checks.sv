// SPDX-License-Identifier: MIT
// Checker of relayout_unit: groups come out whole, GROUP cycles after they went in; what bypasses is unchanged.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module relayout_unit_checks #(
  /// Beats of a group.
  parameter int unsigned GROUP = 2
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        valid_i,
  input logic        bypass_i,
  input logic [63:0] data_i,
  input logic        valid_o,
  input logic [63:0] data_o
);

  // Beats of the group that are still to come, and whether it bypasses.
  logic [7:0]             left_d, left_q;
  logic                   first, bypasses_d, bypasses_q;
  // What went in, the last cycle's first.
  logic [GROUP-1:0]       valid_line_d, valid_line_q, same_line_d, same_line_q;
  logic [GROUP-1:0][63:0] data_line_d, data_line_q;

  assign first      = valid_i && left_q == '0;
  assign bypasses_d = left_q == '0 ? bypass_i || !valid_i : bypasses_q;

  always_comb begin
    left_d = left_q == '0 ? '0 : left_q - 8'd1;
    if (first) left_d = 8'(GROUP - 1);
    valid_line_d    = valid_line_q << 1;
    valid_line_d[0] = first || left_q != '0;
    same_line_d     = same_line_q << 1;
    same_line_d[0]  = bypasses_d;
    data_line_d     = data_line_q << 64;
    data_line_d[0]  = data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q       <= '0;
      bypasses_q   <= 1'b0;
      valid_line_q <= '0;
      same_line_q  <= '0;
    end else begin
      left_q       <= left_d;
      bypasses_q   <= bypasses_d;
      valid_line_q <= valid_line_d;
      same_line_q  <= same_line_d;
    end
  end

  always_ff @(posedge clk_i) data_line_q <= data_line_d;

  `ASSERT(assert_group, valid_o == valid_line_q[GROUP-1])
  `ASSERT(assert_same, !same_line_q[GROUP-1] || data_o == data_line_q[GROUP-1])

endmodule

bind relayout_unit relayout_unit_checks #(.GROUP(GROUP)) u_checks (.*);

`endif
