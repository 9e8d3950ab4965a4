// SPDX-License-Identifier: MIT
// The status that the host reads. Contract: host_port.md.

module host_status import pimlico_pkg::*; (
  /// Clock: one edge per cycle of the core.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// State of the pins' owner.
  input  logic [1:0]       state_i,
  /// Nobody owns the pins.
  input  logic             left_i,
  /// A START waits.
  input  logic             waits_i,
  /// A burst has found no room.
  input  logic             lost_i,
  /// There was a message of an unknown kind.
  input  logic             refused_i,
  /// Bursts that have left the queue, or were lost.
  input  logic [15:0]      taken_i,
  /// Bursts of the context.
  input  logic [15:0]      contexts_i,
  /// Bursts of outputs.
  input  logic [15:0]      outputs_i,
  /// A run starts.
  input  logic             start_i,
  /// A run ends with this cycle.
  input  logic             ends_i,
  /// The host has written more to the dispatcher than fits.
  input  logic             overflow_i,
  /// The program has ended.
  input  logic             end_valid_i,
  /// Status, address and layer of the program's end, else 0.
  input  run_end_t         end_i,
  /// Status of each request.
  input  status_e [15:0]   status_i,
  /// Fault of the run.
  input  fault_e           fault_i,
  /// Words 0 to 2 of the status; the others are 0.
  output logic [2:0][63:0] words_o
);

  logic           overflow_d, overflow_q;
  run_end_t       end_d, end_q;
  status_e [15:0] status_d, status_q;
  fault_e         fault_d, fault_q;
  logic [15:0]    runs_d, runs_q;

  assign overflow_d = overflow_i;
  assign status_d   = status_i;
  assign fault_d    = fault_i;
  assign runs_d     = runs_q + 16'(ends_i);

  always_comb begin
    end_d = end_valid_i ? end_i : end_q;
    if (start_i) end_d = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      overflow_q <= 1'b0;
      end_q      <= '0;
      status_q   <= '0;
      fault_q    <= FaultNone;
      runs_q     <= '0;
    end else begin
      overflow_q <= overflow_d;
      end_q      <= end_d;
      status_q   <= status_d;
      fault_q    <= fault_d;
      runs_q     <= runs_d;
    end
  end

  always_comb begin
    words_o           = '0;
    words_o[0][1:0]   = state_i;
    words_o[0][2]     = waits_i;
    words_o[0][3]     = left_i && !waits_i;
    words_o[0][4]     = lost_i;
    words_o[0][5]     = refused_i;
    words_o[0][6]     = overflow_q;
    words_o[0][11:8]  = fault_q;
    words_o[0][15:12] = end_q.status;
    words_o[0][29:16] = end_q.address;
    words_o[0][47:32] = end_q.layer;
    words_o[1]        = {runs_q, outputs_i, contexts_i, taken_i};
    words_o[2]        = status_q;
  end

endmodule
