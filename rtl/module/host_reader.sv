// SPDX-License-Identifier: MIT
// What the host reads of a window, two beats in every tCK. Contract: host_port.md.

module host_reader import pimlico_pkg::*; (
  /// Clock: one edge per tCK.
  input  logic             clk_i,
  /// Asynchronous reset, active low: nothing is read.
  input  logic             rst_ni,
  /// CL, 4 to 48.
  input  logic [7:0]       cl_i,
  /// A RD of a window was on the pins a tCK ago.
  input  logic             read_i,
  /// Window of the RD: bank of its group.
  input  logic [1:0]       window_i,
  /// The RD is of the outputs' results; else of the context's.
  input  logic             outputs_i,
  /// Number of the burst of results, modulo 64.
  input  logic [5:0]       burst_i,
  /// Words 0 to 2 of the status.
  input  logic [2:0][63:0] status_i,
  /// The burst of the context that was read last.
  input  burst_t           contexts_i,
  /// The burst of outputs that was read last.
  input  burst_t           outputs_burst_i,
  /// A burst of the context is read.
  output logic             read_contexts_o,
  /// A burst of outputs is read.
  output logic             read_outputs_o,
  /// The burst that is read, modulo 64.
  output logic [5:0]       burst_o,
  /// The host's data bus is driven in the next tCK.
  output logic             drives_o,
  /// The beats of the next tCK.
  output logic [1:0][63:0] pair_o
);

  localparam logic [1:0] STATUS  = 2'd2;
  localparam logic [1:0] RESULTS = 2'd3;

  // What a RD reads.
  typedef struct packed {
    logic [1:0] window;
    logic       outputs;
    logic [5:0] burst;
  } read_t;

  // A burst is asked for two tCK before its data are on the bus, CL + 1 tCK after its RD, which was registered.
  // What it reads waits for it.
  logic       asks, unused_ahead, unused_last, unused_valid, reads;
  logic [1:0] index;
  read_t      asked;

  burst_timer u_timer (
    .clk_i,
    .rst_ni,
    .command_i (read_i),
    .latency_i (cl_i - 8'd2),
    .ahead_o   (unused_ahead),
    .busy_o    (asks),
    .index_o   (index),
    .last_o    (unused_last)
  );

  assign reads = asks && index == '0;

  fifo #(.WIDTH($bits(read_t)), .DEPTH(16)) u_reads (
    .clk_i,
    .rst_ni,
    .push_i  (read_i),
    .data_i  ({window_i, outputs_i, burst_i}),
    .pop_i   (reads),
    .valid_o (unused_valid),
    .data_o  (asked)
  );

  assign read_contexts_o = reads && asked.window == RESULTS && !asked.outputs;
  assign read_outputs_o  = reads && asked.window == RESULTS && asked.outputs;
  assign burst_o         = asked.burst;

  // Which source has the burst, and the status as it was when it was asked for.
  logic             asks_d, asks_q;
  logic [1:0]       index_d, index_q;
  logic             is_contexts_d, is_contexts_q, is_outputs_d, is_outputs_q;
  logic [2:0][63:0] status_d, status_q;
  burst_t           status;

  assign asks_d   = asks;
  assign index_d  = index;
  assign status   = burst_t'(status_q);

  always_comb begin
    is_contexts_d = is_contexts_q;
    is_outputs_d  = is_outputs_q;
    status_d      = status_q;
    if (reads) begin
      is_contexts_d = read_contexts_o;
      is_outputs_d  = read_outputs_o;
      status_d      = asked.window == STATUS ? status_i : '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) asks_q <= 1'b0;
    else         asks_q <= asks_d;
  end

  always_ff @(posedge clk_i) begin
    index_q       <= index_d;
    is_contexts_q <= is_contexts_d;
    is_outputs_q  <= is_outputs_d;
    status_q      <= status_d;
  end

  // Two beats of it in every tCK.
  function automatic logic [1:0][63:0] pair_of(burst_t burst, logic [1:0] at);
    return {burst[{at, 1'b1}], burst[{at, 1'b0}]};
  endfunction

  assign drives_o = asks_q;

  always_comb begin
    pair_o = pair_of(status, index_q);
    if (is_contexts_q) pair_o = pair_of(contexts_i, index_q);
    if (is_outputs_q) pair_o = pair_of(outputs_burst_i, index_q);
  end

endmodule
