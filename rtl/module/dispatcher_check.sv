// SPDX-License-Identifier: MIT
// Checks of a turn: the command that it is, the loop that it begins, or how it ends the run. Contract: dispatcher.md.

module dispatcher_check import pimlico_pkg::*, dispatcher_pkg::*; #(
  /// Requests in the configuration, 1 to 16.
  parameter int unsigned REQUESTS = 16
) (
  /// The turn.
  input  turn_t            turn_i,
  /// The request that runs.
  input  logic [3:0]       request_i,
  /// Words of the program.
  input  address_t         length_i,
  /// Loops that run, the outermost first.
  input  logic [DEPTH-1:0] there_i,
  /// Last word of the innermost.
  input  address_t         final_word_i,
  /// The loop that a Dyn-Loop begins.
  output level_t           level_o,
  /// The turn is a command.
  output logic             is_command_o,
  /// The command, or the end of the run.
  output stage_t           checked_o
);

  logic unused_turn;

  assign unused_turn = &{1'b0, turn_i};

  // A Dyn-Loop.
  request_choice_t loop_choice;
  loop_source_e    loop_source;
  logic [18:0]     loop_zero;
  address_t        loop_words;
  tokens_t         loop_bound;
  tokens_t         loop_rest;      // what is left behind the first repetition,
  logic            loop_runs_out;  // unless that is shorter
  logic [14:0]     loop_end;       // its last word
  status_e         loop_fault;

  assign {loop_choice, loop_source, loop_zero, loop_words, loop_bound} = turn_i.word[59:0];
  assign loop_end = {1'b0, turn_i.at} + {1'b0, loop_words};

  always_comb begin : begin_loop
    level_o.body               = turn_i.at + 14'd1;
    level_o.final_word         = loop_end[13:0];
    level_o.number             = '0;
    level_o.over_tokens        = turn_i.over_tokens;
    level_o.step               = turn_i.over_tokens ? loop_bound : 20'd1;
    {loop_runs_out, loop_rest} = {1'b0, turn_i.left} - {1'b0, level_o.step};
    level_o.is_last            = loop_runs_out || loop_rest == '0;
    level_o.rest               = level_o.is_last ? turn_i.left : loop_rest;
  end

  always_comb begin : check_loop
    loop_fault = StatusNotStarted;
    if (loop_zero != '0 || is_wrong(loop_choice) || loop_choice.fixed && loop_source < SourceAll)
      loop_fault = StatusUnknownOpcode;
    else if (loop_source > SourceAll) loop_fault = StatusUnknownTarget;
    else if (is_unknown(chosen(loop_choice, request_i), 5'(REQUESTS))) loop_fault = StatusUnknownRequest;
    else if (there_i[DEPTH-1]) loop_fault = StatusTooDeep;
    else if (loop_words == '0 || turn_i.left == '0 || level_o.step == '0 ||
             {16'd0, turn_i.left} > {level_o.step, 16'd0}) loop_fault = StatusLoopBound;
    else if (there_i == '0 ? loop_end >= {1'b0, length_i} : loop_end > {1'b0, final_word_i})
      loop_fault = StatusLoopEnd;
  end

  // A command, NOP or END.
  command_word_t single;
  logic [3:0]    single_request;
  status_e       single_fault;

  assign single         = turn_i.word;
  assign single_request = chosen(single.request, request_i);

  always_comb begin : check_single
    single_fault = StatusNotStarted;
    if (is_command(single.opcode)) begin
      if (single.zero != '0 || is_wrong(single.request)) single_fault = StatusUnknownOpcode;
      else if (is_unknown(single_request, 5'(REQUESTS))) single_fault = StatusUnknownRequest;
    end else if (single.opcode == OpNop) begin
      if (single[59:0] != '0) single_fault = StatusUnknownOpcode;
    end else if (single.opcode == OpEnd) begin
      single_fault = single[59:1] != '0 ? StatusUnknownOpcode : StatusDone;
    end else single_fault = StatusUnknownOpcode;
  end

  // Whether every loop that a condition marks holds.
  function automatic logic is_met(condition_t condition, logic [DEPTH-1:0] holds);
    return condition.enabled && (condition.loops & ~holds) == '0;
  endfunction

  always_comb begin : check
    checked_o                   = '0;
    checked_o.ending.address    = turn_i.modified ? turn_i.at + 14'd1 : turn_i.at;
    checked_o.ending.status     = turn_i.fault;
    checked_o.ending.next_layer = single[0];
    if (turn_i.fault == StatusNotStarted) begin
      if (turn_i.misfit) checked_o.ending.status = StatusUnknownTarget;
      else checked_o.ending.status = turn_i.begins ? loop_fault : single_fault;
    end
    checked_o.ends    = checked_o.ending.status != StatusNotStarted;
    checked_o.command = '{
      kind:    single.opcode,
      request: single_request,
      head:    single.head,
      row:     '0,
      place:   single.place,
      column:  single.column,
      word:    single.word,
      first:   is_met(single.first, turn_i.firsts),
      last:    is_met(single.last, turn_i.lasts),
      opens:   is_met(single.opens, turn_i.firsts),
      tokens:  turn_i.part
    };
  end

  assign is_command_o = is_command(single.opcode);

  if (REQUESTS == 0 || REQUESTS > 16) $fatal(1, "REQUESTS = %0d: expected 1 to 16", REQUESTS);

endmodule
