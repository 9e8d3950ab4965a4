// SPDX-License-Identifier: MIT
// The rank PU's re-layout unit: on the way from the host to the chips it puts each element whole
// into one chip, and on the way back undoes it (L3 section 4.1).
//
// A clock is one beat of 64 bits on the data bus: half a tCK, as the bus moves data on both edges.
//
// A chip takes CHIP_BITS of each beat, on the same data lines, so an element of ELEMENT_BITS takes
// GROUP = ELEMENT_BITS / CHIP_BITS beats of a chip. A group of so many beats holds as many elements
// as there are chips, 64 / CHIP_BITS. The host sends an element on adjacent lines; chip c shall get
// element c whole, its low part in the first beat. 16-bit elements e0 ... e7 on x8 chips, l and h
// their low and high bytes:
//
//                 byte lane   7   6   5   4   3   2   1   0
//   host side     beat 0      e3h e3l e2h e2l e1h e1l e0h e0l
//                 beat 1      e7h e7l e6h e6l e5h e5l e4h e4l
//   chips' side   beat 0      e7l e6l e5l e4l e3l e2l e1l e0l
//                 beat 1      e7h e6h e5h e4h e3h e2h e1h e0h
//
//   ELEMENT_BITS  CHIP_BITS   GROUP   elements of a group
//   16            8           2       8
//   16            4           4       16
//   8             4           2       16
//   8             8           1       8: an element is whole already and nothing moves
//
// The first output needs parts of the last input, so a group leaves GROUP clocks after it arrives,
// for 16-bit elements on x8 chips 2 clocks = one tCK, and not sooner:
//
//   clock        0         1         2         3         4         5
//   valid_i      1         x         1         x         0
//   data_i       a beat 0  a beat 1  b beat 0  b beat 1
//   valid_o                          1         1         1         1
//   data_o                           a beat 0  a beat 1  b beat 0  b beat 1
//
// The beats of a group arrive in GROUP clocks one after the other, as a burst does. valid_i,
// bypass_i and to_host_i are looked at with a group's first beat, and not with the others. Groups
// follow without a gap or with any, each in a direction of its own. A beat of a group that bypasses,
// and what stands at data_i while there is no group, comes out unchanged as many clocks later.
//
// Inside, the group is transposed in flight. It is a square of GROUP beats by GROUP blocks of lanes.
// Stage s exchanges block b of a beat with block b - 2^s of the beat 2^s clocks later, where bit s
// of b is set and that of the first beat's number is not: half of the lanes wait 2^s clocks before
// the exchange, the other half behind it. With the output register these are GROUP beats of
// flip-flops, as many as are on their way: none is spent on a second buffer.

module relayout_unit #(
  /// Width of an element.
  parameter int unsigned ELEMENT_BITS = 16,
  /// Data lines of a chip. GROUP = ELEMENT_BITS / CHIP_BITS is a power of two, at most CHIP_COUNT.
  parameter int unsigned CHIP_BITS    = 8
) (
  /// Clock: one edge per beat, two in a tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// The first beat of a group arrives; its other beats follow.
  input  logic        valid_i,
  /// The group passes unchanged.
  input  logic        bypass_i,
  /// 0: from the host to the chips; 1: from the chips to the host.
  input  logic        to_host_i,
  /// A beat of the data bus.
  input  logic [63:0] data_i,
  /// data_o is a beat of a group.
  output logic        valid_o,
  /// A beat, GROUP clocks later.
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

  // Transpose: GROUP - 1 clocks.
  for (genvar s = 0; s < STAGES; s++) begin : gen_stage
    lanes_t from, to;
    logic   swap;

    if (s == 0) begin : gen_first
      assign from = dealt;
    end else begin : gen_next
      assign from = gen_stage[s-1].to;
    end

    // A beat is here 2^s - 1 clocks after it arrived: so long the stages before have taken.
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

endmodule
