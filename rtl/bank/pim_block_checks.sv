// SPDX-License-Identifier: MIT
// Checker of pim_block: a register of sums changes by its own MACs alone, as long behind them as the contract says.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module pim_block_checks #(
  /// Width of a sum.
  parameter int unsigned SUM_WIDTH = 16
) (
  input logic                                 clk_i,
  input logic                                 rst_ni,
  input logic                                 write_i,
  input logic                                 mac_i,
  input logic                                 read_i,
  input logic [2:0]                           register_i,
  input logic [7:0][15:0][15:0]               input_q,
  input logic [7:0][15:0][SUM_WIDTH-1:0]      out_q,
  input logic                                 result_valid_o,
  input logic [15:0][15:0]                    result_o,
  input logic                                 stale_o
);

  // The steps before, the last first: the registers that a MAC, or a WR_IN, of them is of.
  logic [5:0][7:0] macs_d, macs_q;
  logic [1:0][7:0] writes_d, writes_q;
  logic            read_q;
  // Parity of each register, and whether there was a step before.
  logic [7:0]      in_parity, in_parity_q, out_parity, out_parity_q;
  logic            known_q;

  assign macs_d   = {macs_q[4:0], mac_i && !write_i ? 8'd1 << register_i : 8'd0};
  assign writes_d = {writes_q[0], write_i ? 8'd1 << register_i : 8'd0};

  always_comb begin
    for (int r = 0; r < 8; r++) begin
      in_parity[r]  = ^input_q[r];
      out_parity[r] = ^out_q[r];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      macs_q       <= '0;
      writes_q     <= '0;
      read_q       <= 1'b0;
      in_parity_q  <= '0;
      out_parity_q <= '0;
      known_q      <= 1'b0;
    end else begin
      macs_q       <= macs_d;
      writes_q     <= writes_d;
      read_q       <= read_i && !mac_i && !write_i;
      in_parity_q  <= in_parity;
      out_parity_q <= out_parity;
      known_q      <= 1'b1;
    end
  end

  `ASSERT(assert_inputs_keep, !known_q || ((in_parity ^ in_parity_q) & ~writes_q[1]) == '0)
  `ASSERT(assert_sums_keep, !known_q || ((out_parity ^ out_parity_q) & ~macs_q[5]) == '0)
  `ASSERT(assert_result, result_valid_o == read_q)
  `ASSERT(assert_no_result, result_valid_o || (result_o == '0 && !stale_o))

endmodule

bind pim_block pim_block_checks #(.SUM_WIDTH(SUM_WIDTH)) u_checks (.*);

`endif
