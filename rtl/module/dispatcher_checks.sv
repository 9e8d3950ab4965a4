// SPDX-License-Identifier: MIT
// Checker of dispatcher: a command stands until it is taken, one run at a time, each with one end.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module dispatcher_checks import pimlico_pkg::*; #(
  /// Requests in the configuration.
  parameter int unsigned REQUESTS = 16
) (
  input logic           clk_i,
  input logic           rst_ni,
  input logic           start_valid_i,
  input logic           start_ready_o,
  input logic           dispatch_ready_i,
  input logic           dispatch_valid_o,
  input dispatch_t      dispatch_o,
  input logic           end_valid_o,
  input status_e [15:0] status_o,
  input logic [3:0]     there_q,
  input logic           running_q,
  input logic           steps_q,
  input logic           sequence_moves,
  input logic           loop_waits,
  input logic [3:0]     repeats,
  input logic           multiply_valid_q,
  input logic           add_valid_q,
  input logic           translate_valid_q,
  input logic           wait_valid_q,
  input logic           dispatch_valid_q,
  input logic           table_read_o,
  input logic           wait_free
);

  handshake_checks #(.WIDTH($bits(dispatch_t))) u_dispatch (
    .clk_i, .rst_ni, .valid_i(dispatch_valid_o), .ready_i(dispatch_ready_i), .data_i(dispatch_o)
  );

  logic        runs_d, runs_q;  // a run has started, and not ended
  logic [15:0] running;

  assign runs_d = (runs_q && !end_valid_o) || (start_valid_i && start_ready_o);

  for (genvar r = 0; r < 16; r++) begin : gen_request
    assign running[r] = status_o[r] == StatusRunning;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) runs_q <= 1'b0;
    else         runs_q <= runs_d;
  end

  `ASSERT(assert_start, start_ready_o == !runs_q)
  `ASSERT(assert_end, !end_valid_o || (runs_q && !dispatch_valid_o))
  `ASSERT(assert_idle, runs_q || !(running_q || multiply_valid_q || add_valid_q || translate_valid_q ||
                                   wait_valid_q || dispatch_valid_q))
  `ASSERT(assert_loop, !loop_waits || !sequence_moves)
  `ASSERT(assert_repeat, !sequence_moves || ($onehot0(repeats) && (repeats & ~there_q) == '0))
  `ASSERT(assert_table, !table_read_o || (translate_valid_q && wait_free))
  // A layer ends behind its run, before another starts.
  `ASSERT(assert_step, !steps_q || !runs_q)
  `ASSERT(assert_one_running, $onehot0(running) && (running == '0 || runs_q))
  `ASSERT(assert_request, (running >> REQUESTS) == '0)
  // The loops that run are the outermost levels.
  `ASSERT(assert_depth, !runs_q || (there_q & (there_q + 4'd1)) == '0)

endmodule

bind dispatcher dispatcher_checks #(.REQUESTS(REQUESTS)) u_checks (
  .there_q(u_nest.there_q), .repeats(u_nest.repeats), .*
);

`endif
