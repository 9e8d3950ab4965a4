// SPDX-License-Identifier: MIT
// RD_RESULTs of the sequencer on their way: when the next may be requested, which MACs wait for them, and whether
// one reads the results of a later sum. Contract: sequencer.md.
//
//   cycle             0    1    2    3    4    5
//   taken_i           1              1        on the pins: of the context; burst_i = 2, LATENCY = 2
//   due_o             1              1        the next, of the context, with one idle cycle
//   send_i                 1              1   it is requested, and accepted at once

module sequencer_results #(
  /// Cycles from the acceptance of a request to its command on the pins.
  parameter int unsigned LATENCY               = 2,
  /// Idle cycles of the adder unit between a burst of the context and the next one of the context.
  parameter int unsigned CONTEXT_AFTER_CONTEXT = 0,
  /// Idle cycles of the adder unit between a burst of scores or outputs and one of the context.
  parameter int unsigned CONTEXT_AFTER_TREE    = 4,
  /// Idle cycles of the adder unit between a burst of the context and one of scores or outputs.
  parameter int unsigned TREE_AFTER_CONTEXT    = 11
) (
  /// Clock.
  input  logic       clk_i,
  /// Asynchronous reset, active low.
  input  logic       rst_ni,
  /// A run starts.
  input  logic       start_i,
  /// Cycles of a burst on the data bus.
  input  logic [7:0] burst_i,
  /// There is an RD_RESULT that is the next to be requested.
  input  logic       next_valid_i,
  /// It reads the context.
  input  logic       next_context_i,
  /// It reads what the chips have kept since an RD_RESULT before it.
  input  logic       next_kept_i,
  /// Number of the sum whose results it reads, modulo 256.
  input  logic [7:0] next_number_i,
  /// There is no RD_RESULT that is not on the pins, nor was.
  input  logic       empty_i,
  /// There is one.
  input  logic       single_i,
  /// The next is sent.
  input  logic       send_i,
  /// The oldest is on the pins.
  input  logic       taken_i,
  /// New results are there.
  input  logic       results_i,
  /// The next MAC accumulates.
  input  logic       mac_accumulate_i,
  /// Number of its sum, modulo 256.
  input  logic [7:0] mac_number_i,
  /// The next RD_RESULT may be requested in the next cycle.
  output logic       due_o,
  /// The next MAC may not end its sum in the next cycle.
  output logic       waits_o,
  /// An RD_RESULT reads the results of a later sum.
  output logic       overwritten_o,
  /// Sums whose results have come, modulo 256.
  output logic [7:0] made_o
);

  // Number of a sum, modulo 256: so many are never in the queues.
  typedef logic [7:0] number_t;

  // An RD_RESULT as those behind it see it.
  typedef struct packed {
    logic    context_sums;
    logic    kept;
    number_t number;
  } reader_t;

  // Whether a MAC that ends a sum leaves the result registers to an RD_RESULT of a sum before, where one of the two
  // is of the context.
  function automatic logic yields(number_t number, number_t read, logic context_sums);
    number_t between;

    between = number - read - 8'd1;
    return between < 8'd127 && context_sums;
  endfunction

  // Cycles behind an RD_RESULT on the pins until the next one may be requested, where the adder unit is idle for
  // so many between their bursts.
  function automatic logic [8:0] gap_after(logic [8:0] idle, logic [7:0] burst);
    logic [8:0] gap;

    gap = {1'b0, burst} + idle;
    return gap > 9'(LATENCY) ? gap - 9'(LATENCY) - 9'd1 : '0;
  endfunction

  number_t       made_d, made_q, made_since, made_since_oldest;
  logic [2:0]    readers_d, readers_q, readers;    // RD_RESULTs that are accepted and not on the pins
  reader_t [3:0] reading_d, reading_q, reading;    // what they are, the oldest at the bottom
  reader_t       heading, oldest, second;          // the next; RD_RESULTs that are not done
  logic          oldest_known, second_known;       // they are not in the memory
  logic [8:0]    context_gap_d, context_gap_q;     // cycles until an RD_RESULT of the context may be requested
  logic [8:0]    tree_gap_d, tree_gap_q;           // and one of scores or outputs
  logic [8:0]    context_gap, tree_gap;            // those from the RD_RESULT on the pins on
  logic          oldest_yields, second_yields, unused_second;
  logic          context_may, tree_may, made_reached, is_newest, stays;

  // The two oldest that are not done, unless they are still in the memory.
  assign heading      = '{context_sums: next_context_i, kept: next_kept_i, number: next_number_i};
  assign oldest_known = readers_q != '0 || next_valid_i;
  assign oldest       = readers_q != '0 ? reading_q[0] : heading;
  assign second_known = readers_q[2:1] != '0 || next_valid_i;
  assign second       = readers_q[2:1] != '0 ? reading_q[1] : heading;

  assign made_since   = made_q - next_number_i;
  assign made_reached = !made_since[7] || results_i && made_since == '1;
  assign due_o        = next_valid_i && !send_i && made_reached && (next_context_i ? context_may : tree_may);

  // The results of a sum take the place of those before.
  assign oldest_yields = yields(mac_number_i, oldest.number, mac_accumulate_i || oldest.context_sums);
  assign second_yields = yields(mac_number_i, second.number, mac_accumulate_i || second.context_sums);
  assign unused_second = &{1'b0, second.kept};

  always_comb begin
    if (taken_i) waits_o = !single_i && (!second_known || second_yields);
    else         waits_o = !empty_i && (!oldest_known || oldest_yields);
  end

  // The oldest that is not done reads results that are there, and the next come or have come. An RD_RESULT that goes
  // to the pins in the same cycle reads the next ones. What the chips keep stays for one more sum.
  assign made_since_oldest = made_q - oldest.number;
  assign is_newest         = made_since_oldest == 8'(oldest.kept);
  assign stays             = oldest.kept && made_since_oldest == '0 || is_newest && !results_i;
  assign overwritten_o     = !empty_i && oldest_known && !made_since_oldest[7] && !stays;

  assign made_d = made_q + 8'(results_i);
  assign made_o = made_q;

  // Where the RD_RESULT before it goes to the pins in this cycle, it may be requested in the next one already.
  assign context_gap = gap_after(oldest.context_sums ? 9'(CONTEXT_AFTER_CONTEXT) : 9'(CONTEXT_AFTER_TREE), burst_i);
  assign tree_gap    = oldest.context_sums ? gap_after(9'(TREE_AFTER_CONTEXT), burst_i) : '0;

  // One of the context waits until those that it keeps a distance from are on the pins: those of scores and outputs,
  // and with idle cycles between two of the context all.
  logic [3:0] before_context;

  always_comb begin
    for (int unsigned r = 0; r < 4; r++)
      before_context[r] = readers_q > 3'(r) && (CONTEXT_AFTER_CONTEXT > 0 || !reading_q[r].context_sums);
    context_may = before_context == '0 && context_gap_q[8:1] == '0;
    if (before_context == 4'd1 && taken_i) context_may = context_gap == '0;
  end

  if (TREE_AFTER_CONTEXT == 0) begin : gen_tree_at_once
    // The data bus is taken for a burst by each.
    logic unused_gap;

    assign tree_may   = 1'b1;
    assign tree_gap_d = '0;
    assign unused_gap = &{1'b0, tree_gap, tree_gap_q};
  end else begin : gen_tree_waits
    logic [3:0] of_context;

    always_comb begin
      for (int unsigned r = 0; r < 4; r++) of_context[r] = readers_q > 3'(r) && reading_q[r].context_sums;
      tree_may = of_context == '0 && tree_gap_q[8:1] == '0;
      if (of_context == 4'd1 && taken_i) tree_may = tree_gap == '0;
      tree_gap_d = tree_gap_q == '0 ? '0 : tree_gap_q - 9'd1;
      if (taken_i && oldest.context_sums) tree_gap_d = tree_gap;
      if (start_i) tree_gap_d = '0;
    end
  end

  always_comb begin
    readers   = readers_q - 3'(taken_i);
    reading   = taken_i ? {reading_q[3], reading_q[3:1]} : reading_q;
    readers_d = readers;
    reading_d = reading;
    if (send_i) begin
      readers_d               = readers + 3'd1;
      reading_d[readers[1:0]] = heading;
    end
    context_gap_d = context_gap_q == '0 ? '0 : context_gap_q - 9'd1;
    if (taken_i && (CONTEXT_AFTER_CONTEXT > 0 || !oldest.context_sums)) context_gap_d = context_gap;
    if (start_i) context_gap_d = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      made_q        <= '0;
      readers_q     <= '0;
      context_gap_q <= '0;
      tree_gap_q    <= '0;
    end else begin
      made_q        <= made_d;
      readers_q     <= readers_d;
      context_gap_q <= context_gap_d;
      tree_gap_q    <= tree_gap_d;
    end
  end

  // As many as there are readers.
  always_ff @(posedge clk_i) reading_q <= reading_d;

  if (LATENCY > 15 || CONTEXT_AFTER_TREE > 31 || TREE_AFTER_CONTEXT > 31)
    $fatal(1, "LATENCY = %0d, idle cycles %0d and %0d: expected up to 15 and 31", LATENCY,
           CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT);
  // The last RD_RESULT before one of the context is the one that it waits for.
  if (CONTEXT_AFTER_CONTEXT > CONTEXT_AFTER_TREE + 1)
    $fatal(1, "CONTEXT_AFTER_CONTEXT = %0d: expected up to %0d", CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE + 1);

endmodule
