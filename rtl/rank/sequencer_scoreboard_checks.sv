// SPDX-License-Identifier: MIT
// Checker of sequencer_scoreboard: numbers that are compared are near enough to each other to be told apart.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module sequencer_scoreboard_checks (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        input_is_mac_i,
  input logic        input_is_write_i,
  input logic        moves_i,
  input logic        mac_i,
  input logic        write_i,
  input logic        enters_i,
  input logic        read_i,
  input logic        written_i,
  input logic        next_mac_valid_i,
  input logic        next_write_valid_i,
  input logic        cleared_o,
  input logic [15:0] writes_q,
  input logic [15:0] written_q,
  input logic [15:0] macs_q,
  input logic [15:0] read_q,
  input logic [8:0]  writes_since,
  input logic [8:0]  macs_since
);

  // Writes and MACs are told apart modulo 512, of which half may be over: see sequencer.md.
  `ASSERT(assert_writes, !next_mac_valid_i || writes_since < 9'd200)
  `ASSERT(assert_macs, !next_write_valid_i || macs_since < 9'd200)
  // So many have room in their queues.
  `ASSERT(assert_under_way, writes_q - written_q <= 16'd64 && macs_q - read_q <= 16'd32)
  `ASSERT(assert_done, (!written_i || writes_q != written_q) && (!read_i || macs_q != read_q))
  `ASSERT(assert_enters, !(mac_i && write_i) && (!mac_i && !write_i || enters_i))
  `ASSERT(assert_cleared, !moves_i || cleared_o || !input_is_mac_i && !input_is_write_i)

endmodule

bind sequencer_scoreboard sequencer_scoreboard_checks u_checks (.*);

`endif
