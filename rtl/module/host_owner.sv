// SPDX-License-Identifier: MIT
// Owner of the chips' command pins: the host, none, or the module in a run. Contract: host_port.md.

module host_owner import pimlico_pkg::*; (
  /// Clock: tCK.
  input  logic        clk_i,
  /// Clock: one edge per cycle of the core.
  input  logic        clk_core_i,
  /// Asynchronous reset, active low: the host owns the pins.
  input  logic        rst_ni,
  /// The last tCK of a cycle of the core.
  input  logic        last_i,
  /// tRP.
  input  logic [7:0]  rp_i,
  /// tRFC.
  input  logic [15:0] rfc_i,
  /// The host's command is a PREA.
  input  logic        precharge_i,
  /// A START waits.
  input  logic        waits_i,
  /// A run starts with the next cycle of the core.
  input  logic        start_i,
  /// The module has ended the run, and is settled.
  input  logic        settled_i,
  /// The module's results are packed.
  input  logic        packed_i,
  /// A stream holds an unfinished burst of results.
  input  logic        unfinished_i,
  /// A REF is on the chips' pins.
  input  logic        refresh_i,
  /// The host owns the pins.
  output logic        host_o,
  /// Nobody owns the pins.
  output logic        left_o,
  /// The module owns the pins: a run is under way.
  output logic        runs_o,
  /// A run may start in this cycle of the core.
  output logic        ready_o,
  /// The unit rests in this cycle of the core: unfinished bursts are written.
  output logic        rests_o,
  /// The run ends with this cycle of the core.
  output logic        ends_o,
  /// The state, as the host reads it.
  output logic [1:0]  state_o
);

  typedef enum logic [1:0] {
    PinsHost = 2'd0,
    PinsLeft = 2'd1,
    PinsRun  = 2'd2
  } state_e;

  state_e state_d, state_q;
  logic   gives, precharged, refreshed;

  assign gives   = state_q == PinsHost && precharge_i && waits_i;
  assign rests_o = state_q == PinsRun && settled_i && packed_i;
  assign ends_o  = rests_o && !unfinished_i && refreshed;

  always_comb begin
    state_d = state_q;
    case (state_q)
      PinsHost: if (gives) state_d = PinsLeft;
      PinsLeft: begin
        if (precharge_i && !waits_i) state_d = PinsHost;
        if (last_i && start_i) state_d = PinsRun;
      end
      default: if (last_i && ends_o) state_d = PinsLeft;
    endcase
  end

  // tRP after the PREA that gave the pins. A START looks at it where its cycle begins.
  logic ready_d, ready_q;

  timer u_precharge (.clk_i, .rst_ni, .start_i(gives), .clocks_i(rp_i), .over_o(precharged));

  assign ready_d = state_d == PinsLeft && precharged && !gives;

  // tRFC after the last REF: not over in the tCK of the REF, nor in the next, in which the timer is started.
  logic refresh_d, refresh_q, refresh_over;

  timer #(.WIDTH(16)) u_refresh (
    .clk_i, .rst_ni, .start_i(refresh_q), .clocks_i(rfc_i), .over_o(refresh_over)
  );

  assign refresh_d = refresh_i;
  assign refreshed = refresh_over && !refresh_q && !refresh_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= PinsHost;
      refresh_q <= 1'b0;
    end else begin
      state_q   <= state_d;
      refresh_q <= refresh_d;
    end
  end

  always_ff @(posedge clk_core_i or negedge rst_ni) begin
    if (!rst_ni) ready_q <= 1'b0;
    else         ready_q <= ready_d;
  end

  assign host_o  = state_q == PinsHost;
  assign left_o  = state_q == PinsLeft;
  assign runs_o  = state_q == PinsRun;
  assign ready_o = ready_q;
  assign state_o = state_q;

endmodule
