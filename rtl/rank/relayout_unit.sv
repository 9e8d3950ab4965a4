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
  localparam int unsigned BLOCK      = CHIP_COUNT / GROUP;  // lanes of a block
  localparam int unsigned STAGES     = $clog2(GROUP);
  localparam int unsigned BEAT_BITS  = GROUP > 1 ? STAGES : 1;

  typedef logic [CHIP_COUNT-1:0][CHIP_BITS-1:0] lanes_t;

  // What becomes of a beat.
  typedef struct packed {
    logic exchange;
    logic to_host;
  } mode_t;

  // The group that is arriving: the number of its beat, and its mode.
  logic                 first, active;
  logic [BEAT_BITS-1:0] beat_d, beat_q;
  mode_t                mode_d, mode_q;

  assign first  = beat_q == '0;
  assign active = valid_i || !first;
  assign mode_d = !first ? mode_q : '{exchange: valid_i && !bypass_i, to_host: to_host_i};

  always_comb begin
    beat_d = beat_q;
    if (active) beat_d = beat_q == BEAT_BITS'(GROUP - 1) ? '0 : beat_q + BEAT_BITS'(1);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      mode_q <= '0;
    end else begin
      beat_q <= beat_d;
      mode_q <= mode_d;
    end
  end

  // To the chips: part p of the elements goes to block p, so that blocks are what changes places.
  lanes_t data, dealt;

  assign data = data_i;

  for (genvar lane = 0; lane < CHIP_COUNT; lane++) begin : gen_deal
    localparam int unsigned FROM = lane % BLOCK * GROUP + lane / BLOCK;
    assign dealt[lane] = mode_d.exchange && !mode_d.to_host ? data[FROM] : data[lane];
  end

  // Transpose: GROUP - 1 cycles.
  for (genvar s = 0; s < STAGES; s++) begin : gen_stage
    lanes_t from, to;
    logic   swap;

    if (s == 0) begin : gen_first
      assign from = dealt;
    end else begin : gen_next
      assign from = gen_stage[s-1].to;
    end

    // A beat is here 2^s - 1 cycles after it arrived: the stages before take that long.
    relayout_delay #(.WIDTH(1), .CLOCKS(2 ** s - 1)) u_swap (
      .clk_i, .rst_ni, .data_i(mode_d.exchange && beat_q[s]), .data_o(swap)
    );

    for (genvar block = 0; block < GROUP; block++) begin : gen_block
      if ((block >> s) % 2 == 1) begin : gen_pair
        localparam int unsigned WIDTH = BLOCK * CHIP_BITS;
        localparam int unsigned UPPER = block * BLOCK;
        localparam int unsigned LOWER = (block - 2 ** s) * BLOCK;

        logic [WIDTH-1:0] lower, upper;

        relayout_delay #(.WIDTH(WIDTH), .CLOCKS(2 ** s)) u_upper (
          .clk_i, .rst_ni, .data_i(from[UPPER+:BLOCK]), .data_o(upper)
        );
        relayout_delay #(.WIDTH(WIDTH), .CLOCKS(2 ** s)) u_lower (
          .clk_i, .rst_ni, .data_i(swap ? upper : from[LOWER+:BLOCK]), .data_o(lower)
        );
        assign to[UPPER+:BLOCK] = swap ? from[LOWER+:BLOCK] : upper;
        assign to[LOWER+:BLOCK] = lower;
      end
    end
  end

  lanes_t transposed;

  if (STAGES == 0) begin : gen_whole
    assign transposed = dealt;
  end else begin : gen_transposed
    assign transposed = gen_stage[STAGES-1].to;
  end

  // To the host: block p holds part p of the elements; the parts of an element become adjacent.
  logic   shuffle;
  lanes_t shuffled_d, shuffled_q;

  relayout_delay #(.WIDTH(1), .CLOCKS(GROUP - 1)) u_shuffle (
    .clk_i, .rst_ni, .data_i(mode_d.exchange && mode_d.to_host), .data_o(shuffle)
  );

  for (genvar lane = 0; lane < CHIP_COUNT; lane++) begin : gen_shuffle
    localparam int unsigned FROM = lane % GROUP * BLOCK + lane / GROUP;
    assign shuffled_d[lane] = shuffle ? transposed[FROM] : transposed[lane];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) shuffled_q <= '0;
    else         shuffled_q <= shuffled_d;
  end

  relayout_delay #(.WIDTH(1), .CLOCKS(GROUP)) u_valid (
    .clk_i, .rst_ni, .data_i(active), .data_o(valid_o)
  );

  assign data_o = shuffled_q;

  if (ELEMENT_BITS % CHIP_BITS != 0 || 64 % CHIP_BITS != 0 || GROUP == 0 || GROUP > CHIP_COUNT ||
      GROUP != 1 << $clog2(GROUP))
    $fatal(1, "ELEMENT_BITS, CHIP_BITS = %0d, %0d: expected a ratio of 2^n", ELEMENT_BITS, CHIP_BITS);

endmodule
