// SPDX-License-Identifier: MIT
// Status of each request: that of its last run. Contract: dispatcher.md.

module dispatcher_status import pimlico_pkg::*; #(
  /// Requests in the configuration, 1 to 16.
  parameter int unsigned REQUESTS = 16
) (
  /// Clock: one edge per cycle.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// A run starts.
  input  logic           starts_i,
  /// Its request.
  input  logic [3:0]     start_request_i,
  /// A run ends.
  input  logic           ends_i,
  /// Its request.
  input  logic [3:0]     end_request_i,
  /// How it ends.
  input  status_e        ending_i,
  /// Status of each request.
  output status_e [15:0] status_o
);

  status_e [REQUESTS-1:0] status_d, status_q;

  always_comb begin
    status_d = status_q;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (starts_i && start_request_i == 4'(r)) status_d[r] = StatusRunning;
      if (ends_i && end_request_i == 4'(r)) status_d[r] = ending_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned r = 0; r < REQUESTS; r++) status_q[r] <= StatusNotStarted;
    end else begin
      status_q <= status_d;
    end
  end

  for (genvar r = 0; r < 16; r++) begin : gen_status
    if (r < REQUESTS) begin : gen_there
      assign status_o[r] = status_q[r];
    end else begin : gen_absent
      assign status_o[r] = StatusNotStarted;
    end
  end

  if (REQUESTS == 0 || REQUESTS > 16) $fatal(1, "REQUESTS = %0d: expected 1 to 16", REQUESTS);

endmodule
