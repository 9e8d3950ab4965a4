// SPDX-License-Identifier: MIT
// Four-activation window of a pseudo-rank, in which a PIM_ACTIVATION counts four. Contract: activation_window.md.

module activation_window (
  /// Clock: one edge per tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: no activation is in the window.
  input  logic       rst_ni,
  /// tFAW, in tCK; sampled in the first cycle after reset.
  input  logic [7:0] faw_i,
  /// An ACT is on the pins.
  input  logic       act_i,
  /// A PIM_ACTIVATION is on the pins.
  input  logic       pim_activation_i,
  /// An ACT may be on the pins.
  output logic       act_ready_o,
  /// A PIM_ACTIVATION may be on the pins.
  output logic       pim_ready_o,
  /// Banks activated in the window that ends with this cycle.
  output logic [2:0] used_o
);

  localparam int unsigned PLACES = 4;

  logic       configured_q;
  logic [7:0] faw_d, faw_q;

  assign faw_d = configured_q ? faw_q : faw_i;

  // A place for each bank that may be activated in the window; an ACT takes the lowest that is free. Timers are started in the cycle
  // behind the command, so that no command waits for them.
  logic [PLACES-1:0] is_free, lowest_d, lowest_q, start;
  logic              act_q, pim_activation_q;

  assign lowest_d = is_free & (~is_free + PLACES'(1));
  assign start    = pim_activation_q ? '1 : act_q ? lowest_q : '0;

  for (genvar place = 0; place < PLACES; place++) begin : gen_place
    late_timer #(.WIDTH(8)) u_timer (
      .clk_i,
      .rst_ni,
      .start_i  (start[place]),
      .clocks_i (faw_q),
      .over_o   (is_free[place])
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q     <= 1'b0;
      act_q            <= 1'b0;
      pim_activation_q <= 1'b0;
    end else begin
      configured_q     <= 1'b1;
      act_q            <= act_i;
      pim_activation_q <= pim_activation_i;
    end
  end

  // Without a reset: read from the first cycle after it on.
  always_ff @(posedge clk_i) begin
    faw_q    <= faw_d;
    lowest_q <= lowest_d;
  end

  always_comb begin
    used_o = '0;
    for (int unsigned place = 0; place < PLACES; place++) used_o += 3'(!is_free[place]);
  end

  assign act_ready_o = |is_free;
  assign pim_ready_o = &is_free;

endmodule
