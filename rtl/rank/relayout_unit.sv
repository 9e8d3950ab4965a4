// SPDX-License-Identifier: MIT
// Re-layout unit of the rank PU: puts elements whole into one chip. Contract: relayout_unit.md.

module relayout_unit #(
  /// Width of an element.
  parameter int unsigned ELEMENT_BITS = 16,
  /// Data lines of a chip. GROUP = ELEMENT_BITS / CHIP_BITS is a power of two, at most CHIP_COUNT.
  parameter int unsigned CHIP_BITS    = 8
) (
  /// Clock: one edge per beat, two per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// The first beat of a group arrives; its other beats follow.
  input  logic        valid_i,
  /// The group passes unchanged.
  input  logic        bypass_i,
  /// 0: from the host to the chips; 1: from the chips to the host.
  input  logic        to_host_i,
  /// Beat of the data bus.
  input  logic [63:0] data_i,
  /// data_o is a beat of a group.
  output logic        valid_o,
  /// Beat of the data bus, re-laid out, GROUP cycles later.
  output logic [63:0] data_o
);

  localparam int unsigned GROUP      = ELEMENT_BITS / CHIP_BITS;
  localparam int unsigned CHIP_COUNT = 64 / CHIP_BITS;
  localparam int unsigned BEAT_BITS  = GROUP > 1 ? $clog2(GROUP) : 1;

  typedef logic [CHIP_COUNT-1:0][CHIP_BITS-1:0] lanes_t;

  // What becomes of a group.
  typedef struct packed {
    logic to_chips;
    logic to_host;
  } mode_t;

  // The group that is arriving: the number of its beat, and its mode.
  logic                 first, active;
  logic [BEAT_BITS-1:0] beat_d, beat_q;
  mode_t                mode_d, mode_q;

  assign first  = beat_q == '0;
  assign active = valid_i || !first;

  always_comb begin
    mode_d = mode_q;
    if (first) begin
      mode_d.to_chips = valid_i && !bypass_i && !to_host_i;
      mode_d.to_host  = valid_i && !bypass_i && to_host_i;
    end
    beat_d = beat_q;
    if (active) beat_d = beat_q == BEAT_BITS'(GROUP - 1) ? '0 : beat_q + BEAT_BITS'(1);
  end

  // Which beats on their way are of a group, the newest at the bottom.
  logic [GROUP-1:0] valid_d, valid_q;

  assign valid_d = GROUP'({valid_q, active});

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q  <= '0;
      valid_q <= '0;
    end else begin
      beat_q  <= beat_d;
      valid_q <= valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    mode_q <= mode_d;
  end

  // The beats on their way, the newest at the top.
  lanes_t [GROUP-1:0] line_q;

  if (GROUP == 1) begin : gen_whole
    logic unused_mode;

    assign unused_mode = &{1'b0, mode_q};

    always_ff @(posedge clk_i) begin
      line_q <= data_i;
    end
  end else begin : gen_line
    lanes_t [GROUP:0] line;  // with the beat that arrives
    logic             unused_line;

    assign line        = {data_i, line_q};
    assign unused_line = &{1'b0, line[0]};

    // With the last beat of a group, the line has the whole group and nothing else: it moves on and is
    // rearranged. That is known a cycle sooner, in registers for each digit: one would have the load of
    // all.
    mode_t rearranges;

    assign rearranges = beat_d == BEAT_BITS'(GROUP - 1) ? mode_d : '0;

    for (genvar lane = 0; lane < CHIP_COUNT; lane++) begin : gen_lane
      logic [GROUP-1:0][CHIP_BITS-1:0] parts_d;

      for (genvar beat = 0; beat < GROUP; beat++) begin : gen_beat
        // Digits of a group, of CHIP_BITS each: the host has digit PART of element CHIP at the place
        // CHIP * GROUP + PART, the chips have it at PART * CHIP_COUNT + CHIP.
        localparam int unsigned PLACE = beat * CHIP_COUNT + lane;
        localparam int unsigned HOSTS = lane * GROUP + beat;
        localparam int unsigned CHIPS = PLACE % GROUP * CHIP_COUNT + PLACE / GROUP;

        mode_t select_q;

        (* keep *)
        always_ff @(posedge clk_i or negedge rst_ni) begin
          if (!rst_ni) select_q <= '0;
          else         select_q <= rearranges;
        end

        always_comb begin
          parts_d[beat] = line[beat+1][lane];
          if (select_q.to_chips)
            parts_d[beat] = line[HOSTS/CHIP_COUNT+1][HOSTS%CHIP_COUNT];
          if (select_q.to_host)
            parts_d[beat] = line[CHIPS/CHIP_COUNT+1][CHIPS%CHIP_COUNT];
        end

        always_ff @(posedge clk_i) begin
          line_q[beat][lane] <= parts_d[beat];
        end
      end
    end
  end

  assign valid_o = valid_q[GROUP-1];
  assign data_o  = line_q[0];

  if (ELEMENT_BITS % CHIP_BITS != 0 || 64 % CHIP_BITS != 0 || GROUP == 0 || GROUP > CHIP_COUNT ||
      GROUP != 1 << $clog2(GROUP))
    $fatal(1, "ELEMENT_BITS, CHIP_BITS = %0d, %0d: expected a ratio of 2^n", ELEMENT_BITS, CHIP_BITS);

endmodule
