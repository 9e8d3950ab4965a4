// SPDX-License-Identifier: MIT
// The module's dispatcher: expands a program of direct PIM access (DPA) into commands (LoL-PIM
// section 5).
//
// A clock is one tCK. Words, their encoding and their faults stand in hw-models/dpa: `cargo doc -p
// pimlico-dpa`. Here is how they are executed. The command buffer and the Va2Pa table are memories
// outside, so that the unit is logic alone; the configuration is inside, in registers.
//
// Host. load_valid_i writes load_data_i to load_address_i; it is always taken:
//
//   load_kind_i   what is written                                     addresses
//   0             a word of the command buffer                        0 to COMMANDS - 1
//   1             an entry of the Va2Pa table: bits 15 to 0           0 to ENTRIES - 1
//   2             T_cur of a request: bits 19 to 0                    0 to REQUESTS - 1
//   3             a request's segment of the table: first entry in    0 to REQUESTS - 1
//                 bits 15 to 0, number of entries in bits 31 to 16
//   4             nothing: program and overflow are forgotten         any
//   5 to 7        nothing                                             any
//
// The memories take the host's address and data, with command_write_o and table_write_o. A write to an
// address beyond, or of a number with more bits than there are, is left out and sets overflow_o; a run
// then ends as BufferOverflow, as part of what it needs is missing. Load kind 4 clears it. The program
// reaches to the highest word written since then. What a run uses must not be written while it lasts, or what it dispatches is anything (but
// nothing hangs).
//
// Runs. Where start_valid_i meets start_ready_o, request start_request_i runs from word
// start_address_i on. One runs at a time: the next start is taken when the last has ended, in the clock
// after done_o, so that a fault can only stop the request whose it is. done_o tells the end of a run
// once, behind its last command, with its status and the address of the word at which it ended: END,
// the faulty word, or the next word where the host stopped it. status_o holds each request's last
// status. stop_i ends a run before the next word; it is held until done_o, and what is on its way
// still leaves. Status codes:
//
//   0 NotStarted   4 BufferOverflow   8 LoopBound       12 Va2PaMiss
//   1 Running      5 PastEnd          9 LoopEnd         13 UnknownRequest
//   2 Done         6 UnknownOpcode   10 TooDeep
//   3 Stopped      7 UnknownTarget   11 FieldOverflow
//
// Pipeline. Four stages; each holds one command, moves on where the next is free, and waits where the
// target is not ready:
//
//   clock             0       1       2       3       4       5
//   start_valid_i     1
//   fetch_address_o   start   next
//   words taken               A       B                               fetch_data_i is sequenced
//   products                          A       B                       Dyn-Modi's are added
//   table_address_o                           A       B               request and virtual row
//   dispatch_valid_o                                  A       B       table_data_i is the row
//
// The command buffer gives four words at once, from fetch_address_o on, a clock later (four memories
// interleaved by word; what it gives for words beyond the program is not looked at), the table one
// entry. Both hold what they gave until the next read.
//
// In a clock, up to two Dyn-Loops that begin, a Dyn-Modi and the command behind it are sequenced, and
// all the loops that end with it: one command is dispatched in every clock, in the first repetition
// of a loop as in the others, at the ends of loops and where nested loops begin again, whatever the
// rows: a look-up is made for every row, in a stage of its own, and takes no time from any other. A
// clock without a command is taken by
//
//   NOP;
//   a third and a fourth loop that begin at the same command, together;
//   the start: the first command is dispatched 4 clocks after it;
//   the end: done_o takes the place of a command.
//
// Where the target is slower these disappear as well, while there are others in the pipeline.
//
// A loop's registers count what is left, repetitions or tokens, down by its step: comparison and
// subtraction take the place of the division ceil(T_cur / LB). The products of Dyn-Modi are computed
// for each command afresh, from the numbers of the repetitions: four multipliers, and not a register
// for each command and field.

