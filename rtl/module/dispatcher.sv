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
  input  logic [3:0][63:0] fetch_data_i,
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
  /// Address of the first of the four words that are read.
  output logic [13:0]      fetch_address_o,
  /// The Va2Pa table is read.
  output logic             table_read_o,
  /// Address of the entry that is read.
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
  localparam int unsigned LOOPS = 2;  // that begin in a cycle
  localparam int unsigned SLOTS = 4;

  // Entry of the Va2Pa table that gives no row.
  localparam logic [15:0] NO_ROW = 16'hFFFF;

  typedef logic [13:0] address_t;
  typedef logic [19:0] tokens_t;

  // A loop that runs.
  typedef struct packed {
    address_t    body;         // its first word
    address_t    limit;        // the word behind its last
    logic [15:0] number;       // of the repetition
    tokens_t     left;         // tokens or repetitions, with this one
    tokens_t     step;
    logic        over_tokens;
    tokens_t     tokens;       // of this repetition, or of the loop over tokens around it
  } level_t;

  // A place in the program: the next word, and the loops around it.
  typedef struct packed {
    logic [1:0]         index;  // of the word in the window
    address_t           at;     // its address
    logic [2:0]         depth;
    level_t [DEPTH-1:0] nest;   // the outermost first
    address_t           limit;  // where the innermost loop ends, or the program
    tokens_t            part;   // what a loop over a part goes over
  } position_t;

  // A product that is added to a field.
  typedef struct packed {
    target_e     target;
    logic [15:0] number;
    logic [9:0]  coefficient;
  } product_t;

  // A command in the pipeline, or the end of its run. The place of a MAC is its virtual row; rows are 0.
  typedef struct packed {
    logic      ends;
    run_end_t  ending;
    dispatch_t command;
  } stage_t;

  // The command that is dispatched, the one that is looked up, and the one that is multiplied.
  logic   sequence_valid, multiply_valid, translate_valid;
  logic   multiply_valid_d, multiply_valid_q, translate_valid_d, translate_valid_q;
  logic   dispatch_valid_d, dispatch_valid_q;
  stage_t sequenced, multiplied, translated;
  stage_t multiply_d, multiply_q, translate_d, translate_q, dispatch_d, dispatch_q;
  // Whether the stage's registers are free for the next.
  logic   multiply_free, translate_free, dispatch_free;

  // ---------------------------------------------------------------------------------------------
  // Configuration
  // ---------------------------------------------------------------------------------------------

  tokens_t [REQUESTS-1:0]    tokens_d, tokens_q;
  logic [REQUESTS-1:0][15:0] base_d, base_q, rows_d, rows_q;
  status_e [REQUESTS-1:0]    status_d, status_q;
  address_t                  length_d, length_q;
  logic                      overflow_d, overflow_q;
  logic                      fits;

  // Whether there is such an address, and room for the data.
  always_comb begin
    unique case (load_i.kind)
      LoadCommand: fits = load_i.address < 16'(COMMANDS);
      LoadEntry:   fits = load_i.address < 16'(ENTRIES) && load_i.data[63:16] == '0;
      LoadTokens:  fits = load_i.address < 16'(REQUESTS) && load_i.data[63:20] == '0;
      LoadSegment: fits = load_i.address < 16'(REQUESTS) && load_i.data[63:32] == '0;
      default:     fits = 1'b1;
    endcase
  end

  assign command_write_o = load_valid_i && load_i.kind == LoadCommand && fits;
  assign table_write_o   = load_valid_i && load_i.kind == LoadEntry && fits;
  assign overflow_o      = overflow_q;

  always_comb begin
    tokens_d   = tokens_q;
    base_d     = base_q;
    rows_d     = rows_q;
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
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (load_valid_i && fits && load_i.address == 16'(r)) begin
        if (load_i.kind == LoadTokens) tokens_d[r] = load_i.data[19:0];
        if (load_i.kind == LoadSegment) {rows_d[r], base_d[r]} = load_i.data[31:0];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tokens_q   <= '0;
      base_q     <= '0;
      rows_q     <= '0;
      length_q   <= '0;
      overflow_q <= 1'b0;
    end else begin
      tokens_q   <= tokens_d;
      base_q     <= base_d;
      rows_q     <= rows_d;
      length_q   <= length_d;
      overflow_q <= overflow_d;
    end
  end

  // What is configured for a request; 0 for one that is not there.
  function automatic tokens_t tokens_of(logic [3:0] request, tokens_t [REQUESTS-1:0] all);
    tokens_of = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) if (request == 4'(r)) tokens_of = all[r];
  endfunction

  function automatic logic [15:0] half_of(logic [3:0] request, logic [REQUESTS-1:0][15:0] all);
    half_of = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) if (request == 4'(r)) half_of = all[r];
  endfunction

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
  // Sequencing: the words of a cycle
  // ---------------------------------------------------------------------------------------------

  logic               busy_d, busy_q;        // a run is not over
  logic               running_d, running_q;  // words of it are sequenced
  logic [3:0]         request_d, request_q;
  address_t           pc_d, pc_q;            // of the first word at fetch_data_i
  logic [2:0]         depth_d, depth_q;
  level_t [DEPTH-1:0] level_d, level_q;      // the outermost first
  logic               started, sequence_steps, sequence_moves;

  assign start_ready_o  = !busy_q;
  assign started        = start_valid_i && start_ready_o;
  assign sequence_steps = running_q && multiply_free;
  assign sequence_moves = sequence_steps && !sequenced.ends;

  // Where the cycle begins.
  position_t  first;
  status_e    first_fault;
  logic [1:0] first_top;

  assign first_top = 2'(depth_q - 3'd1);

  always_comb begin : begin_words
    first.index = '0;
    first.at    = pc_q;
    first.depth = depth_q;
    first.nest  = level_q;
    first.limit = depth_q == '0 ? length_q : level_q[first_top].limit;
    first.part  = depth_q == '0 ? tokens_of(request_q, tokens_q) : level_q[first_top].tokens;
  end

  always_comb begin
    first_fault = StatusNotStarted;
    if (stop_i)                     first_fault = StatusStopped;
    else if (overflow_q)            first_fault = StatusBufferOverflow;
    else if (is_unknown(request_q)) first_fault = StatusUnknownRequest;
  end

  // Dyn-Loops: each word as long as all before it were loops.
  for (genvar n = 0; n < LOOPS; n++) begin : gen_loop
    position_t   here, behind;
    status_e     fault, fault_behind;
    loop_word_t  word;
    logic        begins;
    logic [3:0]  request;
    level_t      level;
    logic [14:0] word_behind;

    if (n == 0) begin : gen_first
      assign here  = first;
      assign fault = first_fault;
    end else begin : gen_other
      assign here  = gen_loop[n-1].behind;
      assign fault = gen_loop[n-1].fault_behind;
    end

    assign word        = fetch_data_i[n];
    assign request     = chosen(word.request, request_q);
    assign begins      = fault == StatusNotStarted && here.index == 2'(n) && here.at < length_q &&
                         word.opcode == OpDynLoop;
    assign word_behind = {1'b0, here.at} + 15'd1 + {1'b0, word.words};

    always_comb begin : begin_level
      level.body        = here.at + 14'd1;
      level.limit       = word_behind[13:0];
      level.number      = '0;
      level.over_tokens = word.source != SourceCount;
      level.step        = level.over_tokens ? word.bound : 20'd1;
      unique case (word.source)
        SourceCount: level.left = word.bound;
        SourcePart:  level.left = here.part;
        default:     level.left = tokens_of(request, tokens_q);
      endcase
      level.tokens = here.part;
      if (level.over_tokens) level.tokens = level.left < level.step ? level.left : level.step;
    end

    always_comb begin : check_loop
      fault_behind = fault;
      if (begins) begin
        if (word.zero != '0 || is_wrong(word.request) ||
            word.request.fixed && word.source < SourceAll) fault_behind = StatusUnknownOpcode;
        else if (word.source > SourceAll)     fault_behind = StatusUnknownTarget;
        else if (is_unknown(request))         fault_behind = StatusUnknownRequest;
        else if (here.depth == 3'(DEPTH))     fault_behind = StatusTooDeep;
        else if (word.words == '0 || level.left == '0 || level.step == '0 ||
                 {16'd0, level.left} > {level.step, 16'd0}) fault_behind = StatusLoopBound;
        else if (word_behind > {1'b0, here.limit}) fault_behind = StatusLoopEnd;
      end
    end

    always_comb begin : enter_loop
      behind = here;
      if (begins && fault_behind == StatusNotStarted) begin
        behind.index                 = here.index + 2'd1;
        behind.at                    = level.body;
        behind.depth                 = here.depth + 3'd1;
        behind.nest[here.depth[1:0]] = level;
        behind.limit                 = level.limit;
        behind.part                  = level.tokens;
      end
    end
  end

  // The loops that have begun, and how they are: the innermost first; of one that is not there both hold.
  position_t        nested;
  status_e          nested_fault;
  logic [DEPTH-1:0] firsts, lasts;

  assign nested       = gen_loop[LOOPS-1].behind;
  assign nested_fault = gen_loop[LOOPS-1].fault_behind;

  for (genvar l = 0; l < DEPTH; l++) begin : gen_flags
    logic [1:0] top;

    assign top       = 2'(nested.depth - 3'd1 - 3'(l));
    assign firsts[l] = nested.depth <= 3'(l) || nested.nest[top].number == '0;
    assign lasts[l]  = nested.depth <= 3'(l) || nested.nest[top].left <= nested.nest[top].step;
  end

  // Whether every loop that a condition marks holds.
  function automatic logic is_met(condition_t condition, logic [DEPTH-1:0] holds);
    return condition.enabled && (condition.loops & ~holds) == '0;
  endfunction

  // A Dyn-Modi.
  modify_word_t         modify;
  product_t [SLOTS-1:0] slots, products, products_d, products_q;
  logic                 is_modify, modified;
  status_e              modify_fault;
  address_t             at;  // of the next word: a command, NOP, END, or a loop for the next cycle
  command_word_t        word, following;
  logic [1:0]           following_index;

  assign modify    = fetch_data_i[nested.index];
  assign is_modify = nested_fault == StatusNotStarted && nested.at < length_q &&
                     modify.opcode == OpDynModi;

  assign following_index = nested.index + 2'd1;
  assign following       = fetch_data_i[following_index];

  for (genvar s = 0; s < SLOTS; s++) begin : gen_slot
    modification_t slot;

    assign slot     = modify.slots[s];
    assign slots[s] = '{
      target:      slot.target,
      number:      nested.nest[2'(nested.depth - 3'd1 - {1'b0, slot.level})].number,
      coefficient: slot.coefficient
    };
  end

  always_comb begin : check_modify
    modify_fault = nested_fault;
    if (is_modify) begin
      for (int unsigned s = 0; s < SLOTS; s++) begin
        if (modify.slots[s].target > TargetHead || modify.slots[s].target != TargetNone &&
            {1'b0, modify.slots[s].level} >= nested.depth) modify_fault = StatusUnknownTarget;
      end
      if (nested.at + 14'd1 == nested.limit || !is_command(following.opcode)) begin
        modify_fault = StatusUnknownTarget;
      end
    end
  end

  assign modified = is_modify && modify_fault == StatusNotStarted;
  assign at       = modified ? nested.at + 14'd1 : nested.at;
  assign word     = modified ? following : fetch_data_i[nested.index];

  // A command, NOP or END.
  status_e    word_fault;
  logic       advances;
  logic [3:0] request;

  assign request  = chosen(word.request, request_q);
  assign advances = word_fault == StatusNotStarted && word.opcode != OpDynLoop;
  assign products = modified && !sequenced.ends ? slots : '0;

  always_comb begin : check_word
    word_fault = modify_fault;
    if (modify_fault == StatusNotStarted) begin
      if (at >= length_q) word_fault = StatusPastEnd;
      else if (is_command(word.opcode)) begin
        if (word.zero != '0 || is_wrong(word.request)) word_fault = StatusUnknownOpcode;
        else if (is_unknown(request))                  word_fault = StatusUnknownRequest;
      end else if (word.opcode == OpNop || word.opcode == OpEnd) begin
        if (word != {word.opcode, 60'd0}) word_fault = StatusUnknownOpcode;
        else if (word.opcode == OpEnd)    word_fault = StatusDone;
      end else if (word.opcode != OpDynLoop) word_fault = StatusUnknownOpcode;
    end
  end

  always_comb begin : sequence_word
    sequenced        = '0;
    sequenced.ends   = word_fault != StatusNotStarted;
    sequenced.ending = '{status: word_fault, address: at};
    sequence_valid   = sequenced.ends || is_command(word.opcode);
    if (!sequenced.ends && is_command(word.opcode)) begin
      sequenced.command = '{
        kind:    word.opcode,
        request: request,
        head:    word.head,
        row:     '0,
        place:   word.place,
        column:  word.column,
        word:    word.word,
        first:   is_met(word.first, firsts),
        last:    is_met(word.last, lasts),
        opens:   is_met(word.opens, firsts),
        tokens:  nested.part
      };
    end
  end

  // Where it goes on: behind the word, or at the beginning of the innermost loop that ends with it and is
  // not in its last repetition. The loops inside that one are over.
  logic [2:0]         next_depth;
  level_t [DEPTH-1:0] next_level;
  address_t           next_pc, behind_word;

  assign behind_word = at + 14'd1;

  always_comb begin : advance
    logic ends_here;  // all loops so far, from the innermost, end here with their last repetition

    next_depth = nested.depth;
    next_level = nested.nest;
    next_pc    = advances ? behind_word : at;
    ends_here  = advances;
    for (int l = DEPTH - 1; l >= 0; l--) begin
      if (ends_here && 32'(next_depth) == l + 1) begin
        ends_here = nested.nest[l].limit == behind_word;
        if (ends_here && nested.nest[l].left <= nested.nest[l].step) next_depth = 3'(l);
        else if (ends_here) begin
          ends_here     = 1'b0;
          next_pc       = nested.nest[l].body;
          next_level[l] = repeated(nested.nest[l]);
        end
      end
    end
  end

  // A loop in its next repetition.
  function automatic level_t repeated(level_t level);
    repeated        = level;
    repeated.number = level.number + 16'd1;
    repeated.left   = level.left - level.step;
    if (level.over_tokens && repeated.left < level.step) repeated.tokens = repeated.left;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Products
  // ---------------------------------------------------------------------------------------------

  logic overflows, multiply_faults;

  // The run ends in the first repetition in which a field overflows. Until then a product exceeds its field
  // by less than a coefficient: 19 bits hold it for a place, 13 for 64 times as much, 10 for other fields.
  always_comb begin : multiply
    logic [18:0] product;
    logic [21:0] place;
    logic [12:0] column, index, head;
    logic        wraps;

    place  = 22'(multiply_q.command.place);
    column = 13'(multiply_q.command.column);
    index  = 13'(multiply_q.command.word);
    head   = 13'(multiply_q.command.head);
    wraps  = 1'b0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      product = 19'(products_q[s].number) * 19'(products_q[s].coefficient);
      unique case (products_q[s].target)
        TargetPlace:   place = place + 22'(product);
        TargetPlace64: place = place + {3'd0, product[12:0], 6'd0};
        TargetColumn:  column = column + 13'(product[9:0]);
        TargetWord:    index = index + 13'(product[9:0]);
        TargetWordWraps: begin
          index = index + 13'(product[9:0]);
          wraps = 1'b1;
        end
        TargetHead:    head = head + 13'(product[9:0]);
        default: ;
      endcase
    end
    overflows = place[21:18] != '0 || has_row(multiply_q.command.kind) && place[17:16] != '0 ||
                column[12:8] != '0 || !wraps && index[12:8] != '0 || head[12:3] != '0;

    multiplied                = multiply_q;
    multiplied.command.place  = place[17:0];
    multiplied.command.column = column[7:0];
    multiplied.command.word   = index[7:0];
    multiplied.command.head   = head[2:0];
    if (!multiply_q.ends && overflows) begin
      multiplied.ends          = 1'b1;
      multiplied.ending.status = StatusFieldOverflow;
    end
  end

  assign multiply_faults = multiply_valid_q && !multiply_q.ends && overflows && translate_free;

  // ---------------------------------------------------------------------------------------------
  // Look-up
  // ---------------------------------------------------------------------------------------------

  logic        looks_up, beyond, translate_faults;
  logic [15:0] virtual_row;
  logic [16:0] entry;

  assign virtual_row = translate_q.command.place[15:0];
  assign looks_up    = !translate_q.ends && has_row(translate_q.command.kind);
  assign entry       = {1'b0, half_of(translate_q.command.request, base_q)} + {1'b0, virtual_row};
  assign beyond      = virtual_row >= half_of(translate_q.command.request, rows_q) ||
                       entry >= 17'(ENTRIES);

  assign table_read_o    = translate_valid_q && looks_up && !beyond && dispatch_free;
  assign table_address_o = entry[15:0];

  always_comb begin
    translated = translate_q;
    if (looks_up && beyond) begin
      translated.ends          = 1'b1;
      translated.ending.status = StatusVa2PaMiss;
    end
  end

  assign translate_faults = translate_valid_q && looks_up && beyond && dispatch_free;

  // ---------------------------------------------------------------------------------------------
  // Dispatch
  // ---------------------------------------------------------------------------------------------

  logic missed;

  assign missed = !dispatch_q.ends && has_row(dispatch_q.command.kind) && table_data_i == NO_ROW;

  assign dispatch_valid_o = dispatch_valid_q && !dispatch_q.ends && !missed;
  assign end_valid_o      = dispatch_valid_q && (dispatch_q.ends || missed);

  always_comb begin
    dispatch_o = '0;
    if (dispatch_valid_o) begin
      dispatch_o = dispatch_q.command;
      if (has_row(dispatch_q.command.kind)) begin
        dispatch_o.row   = table_data_i;
        dispatch_o.place = '0;
      end
    end
  end

  always_comb begin
    end_o = '0;
    if (end_valid_o) begin
      end_o = dispatch_q.ending;
      if (missed) end_o.status = StatusVa2PaMiss;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Movement: a fault takes with it all that is behind
  // ---------------------------------------------------------------------------------------------

  assign dispatch_free  = !dispatch_valid_q || !dispatch_valid_o || dispatch_ready_i;
  assign translate_free = !translate_valid_q || dispatch_free;
  assign multiply_free  = !multiply_valid_q || translate_free;

  assign multiply_valid  = sequence_steps && sequence_valid && !multiply_faults &&
                           !translate_faults && !end_valid_o;
  assign translate_valid = multiply_valid_q && !translate_faults && !end_valid_o;

  always_comb begin
    multiply_valid_d  = multiply_free ? multiply_valid : multiply_valid_q;
    translate_valid_d = translate_free ? translate_valid : translate_valid_q;
    dispatch_valid_d  = dispatch_free ? translate_valid_q && !end_valid_o : dispatch_valid_q;
    multiply_d        = multiply_free && multiply_valid ? sequenced : multiply_q;
    products_d        = multiply_free && multiply_valid ? products : products_q;
    translate_d       = translate_free && translate_valid ? multiplied : translate_q;
    dispatch_d        = dispatch_free && translate_valid_q && !end_valid_o ? translated : dispatch_q;
  end

  assign fetch_read_o    = started || sequence_moves;
  assign fetch_address_o = started ? start_i.address : sequence_moves ? next_pc : pc_q;

  always_comb begin
    busy_d    = busy_q;
    running_d = running_q;
    request_d = request_q;
    pc_d      = fetch_read_o ? fetch_address_o : pc_q;
    depth_d   = depth_q;
    level_d   = level_q;
    if (sequence_moves) begin
      depth_d = next_depth;
      level_d = next_level;
    end else if (sequence_steps) running_d = 1'b0;
    if (multiply_faults || translate_faults) running_d = 1'b0;
    if (end_valid_o) begin
      busy_d    = 1'b0;
      running_d = 1'b0;
    end
    if (started) begin
      busy_d    = 1'b1;
      running_d = 1'b1;
      request_d = start_i.request;
      depth_d   = '0;
    end
  end

  always_comb begin
    status_d = status_q;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (started && start_i.request == 4'(r)) status_d[r] = StatusRunning;
      if (end_valid_o && request_q == 4'(r)) status_d[r] = end_o.status;
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
      request_q         <= '0;
      pc_q              <= '0;
      depth_q           <= '0;
      level_q           <= '0;
      multiply_valid_q  <= 1'b0;
      translate_valid_q <= 1'b0;
      dispatch_valid_q  <= 1'b0;
      multiply_q        <= '0;
      products_q        <= '0;
      translate_q       <= '0;
      dispatch_q        <= '0;
      for (int unsigned r = 0; r < REQUESTS; r++) status_q[r] <= StatusNotStarted;
    end else begin
      busy_q            <= busy_d;
      running_q         <= running_d;
      request_q         <= request_d;
      pc_q              <= pc_d;
      depth_q           <= depth_d;
      level_q           <= level_d;
      multiply_valid_q  <= multiply_valid_d;
      translate_valid_q <= translate_valid_d;
      dispatch_valid_q  <= dispatch_valid_d;
      multiply_q        <= multiply_d;
      products_q        <= products_d;
      translate_q       <= translate_d;
      dispatch_q        <= dispatch_d;
      status_q          <= status_d;
    end
  end

  if (REQUESTS == 0 || REQUESTS > 16 || COMMANDS == 0 || COMMANDS > 16380)
    $fatal(1, "REQUESTS = %0d, COMMANDS = %0d: expected 1 to 16, and 1 to 16380", REQUESTS, COMMANDS);
  if (ENTRIES == 0 || ENTRIES > 65535) $fatal(1, "ENTRIES = %0d: expected 1 to 65535", ENTRIES);

endmodule
