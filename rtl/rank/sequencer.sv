// SPDX-License-Identifier: MIT
// Sequencer: queues and interlocks between the dispatcher and the rank's ports. Contract: sequencer.md.

module sequencer import pimlico_pkg::*; #(
  /// Places of the score buffer, 4 to 131072.
  parameter int unsigned SCORES                = 131072,
  /// Cycles from the acceptance of a request to its command on the pins: of the rank controller.
  parameter int unsigned LATENCY               = 2,
  /// Idle cycles of the adder unit between a burst of the context and the next one of the context.
  parameter int unsigned CONTEXT_AFTER_CONTEXT = 0,
  /// Idle cycles of the adder unit between a burst of scores or outputs and one of the context.
  parameter int unsigned CONTEXT_AFTER_TREE    = 4,
  /// Idle cycles of the adder unit between a burst of the context and one of scores or outputs.
  parameter int unsigned TREE_AFTER_CONTEXT    = 11
) (
  /// Clock: one edge per cycle of the rank PU's core.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// Size of a bank.
  input  bank_size_t     size_i,
  /// Cycles of a burst on the data bus, 1 or more.
  input  logic [7:0]     burst_i,
  /// Sums have 32 bits: a burst of the context holds two of them, not four.
  input  logic           wide_i,
  /// A run starts.
  input  logic           start_i,
  /// The dispatcher's run has ended.
  input  logic           done_i,
  /// Bursts that the host has ready for WR_SHARED; 127 for more.
  input  logic [6:0]     operands_i,
  /// There is a command from the dispatcher.
  input  logic           dispatch_valid_i,
  /// The command from the dispatcher.
  input  dispatch_t      dispatch_i,
  /// What happens in the rank in this cycle.
  input  rank_events_t   events_i,
  /// The dispatcher's command is accepted, if there is one.
  output logic           dispatch_ready_o,
  /// The first fault of the run.
  output fault_e         fault_o,
  /// The run has ended, and all that was dispatched is done.
  output logic           done_o,
  /// There is an array request.
  output logic           array_valid_o,
  /// The array request; 0 if there is none.
  output array_request_t array_o,
  /// There is a bus request.
  output logic           bus_valid_o,
  /// The bus request; 0 if there is none.
  output bus_request_t   bus_o,
  /// There is a query head whose scores are complete.
  output logic           finish_valid_o,
  /// The query head whose scores are complete; 0 if there is none.
  output finish_t        finish_o,
  /// There are scores in the buffer that become a word of weights.
  output logic           weigh_valid_o,
  /// The scores that become a word of weights; 0 if there are none.
  output weigh_t         weigh_o,
  /// The oldest complete word of weights is dropped.
  output logic           weights_drop_o,
  /// A head ends: postponed REFs are made up for.
  output logic           head_end_o
);

  // Depths of the queues.
  localparam int unsigned ARRAY    = 32;
  localparam int unsigned RESULTS  = 64;
  localparam int unsigned OPERANDS = 64;
  localparam int unsigned SOFTMAX  = 16;

  localparam logic [17:0] SCORE_BUFFER = 18'(SCORES);
  localparam logic [17:0] PARTIAL_SUMS = 18'd256;

  // Number of a sum, modulo 256: so many are never in the queues.
  typedef logic [7:0]  number_t;
  // Number of a MAC, or of a write to the shared buffers, as an entry carries it: see sequencer_scoreboard.
  typedef logic [8:0]  need_t;

  // A command as it is decoded. What its opcode has no use for is anything.
  typedef struct packed {
    opcode_e    opcode;
    head_t      head;
    row_t       row;
    column_t    column;
    word_t      word;
    logic       first;
    logic       last;
    logic       opens;
    place_t     place;
    logic [2:0] count;  // RD_RESULT of scores, WEIGH: tokens
    logic       keep;   // RD_RESULT of scores
  } command_t;

  typedef struct packed {
    row_t    row;
    column_t column;
    mac_t    mac;
    number_t number;   // of the sum that it is part of
    logic    closes;
    need_t   need;     // the write that its word waits for
  } array_entry_t;

  typedef struct packed {
    word_t   address;
    sum_t    sum;
    number_t number;   // of the sum whose results it reads
  } result_entry_t;

  typedef struct packed {
    word_t word;
    logic  host;
    need_t need;       // the MAC that its word waits for
  } operand_entry_t;

  typedef struct packed {
    logic   finishes;
    weigh_t weigh;
  } softmax_entry_t;

  // An RD_RESULT as those behind it see it.
  typedef struct packed {
    logic    context_sums;
    number_t number;
  } reader_t;

  // Whether a MAC that ends a sum leaves the result registers to the RD_RESULT.
  function automatic logic yields(logic accumulate, number_t number, reader_t reader);
    number_t between;

    between = number - reader.number - 8'd1;
    return between < 8'd127 && (accumulate || reader.context_sums);
  endfunction

  function automatic logic is_read(opcode_e opcode);
    return opcode == OpMacScore || opcode == OpMacContext;
  endfunction

  function automatic logic is_write(opcode_e opcode);
    return opcode == OpWrShared || opcode == OpWrWeights;
  endfunction

  // Cycles behind an RD_RESULT on the pins until the next one may be requested, where the adder unit is idle for
  // so many between their bursts.
  function automatic logic [8:0] gap_after(logic [8:0] idle, logic [7:0] burst);
    logic [8:0] gap;

    gap = {1'b0, burst} + idle;
    return gap > 9'(LATENCY) ? gap - 9'(LATENCY) - 9'd1 : '0;
  endfunction

  // Tokens of a burst, or scores of a word: at most four.
  function automatic logic [2:0] at_most_four(logic [19:0] tokens);
    return tokens > 20'd4 ? 3'd4 : tokens[2:0];
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Decode: a command as it comes, as it is decoded, and as it may enter its queue
  // ---------------------------------------------------------------------------------------------

  logic            input_valid, input_ready, input_next_valid;
  dispatch_t       input_command, input_next;
  logic            look_valid_d, look_valid_q, command_valid_d, command_valid_q;
  command_t        decoded, look_d, look_q, command_d, command_q;
  logic            taken, moves, steps, enters, fits, lacks_d, lacks_q, breaks_pair, before_queues;
  fault_e          decode_fault, fault_d, fault_q;
  result_address_t results;
  logic            in_buffer;  // four elements from the command's place on are in the score buffer
  logic            unused_input;

  skid_buffer #(.WIDTH($bits(dispatch_t))) u_input (
    .clk_i,
    .rst_ni,
    .push_i       (taken),
    .data_i       (dispatch_i),
    .ready_o      (input_ready),
    .pop_i        (moves),
    .valid_o      (input_valid),
    .data_o       (input_command),
    .next_valid_o (input_next_valid),
    .next_o       (input_next)
  );

  assign dispatch_ready_o = input_ready;
  assign taken            = dispatch_valid_i && input_ready && fault_q == FaultNone;
  assign before_queues    = input_valid || look_valid_q || command_valid_q;

  assign results      = result_address_t'(input_command.word);
  assign in_buffer    = input_command.place <= SCORE_BUFFER - 18'd4;
  assign unused_input = &{1'b0, input_command.request, results.unused, results.bank, input_next_valid, input_next};

  always_comb begin : decode
    logic [19:0] earlier;  // tokens of the bank groups before
    logic        of_scores;

    earlier        = {16'd0, results.lane, 2'd0};
    of_scores      = input_command.kind == OpRdResult && !results.context_sums && !results.upper;
    decoded.opcode = input_command.kind;
    decoded.head   = input_command.head;
    decoded.row    = input_command.row;
    decoded.column = input_command.column;
    decoded.word   = input_command.word;
    decoded.first  = input_command.first;
    decoded.last   = input_command.last;
    decoded.opens  = input_command.opens;
    decoded.place  = of_scores && !in_buffer ? '0 : input_command.place[16:0];
    decoded.keep   = in_buffer;
    decoded.count  = at_most_four(input_command.tokens);
    if (of_scores) begin
      decoded.count = input_command.tokens > earlier ? at_most_four(input_command.tokens - earlier) : '0;
    end
  end

  always_comb begin : decode_faults
    decode_fault = FaultNone;
    unique case (input_command.kind)
      OpMacScore, OpMacContext: begin
        if ({1'b0, input_command.row} >= size_i.rows) decode_fault = FaultNoRow;
        else if ({1'b0, input_command.column} >= size_i.columns) decode_fault = FaultNoColumn;
      end
      OpRdResult: begin
        if (results.context_sums ? input_command.place >= PARTIAL_SUMS : results.upper && !in_buffer) begin
          decode_fault = FaultNoPlace;
        end
      end
      OpWeigh: begin
        if (input_command.tokens == '0) decode_fault = FaultNoTokens;
        else if (19'(input_command.place) + 19'(at_most_four(input_command.tokens)) > 19'(SCORES)) begin
          decode_fault = FaultNoPlace;
        end
      end
      OpWrShared, OpWrWeights, OpFinish, OpCloseAll: ;
      default: decode_fault = FaultUnknownCommand;
    endcase
  end

  logic is_mac, is_weigh, mac_push, operands_push, cleared, looks_up, input_is_mac, input_is_write;

  assign input_is_mac   = is_read(input_command.kind);
  assign input_is_write = is_write(input_command.kind);
  assign looks_up       = input_is_mac || input_is_write;
  assign steps          = look_valid_q && (!command_valid_q || enters);
  assign moves          = input_valid && (!look_valid_q || steps) && (cleared || !looks_up);

  assign look_d          = moves ? decoded : look_q;
  assign look_valid_d    = moves ? decode_fault == FaultNone : look_valid_q && !steps;
  assign command_d       = steps ? look_q : command_q;
  assign command_valid_d = steps || command_valid_q && !enters;

  // ---------------------------------------------------------------------------------------------
  // The queues
  // ---------------------------------------------------------------------------------------------

  logic           array_push, array_send, array_done, array_ready, array_empty, array_next_valid;
  array_entry_t   array_entry, array_next;
  logic           results_push, results_send, results_ready, results_empty, results_next_valid;
  result_entry_t  result_entry, result_next;
  logic           operands_send, operands_ready, operands_empty, operands_next_valid;
  operand_entry_t operand_entry, operand_next;
  logic           softmax_push, softmax_done, softmax_ready, softmax_empty, softmax_next_valid;
  softmax_entry_t softmax_entry, softmax_next;
  logic           array_single, results_single, operands_single, softmax_single, unused_single;

  assign unused_single = &{1'b0, array_single, operands_single, softmax_single};

  request_queue #(.WIDTH($bits(array_entry_t)), .DEPTH(ARRAY)) u_array (
    .clk_i,
    .rst_ni,
    .push_i       (array_push),
    .data_i       (array_entry),
    .send_i       (array_send),
    .done_i       (array_done),
    .ready_o      (array_ready),
    .empty_o      (array_empty),
    .single_o     (array_single),
    .next_valid_o (array_next_valid),
    .next_o       (array_next)
  );

  request_queue #(.WIDTH($bits(result_entry_t)), .DEPTH(RESULTS)) u_results (
    .clk_i,
    .rst_ni,
    .push_i       (results_push),
    .data_i       (result_entry),
    .send_i       (results_send),
    .done_i       (events_i.results_taken),
    .ready_o      (results_ready),
    .empty_o      (results_empty),
    .single_o     (results_single),
    .next_valid_o (results_next_valid),
    .next_o       (result_next)
  );

  request_queue #(.WIDTH($bits(operand_entry_t)), .DEPTH(OPERANDS)) u_operands (
    .clk_i,
    .rst_ni,
    .push_i       (operands_push),
    .data_i       (operand_entry),
    .send_i       (operands_send),
    .done_i       (events_i.written),
    .ready_o      (operands_ready),
    .empty_o      (operands_empty),
    .single_o     (operands_single),
    .next_valid_o (operands_next_valid),
    .next_o       (operand_next)
  );

  request_queue #(.WIDTH($bits(softmax_entry_t)), .DEPTH(SOFTMAX)) u_softmax (
    .clk_i,
    .rst_ni,
    .push_i       (softmax_push),
    .data_i       (softmax_entry),
    .send_i       (softmax_done),
    .done_i       (softmax_done),
    .ready_o      (softmax_ready),
    .empty_o      (softmax_empty),
    .single_o     (softmax_single),
    .next_valid_o (softmax_next_valid),
    .next_o       (softmax_next)
  );

  // ---------------------------------------------------------------------------------------------
  // The scoreboard
  // ---------------------------------------------------------------------------------------------

  need_t need;
  logic  word_there, word_free, write_far, mac_far;

  sequencer_scoreboard u_scoreboard (
    .clk_i,
    .rst_ni,
    .start_i,
    .input_word_i       (input_command.word),
    .input_is_mac_i     (input_is_mac),
    .input_is_write_i   (input_is_write),
    .moves_i            (moves),
    .look_valid_i       (look_valid_q),
    .look_is_mac_i      (is_read(look_q.opcode)),
    .look_is_write_i    (is_write(look_q.opcode)),
    .look_word_i        (look_q.word),
    .steps_i            (steps),
    .entry_word_i       (command_q.word),
    .entry_is_mac_i     (is_mac),
    .entry_is_write_i   (is_write(command_q.opcode)),
    .mac_i              (mac_push),
    .write_i            (operands_push),
    .enters_i           (enters),
    .read_i             (events_i.read),
    .written_i          (events_i.written),
    .next_mac_valid_i   (array_next_valid && !array_next.closes),
    .next_mac_need_i    (array_next.need),
    .next_write_valid_i (operands_next_valid),
    .next_write_need_i  (operand_next.need),
    .cleared_o          (cleared),
    .need_o             (need),
    .mac_may_o          (word_there),
    .write_may_o        (word_free),
    .write_far_o        (write_far),
    .mac_far_o          (mac_far)
  );

  // ---------------------------------------------------------------------------------------------
  // Entry into the queues
  // ---------------------------------------------------------------------------------------------

  number_t    ended_d, ended_q, made_d, made_q;
  logic [6:0] asked_d, asked_q;  // bursts of the host in the operands queue
  logic       closing_d, closing_q;  // a CLOSE_ALL is in the array queue
  logic       host_push, weights_push, close_done, paired, full, unused_which;
  sum_t            sum;
  result_address_t which, address;

  // With the WR_SHARED that enters in this cycle: the next one may enter in the next.
  assign lacks_d  = 8'(asked_q) + 8'(host_push) >= 8'(operands_i);
  assign is_mac   = is_read(command_q.opcode);
  assign is_weigh = command_q.opcode == OpWeigh;

  always_comb begin
    unique case (command_q.opcode)
      OpWrShared:  breaks_pair = 1'b0;
      OpWeigh:     breaks_pair = full;
      OpWrWeights: breaks_pair = paired;
      OpCloseAll:  breaks_pair = !paired;
      default:     breaks_pair = 1'b0;
    endcase
  end

  always_comb begin
    unique case (command_q.opcode)
      OpRdResult:        fits = results_ready && (sum.kind != SumScores || softmax_empty);
      OpWrShared:        fits = operands_ready && !write_far && (!command_q.first || array_empty);
      OpWrWeights:       fits = operands_ready && !write_far;
      OpFinish, OpWeigh: fits = softmax_ready;
      OpCloseAll:        fits = array_ready;
      default:           fits = array_ready && !mac_far;
    endcase
  end

  assign enters        = command_valid_q && fits && !closing_q;
  assign mac_push      = enters && is_mac;
  assign array_push    = mac_push || enters && command_q.opcode == OpCloseAll && !breaks_pair;
  assign results_push  = enters && command_q.opcode == OpRdResult;
  assign host_push     = enters && command_q.opcode == OpWrShared && !lacks_q;
  assign weights_push  = enters && command_q.opcode == OpWrWeights && !breaks_pair;
  assign operands_push = host_push || weights_push;
  assign softmax_push  = enters && (is_weigh && !breaks_pair || command_q.opcode == OpFinish);

  assign ended_d = ended_q + 8'(mac_push && command_q.last);

  // What an RD_RESULT reads.
  assign which        = result_address_t'(command_q.word);
  assign unused_which = &{1'b0, which.unused};

  // A burst of the context holds four sums of 16 bits or two of 32, of as many bank groups.
  always_comb begin : decode_results
    sum          = '0;
    address      = '0;
    address.lane = which.lane;
    sum.place    = command_q.place;
    if (which.context_sums) begin
      address      = which;
      sum.kind     = SumContext;
      sum.head     = command_q.head;
      sum.first    = !which.upper;
      sum.last     = !wide_i || which.upper;
      sum.goes_on  = !command_q.first;
      sum.complete = command_q.last;
    end else if (which.upper) begin
      sum.kind     = SumOutputs;
      sum.goes_on  = !command_q.first;
      sum.complete = command_q.last;
    end else begin
      sum.kind     = SumScores;
      sum.head     = command_q.head;
      sum.first    = command_q.first;
      sum.tokens   = command_q.count;
      sum.keep     = command_q.keep;
    end
    address.unused = '0;
  end

  assign array_entry = '{
    row: command_q.row, column: command_q.column,
    mac: '{
      word: command_q.word, accumulate: command_q.opcode == OpMacContext, first: command_q.first,
      last: command_q.last, opens: command_q.opens
    },
    number: ended_d, closes: !is_mac, need: need
  };
  assign result_entry  = '{address: address, sum: sum, number: ended_q};
  assign operand_entry = '{word: command_q.word, host: command_q.opcode == OpWrShared, need: need};
  assign softmax_entry = '{
    finishes: !is_weigh,
    weigh:    '{place: command_q.place, head: command_q.head, count: command_q.count}
  };

  always_comb begin
    closing_d = closing_q;
    if (array_push && !is_mac) closing_d = 1'b1;
    if (close_done) closing_d = 1'b0;
  end

  // ---------------------------------------------------------------------------------------------
  // Array requests
  // ---------------------------------------------------------------------------------------------

  logic [15:0] elements_d, elements_q;  // of results, requested and not there yet
  logic [2:0]  sent_d, sent_q, sent;    // MACs that are accepted and not on the pins
  logic [3:0]  lasts_d, lasts_q, lasts; // whether each ends a sum, the oldest at the bottom
  logic [9:0]  pace_d, pace_q;          // cycles until a MAC that is a sum by itself may be requested
  logic        over_d, over_q, closed_d, closed_q, head_ended_d, head_ended_q;
  logic        quiet_d, quiet_q;        // only the array queue has something to do
  logic        ended_run_d, ended_run_q;
  logic        reads_d, reads_q, closes_d, closes_q;  // the request
  logic        waits, may_end, softmax_quiet;
  logic [2:0]  readers_d, readers_q, readers;    // RD_RESULTs that are accepted and not on the pins
  reader_t [3:0] reading_d, reading_q, reading;  // what they are, the oldest at the bottom
  reader_t     oldest, second;          // RD_RESULTs that are not done
  logic        oldest_known, second_known;  // they are not in the memory

  assign quiet_d     = results_empty && operands_empty && softmax_empty && elements_q == '0 && softmax_quiet;
  assign ended_run_d = over_q && !before_queues && array_empty && quiet_d && !start_i;

  assign array_send = events_i.array_taken && array_next_valid;
  assign close_done = events_i.array_taken && array_next_valid && closes_q;
  assign array_done = events_i.read || close_done;

  // The results of a sum take the place of those before.
  always_comb begin
    if (events_i.results_taken) begin
      waits = !results_single && (!second_known ||
                                  yields(array_next.mac.accumulate, array_next.number, second));
    end else begin
      waits = !results_empty && (!oldest_known ||
                                 yields(array_next.mac.accumulate, array_next.number, oldest));
    end
  end

  assign may_end = !waits && (!array_next.mac.first || lasts_q == '0 && pace_q[9:1] == '0);

  assign reads_d    = array_next_valid && !array_next.closes && !events_i.array_taken &&
                      (reads_q || word_there && (!array_next.mac.last || may_end));
  assign closes_d   = !events_i.array_taken && !start_i &&
                      (array_next_valid ? array_next.closes && sent_q == '0 && quiet_q
                                        : ended_run_q && !closed_q);

  assign array_valid_o     = reads_q || closes_q;
  assign head_end_o        = closes_q && !head_ended_q;
  assign done_o            = ended_run_q && closed_q;

  always_comb begin
    array_o = '0;
    if (closes_q) array_o.kind = ArrayCloseAll;
    if (reads_q) begin
      array_o.kind   = ArrayReadAll;
      array_o.row    = array_next.row;
      array_o.column = array_next.column;
      array_o.mac    = array_next.mac;
    end
  end

  always_comb begin
    closed_d     = events_i.array_taken ? closes_q : closed_q;
    head_ended_d = head_ended_q || closes_q;
    if (events_i.array_taken && reads_q || array_push && !is_mac) head_ended_d = 1'b0;
    sent    = sent_q - 3'(events_i.read);
    lasts   = events_i.read ? lasts_q >> 1 : lasts_q;
    sent_d  = sent;
    lasts_d = lasts;
    if (events_i.array_taken && reads_q) begin
      sent_d                = sent + 3'd1;
      lasts_d[sent[1:0]]    = array_next.mac.last;
    end
    pace_d = pace_q == '0 ? '0 : pace_q - 10'd1;
    if (events_i.read && lasts_q[0]) begin
      // A chunk's results leave in four bursts, which take longer than one MAC, and no longer than two.
      pace_d = {burst_i, 2'd0} > 10'(LATENCY) ? {burst_i, 2'd0} - 10'(LATENCY) - 10'd1 : '0;
    end
    over_d = over_q || done_i;
    if (start_i) begin
      over_d       = 1'b0;
      closed_d     = 1'b0;
      head_ended_d = 1'b0;
      pace_d       = '0;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Bus requests
  // ---------------------------------------------------------------------------------------------

  logic [8:0]    context_gap_d, context_gap_q;  // cycles until an RD_RESULT of the context may be requested
  logic [8:0]    tree_gap_d, tree_gap_q;        // and one of scores or outputs
  logic [8:0]    context_gap, tree_gap;         // those from the RD_RESULT on the pins on
  logic          context_may, tree_may, last_reader;
  number_t       made_since;
  reader_t       heading;
  logic          is_context, results_due, operands_due, made_reached, has_word;
  logic          bus_reads_d, bus_reads_q, bus_writes_d, bus_writes_q;

  // The two oldest that are not done, unless they are still in the memory.
  assign is_context   = result_next.sum.kind == SumContext;
  assign heading      = '{context_sums: is_context, number: result_next.number};
  assign oldest_known = readers_q != '0 || results_next_valid;
  assign oldest       = readers_q != '0 ? reading_q[0] : heading;
  assign second_known = readers_q[2:1] != '0 || results_next_valid;
  assign second       = readers_q[2:1] != '0 ? reading_q[1] : heading;

  assign made_since   = made_q - result_next.number;
  assign made_reached = !made_since[7] || events_i.results && made_since == '1;
  assign results_due  = results_next_valid && !results_send && made_reached &&
                        (is_context ? context_may : tree_may);
  assign operands_due = operands_next_valid && !operands_send && word_free && (operand_next.host || has_word);

  // Where the RD_RESULT before it goes to the pins in this cycle, it may be requested in the next one already.
  assign context_gap = gap_after(oldest.context_sums ? 9'(CONTEXT_AFTER_CONTEXT) : 9'(CONTEXT_AFTER_TREE), burst_i);
  assign tree_gap    = oldest.context_sums ? gap_after(9'(TREE_AFTER_CONTEXT), burst_i) : '0;
  assign last_reader = readers_q == 3'd1 && events_i.results_taken;
  assign context_may = last_reader ? context_gap == '0 : readers_q == '0 && context_gap_q[8:1] == '0;

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
      if (of_context == 4'd1 && events_i.results_taken) tree_may = tree_gap == '0;
      tree_gap_d = tree_gap_q == '0 ? '0 : tree_gap_q - 9'd1;
      if (events_i.results_taken && oldest.context_sums) tree_gap_d = tree_gap;
      if (start_i) tree_gap_d = '0;
    end
  end
  assign bus_reads_d  = results_due;
  assign bus_writes_d = operands_due && !results_due;

  assign bus_valid_o = bus_reads_q || bus_writes_q;

  always_comb begin
    bus_o = '0;
    if (bus_reads_q) begin
      bus_o.address = result_next.address;
      bus_o.sum     = result_next.sum;
    end
    if (bus_writes_q) begin
      bus_o.write   = 1'b1;
      bus_o.address = operand_next.word;
      bus_o.host    = operand_next.host;
    end
  end

  assign results_send  = events_i.bus_taken && bus_reads_q;
  assign operands_send = events_i.bus_taken && bus_writes_q;
  assign made_d        = made_q + 8'(events_i.results);
  assign asked_d       = asked_q + 7'(host_push) - 7'(operands_send && operand_next.host);

  always_comb begin
    readers   = readers_q - 3'(events_i.results_taken);
    reading   = events_i.results_taken ? {reading_q[3], reading_q[3:1]} : reading_q;
    readers_d = readers;
    reading_d = reading;
    if (results_send) begin
      readers_d               = readers + 3'd1;
      reading_d[readers[1:0]] = heading;
    end
    context_gap_d = context_gap_q == '0 ? '0 : context_gap_q - 9'd1;
    if (events_i.results_taken) context_gap_d = context_gap;
    if (start_i) context_gap_d = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // The softmax unit
  // ---------------------------------------------------------------------------------------------

  logic finishes, weighs, drops;

  assign softmax_done = events_i.finish_taken || events_i.weigh_taken;

  sequencer_softmax u_requests (
    .clk_i,
    .rst_ni,
    .scores_i        (results_push && sum.kind == SumScores),
    .scaled_i        (events_i.scaled),
    .next_valid_i    (softmax_next_valid),
    .next_finishes_i (softmax_next.finishes),
    .finish_taken_i  (events_i.finish_taken),
    .weigh_taken_i   (events_i.weigh_taken),
    .finished_i      (events_i.finished),
    .word_made_i     (events_i.word_made),
    .weigh_push_i    (softmax_push && is_weigh),
    .weights_push_i  (weights_push),
    .weights_send_i  (operands_send && !operand_next.host),
    .drops_i         (drops),
    .finishes_o      (finishes),
    .weighs_o        (weighs),
    .drop_o          (weights_drop_o),
    .has_word_o      (has_word),
    .paired_o        (paired),
    .full_o          (full),
    .quiet_o         (softmax_quiet)
  );

  // After a fault nothing enters, so that no entry will write a word that none has claimed.
  assign drops = fault_q != FaultNone && !before_queues && operands_empty;

  assign finish_valid_o = finishes;
  assign finish_o.head  = finishes ? softmax_next.weigh.head : '0;
  assign weigh_valid_o  = weighs;
  assign weigh_o        = weighs ? softmax_next.weigh : '0;

  always_comb begin
    elements_d = elements_q - 16'(events_i.context_made) - 16'(events_i.output_made);
    if (results_push && sum.complete) begin
      if (sum.kind == SumContext && sum.last) elements_d = elements_d + 16'd8;
      if (sum.kind == SumOutputs) elements_d = elements_d + 16'd4;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Faults, and the registers
  // ---------------------------------------------------------------------------------------------

  number_t made_since_oldest;
  logic    overwritten, ends_unpaired;

  assign ends_unpaired = over_q && !before_queues && !paired;

  // The oldest entry that is not done reads results in whose place there are later ones, or will be in the next
  // cycle. An RD_RESULT in the tCK in which they come reads the later ones.
  assign made_since_oldest = made_q - oldest.number;
  assign overwritten       = !results_empty && oldest_known && !made_since_oldest[7] &&
                             (events_i.results || made_since_oldest != '0);
  assign fault_o           = fault_q;

  always_comb begin
    fault_d = fault_q;
    if (fault_q == FaultNone) begin
      if (overwritten) fault_d = FaultOverwritten;
      else if (enters && command_q.opcode == OpWrShared && lacks_q) fault_d = FaultNoOperand;
      else if (enters && breaks_pair || ends_unpaired) fault_d = FaultUnpaired;
      else if (moves) fault_d = decode_fault;
    end
    if (start_i) fault_d = FaultNone;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      look_valid_q    <= 1'b0;
      command_valid_q <= 1'b0;
      fault_q         <= FaultNone;
      ended_q         <= '0;
      made_q          <= '0;
      asked_q         <= '0;
      closing_q       <= 1'b0;
      lacks_q         <= 1'b0;
      elements_q      <= '0;
      sent_q          <= '0;
      lasts_q         <= '0;
      pace_q          <= '0;
      over_q          <= 1'b0;
      closed_q        <= 1'b0;
      head_ended_q    <= 1'b0;
      quiet_q         <= 1'b0;
      ended_run_q     <= 1'b0;
      reads_q         <= 1'b0;
      closes_q        <= 1'b0;
      readers_q       <= '0;
      context_gap_q   <= '0;
      tree_gap_q      <= '0;
      bus_reads_q     <= 1'b0;
      bus_writes_q    <= 1'b0;
    end else begin
      look_valid_q    <= look_valid_d;
      command_valid_q <= command_valid_d;
      fault_q         <= fault_d;
      ended_q         <= ended_d;
      made_q          <= made_d;
      asked_q         <= asked_d;
      closing_q       <= closing_d;
      lacks_q         <= lacks_d;
      elements_q      <= elements_d;
      sent_q          <= sent_d;
      lasts_q         <= lasts_d;
      pace_q          <= pace_d;
      over_q          <= over_d;
      closed_q        <= closed_d;
      head_ended_q    <= head_ended_d;
      quiet_q         <= quiet_d;
      ended_run_q     <= ended_run_d;
      reads_q         <= reads_d;
      closes_q        <= closes_d;
      readers_q       <= readers_d;
      context_gap_q   <= context_gap_d;
      tree_gap_q      <= tree_gap_d;
      bus_reads_q     <= bus_reads_d;
      bus_writes_q    <= bus_writes_d;
    end
  end

  // What a valid bit or a count says to be there.
  always_ff @(posedge clk_i) begin
    look_q    <= look_d;
    command_q <= command_d;
    reading_q <= reading_d;
  end

  if (SCORES < 4 || SCORES > 131072) $fatal(1, "SCORES = %0d: expected 4 to 131072", SCORES);
  if (LATENCY > 15 || CONTEXT_AFTER_TREE > 31 || TREE_AFTER_CONTEXT > 31)
    $fatal(1, "LATENCY = %0d, idle cycles %0d and %0d: expected up to 15 and 31", LATENCY,
           CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT);
  // The last RD_RESULT before one of the context is the one that it waits for.
  if (CONTEXT_AFTER_CONTEXT > CONTEXT_AFTER_TREE + 1)
    $fatal(1, "CONTEXT_AFTER_CONTEXT = %0d: expected up to %0d", CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE + 1);

endmodule
