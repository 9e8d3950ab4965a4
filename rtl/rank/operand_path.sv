// SPDX-License-Identifier: MIT
// Operands and data of the host on their way to and from the chips. Contract: operand_path.md.

module operand_path import pimlico_pkg::*; #(
  /// Bursts of each side that wait, a power of two, 2 or more.
  parameter int unsigned DEPTH = 16
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic        clk_i,
  /// Clock: one edge per tCK.
  input  logic        clk_tck_i,
  /// Asynchronous reset, active low: nothing waits or is on its way.
  input  logic        rst_ni,
  /// The second of the two beats of a tCK.
  input  logic        second_i,
  /// CWL, 2 to 48.
  input  logic [7:0]  cwl_i,
  /// The host has the chips as its memory.
  input  logic        memory_i,
  /// A burst for the shared buffers enters.
  input  logic        push_i,
  /// The burst that enters is the host's; else the rank PU's.
  input  logic        host_i,
  /// The host's burst, in its order.
  input  burst_t      burst_i,
  /// The rank PU's word: 64 bits for every chip.
  input  logic [63:0] word_i,
  /// A WR_SHARED is on the pins.
  input  logic        wr_shared_i,
  /// The WR_SHARED on the pins is for a burst of the host.
  input  logic        wr_host_i,
  /// Memory mode: the host drives a beat.
  input  logic        host_dq_valid_i,
  /// Memory mode: the beat that the host drives.
  input  beat_t       host_dq_i,
  /// Memory mode: the chips drive a beat.
  input  logic        chips_valid_i,
  /// Memory mode: the beat that the chips drive.
  input  beat_t       chips_dq_i,
  /// data_o is on the chips' data bus.
  output logic        valid_o,
  /// Beat on the chips' data bus; 0 if there is none.
  output beat_t       data_o,
  /// Memory mode: host_dq_o is on the host's data bus.
  output logic        host_dq_valid_o,
  /// Memory mode: beat on the host's data bus; 0 if there is none.
  output beat_t       host_dq_o
);

  // Bursts of the host: a tCK before they are on the chips' data bus.
  logic       host_busy, host_ahead, host_last, host_waits;
  logic [1:0] host_index;
  beat_t      host_beat;

  burst_timer u_host_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (wr_shared_i && wr_host_i),
    .latency_i (cwl_i - 8'd1),
    .ahead_o   (host_ahead),
    .busy_o    (host_busy),
    .index_o   (host_index),
    .last_o    (host_last)
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

  // Words of the rank PU.
  logic       pu_busy, pu_ahead, pu_last, pu_waits;
  logic [1:0] pu_index;
  logic [7:0] pu_byte;

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

  burst_source #(.WIDTH(8), .DEPTH(DEPTH)) u_pu (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (push_i && !host_i),
    .beats_i  (word_i),
    .busy_i   (pu_busy),
    .index_i  (pu_index),
    .second_i,
    .valid_o  (pu_waits),
    .data_o   (pu_byte)
  );

  // Through the re-layout unit. A beat that goes there, and where to.
  typedef struct packed {
    logic to_chips;
    logic to_host;
  } way_t;

  way_t       entering, leaving;
  way_t [1:0] way_d, way_q;  // the older at the top
  beat_t      entering_beat, relaid;
  logic       relaid_valid;

  assign entering.to_chips = memory_i ? host_dq_valid_i : host_busy;
  assign entering.to_host  = memory_i && chips_valid_i && !host_dq_valid_i;

  always_comb begin
    entering_beat = '0;
    if (entering.to_chips)     entering_beat = memory_i ? host_dq_i : host_beat;
    else if (entering.to_host) entering_beat = chips_dq_i;
  end

  relayout_unit u_relayout (
    .clk_i,
    .rst_ni,
    .valid_i  (|entering),
    .bypass_i (1'b0),
    .to_host_i(entering.to_host),
    .data_i   (entering_beat),
    .valid_o  (relaid_valid),
    .data_o   (relaid)
  );

  assign way_d   = {way_q[0], entering};
  assign leaving = way_q[1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) way_q <= '0;
    else         way_q <= way_d;
  end

  assign valid_o         = leaving.to_chips || pu_busy;
  assign data_o          = leaving.to_chips ? relaid : {8{pu_byte}};
  assign host_dq_valid_o = leaving.to_host;
  assign host_dq_o       = leaving.to_host ? relaid : '0;

  logic unused;

  assign unused = &{1'b0, host_ahead, host_last, host_waits, pu_ahead, pu_last, pu_waits,
                    relaid_valid};

  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
