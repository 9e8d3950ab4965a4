// SPDX-License-Identifier: MIT
// Results on their way from the data bus through the adder unit. Contract: result_path.md.

module result_path import pimlico_pkg::*; #(
  /// Width of a sum's exponent field: 5, or 8 for sums of 32 bits.
  parameter  int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field: 10, or 23 for sums of 32 bits.
  parameter  int unsigned SUM_MAN_BITS = 10,
  /// Bursts between RD_RESULT and their data, a power of two, 2 or more.
  parameter  int unsigned DEPTH        = 16,
  localparam int unsigned SUM_WIDTH    = 1 + SUM_EXP_BITS + SUM_MAN_BITS
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic                      clk_i,
  /// Clock: one edge per tCK.
  input  logic                      clk_tck_i,
  /// Asynchronous reset, active low: nothing is on its way.
  input  logic                      rst_ni,
  /// CL, 2 to 48.
  input  logic [7:0]                cl_i,
  /// An RD_RESULT is on the pins: sum_i and the partial sums belong to it.
  input  logic                      read_result_i,
  /// What the adder unit does with the burst.
  input  sum_t                      sum_i,
  /// Context: the partial sum of each chip at its place.
  input  logic [7:0][SUM_WIDTH-1:0] partial_sums_i,
  /// Outputs: the partial sum of each element, from its place on.
  input  logic [3:0][15:0]          partial_outputs_i,
  /// The data bus.
  input  beat_t                     dq_i,
  /// An input of the adder unit, in the second beat of a tCK.
  output logic                      valid_o,
  /// The input is for accumulator mode; 0 without valid_o.
  output logic                      accumulate_o,
  /// The sum starts from +0; 0 without valid_o.
  output logic                      first_o,
  /// The sum ends with the input; 0 without valid_o.
  output logic                      last_o,
  /// Partial sum of an output; 0 without valid_o.
  output logic [SUM_WIDTH-1:0]      partial_o,
  /// An element of each chip; 0 without valid_o.
  output logic [7:0][SUM_WIDTH-1:0] x_o,
  /// Owner of the adder unit's sum over the chips; 0 if there is none.
  output tree_sum_t                 tree_o,
  /// The adder unit's sums of the chips are those of a burst that ends a sum.
  output logic                      lanes_valid_o,
  /// Owner of the sums of the chips; 0 if there are none.
  output lane_sums_t                lanes_o,
  /// No burst and no sum are in flight as this tCK begins.
  output logic                      idle_o
);

  localparam bit          WIDE         = SUM_WIDTH == 32;
  localparam int unsigned TREE_LATENCY = 4;

  // The burst that is on the bus, or is going to be in the next tCK.
  typedef struct packed {
    sum_t                      sum;
    logic [7:0][SUM_WIDTH-1:0] partial;  // of an output the elements, from the bottom
  } result_burst_t;

  result_burst_t entering, burst;
  logic          ahead, busy, last, burst_valid;
  logic [1:0]    index;

  assign entering.sum     = sum_i;
  assign entering.partial = sum_i.kind == SumContext ? partial_sums_i
                                                     : ($bits(partial_sums_i))'(partial_outputs_i);

  burst_timer u_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (read_result_i),
    .latency_i (cl_i),
    .ahead_o   (ahead),
    .busy_o    (busy),
    .index_o   (index),
    .last_o    (last)
  );

  fifo #(.WIDTH($bits(result_burst_t)), .DEPTH(DEPTH)) u_bursts (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (read_result_i),
    .data_i  (entering),
    .pop_i   (busy && last),
    .valid_o (burst_valid),
    .data_o  (burst)
  );

  // An element's bytes before the one on the bus: one of 16 bits, three of 32.
  localparam int unsigned EARLIER = SUM_WIDTH / 8 - 1;

  beat_t [EARLIER-1:0]       beats_d, beats_q;  // the last one at the bottom
  logic [7:0][15:0]          element;
  logic [7:0][SUM_WIDTH-1:0] tree_x, context_x;
  logic [3:0][15:0]          partial_outputs;
  logic [15:0]               partial_output;
  logic [SUM_WIDTH-1:0]      tree_partial;

  assign beats_d         = ($bits(beats_d))'({beats_q, dq_i});
  assign partial_outputs = ($bits(partial_outputs))'(burst.partial);
  assign partial_output  = partial_outputs[index];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beats_q <= '0;
    else         beats_q <= beats_d;
  end

  for (genvar chip = 0; chip < CHIPS; chip++) begin : gen_element
    assign element[chip] = {dq_i[8*chip+:8], beats_q[0][8*chip+:8]};
  end

  if (WIDE) begin : gen_wide
    for (genvar chip = 0; chip < CHIPS; chip++) begin : gen_chip
      assign context_x[chip] = {element[chip], beats_q[1][8*chip+:8], beats_q[2][8*chip+:8]};

      fp_widen #(
        .WIDE_EXP_BITS (SUM_EXP_BITS),
        .WIDE_MAN_BITS (SUM_MAN_BITS),
        .STAGES        (0)
      ) u_widen (
        .clk_i,
        .rst_ni,
        .a_i      (element[chip]),
        .result_o (tree_x[chip])
      );
    end

    fp_widen #(
      .WIDE_EXP_BITS (SUM_EXP_BITS),
      .WIDE_MAN_BITS (SUM_MAN_BITS),
      .STAGES        (0)
    ) u_widen_partial (
      .clk_i,
      .rst_ni,
      .a_i      (partial_output),
      .result_o (tree_partial)
    );
  end else begin : gen_narrow
    assign context_x    = element;
    assign tree_x       = element;
    assign tree_partial = partial_output;
  end

  // The adder unit's input.
  logic context_burst, partial_sums, whole, tree_busy;
  logic first_element;  // of a burst of the context

  assign context_burst = burst.sum.kind == SumContext;
  assign partial_sums  = context_burst && burst.sum.first && burst.sum.goes_on;
  assign whole         = !WIDE || index[0];
  assign first_element = !index[1] && (WIDE || !index[0]);
  assign tree_busy     = busy && !context_burst;

  always_comb begin
    valid_o      = 1'b0;
    accumulate_o = 1'b0;
    first_o      = 1'b0;
    last_o       = 1'b0;
    partial_o    = '0;
    x_o          = '0;
    if (tree_busy) begin
      valid_o = 1'b1;
      first_o = burst.sum.kind != SumOutputs || !burst.sum.goes_on;
      last_o  = 1'b1;
      x_o     = tree_x;
      if (!first_o) partial_o = tree_partial;
    end else if (busy && whole) begin
      valid_o      = 1'b1;
      accumulate_o = 1'b1;
      first_o      = first_element && burst.sum.first && !burst.sum.goes_on;
      last_o       = last && burst.sum.last;
      x_o          = context_x;
    end else if (!busy && ahead && partial_sums) begin
      valid_o      = 1'b1;
      accumulate_o = 1'b1;
      first_o      = 1'b1;
      x_o          = burst.partial;
    end
  end

  // Whose the sums are.
  tree_sum_t [TREE_LATENCY-1:0] tree_d, tree_q;
  logic      [TREE_LATENCY-1:0] tree_valid_d, tree_valid_q;
  logic                         lanes_valid_d, lanes_valid_q;
  lane_sums_t                   lanes_d, lanes_q;

  always_comb begin
    tree_valid_d = {tree_valid_q[TREE_LATENCY-2:0], tree_busy};
    tree_d       = tree_q << $bits(tree_sum_t);
    if (tree_busy) begin
      tree_d[0] = '{
        is_output: burst.sum.kind == SumOutputs,
        head:      burst.sum.head,
        first:     burst.sum.first,
        masked:    4'({1'b0, index} >= burst.sum.tokens),
        keep:      burst.sum.keep,
        complete:  burst.sum.complete,
        place:     burst.sum.place + place_t'(index)
      };
    end
    lanes_valid_d = accumulate_o && last_o;
    lanes_d       = '0;
    if (lanes_valid_d) begin
      lanes_d = '{
        head: burst.sum.head, complete: burst.sum.complete, place: burst.sum.place[7:0]
      };
    end
  end

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tree_q        <= '0;
      tree_valid_q  <= '0;
      lanes_q       <= '0;
      lanes_valid_q <= 1'b0;
    end else begin
      tree_q        <= tree_d;
      tree_valid_q  <= tree_valid_d;
      lanes_q       <= lanes_d;
      lanes_valid_q <= lanes_valid_d;
    end
  end

  assign tree_o        = tree_q[TREE_LATENCY-1];
  assign lanes_valid_o = lanes_valid_q;
  assign lanes_o       = lanes_q;
  assign idle_o        = !burst_valid && tree_valid_q == '0 && !lanes_valid_q;

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
