// SPDX-License-Identifier: MIT
// Operands on their way to the shared buffers: from the host through the re-layout unit, from the rank
// PU as they are.
//
//   tCK             0          1    ...   C-1        C          C+1        C = cwl_i
//   wr_shared_i     1
//   host's beats                          h0   h1    h2   h3    h4   h5
//   data_o, host                                     r0   r1    r2   r3    after re-layout
//   data_o, rank PU                                  b0   b1    b2   b3
//   valid_o                                          1    1     1    1
//
// The re-layout unit takes one tCK, so the host's burst begins that much sooner. A burst of the host
// that follows one of the rank PU begins before that has ended: each has a queue of its own.

module old_operand_path #(
  /// Bursts of each side that wait.
  parameter int unsigned DEPTH = 16
) (
  /// Clock: a beat, half a tCK.
  input  logic             clk_i,
  /// Clock: tCK.
  input  logic             clk_tck_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// The second of the tCK's two beats.
  input  logic             second_i,
  /// CWL.
  input  logic [7:0]       cwl_i,
  /// A burst is going to be written to the shared buffers.
  input  logic             push_i,
  /// It is the host's, in its order.
  input  logic             host_i,
  /// Its beats; of the rank PU's, 64 bits for each chip.
  input  logic [7:0][63:0] burst_i,
  /// A WR_SHARED is on the pins.
  input  logic             wr_shared_i,
  /// It is for a burst of the host.
  input  logic             wr_host_i,
  /// data_o is on the chips' data bus.
  output logic             valid_o,
  /// A beat.
  output logic [63:0]      data_o
);

  logic             host_ahead, host_busy, host_relaid, pu_busy;
  logic [1:0]       host_index, pu_index;
  logic [63:0]      host_beat, relaid, pu_beat;
  logic [7:0][63:0] pu_beats;
  logic             host_last, pu_ahead, pu_last, host_waits, pu_waits, unused_timers;
  logic [7:0]       host_latency;

  // The host's burst begins a tCK before that of the chips.
  assign host_latency  = cwl_i - 8'd1;
  assign unused_timers = &{1'b0, host_ahead, host_last, pu_ahead, pu_last, host_waits,
                           pu_waits};

  burst_timer u_host_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (wr_shared_i && wr_host_i),
    .latency_i (host_latency),
    .ahead_o   (host_ahead),
    .busy_o    (host_busy),
    .index_o   (host_index),
    .last_o    (host_last)
  );

  burst_timer u_pu_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (wr_shared_i && !wr_host_i),
    .latency_i (cwl_i),
    .ahead_o   (pu_ahead),
    .busy_o    (pu_busy),
    .index_o   (pu_index),
    .last_o    (pu_last)
  );

  burst_source #(.DEPTH(DEPTH)) u_host (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (push_i && host_i),
    .beats_i  (burst_i),
    .busy_i   (host_busy),
    .index_i  (host_index),
    .second_i,
    .valid_o  (host_waits),
    .data_o   (host_beat)
  );

  // A beat has a byte of each chip.
  for (genvar beat = 0; beat < 8; beat++) begin : gen_beat
    for (genvar chip = 0; chip < 8; chip++) begin : gen_chip
      assign pu_beats[beat][8*chip+:8] = burst_i[chip][8*beat+:8];
    end
  end

  burst_source #(.DEPTH(DEPTH)) u_pu (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (push_i && !host_i),
    .beats_i  (pu_beats),
    .busy_i   (pu_busy),
    .index_i  (pu_index),
    .second_i,
    .valid_o  (pu_waits),
    .data_o   (pu_beat)
  );

  relayout_unit u_relayout (
    .clk_i,
    .rst_ni,
    .valid_i  (host_busy),
    .bypass_i (1'b0),
    .to_host_i(1'b0),
    .data_i   (host_beat),
    .valid_o  (host_relaid),
    .data_o   (relaid)
  );

  assign valid_o = host_relaid || pu_busy;
  assign data_o  = host_relaid ? relaid : pu_beat;

endmodule
