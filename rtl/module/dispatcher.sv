// SPDX-License-Identifier: MIT
// Dispatcher: expands programs of direct PIM access (DPA) into commands. Contract: dispatcher.md.

module dispatcher import pimlico_pkg::*; #(
  /// Requests in the configuration, 1 to 16.
  parameter int unsigned REQUESTS = 16,
  /// Words of the command buffer, up to 16380.
  parameter int unsigned COMMANDS = 12288,
  /// Entries of the Va2Pa table, up to 65535.
  parameter int unsigned ENTRIES  = 49152
) (
  /// Clock: one edge per tCK.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// The host writes.
  input  logic             load_valid_i,
  /// The host's write.
  input  load_t            load_i,
  /// A run is to start.
  input  logic             start_valid_i,
  /// The run that is to start.
  input  start_t           start_i,
  /// The run is to stop.
  input  logic             stop_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [1:0][63:0] fetch_data_i,
  /// Entry of the Va2Pa table at the last table_address_o.
  input  logic [15:0]      table_data_i,
  /// The target accepts the command, if there is one.
  input  logic             dispatch_ready_i,
  /// The command buffer stores the host's data.
  output logic             command_write_o,
  /// The Va2Pa table stores the host's data.
  output logic             table_write_o,
  /// The host has written what does not fit.
  output logic             overflow_o,
  /// A start is accepted, if there is one.
  output logic             start_ready_o,
  /// The command buffer is read.
  output logic             fetch_read_o,
  /// Address of the first of the two words that are read.
  output logic [13:0]      fetch_address_o,
  /// The Va2Pa table is read.
  output logic             table_read_o,
  /// Address of the entry that is read; 0 if none is.
  output logic [15:0]      table_address_o,
  /// There is a command.
  output logic             dispatch_valid_o,
  /// The command; 0 if there is none.
  output dispatch_t        dispatch_o,
  /// The run ends.
  output logic             end_valid_o,
  /// How and where the run ends; 0 if it does not.
  output run_end_t         end_o,
  /// Status of each request.
  output status_e [15:0]   status_o
);

  localparam int unsigned DEPTH = 4;
  localparam int unsigned SLOTS = 4;
  localparam int unsigned WORDS = 2;  // of a turn, at the most

  // Entry of the Va2Pa table that gives no row.
  localparam logic [15:0] NO_ROW = 16'hFFFF;

  typedef logic [13:0] address_t;
  typedef logic [19:0] tokens_t;

  // A loop that runs.
  typedef struct packed {
    address_t    body;         // its first word
    address_t    final_word;   // its last word
    logic [15:0] number;       // of the repetition
    logic        is_last;      // repetition
    tokens_t     rest;         // tokens or repetitions: of the last repetition, else behind this one
    tokens_t     step;         // of every other repetition
    logic        over_tokens;
  } level_t;

  // A request's segment of the Va2Pa table.
  typedef struct packed {
    logic [15:0] rows;
    logic [15:0] base;
  } segment_t;

  // A request's layers: how many, of which 0 is one, and entries from one to the next.
  typedef struct packed {
    logic [15:0] number;
    logic [15:0] stride;
  } layers_t;

  // The layer that a request is at, and its first entry; bit 16 stays set once that is beyond the table.
  typedef struct packed {
    logic [15:0] number;
    logic [16:0] base;
  } layer_t;

  // How a run ends, and where. With next_layer the request goes on to its next layer, if the run is done.
  typedef struct packed {
    status_e  status;
    address_t address;
    logic     next_layer;
  } ending_t;

  // A coefficient whose product with a number is added to a field.
  typedef struct packed {
    target_e    target;
    logic [9:0] coefficient;
  } term_t;

  // The words of a turn, with what the loops around them are at.
  typedef struct packed {
    status_e                fault;        // of the run, whatever the word is
    address_t               at;           // of the first word
    logic                   modified;     // a command behind a Dyn-Modi
    logic                   misfit;       // a Dyn-Modi with a wrong slot, or without a command
    logic                   begins;       // a Dyn-Loop
    logic                   over_tokens;  // of a Dyn-Loop
    logic [63:0]            word;         // command, NOP, END or Dyn-Loop
    term_t [SLOTS-1:0]      terms;
    logic [SLOTS-1:0][15:0] numbers;      // of the repetitions, for each term
    logic [DEPTH-1:0]       firsts;       // loops in their first repetition, the innermost first
    logic [DEPTH-1:0]       lasts;        // and in their last; of one that is not there both hold
    tokens_t                part;         // tokens that a loop over a part goes over
    tokens_t                left;         // tokens or repetitions that a Dyn-Loop goes over
  } turn_t;

  // A command in the pipeline, or the end of its run. The place of a MAC is its virtual row, and its row
  // once that is known; row is 0.
  typedef struct packed {
    logic      ends;
    ending_t   ending;
    dispatch_t command;
  } stage_t;

  // The stages behind the sequencing, each with its register. What is in one waits until the next is free.
  turn_t  turn, multiply_d, multiply_q;
  stage_t checked, added, looked_up, found;
  stage_t add_d, add_q, translate_d, translate_q, wait_d, wait_q, dispatch_d, dispatch_q;
  logic   multiply_valid_d, multiply_valid_q, add_valid_d, add_valid_q, translate_valid_d, translate_valid_q;
  logic   wait_valid_d, wait_valid_q, dispatch_valid_d, dispatch_valid_q;
  logic   multiply_free, add_free, translate_free, wait_free, dispatch_free;

  // ---------------------------------------------------------------------------------------------
  // Configuration
  // ---------------------------------------------------------------------------------------------

  // What is written seldom, each word with a gated clock of its own: T_cur, segment and layers of each request. Each is
  // written, and has been written.
  tokens_t [REQUESTS-1:0]  tokens;
  segment_t [REQUESTS-1:0] segment;
  layers_t [REQUESTS-1:0]  layers;
  layer_t [REQUESTS-1:0]   layer;
  logic [REQUESTS-1:0]     writes_tokens, writes_segment, writes_layers;
  logic [REQUESTS-1:0]     has_tokens_d, has_tokens_q, has_segment_d, has_segment_q, has_layers_d, has_layers_q;
  // The write, a cycle later.
  logic                    config_tokens_d, config_tokens_q, config_segment_d, config_segment_q;
  logic                    config_layers_d, config_layers_q;
  logic [3:0]              config_request_d, config_request_q;
  logic [31:0]             config_data_d, config_data_q;
  status_e [REQUESTS-1:0]  status_d, status_q;
  address_t                length_d, length_q;
  logic                    overflow_d, overflow_q;
  logic                    fits;

  // Whether there is such an address, and room for the data.
  always_comb begin
    unique case (load_i.kind)
      LoadCommand: fits = load_i.address < 16'(COMMANDS);
      LoadEntry:   fits = load_i.address < 16'(ENTRIES) && load_i.data[63:16] == '0;
      LoadTokens:  fits = load_i.address < 16'(REQUESTS) && load_i.data[63:20] == '0;
      LoadSegment,
      LoadLayers:  fits = load_i.address < 16'(REQUESTS) && load_i.data[63:32] == '0;
      default:     fits = 1'b1;
    endcase
  end

  assign command_write_o = load_valid_i && load_i.kind == LoadCommand && fits;
  assign table_write_o   = load_valid_i && load_i.kind == LoadEntry && fits;
  assign overflow_o      = overflow_q;

  always_comb begin : program_length
    length_d   = length_q;
    overflow_d = overflow_q;
    if (load_valid_i && !fits) overflow_d = 1'b1;
    if (command_write_o && load_i.address[13:0] >= length_q) begin
      length_d = load_i.address[13:0] + 14'd1;
    end
    if (load_valid_i && load_i.kind == LoadClear) begin
      length_d   = '0;
      overflow_d = 1'b0;
    end
  end

  // A write waits for a cycle, so that what enables the gate of its clock comes from registers. It is there before a
  // word of the next run is sequenced.
  assign config_tokens_d  = load_valid_i && fits && load_i.kind == LoadTokens;
  assign config_segment_d = load_valid_i && fits && load_i.kind == LoadSegment;
  assign config_layers_d  = load_valid_i && fits && load_i.kind == LoadLayers;
  assign config_request_d = load_i.address[3:0];
  assign config_data_d    = load_i.data[31:0];

  // The layer that runs, and the one that follows it: see Layers.
  logic [3:0]  request_d, request_q;  // that runs, or has just ended
  logic        steps_d, steps_q;      // its layer ends
  layers_t     run_layers;
  layer_t      run_layer, next_layer;
  logic [15:0] run_base;              // of its first layer

  for (genvar r = 0; r < REQUESTS; r++) begin : gen_request
    logic     clk_tokens, clk_segment, clk_layers, clk_layer;
    logic     moves;  // to another layer, or to the first
    tokens_t  tokens_q;
    segment_t segment_q;
    layers_t  layers_q;
    layer_t   layer_d, layer_q;

    assign writes_tokens[r]  = config_tokens_q && config_request_q == 4'(r);
    assign writes_segment[r] = config_segment_q && config_request_q == 4'(r);
    assign writes_layers[r]  = config_layers_q && config_request_q == 4'(r);
    assign moves             = steps_q && request_q == 4'(r) || writes_segment[r] || writes_layers[r];

    clock_gate u_tokens (.clk_i, .rst_ni, .enable_i(writes_tokens[r]), .clk_o(clk_tokens));
    clock_gate u_segment (.clk_i, .rst_ni, .enable_i(writes_segment[r]), .clk_o(clk_segment));
    clock_gate u_layers (.clk_i, .rst_ni, .enable_i(writes_layers[r]), .clk_o(clk_layers));
    clock_gate u_layer (.clk_i, .rst_ni, .enable_i(moves), .clk_o(clk_layer));

    // The host's write goes before the step of a run that has just ended.
    always_comb begin
      layer_d = next_layer;
      if (writes_layers[r])  layer_d = '{number: '0, base: {1'b0, segment_q.base}};
      if (writes_segment[r]) layer_d = '{number: '0, base: {1'b0, config_data_q[15:0]}};
    end

    always_ff @(posedge clk_tokens) tokens_q <= config_data_q[19:0];
    always_ff @(posedge clk_segment) segment_q <= config_data_q;
    always_ff @(posedge clk_layers) layers_q <= config_data_q;
    always_ff @(posedge clk_layer) layer_q <= layer_d;

    assign tokens[r]  = tokens_q;
    assign segment[r] = segment_q;
    assign layers[r]  = layers_q;
    assign layer[r]   = layer_q;
  end

  assign has_tokens_d  = has_tokens_q | writes_tokens;
  assign has_segment_d = has_segment_q | writes_segment;
  assign has_layers_d  = has_layers_q | writes_layers;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      config_tokens_q  <= 1'b0;
      config_segment_q <= 1'b0;
      config_layers_q  <= 1'b0;
      has_tokens_q     <= '0;
      has_segment_q    <= '0;
      has_layers_q     <= '0;
      length_q         <= '0;
      overflow_q       <= 1'b0;
    end else begin
      config_tokens_q  <= config_tokens_d;
      config_segment_q <= config_segment_d;
      config_layers_q  <= config_layers_d;
      has_tokens_q     <= has_tokens_d;
      has_segment_q    <= has_segment_d;
      has_layers_q     <= has_layers_d;
      length_q         <= length_d;
      overflow_q       <= overflow_d;
    end
  end

  always_ff @(posedge clk_i) begin
    config_request_q <= config_request_d;
    config_data_q    <= config_data_d;
  end

  // ---------------------------------------------------------------------------------------------
  // Layers: in the cycle behind the end of a run its request goes on to the next, or back to the first
  // ---------------------------------------------------------------------------------------------

  always_comb begin : read_layer
    run_layers = '0;
    run_layer  = '0;
    run_base   = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (request_q == 4'(r)) begin
        run_base = segment[r].base;
        if (has_layers_q[r]) begin
          run_layers = layers[r];
          run_layer  = layer[r];
        end
      end
    end
  end

  always_comb begin : step_layer
    logic carry;

    next_layer.number              = run_layer.number + 16'd1;
    {carry, next_layer.base[15:0]} = {1'b0, run_layer.base[15:0]} + {1'b0, run_layers.stride};
    next_layer.base[16]            = run_layer.base[16] || carry;
    if (run_layers.number == '0 || next_layer.number == run_layers.number) begin
      next_layer = '{number: '0, base: {1'b0, run_base}};
    end
  end

  function automatic logic is_unknown(logic [3:0] request);
    return {1'b0, request} >= 5'(REQUESTS);
  endfunction

  function automatic logic [3:0] chosen(request_choice_t choice, logic [3:0] running);
    return choice.fixed ? choice.request : running;
  endfunction

  // Whether a bit is set that must be 0.
  function automatic logic is_wrong(request_choice_t choice);
    return !choice.fixed && choice.request != '0;
  endfunction

  function automatic logic is_command(opcode_e opcode);
    return opcode != OpNone && opcode <= OpCloseAll;
  endfunction

  function automatic logic has_row(opcode_e kind);
    return kind == OpMacScore || kind == OpMacContext;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Sequencing: the words of a turn, and where the next begins
  // ---------------------------------------------------------------------------------------------

  logic               busy_d, busy_q;          // a run is not over
  logic               running_d, running_q;    // words of it are sequenced
  address_t           pc_d, pc_q;              // of the first word at fetch_data_i
  logic [DEPTH-1:0]   there_d, there_q;        // loops, the outermost first
  level_t [DEPTH-1:0] level_d, level_q;
  logic               started, sequence_steps, sequence_moves;

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

  // T_cur of the request that runs, or that a Dyn-Loop names.
  logic [3:0] read_request;
  tokens_t    read_tokens;

  assign read_request = begins ? chosen(choice, request_q) : request_q;

  always_comb begin : read_configuration
    read_tokens = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (read_request == 4'(r) && has_tokens_q[r]) read_tokens = tokens[r];
    end
  end

  // The loops around it.
  logic [DEPTH-1:0] innermost;
  logic [1:0]       top;          // place of the innermost
  address_t         final_word;   // of the innermost
  tokens_t          part;         // tokens of the repetition of the innermost that goes over tokens

  assign innermost = there_q & ~(there_q >> 1);
  assign top       = {there_q[2], there_q[3] || there_q[1] && !there_q[2]};

  always_comb begin : look_around
    final_word = level_q[0].final_word;
    part       = read_tokens;
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

    assign at = pc_q + 14'(w + 1);

    for (genvar l = 0; l < DEPTH; l++) begin : gen_ends
      if (w == 0) assign ends[l] = level_q[l].final_word == pc_q;
      else        assign ends[l] = follows(level_q[l].final_word, pc_q);
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

  address_t         next_pc;
  logic [DEPTH-1:0] next_there, repeats;

  always_comb begin : select_behind
    next_pc    = is_modify ? gen_behind[1].next : gen_behind[0].next;
    next_there = is_modify ? gen_behind[1].there : gen_behind[0].there;
    repeats    = is_modify ? gen_behind[1].repeats : gen_behind[0].repeats;
    if (begins) begin
      next_pc    = gen_behind[0].at;
      next_there = there_q;
      repeats    = '0;
    end
  end

  // What ends the run before the word.
  status_e run_fault;

  always_comb begin
    run_fault = StatusNotStarted;
    if (stop_i)                     run_fault = StatusStopped;
    else if (overflow_q)            run_fault = StatusBufferOverflow;
    else if (is_unknown(request_q)) run_fault = StatusUnknownRequest;
    else if (pc_q >= length_q)      run_fault = StatusPastEnd;
  end

  // The next turn begins where this one does not end the run; faults that are found later end it there.
  logic loop_waits;  // a Dyn-Loop is in the next stage: the loops are not yet known

  assign start_ready_o  = !busy_q;
  assign started        = start_valid_i && start_ready_o;
  assign sequence_steps = running_q && multiply_free && !loop_waits;
  assign sequence_moves = sequence_steps && run_fault == StatusNotStarted &&
                          (is_command(opcode) || opcode == OpNop || is_modify || begins);

  assign fetch_read_o    = started || sequence_moves;
  assign fetch_address_o = started ? start_i.address : sequence_moves ? next_pc : '0;

  // Whether a Dyn-Modi is wrong.
  logic misfit;

  always_comb begin : check_modify
    misfit = !is_command(following) || (there_q == '0 ? gen_behind[0].at == length_q : final_word == pc_q);
    for (int unsigned s = 0; s < SLOTS; s++) begin
      if (slots[s].target > TargetHead || slots[s].target != TargetNone &&
          (there_q == '0 || slots[s].level > top)) misfit = 1'b1;
    end
  end

  assign turn.fault       = run_fault;
  assign turn.at          = pc_q;
  assign turn.modified    = is_modify && !misfit && run_fault == StatusNotStarted;
  assign turn.misfit      = is_modify && misfit;
  assign turn.begins      = begins;
  assign turn.over_tokens = source != SourceCount;
  assign turn.word        = is_modify ? fetch_data_i[1] : fetch_data_i[0];
  assign turn.part        = part;

  always_comb begin : loop_over
    unique case (source)
      SourceCount: turn.left = fetch_data_i[0][19:0];
      SourcePart:  turn.left = part;
      default:     turn.left = read_tokens;
    endcase
  end

  for (genvar s = 0; s < SLOTS; s++) begin : gen_term
    assign turn.terms[s]   = '{
      target: is_modify ? slots[s].target : TargetNone, coefficient: slots[s].coefficient
    };
    assign turn.numbers[s] = level_q[2'(top - slots[s].level)].number;
  end

  for (genvar l = 0; l < DEPTH; l++) begin : gen_flags
    logic [1:0] place;

    assign place          = 2'(top - 2'(l));
    assign turn.firsts[l] = !there_q[l] || level_q[place].number == '0;
    assign turn.lasts[l]  = !there_q[l] || level_q[place].is_last;
  end

  // ---------------------------------------------------------------------------------------------
  // Checks and products
  // ---------------------------------------------------------------------------------------------

  // A Dyn-Loop, and the loop that begins.
  request_choice_t loop_choice;
  loop_source_e    loop_source;
  logic [18:0]     loop_zero;
  address_t        loop_words;
  tokens_t         loop_bound, loop_rest;  // and what is left behind its first repetition,
  logic            loop_runs_out;          // unless that is shorter
  logic [14:0]     loop_end;               // its last word
  level_t          loop_level;
  status_e         loop_fault;
  logic            loop_begins;

  // A command, NOP or END.
  command_word_t          single;
  logic [3:0]             single_request;
  status_e                single_fault;
  logic [SLOTS-1:0][18:0] product, product_d, product_q;
  target_e [SLOTS-1:0]    target, target_d, target_q;

  assign {loop_choice, loop_source, loop_zero, loop_words, loop_bound} = multiply_q.word[59:0];

  assign loop_waits  = multiply_valid_q && multiply_q.begins;
  assign loop_end    = {1'b0, multiply_q.at} + {1'b0, loop_words};
  assign loop_begins = loop_waits && add_free && !checked.ends;

  always_comb begin : begin_loop
    loop_level.body        = multiply_q.at + 14'd1;
    loop_level.final_word  = loop_end[13:0];
    loop_level.number      = '0;
    loop_level.over_tokens = multiply_q.over_tokens;
    loop_level.step        = multiply_q.over_tokens ? loop_bound : 20'd1;
    {loop_runs_out, loop_rest} = {1'b0, multiply_q.left} - {1'b0, loop_level.step};
    loop_level.is_last         = loop_runs_out || loop_rest == '0;
    loop_level.rest            = loop_level.is_last ? multiply_q.left : loop_rest;
  end

  always_comb begin : check_loop
    loop_fault = StatusNotStarted;
    if (loop_zero != '0 || is_wrong(loop_choice) || loop_choice.fixed && loop_source < SourceAll)
      loop_fault = StatusUnknownOpcode;
    else if (loop_source > SourceAll)                    loop_fault = StatusUnknownTarget;
    else if (is_unknown(chosen(loop_choice, request_q))) loop_fault = StatusUnknownRequest;
    else if (there_q[DEPTH-1])                           loop_fault = StatusTooDeep;
    else if (loop_words == '0 || multiply_q.left == '0 || loop_level.step == '0 ||
             {16'd0, multiply_q.left} > {loop_level.step, 16'd0}) loop_fault = StatusLoopBound;
    else if (there_q == '0 ? loop_end >= {1'b0, length_q} : loop_end > {1'b0, final_word})
      loop_fault = StatusLoopEnd;
  end

  assign single         = multiply_q.word;
  assign single_request = chosen(single.request, request_q);

  always_comb begin : check_single
    single_fault = StatusNotStarted;
    if (is_command(single.opcode)) begin
      if (single.zero != '0 || is_wrong(single.request)) single_fault = StatusUnknownOpcode;
      else if (is_unknown(single_request))               single_fault = StatusUnknownRequest;
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
    checked                   = '0;
    checked.ending.address    = multiply_q.modified ? multiply_q.at + 14'd1 : multiply_q.at;
    checked.ending.status     = multiply_q.fault;
    checked.ending.next_layer = single[0];
    if (multiply_q.fault == StatusNotStarted) begin
      if (multiply_q.misfit) checked.ending.status = StatusUnknownTarget;
      else checked.ending.status = multiply_q.begins ? loop_fault : single_fault;
    end
    checked.ends    = checked.ending.status != StatusNotStarted;
    checked.command = '{
      kind:    single.opcode,
      request: single_request,
      head:    single.head,
      row:     '0,
      place:   single.place,
      column:  single.column,
      word:    single.word,
      first:   is_met(single.first, multiply_q.firsts),
      last:    is_met(single.last, multiply_q.lasts),
      opens:   is_met(single.opens, multiply_q.firsts),
      tokens:  multiply_q.part
    };
  end

  // The run ends in the first repetition in which a field overflows. Until then a product exceeds its field
  // by less than a coefficient: 19 bits hold it for a place, 13 for 64 times as much, 10 for other fields.
  // The coefficient's digits are of two bits: 0, 1, 2 or 3 times the number.
  for (genvar s = 0; s < SLOTS; s++) begin : gen_product
    logic [18:0] number, thrice;

    assign number    = 19'(multiply_q.numbers[s]);
    assign thrice    = number + (number << 1);
    assign target[s] = multiply_q.terms[s].target;

    always_comb begin : multiply
      product[s] = '0;
      for (int unsigned d = 0; d < 10; d += 2) begin
        logic [18:0] digit;

        unique case (multiply_q.terms[s].coefficient[d+:2])
          2'd0: digit = '0;
          2'd1: digit = number;
          2'd2: digit = number << 1;
          2'd3: digit = thrice;
        endcase
        product[s] = product[s] + (digit << d);
      end
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
    if (loop_begins)    there_d = {there_q[DEPTH-2:0], 1'b1};
    if (sequence_moves) there_d = next_there;
    if (started)        there_d = '0;
    for (int unsigned l = 0; l < DEPTH; l++) begin
      if (loop_waits) begin
        if (!there_q[l]) level_d[l] = loop_level;
      end else if (sequence_moves && repeats[l]) level_d[l] = repeated(level_q[l]);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Sums
  // ---------------------------------------------------------------------------------------------

  // Of the command's request: its virtual rows, and the first entry of its layer.
  logic [15:0] add_rows, translate_rows_d, translate_rows_q;
  logic [16:0] add_base, translate_base_d, translate_base_q;

  always_comb begin : read_segment
    add_rows = '0;
    add_base = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (add_q.command.request == 4'(r) && has_segment_q[r]) begin
        add_rows = segment[r].rows;
        add_base = layer[r].base;
      end
    end
  end

  always_comb begin : add
    logic [20:0] place;
    logic [10:0] column, index;
    logic [5:0]  head;
    logic        wraps, place_over, column_over, index_over, head_over;

    place       = 21'(add_q.command.place);
    column      = 11'(add_q.command.column);
    index       = 11'(add_q.command.word);
    head        = 6'(add_q.command.head);
    place_over  = 1'b0;
    column_over = 1'b0;
    index_over  = 1'b0;
    head_over   = 1'b0;
    wraps       = 1'b0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      logic        is_place, is_place64, is_column, is_index, is_head;
      logic [17:0] to_place;
      logic [7:0]  to_column, to_index;
      logic [2:0]  to_head;

      is_place   = target_q[s] == TargetPlace;
      is_place64 = target_q[s] == TargetPlace64;
      is_column  = target_q[s] == TargetColumn;
      is_index   = target_q[s] == TargetWord || target_q[s] == TargetWordWraps;
      is_head    = target_q[s] == TargetHead;
      to_place   = is_place ? product_q[s][17:0] : is_place64 ? {product_q[s][11:0], 6'd0} : '0;
      to_column  = is_column ? product_q[s][7:0] : '0;
      to_index   = is_index ? product_q[s][7:0] : '0;
      to_head    = is_head ? product_q[s][2:0] : '0;
      place      = place + 21'(to_place);
      column     = column + 11'(to_column);
      index      = index + 11'(to_index);
      head       = head + 6'(to_head);
      if (is_place && product_q[s][18] || is_place64 && product_q[s][12]) place_over = 1'b1;
      if (is_column && product_q[s][9:8] != '0) column_over = 1'b1;
      if (is_index && product_q[s][9:8] != '0)  index_over = 1'b1;
      if (is_head && product_q[s][9:3] != '0)   head_over = 1'b1;
      if (target_q[s] == TargetWordWraps)       wraps = 1'b1;
    end
    if (place[20:18] != '0 || has_row(add_q.command.kind) && place[17:16] != '0) place_over = 1'b1;
    if (column[10:8] != '0) column_over = 1'b1;
    if (index[10:8] != '0)  index_over = 1'b1;
    if (head[5:3] != '0)    head_over = 1'b1;

    added                = add_q;
    added.command.place  = place[17:0];
    added.command.column = column[7:0];
    added.command.word   = index[7:0];
    added.command.head   = head[2:0];
    if (!add_q.ends && (place_over || column_over || index_over && !wraps || head_over)) begin
      added.ends          = 1'b1;
      added.ending.status = StatusFieldOverflow;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Look-up
  // ---------------------------------------------------------------------------------------------

  logic        looks_up, beyond;
  logic [15:0] virtual_row;
  logic [16:0] entry;

  assign virtual_row = translate_q.command.place[15:0];
  assign looks_up    = !translate_q.ends && has_row(translate_q.command.kind);
  assign entry       = {1'b0, translate_base_q[15:0]} + {1'b0, virtual_row};
  assign beyond      = virtual_row >= translate_rows_q || translate_base_q[16] || entry >= 17'(ENTRIES);

  assign table_read_o    = translate_valid_q && looks_up && !beyond && wait_free;
  assign table_address_o = table_read_o ? entry[15:0] : '0;

  always_comb begin
    looked_up = translate_q;
    if (looks_up && beyond) begin
      looked_up.ends          = 1'b1;
      looked_up.ending.status = StatusVa2PaMiss;
    end
  end

  // The table's entry.
  always_comb begin
    found = wait_q;
    if (!wait_q.ends && has_row(wait_q.command.kind)) begin
      found.command.place = {2'd0, table_data_i};
      if (table_data_i == NO_ROW) begin
        found.ends          = 1'b1;
        found.ending.status = StatusVa2PaMiss;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Dispatch
  // ---------------------------------------------------------------------------------------------

  assign dispatch_valid_o = dispatch_valid_q && !dispatch_q.ends;
  assign end_valid_o      = dispatch_valid_q && dispatch_q.ends;
  assign steps_d          = end_valid_o && dispatch_q.ending.status == StatusDone && dispatch_q.ending.next_layer;

  always_comb begin
    end_o = '0;
    if (end_valid_o) begin
      end_o = '{
        status: dispatch_q.ending.status, address: dispatch_q.ending.address, layer: run_layer.number
      };
    end
  end

  always_comb begin
    dispatch_o = '0;
    if (dispatch_valid_o) begin
      dispatch_o = dispatch_q.command;
      if (has_row(dispatch_q.command.kind)) begin
        dispatch_o.row   = dispatch_q.command.place[15:0];
        dispatch_o.place = '0;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Movement: the end of a run takes with it all that is behind
  // ---------------------------------------------------------------------------------------------

  assign dispatch_free  = !dispatch_valid_q || dispatch_ready_i;
  assign wait_free      = !wait_valid_q || dispatch_free;
  assign translate_free = !translate_valid_q || wait_free;
  assign add_free       = !add_valid_q || translate_free;
  assign multiply_free  = !multiply_valid_q || add_free;

  always_comb begin : move
    multiply_valid_d  = multiply_free ? sequence_steps : multiply_valid_q;
    add_valid_d       = add_free ? multiply_valid_q && (checked.ends || is_command(single.opcode)) : add_valid_q;
    translate_valid_d = translate_free ? add_valid_q : translate_valid_q;
    wait_valid_d      = wait_free ? translate_valid_q : wait_valid_q;
    dispatch_valid_d  = dispatch_free ? wait_valid_q : dispatch_valid_q;
    if (end_valid_o) begin
      multiply_valid_d  = 1'b0;
      add_valid_d       = 1'b0;
      translate_valid_d = 1'b0;
      wait_valid_d      = 1'b0;
      dispatch_valid_d  = 1'b0;
    end
  end

  always_comb begin : load
    multiply_d       = multiply_free ? turn : multiply_q;
    add_d            = add_free ? checked : add_q;
    product_d        = add_free ? product : product_q;
    target_d         = add_free ? target : target_q;
    translate_d      = translate_free ? added : translate_q;
    translate_rows_d = translate_free ? add_rows : translate_rows_q;
    translate_base_d = translate_free ? add_base : translate_base_q;
    wait_d           = wait_free ? looked_up : wait_q;
    dispatch_d       = dispatch_free ? found : dispatch_q;
  end

  always_comb begin : run
    busy_d    = busy_q;
    running_d = running_q;
    if (sequence_steps && !sequence_moves) running_d = 1'b0;
    if (end_valid_o) begin
      busy_d    = 1'b0;
      running_d = 1'b0;
    end
    if (started) begin
      busy_d    = 1'b1;
      running_d = 1'b1;
    end
  end

  assign pc_d      = fetch_read_o ? fetch_address_o : pc_q;
  assign request_d = started ? start_i.request : request_q;

  always_comb begin
    status_d = status_q;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (started && start_i.request == 4'(r)) status_d[r] = StatusRunning;
      if (end_valid_o && request_q == 4'(r)) status_d[r] = dispatch_q.ending.status;
    end
  end

  for (genvar r = 0; r < 16; r++) begin : gen_status
    if (r < REQUESTS) begin : gen_there
      assign status_o[r] = status_q[r];
    end else begin : gen_absent
      assign status_o[r] = StatusNotStarted;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q            <= 1'b0;
      running_q         <= 1'b0;
      steps_q           <= 1'b0;
      multiply_valid_q  <= 1'b0;
      add_valid_q       <= 1'b0;
      translate_valid_q <= 1'b0;
      wait_valid_q      <= 1'b0;
      dispatch_valid_q  <= 1'b0;
      for (int unsigned r = 0; r < REQUESTS; r++) status_q[r] <= StatusNotStarted;
    end else begin
      busy_q            <= busy_d;
      running_q         <= running_d;
      steps_q           <= steps_d;
      multiply_valid_q  <= multiply_valid_d;
      add_valid_q       <= add_valid_d;
      translate_valid_q <= translate_valid_d;
      wait_valid_q      <= wait_valid_d;
      dispatch_valid_q  <= dispatch_valid_d;
      status_q          <= status_d;
    end
  end

  always_ff @(posedge clk_i) begin
    request_q        <= request_d;
    pc_q             <= pc_d;
    there_q          <= there_d;
    level_q          <= level_d;
    multiply_q       <= multiply_d;
    add_q            <= add_d;
    product_q        <= product_d;
    target_q         <= target_d;
    translate_q      <= translate_d;
    translate_rows_q <= translate_rows_d;
    translate_base_q <= translate_base_d;
    wait_q           <= wait_d;
    dispatch_q       <= dispatch_d;
  end

  if (REQUESTS == 0 || REQUESTS > 16 || COMMANDS == 0 || COMMANDS > 16380)
    $fatal(1, "REQUESTS = %0d, COMMANDS = %0d: expected 1 to 16, and 1 to 16380", REQUESTS, COMMANDS);
  if (ENTRIES == 0 || ENTRIES > 65535) $fatal(1, "ENTRIES = %0d: expected 1 to 65535", ENTRIES);

endmodule
