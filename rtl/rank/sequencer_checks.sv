// SPDX-License-Identifier: MIT
// Checker of sequencer: requests stand until they are taken, what happens in the rank belongs to a request, and
// no counter runs over.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module sequencer_checks import pimlico_pkg::*; (
  input logic           clk_i,
  input logic           rst_ni,
  input logic           operand_valid_i,
  input rank_events_t   events_i,
  input logic           array_valid_o,
  input array_request_t array_o,
  input logic           bus_valid_o,
  input bus_request_t   bus_o,
  input logic           finish_valid_o,
  input finish_t        finish_o,
  input logic           weigh_valid_o,
  input weigh_t         weigh_o,
  input logic           array_push,
  input logic           closing_q,
  input logic [6:0]     asked_q,
  input logic [15:0]    elements_q,
  input logic [7:0]     ended_q,
  input logic [7:0]     made
);

  localparam int unsigned OPERANDS = 64;

  handshake_checks #(.WIDTH($bits(finish_t))) u_finish (
    .clk_i, .rst_ni, .valid_i(finish_valid_o), .ready_i(events_i.finish_taken), .data_i(finish_o)
  );
  handshake_checks #(.WIDTH($bits(weigh_t))) u_weigh (
    .clk_i, .rst_ni, .valid_i(weigh_valid_o), .ready_i(events_i.weigh_taken), .data_i(weigh_o)
  );

  logic           array_waits_q;
  array_request_t array_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) array_waits_q <= 1'b0;
    else         array_waits_q <= array_valid_o && !events_i.array_taken;
  end

  always_ff @(posedge clk_i) array_q <= array_o;

  `ASSERT(assert_array_stands, !array_waits_q || array_valid_o)
  `ASSERT(assert_array_stable, !array_waits_q || array_o == array_q)

  // A WR_SHARED that waits may make room for an RD_RESULT; an RD_RESULT stands.
  logic         bus_waits_q;
  bus_request_t bus_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) bus_waits_q <= 1'b0;
    else         bus_waits_q <= bus_valid_o && !events_i.bus_taken;
  end

  always_ff @(posedge clk_i) bus_q <= bus_o;

  `ASSERT(assert_bus_stands, !bus_waits_q || bus_valid_o)
  `ASSERT(assert_bus_stable, !bus_waits_q || bus_o == bus_q || (bus_q.write && !bus_o.write))

  // The host's burst is there until it is taken.
  `ASSERT(assert_operand_there, !(bus_valid_o && bus_o.write && bus_o.host) || operand_valid_i)

  // Those that are done are checked in their queues, counts of scores and words in sequencer_softmax.
  logic unused;

  assign unused = &{1'b0, events_i.read, events_i.results_taken, events_i.written, events_i.scaled, events_i.finished,
                     events_i.word_made};

  // What is taken was requested, and what comes of it was taken.
  `ASSERT(assert_array_taken, !events_i.array_taken || array_valid_o)
  `ASSERT(assert_bus_taken, !events_i.bus_taken || bus_valid_o)
  `ASSERT(assert_finish_taken, !events_i.finish_taken || finish_valid_o)
  `ASSERT(assert_weigh_taken, !events_i.weigh_taken || weigh_valid_o)
  `ASSERT(assert_elements, 16'(events_i.context_made) + 16'(events_i.output_made) <= elements_q)
  `ASSERT(assert_results, !events_i.results || ended_q != made)

  `ASSERT(assert_close, !(array_push && closing_q))
  `ASSERT(assert_asked, asked_q <= 7'(OPERANDS))
  // Numbers of sums are compared modulo 256.
  `ASSERT(assert_numbers, ended_q - made < 8'd127)
  `ASSERT(assert_count, !weigh_valid_o || weigh_o.count inside {[3'd1:3'd4]})

endmodule

bind sequencer sequencer_checks u_checks (.*);

`endif
