// SPDX-License-Identifier: MIT
// Checker of host_port: who owns the pins, what is in the queue, and which messages the module sees when.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module host_port_checks import pimlico_pkg::*; #(
  /// Gear: tCK in a cycle of the core, 1, 2 or 4.
  parameter int unsigned GEAR = DEFAULT_GEAR
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        second,
  input logic        last_tck,
  input logic        window_write,
  input logic        head_valid,
  input logic        head_operand,
  input logic        pop,
  input logic        waits,
  input logic        lost,
  input logic [15:0] taken,
  input logic        is_left,
  input logic        runs,
  input logic        ends,
  input logic        operand_taken_i,
  input logic        memory_o,
  input logic        owns_o,
  input pins_t       pins_o,
  input logic        load_valid_o,
  input load_t       load_o,
  input logic        start_valid_o,
  input start_t      start_o,
  input logic        operand_valid_o,
  input burst_t      operand_o
);

  localparam logic [15:0] ROOM = 16'd128;

  logic last_beat;

  assign last_beat = second && last_tck;

  // Bursts whose WR was on the pins and that have not left, at the most those in the queue and on their way.
  logic [15:0] written_d, written_q;

  assign written_d = written_q + 16'(second && window_write);

  // The cycle of the core before, and the state of the tCK before.
  logic   runs_q, left_q, starts_q, ends_q, first_q, waits_q, popped_q, lost_q;
  logic   head_valid_q;
  burst_t head_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      written_q    <= '0;
      runs_q       <= 1'b0;
      left_q       <= 1'b0;
      starts_q     <= 1'b0;
      ends_q       <= 1'b0;
      first_q      <= 1'b0;
      waits_q      <= 1'b0;
      popped_q     <= 1'b0;
      lost_q       <= 1'b0;
      head_valid_q <= 1'b0;
    end else begin
      written_q    <= written_d;
      runs_q       <= runs;
      left_q       <= is_left;
      starts_q     <= last_beat && start_valid_o;
      ends_q       <= last_beat && ends;
      first_q      <= last_beat;
      waits_q      <= waits;
      popped_q     <= last_beat && pop;
      lost_q       <= lost;
      head_valid_q <= head_valid;
    end
  end

  always_ff @(posedge clk_i) head_q <= operand_o;

  // One state at a time. A run begins with a START, and ends only where it was found to.
  `ASSERT(assert_one_state, $onehot({owns_o, is_left, runs}) && memory_o == !runs)
  `ASSERT(assert_begin, (runs && !runs_q) == starts_q && (!starts_q || left_q))
  `ASSERT(assert_end, (!runs && runs_q) == ends_q && (!ends_q || is_left))
  `ASSERT(assert_pins, owns_o || pins_o == '0)

  // What the dispatcher is given.
  `ASSERT(assert_start, !start_valid_o || (is_left && waits && head_valid && !head_operand && pop))
  `ASSERT(assert_load, !load_valid_o || (memory_o && head_valid && !head_operand && !start_valid_o))
  `ASSERT(assert_nothing, (load_valid_o || load_o == '0) && (start_valid_o || start_o == '0))
  `ASSERT(assert_waits, !waits_q || waits || starts_q)

  // The head stands until it leaves, and changes only with a cycle of the core.
  `ASSERT(assert_pop, !pop || head_valid)
  `ASSERT(assert_operand, !operand_valid_o || (runs && head_valid && head_operand))
  `ASSERT(assert_taken, !(last_beat && operand_taken_i) || operand_valid_o)
  `ASSERT(assert_stands, !head_valid_q || popped_q || (head_valid && operand_o == head_q))
  `ASSERT(assert_edge, head_valid == head_valid_q || first_q)
  `ASSERT(assert_count, written_q - taken <= ROOM + 16'd16)
  `ASSERT(assert_lost, !lost_q || lost)

  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule

bind host_port host_port_checks #(.GEAR(GEAR)) u_checks (.*);

`endif
