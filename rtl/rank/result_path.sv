// SPDX-License-Identifier: MIT
// Results on their way from the data bus through the adder unit. Contract: result_path.md.

module result_path import pimlico_pkg::*; #(
  /// tCK in a cycle of the rank's core, and so lanes: 1, 2 or 4.
  parameter  int unsigned GEAR         = 1,
  /// Width of a sum's exponent field: 5, or 8 for sums of 32 bits.
  parameter  int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field: 10, or 23 for sums of 32 bits.
  parameter  int unsigned SUM_MAN_BITS = 10,
  /// Bursts between RD_RESULT and their data, a power of two, 2 or more.
  parameter  int unsigned DEPTH        = 16,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic                                clk_i,
  /// Clock: one edge per cycle of the rank's core.
  input  logic                                clk_core_i,
  /// Asynchronous reset, active low: nothing is on its way.
  input  logic                                rst_ni,
  /// CL in cycles: 1 to 48 / GEAR.
  input  logic [7:0]                          cl_i,
  /// An RD_RESULT is on the pins: sum_i belongs to it.
  input  logic                                read_result_i,
  /// What the adder unit does with the burst.
  input  sum_t                                sum_i,
  /// The data bus.
  input  beat_t                               dq_i,
  /// Outputs: the word that was asked for last, from the cycle after on.
  input  logic [3:0][15:0]                    partial_outputs_i,
  /// Outputs: four partial sums are read.
  output logic                                partial_read_o,
  /// Outputs: place of the partial sums that are read, else 0.
  output place_t                              partial_place_o,
  /// Context: partial sums are read, and are at the adder unit in the next cycle.
  output logic                                sums_read_o,
  /// Context: place of the partial sums that are read, else 0.
  output logic [7:0]                          sums_place_o,
  /// Adder unit: a group in each lane for the trees.
  output logic                                valid_o,
  /// Adder unit: the lanes that accumulate.
  output logic [GEAR-1:0]                     accumulate_o,
  /// Adder unit: an element of each chip, by lane.
  output logic [GEAR-1:0][7:0][SUM_WIDTH-1:0] x_o,
  /// Adder unit: partial sums of outputs, by lane; +0 where there is none.
  output logic [GEAR-1:0][SUM_WIDTH-1:0]      partial_o,
  /// Adder unit: sums of the chips begin in the next cycle.
  output logic                                begin_o,
  /// Adder unit: the sums of the chips begin with partial sums; 0 without begin_o.
  output logic                                goes_on_o,
  /// Owner of the adder unit's sums over the chips; 0 if there are none.
  output tree_sum_t                           tree_o,
  /// The adder unit's sums of the chips end.
  output logic                                lanes_valid_o,
  /// Owner of the sums of the chips; 0 if there are none.
  output lane_sums_t                          lanes_o,
  /// No burst and no sum are in flight as this cycle begins.
  output logic                                idle_o
);

  localparam bit          WIDE         = SUM_WIDTH == 32;
  // Cycles of a burst on the bus, of an adder and of a tree.
  localparam int unsigned BURST        = 4 / GEAR;
  localparam int unsigned ADDER        = 2;
  localparam int unsigned TREE         = 4 * ADDER;
  localparam int unsigned LANE_BITS    = $clog2(GEAR);
  // Rows of the context: bits of their number, words of an element memory.
  localparam int unsigned ROW_BITS     = 3 + LANE_BITS;
  localparam int unsigned WORD_BITS    = 5;

  // Cycles from a row's first read to that of its element k.
  function automatic int unsigned offset(int unsigned k);
    return k / GEAR * (GEAR * ADDER + 1) + k % GEAR * ADDER;
  endfunction

  // Ages of a row, in cycles from its first read on: its sums end in the last.
  localparam int unsigned ENDS = offset(3) + 2 + ADDER;
  localparam int unsigned ROWS = ENDS / BURST + 1;

  typedef logic [ROW_BITS-1:0]  row_number_t;
  typedef logic [WORD_BITS-1:0] word_number_t;

  typedef struct packed {
    row_number_t number;
    logic        goes_on;
    lane_sums_t  sums;
  } row_t;

  // -------------------------------------------------------------------------------------------------
  // Bursts
  // -------------------------------------------------------------------------------------------------

  sum_t       burst;
  logic       unused_ahead, busy, last, burst_valid;
  logic [1:0] index;

  burst_timer #(.LONGEST(48 / GEAR), .LENGTH(BURST)) u_timer (
    .clk_i     (clk_core_i),
    .rst_ni,
    .command_i (read_result_i),
    .latency_i (cl_i),
    .ahead_o   (unused_ahead),
    .busy_o    (busy),
    .index_o   (index),
    .last_o    (last)
  );

  fifo #(.WIDTH($bits(sum_t)), .DEPTH(DEPTH)) u_bursts (
    .clk_i   (clk_core_i),
    .rst_ni,
    .push_i  (read_result_i),
    .data_i  (sum_i),
    .pop_i   (busy && last),
    .valid_o (burst_valid),
    .data_o  (burst)
  );

  // The beats of this cycle, the last from the bus itself, and the byte of a chip in each of them. An element
  // of 32 bits may have begun in the cycle before.
  localparam int unsigned BEATS = WIDE && GEAR == 1 ? 4 : 2 * GEAR;

  beat_t [BEATS-2:0]           beats_d, beats_q;  // the last one at the top
  beat_t [BEATS-1:0]           beats;
  logic  [GEAR-1:0][7:0][15:0] element;           // of 16 bits, by lane
  logic                        context_busy, tree_busy;

  assign beats   = {dq_i, beats_q};
  assign beats_d = beats[BEATS-1:1];

  always_ff @(posedge clk_i) begin
    beats_q <= beats_d;
  end

  for (genvar lane = 0; lane < GEAR; lane++) begin : gen_element
    for (genvar chip = 0; chip < CHIPS; chip++) begin : gen_chip
      localparam int unsigned LOW = BEATS - 2 * GEAR + 2 * lane;

      assign element[lane][chip] = {beats[LOW+1][8*chip+:8], beats[LOW][8*chip+:8]};
    end
  end

  assign context_busy = busy && burst.kind == SumContext;
  assign tree_busy    = busy && burst.kind != SumContext;

  // -------------------------------------------------------------------------------------------------
  // Rows of the context
  // -------------------------------------------------------------------------------------------------

  localparam logic [1:0] LAST_PHASE = 2'(BURST - 1);

  row_t        [ROWS-1:0] rows_d, rows_q;
  logic        [ROWS-1:0] rows_valid_d, rows_valid_q;
  logic        [1:0]      phase_d, phase_q;
  row_number_t            number_d, number_q;
  logic                   goes_on_d, goes_on_q;  // the row whose last burst is to come goes on
  logic                   enters, row_goes_on, shifts;

  // A row enters in the last phase, or where there is no other, in one cycle of its last burst.
  assign enters      = context_busy && burst.last && (phase_q == LAST_PHASE || rows_valid_q == '0);
  assign shifts      = phase_q == LAST_PHASE || enters;
  assign phase_d     = shifts ? '0 : phase_q + 2'd1;
  assign row_goes_on = burst.first ? burst.goes_on : goes_on_q;
  assign goes_on_d   = context_busy ? row_goes_on : goes_on_q;
  assign number_d    = number_q + row_number_t'(context_busy && last && burst.last);

  always_comb begin
    rows_d       = rows_q;
    rows_valid_d = rows_valid_q;
    if (shifts) begin
      rows_valid_d = ROWS'({rows_valid_q, enters});
      rows_d       = ($bits(rows_d))'({rows_q, row_t'('0)});
      rows_d[0]    = '{
        number:  number_q,
        goes_on: row_goes_on,
        sums:    '{head: burst.head, complete: burst.complete, place: burst.place[7:0]}
      };
    end
  end

  always_ff @(posedge clk_core_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rows_valid_q <= '0;
      phase_q      <= '0;
      number_q     <= '0;
    end else begin
      rows_valid_q <= rows_valid_d;
      phase_q      <= phase_d;
      number_q     <= number_d;
    end
  end

  always_ff @(posedge clk_core_i) begin
    rows_q    <= rows_d;
    goes_on_q <= goes_on_d;
  end

  // What a row of some age asks for.
  assign sums_read_o   = rows_valid_q[0] && phase_q == 2'd0 && rows_q[0].goes_on;
  assign sums_place_o  = sums_read_o ? rows_q[0].sums.place : '0;
  assign begin_o       = rows_valid_q[1/BURST] && phase_q == 2'(1 % BURST);
  assign goes_on_o     = begin_o && rows_q[1/BURST].goes_on;
  assign lanes_valid_o = rows_valid_q[ENDS/BURST] && phase_q == 2'(ENDS % BURST);
  assign lanes_o       = lanes_valid_o ? rows_q[ENDS/BURST].sums : '0;

  // The elements that come, and those that the rows read: element k is in the memory of lane k % GEAR.
  logic [GEAR-1:0]                     writes, reads, loads, accumulates;
  logic [GEAR-1:0][7:0][SUM_WIDTH-1:0] written, kept;
  word_number_t [GEAR-1:0]             write_word, read_word;
  logic [3:0]                          at_read, at_load, at_add;

  for (genvar k = 0; k < 4; k++) begin : gen_age
    localparam int unsigned READ = offset(k);
    localparam int unsigned LOAD = READ + 1;
    localparam int unsigned ADD  = READ + 2;

    assign at_read[k] = rows_valid_q[READ/BURST] && phase_q == 2'(READ % BURST);
    assign at_load[k] = rows_valid_q[LOAD/BURST] && phase_q == 2'(LOAD % BURST);
    assign at_add[k]  = rows_valid_q[ADD/BURST] && phase_q == 2'(ADD % BURST);
  end

  always_comb begin
    reads       = '0;
    loads       = '0;
    accumulates = '0;
    read_word   = '0;
    for (int unsigned k = 0; k < 4; k++) begin
      reads[k%GEAR]       = reads[k%GEAR] || at_read[k];
      loads[k%GEAR]       = loads[k%GEAR] || at_load[k];
      accumulates[k%GEAR] = accumulates[k%GEAR] || at_add[k];
      if (at_read[k]) read_word[k%GEAR] = word_number_t'(4 / GEAR * rows_q[offset(k)/BURST].number) | word_number_t'(k / GEAR);
    end
  end

  if (WIDE) begin : gen_wide_elements
    // A burst has two elements of each chip, the first or the second of a row.
    for (genvar lane = 0; lane < GEAR; lane++) begin : gen_lane
      localparam int unsigned FIRST = GEAR == 4 ? 4 * (lane % 2) : 0;

      for (genvar chip = 0; chip < CHIPS; chip++) begin : gen_chip
        assign written[lane][chip] = {beats[FIRST+3][8*chip+:8], beats[FIRST+2][8*chip+:8],
                                      beats[FIRST+1][8*chip+:8], beats[FIRST][8*chip+:8]};
      end
      if (GEAR == 1) begin : gen_single
        assign writes[lane]     = context_busy && index[0];
        assign write_word[lane] = {number_q, !burst.first, index[1]};
      end else if (GEAR == 2) begin : gen_double
        assign writes[lane]     = context_busy && index[0] == 1'(lane);
        assign write_word[lane] = {number_q, !burst.first};
      end else begin : gen_quad
        assign writes[lane]     = context_busy && burst.first == (lane < 2);
        assign write_word[lane] = number_q;
      end
    end
  end else begin : gen_elements
    assign written = element;
    assign writes  = {GEAR{context_busy}};
    for (genvar lane = 0; lane < GEAR; lane++) begin : gen_lane
      assign write_word[lane] = word_number_t'(4 / GEAR * number_q) | word_number_t'(index);
    end
  end

  for (genvar lane = 0; lane < GEAR; lane++) begin : gen_memory
    ram_1r1w #(.WIDTH(8 * SUM_WIDTH), .DEPTH(1 << WORD_BITS)) u_elements (
      .clk_i           (clk_core_i),
      .write_i         (writes[lane]),
      .write_address_i (write_word[lane]),
      .data_i          (written[lane]),
      .read_i          (reads[lane]),
      .read_address_i  (read_word[lane]),
      .data_o          (kept[lane])
    );
  end

  // -------------------------------------------------------------------------------------------------
  // Inputs of the adder unit
  // -------------------------------------------------------------------------------------------------

  // Whose the sums over the chips are, by the cycles since the group was at the adders.
  typedef struct packed {
    logic      goes_on;
    tree_sum_t sum;
  } tree_t;

  tree_t [TREE:0]                      tree_d, tree_q;
  logic  [TREE:0]                      tree_valid_d, tree_valid_q;
  logic  [GEAR-1:0][7:0][SUM_WIDTH-1:0] x_d, x_q;
  logic  [GEAR-1:0][SUM_WIDTH-1:0]     partial_d, partial_q;
  logic  [3:0]                         masked;
  logic  [1:0]                         group;  // place of the first lane's element in the burst
  logic                                partial_loads;

  assign group = 2'(index << LANE_BITS);

  for (genvar lane = 0; lane < 4; lane++) begin : gen_masked
    if (lane < GEAR) begin : gen_lane
      assign masked[lane] = {1'b0, group} + 3'(lane) >= burst.tokens;
    end else begin : gen_none
      assign masked[lane] = 1'b0;
    end
  end

  always_comb begin
    tree_valid_d = {tree_valid_q[TREE-1:0], tree_busy};
    tree_d       = ($bits(tree_d))'({tree_q, tree_t'('0)});
    tree_d[0]    = '{
      goes_on: burst.kind == SumOutputs && burst.goes_on,
      sum:     '{
        is_output: burst.kind == SumOutputs,
        head:      burst.head,
        first:     burst.first,
        masked:    masked,
        keep:      burst.keep,
        complete:  burst.complete,
        place:     burst.place + place_t'(group)
      }
    };
  end

  // The first group of a burst whose outputs go on has a place that is a multiple of four.
  assign partial_read_o  = tree_valid_q[4] && tree_q[4].goes_on && tree_q[4].sum.place[1:0] == '0;
  assign partial_place_o = partial_read_o ? tree_q[4].sum.place : '0;
  assign partial_loads   = tree_valid_q[5] && tree_q[5].goes_on;

  for (genvar lane = 0; lane < GEAR; lane++) begin : gen_input
    logic [1:0]  output_place;
    logic [15:0] output_element;

    assign output_place   = tree_q[5].sum.place[1:0] | 2'(lane);
    assign output_element = partial_loads ? partial_outputs_i[output_place] : '0;

    if (WIDE) begin : gen_wide
      for (genvar chip = 0; chip < CHIPS; chip++) begin : gen_chip
        logic [SUM_WIDTH-1:0] widened;

        fp_widen #(
          .WIDE_EXP_BITS (SUM_EXP_BITS),
          .WIDE_MAN_BITS (SUM_MAN_BITS),
          .STAGES        (0)
        ) u_widen (
          .clk_i    (clk_core_i),
          .rst_ni,
          .a_i      (element[lane][chip]),
          .result_o (widened)
        );

        assign x_d[lane][chip] = tree_busy ? widened : kept[lane][chip];
      end

      fp_widen #(
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_widen_partial (
        .clk_i    (clk_core_i),
        .rst_ni,
        .a_i      (output_element),
        .result_o (partial_d[lane])
      );
    end else begin : gen_same
      assign x_d[lane]       = tree_busy ? element[lane] : kept[lane];
      assign partial_d[lane] = output_element;
    end
  end

  always_ff @(posedge clk_core_i or negedge rst_ni) begin
    if (!rst_ni) tree_valid_q <= '0;
    else         tree_valid_q <= tree_valid_d;
  end

  always_ff @(posedge clk_core_i) begin
    tree_q    <= tree_d;
    x_q       <= x_d;
    partial_q <= partial_d;
  end

  assign valid_o      = tree_valid_q[0];
  assign accumulate_o = accumulates;
  assign x_o          = x_q;
  assign partial_o    = partial_q;
  assign tree_o       = tree_valid_q[TREE] ? tree_q[TREE].sum : '0;
  assign idle_o       = !burst_valid && tree_valid_q == '0 && rows_valid_q == '0;

  if (GEAR != 1 && GEAR != 2 && GEAR != 4) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);
  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
