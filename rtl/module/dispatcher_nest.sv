// SPDX-License-Identifier: MIT
// Loops that run, and what comes behind the words of a turn. Contract: dispatcher.md.
//
// The words of a turn are one, or two with a Dyn-Modi. In the turn in which a loop ends it begins its next repetition, or
// is over with all loops inside it.

module dispatcher_nest import dispatcher_pkg::*; (
  /// Clock: one edge per cycle.
  input  logic                   clk_i,
  /// A run starts, without a loop.
  input  logic                   clear_i,
  /// Address of the first word of the turn.
  input  address_t               at_i,
  /// There are two words.
  input  logic                   pair_i,
  /// The word is a Dyn-Loop, and goes on behind itself.
  input  logic                   begins_i,
  /// The turn is over, and the next begins.
  input  logic                   moves_i,
  /// A Dyn-Loop is in the next stage. Not with moves_i.
  input  logic                   waits_i,
  /// Its loop begins.
  input  logic                   pushes_i,
  /// The loop in its first repetition.
  input  level_t                 level_i,
  /// Levels whose numbers are asked for, from the innermost.
  input  logic [SLOTS-1:0][1:0]  slots_i,
  /// T_cur of the request that the turn names.
  input  tokens_t                tokens_i,
  /// Loops that run, the outermost first.
  output logic [DEPTH-1:0]       there_o,
  /// Place of the innermost.
  output logic [1:0]             top_o,
  /// Last word of the innermost.
  output address_t               final_word_o,
  /// Tokens of the repetition of the innermost that goes over tokens; T_cur without one.
  output tokens_t                part_o,
  /// Numbers of the repetitions.
  output logic [SLOTS-1:0][15:0] numbers_o,
  /// Loops in their first repetition, the innermost first. For an unused level this is set.
  output logic [DEPTH-1:0]       firsts_o,
  /// Loops in their last repetition, likewise.
  output logic [DEPTH-1:0]       lasts_o,
  /// Address of the next turn.
  output address_t               next_o
);

  localparam int unsigned WORDS = 2;  // of a turn, at the most

  logic [DEPTH-1:0]   there_d, there_q;  // the outermost first
  level_t [DEPTH-1:0] level_d, level_q;
  logic [DEPTH-1:0]   innermost;
  logic [1:0]         top;
  address_t           final_word;
  tokens_t            part;

  assign innermost = there_q & ~(there_q >> 1);
  assign top       = {there_q[2], there_q[3] || there_q[1] && !there_q[2]};

  always_comb begin : look_around
    final_word = level_q[0].final_word;
    part       = tokens_i;
    for (int unsigned l = 0; l < DEPTH; l++) begin
      if (innermost[l]) final_word = level_q[l].final_word;
      if (there_q[l] && level_q[l].over_tokens) begin
        part = level_q[l].is_last ? level_q[l].rest : level_q[l].step;
      end
    end
  end

  // Whether an address is that of the next word: next + ~at is 0, which needs no carries to be seen.
  function automatic logic follows(address_t next, address_t at);
    return (next ^ ~at) == {next[12:0] | ~at[12:0], 1'b0};
  endfunction

  // What comes behind one word, and behind two: the loops that end there with their last repetition are over,
  // the innermost that does not is repeated, and all goes on at its beginning.
  for (genvar w = 0; w < WORDS; w++) begin : gen_behind
    address_t         at, next;
    logic [DEPTH-1:0] ends, repeats, there;

    assign at = at_i + 14'(w + 1);

    for (genvar l = 0; l < DEPTH; l++) begin : gen_ends
      if (w == 0) assign ends[l] = level_q[l].final_word == at_i;
      else        assign ends[l] = follows(level_q[l].final_word, at_i);
    end

    always_comb begin : go_on
      logic over;  // all loops so far, from the innermost

      next    = at;
      there   = there_q;
      repeats = '0;
      over    = 1'b1;
      for (int l = DEPTH - 1; l >= 0; l--) begin
        if (there_q[l]) begin
          repeats[l] = over && ends[l] && !level_q[l].is_last;
          over       = over && ends[l] && level_q[l].is_last;
          there[l]   = !over;
          if (repeats[l]) next = level_q[l].body;
        end
      end
    end
  end

  logic [DEPTH-1:0] next_there, repeats;

  always_comb begin : select_behind
    next_o     = pair_i ? gen_behind[1].next : gen_behind[0].next;
    next_there = pair_i ? gen_behind[1].there : gen_behind[0].there;
    repeats    = pair_i ? gen_behind[1].repeats : gen_behind[0].repeats;
    if (begins_i) begin
      next_o     = gen_behind[0].at;
      next_there = there_q;
      repeats    = '0;
    end
  end

  // A loop in its next repetition.
  function automatic level_t repeated(level_t level);
    tokens_t rest;
    logic    runs_out;

    repeated         = level;
    repeated.number  = level.number + 16'd1;
    {runs_out, rest} = {1'b0, level.rest} - {1'b0, level.step};
    repeated.is_last = runs_out || rest == '0;
    if (!repeated.is_last) repeated.rest = rest;
  endfunction

  always_comb begin : loops
    there_d = there_q;
    level_d = level_q;
    if (pushes_i) there_d = {there_q[DEPTH-2:0], 1'b1};
    if (moves_i)  there_d = next_there;
    if (clear_i)  there_d = '0;
    for (int unsigned l = 0; l < DEPTH; l++) begin
      if (waits_i) begin
        if (!there_q[l]) level_d[l] = level_i;
      end else if (moves_i && repeats[l]) level_d[l] = repeated(level_q[l]);
    end
  end

  // Without a reset: a start clears them.
  always_ff @(posedge clk_i) begin
    there_q <= there_d;
    level_q <= level_d;
  end

  for (genvar s = 0; s < SLOTS; s++) begin : gen_number
    assign numbers_o[s] = level_q[2'(top - slots_i[s])].number;
  end

  for (genvar l = 0; l < DEPTH; l++) begin : gen_flags
    logic [1:0] place;

    assign place       = 2'(top - 2'(l));
    assign firsts_o[l] = !there_q[l] || level_q[place].number == '0;
    assign lasts_o[l]  = !there_q[l] || level_q[place].is_last;
  end

  assign there_o      = there_q;
  assign top_o        = top;
  assign final_word_o = final_word;
  assign part_o       = part;

endmodule
