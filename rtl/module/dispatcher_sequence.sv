// SPDX-License-Identifier: MIT
// The words of a turn: what they are, and whether the run goes on behind them. Contract: dispatcher.md.

module dispatcher_sequence import pimlico_pkg::*, dispatcher_pkg::*; #(
  /// Requests in the configuration, 1 to 16.
  parameter int unsigned REQUESTS = 16
) (
  /// Words from at_i on, the first at the bottom.
  input  logic [1:0][63:0]       fetch_data_i,
  /// Address of the first word.
  input  address_t               at_i,
  /// Words of the program.
  input  address_t               length_i,
  /// The host has written what does not fit.
  input  logic                   overflow_i,
  /// The run is to stop.
  input  logic                   stop_i,
  /// The request that runs.
  input  logic [3:0]             request_i,
  /// T_cur of tokens_request_o.
  input  tokens_t                tokens_i,
  /// Loops that run, the outermost first.
  input  logic [DEPTH-1:0]       there_i,
  /// Place of the innermost.
  input  logic [1:0]             top_i,
  /// Last word of the innermost.
  input  address_t               final_word_i,
  /// Tokens that a loop over a part goes over.
  input  tokens_t                part_i,
  /// Numbers of the repetitions of the loops of levels_o.
  input  logic [SLOTS-1:0][15:0] numbers_i,
  /// Loops in their first repetition, the innermost first.
  input  logic [DEPTH-1:0]       firsts_i,
  /// Loops in their last repetition, likewise.
  input  logic [DEPTH-1:0]       lasts_i,
  /// The request whose T_cur counts: the one that runs, or that a Dyn-Loop names.
  output logic [3:0]             tokens_request_o,
  /// Levels of the loops whose numbers a Dyn-Modi multiplies, from the innermost.
  output logic [SLOTS-1:0][1:0]  levels_o,
  /// A Dyn-Modi has the command behind it in its turn.
  output logic                   pair_o,
  /// The word is a Dyn-Loop.
  output logic                   begins_o,
  /// The run goes on behind the turn.
  output logic                   goes_on_o,
  /// The turn.
  output turn_t                  turn_o
);

  // The words of this turn. A Dyn-Modi has the command behind it in its turn.
  opcode_e                   opcode, following;
  request_choice_t           choice;
  loop_source_e              source;
  modification_t [SLOTS-1:0] slots;
  logic                      is_modify, begins;

  assign {opcode, choice, source} = fetch_data_i[0][63:53];
  assign slots                    = fetch_data_i[0][59:0];
  assign following                = opcode_e'(fetch_data_i[1][63:60]);
  assign is_modify                = opcode == OpDynModi;
  assign begins                   = opcode == OpDynLoop;

  assign tokens_request_o = begins ? chosen(choice, request_i) : request_i;

  // What ends the run before the word.
  status_e run_fault;

  always_comb begin
    run_fault = StatusNotStarted;
    if (stop_i)                                   run_fault = StatusStopped;
    else if (overflow_i)                          run_fault = StatusBufferOverflow;
    else if (is_unknown(request_i, 5'(REQUESTS))) run_fault = StatusUnknownRequest;
    else if (at_i >= length_i)                    run_fault = StatusPastEnd;
  end

  // The next turn begins where this one does not end the run; faults that are found later end it there.
  assign goes_on_o = run_fault == StatusNotStarted && (is_command(opcode) || opcode == OpNop || is_modify || begins);

  // Whether a Dyn-Modi is wrong.
  logic     misfit;
  address_t after;

  assign after = at_i + 14'd1;

  always_comb begin : check_modify
    misfit = !is_command(following) || (there_i == '0 ? after == length_i : final_word_i == at_i);
    for (int unsigned s = 0; s < SLOTS; s++) begin
      if (slots[s].target > TargetHead || slots[s].target != TargetNone &&
          (there_i == '0 || slots[s].level > top_i)) misfit = 1'b1;
    end
  end

  assign turn_o.fault       = run_fault;
  assign turn_o.at          = at_i;
  assign turn_o.modified    = is_modify && !misfit && run_fault == StatusNotStarted;
  assign turn_o.misfit      = is_modify && misfit;
  assign turn_o.begins      = begins;
  assign turn_o.over_tokens = source != SourceCount;
  assign turn_o.word        = is_modify ? fetch_data_i[1] : fetch_data_i[0];
  assign turn_o.numbers     = numbers_i;
  assign turn_o.firsts      = firsts_i;
  assign turn_o.lasts       = lasts_i;
  assign turn_o.part        = part_i;

  always_comb begin : loop_over
    unique case (source)
      SourceCount: turn_o.left = fetch_data_i[0][19:0];
      SourcePart:  turn_o.left = part_i;
      default:     turn_o.left = tokens_i;
    endcase
  end

  for (genvar s = 0; s < SLOTS; s++) begin : gen_term
    assign levels_o[s]     = slots[s].level;
    assign turn_o.terms[s] = '{
      target: is_modify ? slots[s].target : TargetNone, coefficient: slots[s].coefficient
    };
  end

  assign pair_o   = is_modify;
  assign begins_o = begins;

  if (REQUESTS == 0 || REQUESTS > 16) $fatal(1, "REQUESTS = %0d: expected 1 to 16", REQUESTS);

endmodule