module dispatcher #(
  /// Requests in the configuration, up to 16.
  parameter int unsigned REQUESTS = 16,
  /// Words of the command buffer, up to 16380.
  parameter int unsigned COMMANDS = 12288,
  /// Entries of the Va2Pa table, up to 65535.
  parameter int unsigned ENTRIES  = 49152
) (
  /// Clock: tCK.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// The host writes.
  input  logic             load_valid_i,
  /// What it writes.
  input  logic [2:0]       load_kind_i,
  /// Where.
  input  logic [15:0]      load_address_i,
  /// The data.
  input  logic [63:0]      load_data_i,
  /// A run is to start.
  input  logic             start_valid_i,
  /// Its request.
  input  logic [3:0]       start_request_i,
  /// Its first word.
  input  logic [13:0]      start_address_i,
  /// The run is to stop.
  input  logic             stop_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [3:0][63:0] fetch_data_i,
  /// The entry at the last table_address_o.
  input  logic [15:0]      table_data_i,
  /// The target takes the command if there is one.
  input  logic             dispatch_ready_i,
  /// The command buffer takes the host's data.
  output logic             command_write_o,
  /// The Va2Pa table takes the host's data.
  output logic             table_write_o,
  /// The host has written what does not fit.
  output logic             overflow_o,
  /// A start is taken if there is one.
  output logic             start_ready_o,
  /// The command buffer is read.
  output logic             fetch_read_o,
  /// First of the four words.
  output logic [13:0]      fetch_address_o,
  /// The Va2Pa table is read.
  output logic             table_read_o,
  /// Its entry.
  output logic [15:0]      table_address_o,
  /// A command.
  output logic             dispatch_valid_o,
  /// Its opcode.
  output logic [3:0]       dispatch_kind_o,
  /// Whose row it is.
  output logic [3:0]       dispatch_request_o,
  /// Query head.
  output logic [2:0]       dispatch_head_o,
  /// Row of a MAC, 0 for others.
  output logic [15:0]      dispatch_row_o,
  /// Place in the score buffer, 0 for a MAC.
  output logic [17:0]      dispatch_place_o,
  /// Column.
  output logic [7:0]       dispatch_column_o,
  /// Word of the shared buffers, or bus address.
  output logic [7:0]       dispatch_word_o,
  /// Begins a sum, or a head.
  output logic             dispatch_first_o,
  /// Ends it.
  output logic             dispatch_last_o,
  /// The first of an operator.
  output logic             dispatch_opens_o,
  /// Tokens of the present repetition of the innermost loop over tokens, or T_cur.
  output logic [19:0]      dispatch_tokens_o,
  /// The run has ended.
  output logic             done_o,
  /// How.
  output logic [3:0]       done_status_o,
  /// At which word.
  output logic [13:0]      done_address_o,
  /// Status of each request.
  output logic [15:0][3:0] status_o
);

  localparam int unsigned DEPTH = 4;
  localparam int unsigned LOOPS = 2;  // that begin in a clock
  localparam int unsigned SLOTS = 4;

  localparam logic [3:0] NOP       = 4'd9;
  localparam logic [3:0] END       = 4'd10;
  localparam logic [3:0] DYN_LOOP  = 4'd12;
  localparam logic [3:0] DYN_MODI  = 4'd13;
  localparam logic [3:0] LAST_KIND = 4'd8;

  localparam logic [2:0] LOAD_COMMAND = 3'd0;
  localparam logic [2:0] LOAD_ENTRY   = 3'd1;
  localparam logic [2:0] LOAD_TOKENS  = 3'd2;
  localparam logic [2:0] LOAD_SEGMENT = 3'd3;
  localparam logic [2:0] LOAD_CLEAR   = 3'd4;

  localparam logic [15:0] NO_ROW = 16'hFFFF;

  typedef logic [13:0] address_t;
  typedef logic [19:0] tokens_t;

  typedef enum logic [3:0] {
    NotStarted     = 4'd0,
    Running        = 4'd1,
    Done           = 4'd2,
    Stopped        = 4'd3,
    BufferOverflow = 4'd4,
    PastEnd        = 4'd5,
    UnknownOpcode  = 4'd6,
    UnknownTarget  = 4'd7,
    LoopBound      = 4'd8,
    LoopEnd        = 4'd9,
    TooDeep        = 4'd10,
    FieldOverflow  = 4'd11,
    Va2PaMiss      = 4'd12,
    UnknownRequest = 4'd13
  } status_e;

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

  // A product that is added to a field.
  typedef struct packed {
    logic [2:0]  target;
    logic [15:0] number;
    logic [9:0]  coefficient;
  } product_t;

  localparam logic [2:0] TARGET_PLACE   = 3'd1;
  localparam logic [2:0] TARGET_PLACE64 = 3'd2;
  localparam logic [2:0] TARGET_COLUMN  = 3'd3;
  localparam logic [2:0] TARGET_WORD    = 3'd4;
  localparam logic [2:0] TARGET_WRAPS   = 3'd5;
  localparam logic [2:0] TARGET_HEAD    = 3'd6;
  localparam logic [2:0] TARGET_UNKNOWN = 3'd7;

  // A command in the pipeline, or the end of its run.
  typedef struct packed {
    logic        ends;
    status_e     status;
    address_t    address;  // of its word
    logic [3:0]  kind;
    logic [3:0]  request;
    logic [2:0]  head;
    logic [17:0] place;
    logic [7:0]  column;
    logic [7:0]  index;    // word of the shared buffers
    logic        first;
    logic        last;
    logic        opens;
    tokens_t     tokens;
  } command_t;

  // Of the command at dispatch, of the one that is looked up, and of the one that is multiplied.
  logic     sequence_valid, multiply_valid, translate_valid;
  logic     multiply_valid_d, multiply_valid_q, translate_valid_d, translate_valid_q;
  logic     dispatch_valid_d, dispatch_valid_q;
  command_t sequenced, multiplied, translated;
  command_t multiply_d, multiply_q, translate_d, translate_q, dispatch_d, dispatch_q;
  // Whether the stage's registers are free for the next.
  logic     multiply_free, translate_free, dispatch_free;

  // ---------------------------------------------------------------------------------------------
  // Configuration
  // ---------------------------------------------------------------------------------------------

  tokens_t [REQUESTS-1:0]     tokens_d, tokens_q;
  logic [REQUESTS-1:0][15:0]  base_d, base_q, rows_d, rows_q;
  status_e [REQUESTS-1:0]     status_d, status_q;
  address_t                   length_d, length_q;
  logic                       overflow_d, overflow_q;
  logic                       fits;

  // Whether there is such an address, and room for the data.
  always_comb begin
    unique case (load_kind_i)
      LOAD_COMMAND: fits = load_address_i < 16'(COMMANDS);
      LOAD_ENTRY:   fits = load_address_i < 16'(ENTRIES) && load_data_i[63:16] == '0;
      LOAD_TOKENS:  fits = load_address_i < 16'(REQUESTS) && load_data_i[63:20] == '0;
      LOAD_SEGMENT: fits = load_address_i < 16'(REQUESTS) && load_data_i[63:32] == '0;
      default:      fits = 1'b1;
    endcase
  end

  assign command_write_o = load_valid_i && load_kind_i == LOAD_COMMAND && fits;
  assign table_write_o   = load_valid_i && load_kind_i == LOAD_ENTRY && fits;
  assign overflow_o      = overflow_q;

  always_comb begin
    tokens_d   = tokens_q;
    base_d     = base_q;
    rows_d     = rows_q;
    length_d   = length_q;
    overflow_d = overflow_q;
    if (load_valid_i && !fits) overflow_d = 1'b1;
    if (command_write_o && load_address_i[13:0] >= length_q) begin
      length_d = load_address_i[13:0] + 14'd1;
    end
    if (load_valid_i && load_kind_i == LOAD_CLEAR) begin
      length_d   = '0;
      overflow_d = 1'b0;
    end
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (load_valid_i && fits && load_address_i == 16'(r)) begin
        if (load_kind_i == LOAD_TOKENS) tokens_d[r] = load_data_i[19:0];
        if (load_kind_i == LOAD_SEGMENT) {rows_d[r], base_d[r]} = load_data_i[31:0];
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

  function automatic logic is_command(logic [3:0] opcode);
    return opcode != '0 && opcode <= LAST_KIND;
  endfunction

  function automatic logic has_row(logic [3:0] kind);
    return kind == 4'd1 || kind == 4'd2;  // MAC_SCORE, MAC_CONTEXT
  endfunction

  // ---------------------------------------------------------------------------------------------
  // The sequencer
  // ---------------------------------------------------------------------------------------------

  logic                 busy_d, busy_q;        // a run is not over
  logic                 running_d, running_q;  // words of it are sequenced
  logic [3:0]           request_d, request_q;
  address_t             pc_d, pc_q;            // of the first word at fetch_data_i
  logic [2:0]           depth_d, depth_q;
  level_t [DEPTH-1:0]   level_d, level_q;      // the outermost first
  logic                 started, sequence_steps, sequence_moves;
  product_t [SLOTS-1:0] products, products_d, products_q;

  // Of the words of this clock.
  logic [2:0]         nest_depth, next_depth;
  level_t [DEPTH-1:0] nest, next_level;
  address_t           next_pc;

  assign start_ready_o  = !busy_q;
  assign started        = start_valid_i && start_ready_o;
  assign sequence_steps = running_q && multiply_free;
  assign sequence_moves = sequence_steps && !sequenced.ends;

  // Whether every loop that a condition marks holds; the innermost loop is at its bottom.
  function automatic logic is_met(logic [4:0] condition, logic [DEPTH-1:0] holds);
    return condition[4] && (condition[3:0] & ~holds) == '0;
  endfunction

  always_comb begin : sequence_words
    logic [1:0]       place;     // of the present word in the window: at most two loops are before
    logic [1:0]       after;     // of the next
    address_t         at;        // and its address
    address_t         limit;     // where the innermost loop ends, or the program
    tokens_t          part;      // what a loop over a part goes over
    logic             looping;   // all words so far were loops
    logic             modified, advances, here;
    logic [3:0][63:0] window;
    logic [63:0]      current, following;
    level_t           begun;
    logic [14:0]      loop_end;
    logic [1:0]       top;
    status_e          fault;
    logic [3:0]       loop_request;
    logic [DEPTH-1:0] firsts, lasts;

    window   = fetch_data_i;
    place    = '0;
    at       = pc_q;
    top      = 2'(depth_q - 3'd1);
    limit    = depth_q == '0 ? length_q : level_q[top].limit;
    part     = depth_q == '0 ? tokens_of(request_q, tokens_q) : level_q[top].tokens;
    looping  = 1'b1;
    modified = 1'b0;
    advances = 1'b0;
    fault    = NotStarted;
    begun    = '0;
    loop_end = '0;
    loop_request = '0;
    nest_depth = depth_q;
    nest       = level_q;
    sequenced    = '0;
    products     = '0;

    if (stop_i) fault = Stopped;
    else if (overflow_q) fault = BufferOverflow;
    else if (is_unknown(request_q)) fault = UnknownRequest;

    // Dyn-Loops.
    for (int unsigned n = 0; n < LOOPS; n++) begin
      current = window[n];
      looping = looping && fault == NotStarted && at < length_q && current[63:60] == DYN_LOOP;
      if (looping) begin
        loop_request      = current[59] ? current[58:55] : request_q;
        loop_end          = {1'b0, at} + 15'd1 + {1'b0, current[33:20]};
        begun.body        = at + 14'd1;
        begun.limit       = loop_end[13:0];
        begun.number      = '0;
        begun.over_tokens = current[54:53] != 2'd0;
        begun.step        = begun.over_tokens ? current[19:0] : 20'd1;
        unique case (current[54:53])
          2'd0:    begun.left = current[19:0];
          2'd1:    begun.left = part;
          default: begun.left = tokens_of(loop_request, tokens_q);
        endcase
        begun.tokens = part;
        if (begun.over_tokens) begun.tokens = begun.left < begun.step ? begun.left : begun.step;

        if (current[52:34] != '0 || !current[59] && current[58:55] != '0 ||
            current[59] && !current[54]) fault = UnknownOpcode;
        else if (current[54:53] == 2'd3) fault = UnknownTarget;
        else if (is_unknown(loop_request)) fault = UnknownRequest;
        else if (nest_depth == 3'(DEPTH)) fault = TooDeep;
        else if (current[33:20] == '0 || begun.left == '0 || begun.step == '0 ||
                 {16'd0, begun.left} > {begun.step, 16'd0}) fault = LoopBound;
        else if (loop_end > {1'b0, limit}) fault = LoopEnd;
        else begin
          nest[nest_depth[1:0]] = begun;
          nest_depth              = nest_depth + 3'd1;
          limit                     = begun.limit;
          part                      = begun.tokens;
          place                     = place + 2'd1;
          at                        = at + 14'd1;
        end
      end
    end

    // Numbers and ends of the loops, the innermost first; of one that is not there both hold.
    for (int unsigned l = 0; l < DEPTH; l++) begin
      top       = 2'(nest_depth - 3'd1 - 3'(l));
      firsts[l] = nest_depth <= 3'(l) || nest[top].number == '0;
      lasts[l]  = nest_depth <= 3'(l) || nest[top].left <= nest[top].step;
    end

    // A Dyn-Modi.
    current   = window[place];
    after     = place + 2'd1;
    following = window[after];
    if (fault == NotStarted && at < length_q && current[63:60] == DYN_MODI) begin
      for (int unsigned s = 0; s < SLOTS; s++) begin
        top                     = 2'(nest_depth - 3'd1 - {1'b0, current[15*s+10+:2]});
        products[s].target      = current[15*s+12+:3];
        products[s].number      = nest[top].number;
        products[s].coefficient = current[15*s+:10];
        if (products[s].target == TARGET_UNKNOWN || products[s].target != '0 &&
            {1'b0, current[15*s+10+:2]} >= nest_depth) fault = UnknownTarget;
      end
      if (at + 14'd1 == limit || !is_command(following[63:60])) fault = UnknownTarget;
      if (fault == NotStarted) begin
        modified = 1'b1;
        at       = at + 14'd1;
        current  = following;
      end
    end

    // A command, NOP, END, or a loop that takes the next clock.
    if (fault != NotStarted) advances = 1'b0;
    else if (at >= length_q) fault = PastEnd;
    else if (is_command(current[63:60])) begin
      sequenced.request = current[59] ? current[58:55] : request_q;
      if (current[54:52] != '0 || !current[59] && current[58:55] != '0) fault = UnknownOpcode;
      else if (is_unknown(sequenced.request)) fault = UnknownRequest;
      advances         = 1'b1;
      sequenced.kind   = current[63:60];
      sequenced.first  = is_met(current[51:47], firsts);
      sequenced.last   = is_met(current[46:42], lasts);
      sequenced.opens  = is_met(current[41:37], firsts);
      sequenced.head   = current[36:34];
      sequenced.place  = current[33:16];
      sequenced.column = current[15:8];
      sequenced.index  = current[7:0];
      sequenced.tokens = part;
    end else if (current[63:60] == NOP || current[63:60] == END) begin
      if (current[59:0] != '0) fault = UnknownOpcode;
      else if (current[63:60] == END) fault = Done;
      advances = 1'b1;
    end else if (current[63:60] != DYN_LOOP) fault = UnknownOpcode;

    if (fault != NotStarted) sequenced = '0;
    sequenced.ends    = fault != NotStarted;
    sequenced.status  = fault;
    sequenced.address = at;
    sequence_valid    = sequenced.ends || is_command(sequenced.kind);
    if (!modified || sequenced.ends) products = '0;

    // Where it goes on: behind the command, or at the beginning of the innermost loop that ends with
    // it and is not in its last repetition. The loops inside that one are over.
    next_depth = nest_depth;
    next_level = nest;
    next_pc    = at;
    here       = advances;
    if (advances) begin
      at      = at + 14'd1;
      next_pc = at;
    end
    for (int l = DEPTH - 1; l >= 0; l--) begin
      if (here && 32'(next_depth) == l + 1) begin
        here = nest[l].limit == at;
        if (here && nest[l].left <= nest[l].step) next_depth = 3'(l);
        else if (here) begin
          here                 = 1'b0;
          next_pc              = nest[l].body;
          next_level[l].number = nest[l].number + 16'd1;
          next_level[l].left   = nest[l].left - nest[l].step;
          if (nest[l].over_tokens && next_level[l].left < nest[l].step) begin
            next_level[l].tokens = next_level[l].left;
          end
        end
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Products
  // ---------------------------------------------------------------------------------------------

  logic overflows, multiply_faults;

  always_comb begin : multiply
    logic [25:0] product;
    logic [34:0] place;
    logic [28:0] column, index, head;
    logic        wraps;

    place  = 35'(multiply_q.place);
    column = 29'(multiply_q.column);
    index  = 29'(multiply_q.index);
    head   = 29'(multiply_q.head);
    wraps  = 1'b0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      product = 26'(products_q[s].number) * 26'(products_q[s].coefficient);
      unique case (products_q[s].target)
        TARGET_PLACE:   place = place + 35'(product);
        TARGET_PLACE64: place = place + {3'd0, product, 6'd0};
        TARGET_COLUMN:  column = column + 29'(product);
        TARGET_WORD:    index = index + 29'(product);
        TARGET_WRAPS: begin
          index = index + 29'(product);
          wraps = 1'b1;
        end
        TARGET_HEAD:    head = head + 29'(product);
        default: ;
      endcase
    end
    overflows = place[34:18] != '0 || has_row(multiply_q.kind) && place[17:16] != '0 ||
                column[28:8] != '0 || !wraps && index[28:8] != '0 || head[28:3] != '0;

    multiplied        = multiply_q;
    multiplied.place  = place[17:0];
    multiplied.column = column[7:0];
    multiplied.index  = index[7:0];
    multiplied.head   = head[2:0];
    if (!multiply_q.ends && overflows) begin
      multiplied.ends   = 1'b1;
      multiplied.status = FieldOverflow;
    end
  end

  assign multiply_faults = multiply_valid_q && !multiply_q.ends && overflows && translate_free;

  // ---------------------------------------------------------------------------------------------
  // Look-up
  // ---------------------------------------------------------------------------------------------

  logic        looks_up, beyond, translate_faults;
  logic [16:0] entry;

  assign looks_up = !translate_q.ends && has_row(translate_q.kind);
  assign entry    = {1'b0, half_of(translate_q.request, base_q)} + {1'b0, translate_q.place[15:0]};
  assign beyond   = translate_q.place[15:0] >= half_of(translate_q.request, rows_q) ||
                    entry >= 17'(ENTRIES);

  assign table_read_o    = translate_valid_q && looks_up && !beyond && dispatch_free;
  assign table_address_o = entry[15:0];

  always_comb begin
    translated = translate_q;
    if (looks_up && beyond) begin
      translated.ends   = 1'b1;
      translated.status = Va2PaMiss;
    end
  end

  assign translate_faults = translate_valid_q && looks_up && beyond && dispatch_free;

  // ---------------------------------------------------------------------------------------------
  // Dispatch
  // ---------------------------------------------------------------------------------------------

  logic missed;

  assign missed = !dispatch_q.ends && has_row(dispatch_q.kind) && table_data_i == NO_ROW;

  assign dispatch_valid_o   = dispatch_valid_q && !dispatch_q.ends && !missed;
  assign dispatch_kind_o    = dispatch_q.kind;
  assign dispatch_request_o = dispatch_q.request;
  assign dispatch_head_o    = dispatch_q.head;
  assign dispatch_row_o     = has_row(dispatch_q.kind) ? table_data_i : '0;
  assign dispatch_place_o   = has_row(dispatch_q.kind) ? '0 : dispatch_q.place;
  assign dispatch_column_o  = dispatch_q.column;
  assign dispatch_word_o    = dispatch_q.index;
  assign dispatch_first_o   = dispatch_q.first;
  assign dispatch_last_o    = dispatch_q.last;
  assign dispatch_opens_o   = dispatch_q.opens;
  assign dispatch_tokens_o  = dispatch_q.tokens;

  assign done_o         = dispatch_valid_q && (dispatch_q.ends || missed);
  assign done_status_o  = missed ? Va2PaMiss : dispatch_q.status;
  assign done_address_o = dispatch_q.address;

  // ---------------------------------------------------------------------------------------------
  // Movement. A fault takes with it all that is behind.
  // ---------------------------------------------------------------------------------------------

  assign dispatch_free  = !dispatch_valid_q || !dispatch_valid_o || dispatch_ready_i;
  assign translate_free = !translate_valid_q || dispatch_free;
  assign multiply_free  = !multiply_valid_q || translate_free;

  assign multiply_valid  = sequence_steps && sequence_valid && !multiply_faults &&
                           !translate_faults && !done_o;
  assign translate_valid = multiply_valid_q && !translate_faults && !done_o;

  always_comb begin
    multiply_valid_d  = multiply_free ? multiply_valid : multiply_valid_q;
    translate_valid_d = translate_free ? translate_valid : translate_valid_q;
    dispatch_valid_d  = dispatch_free ? translate_valid_q && !done_o : dispatch_valid_q;
    multiply_d        = multiply_free && multiply_valid ? sequenced : multiply_q;
    products_d        = multiply_free && multiply_valid ? products : products_q;
    translate_d       = translate_free && translate_valid ? multiplied : translate_q;
    dispatch_d        = dispatch_free && translate_valid_q && !done_o ? translated : dispatch_q;
  end

  assign fetch_read_o    = started || sequence_moves;
  assign fetch_address_o = started ? start_address_i : sequence_moves ? next_pc : pc_q;

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
    if (done_o) begin
      busy_d    = 1'b0;
      running_d = 1'b0;
    end
    if (started) begin
      busy_d    = 1'b1;
      running_d = 1'b1;
      request_d = start_request_i;
      depth_d   = '0;
    end
  end

  always_comb begin
    status_d = status_q;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (started && start_request_i == 4'(r)) status_d[r] = Running;
      if (done_o && request_q == 4'(r)) status_d[r] = status_e'(done_status_o);
    end
  end

  for (genvar r = 0; r < 16; r++) begin : gen_status
    if (r < REQUESTS) begin : gen_there
      assign status_o[r] = status_q[r];
    end else begin : gen_absent
      assign status_o[r] = NotStarted;
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
      for (int unsigned r = 0; r < REQUESTS; r++) status_q[r] <= NotStarted;
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

endmodule
