// SPDX-License-Identifier: MIT
// Operands and data of the host on their way to and from the chips. Contract: operand_path.md.

module operand_path import pimlico_pkg::*; #(
  /// Bursts of the host that have room, 2 or more: the words of a memory.
  parameter int unsigned HOST_DEPTH = 18,
  /// Bursts of the rank PU that have room, 2 or more.
  parameter int unsigned PU_DEPTH   = 16
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic        clk_i,
  /// Clock: one edge per tCK.
  input  logic        clk_tck_i,
  /// Asynchronous reset, active low: nothing waits or is on its way.
  input  logic        rst_ni,
  /// The second of the two beats of a tCK.
  input  logic        second_i,
  /// CWL, 4 to 48.
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

  // Bursts of the host, and words of the rank PU: both enter the re-layout unit a tCK before they are on the
  // chips' data bus, and are asked for two tCK before.
  logic             host_asks, host_ahead, host_last, host_waits, host_enters;
  logic [1:0]       host_index;
  logic [1:0][63:0] host_pair;
  beat_t            host_beat;

  burst_timer u_host_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (wr_shared_i && wr_host_i),
    .latency_i (cwl_i - 8'd3),
    .ahead_o   (host_ahead),
    .busy_o    (host_asks),
    .index_o   (host_index),
    .last_o    (host_last)
  );

  burst_source #(.DEPTH(HOST_DEPTH)) u_host (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (push_i && host_i),
    .beats_i  (burst_i),
    .busy_i   (host_asks),
    .index_i  (host_index),
    .valid_o  (host_waits),
    .pair_o   (host_pair),
    .drives_o (host_enters)
  );

  ddr_out #(.WIDTH(64)) u_host_beats (
    .clk_i, .clk_tck_i, .second_i, .pair_i(host_pair), .data_o(host_beat)
  );

  logic            pu_asks, pu_ahead, pu_last, pu_waits, pu_enters;
  logic [1:0]      pu_index;
  logic [1:0][7:0] pu_pair;
  logic [7:0]      pu_byte;

  burst_timer u_pu_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (wr_shared_i && !wr_host_i),
    .latency_i (cwl_i - 8'd3),
    .ahead_o   (pu_ahead),
    .busy_o    (pu_asks),
    .index_o   (pu_index),
    .last_o    (pu_last)
  );

  burst_source #(.WIDTH(8), .DEPTH(PU_DEPTH)) u_pu (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (push_i && !host_i),
    .beats_i  (word_i),
    .busy_i   (pu_asks),
    .index_i  (pu_index),
    .valid_o  (pu_waits),
    .pair_o   (pu_pair),
    .drives_o (pu_enters)
  );

  ddr_out #(.WIDTH(8)) u_pu_beats (
    .clk_i, .clk_tck_i, .second_i, .pair_i(pu_pair), .data_o(pu_byte)
  );

  // Through the re-layout unit, which does nothing to the words of the rank PU. A beat that goes there, and
  // where to. Beats that are not there are 0.
  logic  to_chips, to_host, relaid_valid;
  beat_t entering, relaid;

  assign to_chips = memory_i ? host_dq_valid_i : host_enters || pu_enters;
  assign to_host  = memory_i && chips_valid_i && !host_dq_valid_i;

  always_comb begin
    entering = host_beat | {8{pu_byte}};
    if (memory_i) entering = host_dq_valid_i ? host_dq_i : chips_dq_i;
  end

  relayout_unit u_relayout (
    .clk_i,
    .rst_ni,
    .valid_i  (to_chips || to_host),
    .bypass_i (!memory_i && pu_enters),
    .to_host_i(to_host),
    .data_i   (entering),
    .valid_o  (relaid_valid),
    .data_o   (relaid)
  );

  // What leaves it: each byte lane has registers of its own, as one would have the load of all.
  logic to_chips_q, to_host_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      to_chips_q <= 1'b0;
      to_host_q  <= 1'b0;
    end else begin
      to_chips_q <= to_chips;
      to_host_q  <= to_host;
    end
  end

  for (genvar lane = 0; lane < 8; lane++) begin : gen_lane
    logic chips_q, host_q;

    (* keep *)
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        chips_q <= 1'b0;
        host_q  <= 1'b0;
      end else begin
        chips_q <= to_chips_q;
        host_q  <= to_host_q;
      end
    end

    assign data_o[8*lane+:8]    = chips_q ? relaid[8*lane+:8] : '0;
    assign host_dq_o[8*lane+:8] = host_q ? relaid[8*lane+:8] : '0;
  end

  assign valid_o         = gen_lane[0].chips_q;
  assign host_dq_valid_o = gen_lane[0].host_q;

  logic unused;

  assign unused = &{1'b0, host_ahead, host_last, host_waits, pu_ahead, pu_last, pu_waits,
                    relaid_valid};

  if (HOST_DEPTH < 2 || PU_DEPTH < 2)
    $fatal(1, "HOST_DEPTH, PU_DEPTH = %0d, %0d: expected 2 or more", HOST_DEPTH, PU_DEPTH);

endmodule
