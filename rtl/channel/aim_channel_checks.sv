// SPDX-License-Identifier: MIT
// Checker of aim_channel: buffers are written where there is room and read where there is something, one burst is on the
// data lines, and commands are as the contract asks for.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module aim_channel_checks import pimlico_pkg::*; (
  input logic         clk_i,
  input logic         rst_ni,
  input timing_t      timing_i,
  input logic         command_valid_i,
  input logic         command_ready_o,
  input aim_command_t command_i,
  input logic         operand_taken_o,
  input logic         write_taken_o,
  input logic         result_valid_o,
  input logic [5:0]   operands_i,
  input logic [5:0]   sums,
  input logic         ends,
  input logic         result,
  input logic         hazard
);

  logic unused_timing;

  handshake_checks #(.WIDTH($bits(aim_command_t))) u_commands (
    .clk_i, .rst_ni, .valid_i(command_valid_i), .ready_i(command_ready_o), .data_i(command_i)
  );

  // No result is overwritten, no word is missing.
  `ASSERT(assert_buffers, !hazard)
  `ASSERT(assert_lines, $countones({operand_taken_o, write_taken_o, result_valid_o}) <= 1)
  `ASSERT(assert_operand, !operand_taken_o || operands_i != '0)
  `ASSERT(assert_sums, (sums != '1 || !ends) && (sums != '0 || !result))

  // Commands.
  `ASSERT(assert_kind, !command_valid_i || command_i.kind <= AimClose)
  `ASSERT(assert_count, !command_valid_i || !(command_i.kind inside {AimMac, AimFill}) ||
                        command_i.count inside {[7'd1:7'd64]})
  `ASSERT(assert_word, !command_valid_i || command_i.kind != AimMac ||
                       {2'b00, command_i.word} + {1'b0, command_i.count} <= 8'd64)
  `ASSERT(assert_column, !command_valid_i || command_i.kind != AimMac ||
                         {1'b0, command_i.column} + {2'b00, command_i.count} <= 9'd256)

  // Timings that the data lines and the buffers rely on.
  `ASSERT(assert_timing, timing_i.cwl inside {[8'd1:8'd32]} && timing_i.shared_to_rd == '0)
  assign unused_timing = &{1'b0, timing_i};

endmodule

bind aim_channel aim_channel_checks u_checks (.*);

`endif
