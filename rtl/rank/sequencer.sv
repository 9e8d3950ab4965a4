// SPDX-License-Identifier: MIT
// Sequencer: queues and interlocks between the dispatcher and the rank's ports. Contract: sequencer.md.

module sequencer import pimlico_pkg::*; #(
  /// Places of the score buffer, 4 to 131072.
  parameter int unsigned SCORES = 131072
) (
  /// Clock: one edge per tCK.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// Size of a bank.
  input  bank_size_t     size_i,
  /// tCK of a burst on the data bus.
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
  // Words of weights under way, at the most.
  localparam int unsigned WORDS    = 16;

  // From the acceptance of a request to its command on the pins: rank_controller.
  localparam logic [9:0] LATENCY = 10'd2;
  // Idle cycles of the adder unit between a burst of results and one of the context: its partial sums come
  // one cycle before it, and sums of the tree take three more.
  localparam logic [8:0] CONTEXT_GAP = 9'd1;
  localparam logic [8:0] TREE_GAP    = 9'd4;

  localparam logic [17:0] SCORE_BUFFER = 18'(SCORES);
  localparam logic [17:0] PARTIAL_SUMS = 18'd256;

  // Number of a sum, modulo 256: so many are never in the queues.
  typedef logic [7:0] number_t;

  // A command in the decode register.
  typedef struct packed {
    opcode_e opcode;
    row_t    row;
    column_t column;
    mac_t    mac;      // word, first and last of all commands
    word_t   address;  // RD_RESULT: on the bus
    sum_t    sum;      // RD_RESULT
    weigh_t  weigh;    // WEIGH, FINISH
  } command_t;

  typedef struct packed {
    row_t    row;
    column_t column;
    logic    accumulate;
    logic    first;
    logic    last;
    logic    opens;
    number_t number;   // of the sum that it is part of
    logic    closes;
    word_t   word;
    logic    content;  // of its word, which it uses
  } array_entry_t;

  typedef struct packed {
    word_t   address;
    sum_t    sum;
    number_t number;   // of the sum whose results it reads
  } result_entry_t;

  typedef struct packed {
    word_t word;
    logic  host;
    logic  content;
  } operand_entry_t;

  typedef struct packed {
    logic   finishes;
    weigh_t weigh;
  } softmax_entry_t;

  // Whether a sum ended before another one in the program.
  function automatic logic is_before(number_t one, number_t other);
    return other - one - 8'd1 < 8'd127;
  endfunction

  // Tokens of a burst, or scores of a word: at most four.
  function automatic logic [2:0] at_most_four(logic [19:0] tokens);
    return tokens > 20'd4 ? 3'd4 : tokens[2:0];
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Decode
  // ---------------------------------------------------------------------------------------------

  command_t        decoded, command_d, command_q;
  logic            command_valid_d, command_valid_q;
  logic            taken, enters, fits, lacks_operand, breaks_pair, unused_dispatch;
  fault_e          decode_fault, fault_d, fault_q;
  result_address_t results;
  logic            in_buffer;  // four elements from the command's place on are in the score buffer
  sum_t            scores_sum, outputs_sum, context_sum;

  assign results         = result_address_t'(dispatch_i.word);
  assign in_buffer       = dispatch_i.place <= SCORE_BUFFER - 18'd4;
  assign unused_dispatch = &{1'b0, dispatch_i.request, results.unused};

  always_comb begin : decode_scores
    logic [19:0] earlier;  // tokens of the bank groups before

    earlier           = {16'd0, results.lane, 2'd0};
    scores_sum        = '0;
    scores_sum.kind   = SumScores;
    scores_sum.head   = dispatch_i.head;
    scores_sum.first  = dispatch_i.first;
    scores_sum.tokens = dispatch_i.tokens > earlier ? at_most_four(dispatch_i.tokens - earlier) : '0;
    scores_sum.keep   = in_buffer;
    scores_sum.place  = in_buffer ? dispatch_i.place[16:0] : '0;
  end

  always_comb begin : decode_outputs
    outputs_sum          = '0;
    outputs_sum.kind     = SumOutputs;
    outputs_sum.place    = dispatch_i.place[16:0];
    outputs_sum.goes_on  = !dispatch_i.first;
    outputs_sum.complete = dispatch_i.last;
  end

  // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
  always_comb begin : decode_context
    context_sum          = '0;
    context_sum.kind     = SumContext;
    context_sum.head     = dispatch_i.head;
    context_sum.first    = !results.upper;
    context_sum.last     = !wide_i || results.upper;
    context_sum.place    = dispatch_i.place[16:0];
    context_sum.goes_on  = !dispatch_i.first;
    context_sum.complete = dispatch_i.last;
  end

  always_comb begin : decode_command
    result_address_t address;

    address              = '0;
    address.lane         = results.lane;
    decoded.opcode       = dispatch_i.kind;
    decoded.row          = dispatch_i.row;
    decoded.column       = dispatch_i.column;
    decoded.mac          = '{
      word:       dispatch_i.word,
      accumulate: dispatch_i.kind == OpMacContext,
      first:      dispatch_i.first,
      last:       dispatch_i.last,
      opens:      dispatch_i.opens
    };
    decoded.weigh        = '{
      place: dispatch_i.place[16:0], head: dispatch_i.head, count: at_most_four(dispatch_i.tokens)
    };
    decoded.sum          = results.upper ? outputs_sum : scores_sum;
    if (results.context_sums) begin
      decoded.sum          = context_sum;
      address.context_sums = 1'b1;
      address.upper        = results.upper;
      address.bank         = results.bank;
    end
    decoded.address      = address;
  end

  always_comb begin : decode_faults
    decode_fault = FaultNone;
    unique case (dispatch_i.kind)
      OpMacScore, OpMacContext: begin
        if ({1'b0, dispatch_i.row} >= size_i.rows) decode_fault = FaultNoRow;
        else if ({1'b0, dispatch_i.column} >= size_i.columns) decode_fault = FaultNoColumn;
      end
      OpRdResult: begin
        if (decoded.sum.kind == SumContext && dispatch_i.place >= PARTIAL_SUMS ||
            decoded.sum.kind == SumOutputs && !in_buffer) decode_fault = FaultNoPlace;
      end
      OpWeigh: begin
        if (decoded.weigh.count == '0) decode_fault = FaultNoTokens;
        else if (19'(dispatch_i.place) + 19'(decoded.weigh.count) > 19'(SCORES)) begin
          decode_fault = FaultNoPlace;
        end
      end
      OpWrShared, OpWrWeights, OpFinish, OpCloseAll: ;
      default: decode_fault = FaultUnknownCommand;
    endcase
  end

  assign dispatch_ready_o = !command_valid_q || enters;
  assign taken            = dispatch_valid_i && dispatch_ready_o && fault_q == FaultNone;

  // ---------------------------------------------------------------------------------------------
  // The queues
  // ---------------------------------------------------------------------------------------------

  logic           array_push, array_send, array_done, array_ready, array_empty, array_next_valid;
  logic           array_sent, word_is_used, unused_array;
  array_entry_t   array_entry, array_next, array_oldest;
  logic           results_push, results_send, results_ready, results_empty, results_next_valid;
  logic           results_sent, results_found, unused_results;
  result_entry_t  result_entry, result_next, result_oldest;
  logic           operands_push, operands_send, operands_ready, operands_empty;
  logic           operands_next_valid, operands_sent, operands_found, unused_operands;
  operand_entry_t operand_entry, operand_next, operand_oldest;
  logic           softmax_push, softmax_done, softmax_ready, softmax_empty, softmax_next_valid;
  logic           softmax_sent, softmax_found, unused_softmax;
  softmax_entry_t softmax_entry, softmax_next, softmax_oldest;

  request_queue #(.WIDTH($bits(array_entry_t)), .DEPTH(ARRAY), .SEARCH_BITS(10)) u_array (
    .clk_i,
    .rst_ni,
    .push_i         (array_push),
    .data_i         (array_entry),
    .send_i         (array_send),
    .done_i         (array_done),
    .search_i       ({1'b0, operand_next.word, !operand_next.content}),
    .ready_o        (array_ready),
    .empty_o        (array_empty),
    .next_valid_o   (array_next_valid),
    .next_o         (array_next),
    .oldest_o       (array_oldest),
    .sent_o         (array_sent),
    .found_o        (word_is_used)
  );

  request_queue #(.WIDTH($bits(result_entry_t)), .DEPTH(RESULTS)) u_results (
    .clk_i,
    .rst_ni,
    .push_i         (results_push),
    .data_i         (result_entry),
    .send_i         (results_send),
    .done_i         (events_i.results_taken),
    .search_i       (1'b0),
    .ready_o        (results_ready),
    .empty_o        (results_empty),
    .next_valid_o   (results_next_valid),
    .next_o         (result_next),
    .oldest_o       (result_oldest),
    .sent_o         (results_sent),
    .found_o        (results_found)
  );

  request_queue #(.WIDTH($bits(operand_entry_t)), .DEPTH(OPERANDS)) u_operands (
    .clk_i,
    .rst_ni,
    .push_i         (operands_push),
    .data_i         (operand_entry),
    .send_i         (operands_send),
    .done_i         (events_i.written),
    .search_i       (1'b0),
    .ready_o        (operands_ready),
    .empty_o        (operands_empty),
    .next_valid_o   (operands_next_valid),
    .next_o         (operand_next),
    .oldest_o       (operand_oldest),
    .sent_o         (operands_sent),
    .found_o        (operands_found)
  );

  request_queue #(.WIDTH($bits(softmax_entry_t)), .DEPTH(SOFTMAX)) u_softmax (
    .clk_i,
    .rst_ni,
    .push_i         (softmax_push),
    .data_i         (softmax_entry),
    .send_i         (softmax_done),
    .done_i         (softmax_done),
    .search_i       (1'b0),
    .ready_o        (softmax_ready),
    .empty_o        (softmax_empty),
    .next_valid_o   (softmax_next_valid),
    .next_o         (softmax_next),
    .oldest_o       (softmax_oldest),
    .sent_o         (softmax_sent),
    .found_o        (softmax_found)
  );

  assign unused_array    = &{1'b0, array_sent, array_oldest};
  assign unused_results  = &{1'b0, results_found, result_oldest};
  assign unused_operands = &{1'b0, operands_sent, operands_found, operand_oldest};
  assign unused_softmax  = &{1'b0, softmax_sent, softmax_found, softmax_oldest};

  // ---------------------------------------------------------------------------------------------
  // Entry into the queues
  // ---------------------------------------------------------------------------------------------

  logic [255:0] next_content_d, next_content_q, content_d, content_q;
  number_t      ended_d, ended_q, made_d, made_q;
  logic [6:0]   asked_d, asked_q;  // bursts of the host in the operands queue
  logic [4:0]   unpaired_d, unpaired_q;  // WEIGHs without their WR_WEIGHTS
  logic         is_mac, is_write, is_weigh, word_is_written, next_content, oldest_closes;
  logic         closing_d, closing_q;  // a CLOSE_ALL is in the array queue

  assign is_mac          = command_q.opcode == OpMacScore || command_q.opcode == OpMacContext;
  assign is_write        = command_q.opcode == OpWrShared || command_q.opcode == OpWrWeights;
  assign is_weigh        = command_q.opcode == OpWeigh;
  assign next_content    = next_content_q[command_q.mac.word];
  assign word_is_written = next_content == content_q[command_q.mac.word];
  assign lacks_operand   = command_q.opcode == OpWrShared && asked_q >= operands_i;
  assign oldest_closes   = !array_empty && array_oldest.closes;

  always_comb begin
    unique case (command_q.opcode)
      OpWeigh:     breaks_pair = unpaired_q == 5'(WORDS);
      OpWrWeights: breaks_pair = unpaired_q == '0;
      OpCloseAll:  breaks_pair = unpaired_q != '0;
      default:     breaks_pair = 1'b0;
    endcase
  end

  always_comb begin
    unique case (command_q.opcode)
      OpRdResult:        fits = results_ready && (command_q.sum.kind != SumScores || softmax_empty);
      OpWrShared:        fits = operands_ready && word_is_written &&
                                (!command_q.mac.first || array_empty);
      OpWrWeights:       fits = operands_ready && word_is_written;
      OpFinish, OpWeigh: fits = softmax_ready;
      default:           fits = array_ready;
    endcase
  end

  assign enters        = command_valid_q && fits && !closing_q;
  assign array_push    = enters && (is_mac || command_q.opcode == OpCloseAll) && !breaks_pair;
  assign results_push  = enters && command_q.opcode == OpRdResult;
  assign operands_push = enters && is_write && !lacks_operand && !breaks_pair;
  assign softmax_push  = enters && (is_weigh || command_q.opcode == OpFinish) && !breaks_pair;

  assign ended_d = ended_q + 8'(array_push && is_mac && command_q.mac.last);

  assign array_entry = '{
    row: command_q.row, column: command_q.column, accumulate: command_q.mac.accumulate,
    first: command_q.mac.first, last: command_q.mac.last, opens: command_q.mac.opens,
    number: ended_d, closes: !is_mac, word: command_q.mac.word, content: next_content
  };
  assign result_entry  = '{address: command_q.address, sum: command_q.sum, number: ended_q};
  assign operand_entry = '{
    word: command_q.mac.word, host: command_q.opcode == OpWrShared, content: !next_content
  };
  assign softmax_entry = '{finishes: !is_weigh, weigh: command_q.weigh};

  always_comb begin
    next_content_d = next_content_q;
    content_d      = content_q;
    if (operands_push) next_content_d[command_q.mac.word] = operand_entry.content;
    if (events_i.written) content_d[operand_oldest.word] = operand_oldest.content;
    closing_d       = closing_q;
    if (array_push && !is_mac) closing_d = 1'b1;
    if (array_done && oldest_closes) closing_d = 1'b0;
    command_d       = taken && decode_fault == FaultNone ? decoded : command_q;
    command_valid_d = taken && decode_fault == FaultNone || command_valid_q && !enters;
  end

  // ---------------------------------------------------------------------------------------------
  // Array requests
  // ---------------------------------------------------------------------------------------------

  logic [9:0]  scores_d, scores_q;      // requested and not in the score buffer
  logic [15:0] elements_d, elements_q;  // of results, requested and not there yet
  logic [3:0]  finishing_d, finishing_q;
  logic        ending_d, ending_q;      // a MAC that ends a sum is taken and not on the pins
  logic [9:0]  pace_d, pace_q;          // cycles until a MAC that is a sum by itself may be requested
  logic        over_d, over_q, closed_d, closed_q, head_ended_d, head_ended_q;
  logic        no_words, quiet, drained, waits, may_end, reads, closes;

  assign quiet   = results_empty && operands_empty && softmax_empty && scores_q == '0 &&
                   elements_q == '0 && finishing_q == '0 && no_words;
  assign drained = !command_valid_q && array_empty && quiet;

  // The results of a sum take the place of those before.
  assign waits   = !results_empty && is_before(result_oldest.number, array_next.number) &&
                   (array_next.accumulate || result_oldest.sum.kind == SumContext);
  assign may_end = !waits && (!array_next.first || !ending_q && pace_q == '0);
  assign reads   = array_next_valid && !array_next.closes &&
                   content_q[array_next.word] == array_next.content &&
                   (!array_next.last || may_end);
  assign closes  = array_next_valid ? array_next.closes && oldest_closes && quiet
                                    : over_q && drained && !closed_q;

  assign array_valid_o = reads || closes;
  assign head_end_o    = closes && !head_ended_q;
  assign done_o        = over_q && drained && closed_q;

  always_comb begin
    array_o = '0;
    if (closes) array_o.kind = ArrayCloseAll;
    if (reads) begin
      array_o.kind   = ArrayReadAll;
      array_o.row    = array_next.row;
      array_o.column = array_next.column;
      array_o.mac    = '{
        word: array_next.word, accumulate: array_next.accumulate, first: array_next.first,
        last: array_next.last, opens: array_next.opens
      };
    end
  end

  assign array_send = events_i.array_taken && !array_empty;
  assign array_done = events_i.read || events_i.array_taken && closes && !array_empty;
  assign made_d     = made_q + 8'(events_i.results);

  always_comb begin
    closed_d     = events_i.array_taken ? closes : closed_q;
    head_ended_d = head_ended_q || closes;
    if (events_i.array_taken && !closes || array_push && !is_mac) head_ended_d = 1'b0;
    ending_d = ending_q || events_i.array_taken && array_o.mac.last;
    pace_d   = pace_q == '0 ? '0 : pace_q - 10'd1;
    if (events_i.read && array_oldest.last) begin
      // A chunk's results leave in four bursts, which take longer than one MAC, and no longer than two.
      ending_d = 1'b0;
      pace_d   = {burst_i, 2'd0} > LATENCY ? {burst_i, 2'd0} - LATENCY - 10'd1 : '0;
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

  logic [8:0] gap_d, gap_q;  // cycles until an RD_RESULT of the context may be requested
  logic       reads_results, writes_word, word_made;

  assign reads_results = results_next_valid && !is_before(made_q, result_next.number) &&
                         (result_next.sum.kind != SumContext || !results_sent && gap_q == '0);
  assign writes_word   = !reads_results && operands_next_valid && !word_is_used &&
                         (operand_next.host || word_made);

  assign bus_valid_o = reads_results || writes_word;

  always_comb begin
    bus_o = '0;
    if (reads_results) begin
      bus_o.address = result_next.address;
      bus_o.sum     = result_next.sum;
    end
    if (writes_word) begin
      bus_o.write   = 1'b1;
      bus_o.address = operand_next.word;
      bus_o.host    = operand_next.host;
    end
  end

  assign results_send  = events_i.bus_taken && reads_results;
  assign operands_send = events_i.bus_taken && writes_word;
  assign asked_d       = asked_q + 7'(operands_push && operand_entry.host) -
                         7'(operands_send && operand_next.host);

  always_comb begin
    gap_d = gap_q == '0 ? '0 : gap_q - 9'd1;
    if (events_i.results_taken) begin
      gap_d = {1'b0, burst_i} + (result_oldest.sum.kind == SumContext ? CONTEXT_GAP : TREE_GAP);
      gap_d = gap_d > LATENCY[8:0] + 9'd1 ? gap_d - LATENCY[8:0] - 9'd1 : '0;
    end
    if (start_i) gap_d = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // The softmax unit
  // ---------------------------------------------------------------------------------------------

  logic [4:0] words_d, words_q;        // of weights: from the weigh to the bus request
  logic [4:0] complete_d, complete_q;  // those that are complete
  logic       word_taken;

  assign finish_valid_o = softmax_next_valid && softmax_next.finishes && scores_q == '0;
  assign finish_o.head  = finish_valid_o ? softmax_next.weigh.head : '0;
  assign weigh_valid_o  = softmax_next_valid && !softmax_next.finishes && scores_q == '0 &&
                          finishing_q == '0 && words_q != 5'(WORDS);
  assign weigh_o        = weigh_valid_o ? softmax_next.weigh : '0;
  assign softmax_done   = events_i.finish_taken || events_i.weigh_taken;

  // After a fault nothing enters, so that no entry will write a word that none has claimed.
  assign weights_drop_o = fault_q != FaultNone && !command_valid_q && operands_empty && word_made;
  assign word_taken     = operands_send && !operand_next.host || weights_drop_o;
  assign word_made      = complete_q != '0;
  assign no_words       = words_q == '0;
  assign words_d        = words_q + 5'(events_i.weigh_taken) - 5'(word_taken);
  assign complete_d     = complete_q + 5'(events_i.word_made) - 5'(word_taken);

  assign scores_d    = scores_q - 10'(events_i.scaled) +
                       (results_push && command_q.sum.kind == SumScores ? 10'd4 : 10'd0);
  assign finishing_d = finishing_q + 4'(events_i.finish_taken) - 4'(events_i.finished);
  assign unpaired_d  = unpaired_q + 5'(softmax_push && is_weigh) -
                       5'(operands_push && !operand_entry.host) - 5'(weights_drop_o);

  always_comb begin
    elements_d = elements_q - 16'(events_i.context_made) - 16'(events_i.output_made);
    if (results_push && command_q.sum.complete) begin
      if (command_q.sum.kind == SumContext && command_q.sum.last) elements_d = elements_d + 16'd8;
      if (command_q.sum.kind == SumOutputs) elements_d = elements_d + 16'd4;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Faults, and the registers
  // ---------------------------------------------------------------------------------------------

  logic overwritten, ends_unpaired;

  assign ends_unpaired = over_q && !command_valid_q && unpaired_q != '0;

  // The oldest entry that is not done reads results that are there, and the next come. An RD_RESULT in the
  // same tCK reads the next ones.
  assign overwritten = events_i.results && !results_empty && !is_before(made_q, result_oldest.number);
  assign fault_o     = fault_q;

  always_comb begin
    fault_d = fault_q;
    if (fault_q == FaultNone) begin
      if (overwritten) fault_d = FaultOverwritten;
      else if (taken && decode_fault != FaultNone) fault_d = decode_fault;
      else if (enters && lacks_operand) fault_d = FaultNoOperand;
      else if (enters && breaks_pair || ends_unpaired) fault_d = FaultUnpaired;
    end
    if (start_i) fault_d = FaultNone;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      command_valid_q <= 1'b0;
      command_q       <= '0;
      fault_q         <= FaultNone;
      next_content_q  <= '0;
      content_q       <= '0;
      ended_q         <= '0;
      made_q          <= '0;
      asked_q         <= '0;
      closing_q       <= 1'b0;
      unpaired_q      <= '0;
      scores_q        <= '0;
      elements_q      <= '0;
      finishing_q     <= '0;
      ending_q        <= 1'b0;
      pace_q          <= '0;
      over_q          <= 1'b0;
      closed_q        <= 1'b0;
      head_ended_q    <= 1'b0;
      gap_q           <= '0;
      words_q         <= '0;
      complete_q      <= '0;
    end else begin
      command_valid_q <= command_valid_d;
      command_q       <= command_d;
      fault_q         <= fault_d;
      next_content_q  <= next_content_d;
      content_q       <= content_d;
      ended_q         <= ended_d;
      made_q          <= made_d;
      asked_q         <= asked_d;
      closing_q       <= closing_d;
      unpaired_q      <= unpaired_d;
      scores_q        <= scores_d;
      elements_q      <= elements_d;
      finishing_q     <= finishing_d;
      ending_q        <= ending_d;
      pace_q          <= pace_d;
      over_q          <= over_d;
      closed_q        <= closed_d;
      head_ended_q    <= head_ended_d;
      gap_q           <= gap_d;
      words_q         <= words_d;
      complete_q      <= complete_d;
    end
  end

  if (SCORES < 4 || SCORES > 131072) $fatal(1, "SCORES = %0d: expected 4 to 131072", SCORES);

endmodule
