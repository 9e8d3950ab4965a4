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
  typedef logic [7:0]  number_t;
  // Number of a MAC, or of a write to the shared buffers, in the order in which they enter.
  typedef logic [15:0] order_t;
  // Its lower bits, which an entry carries: see far.
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

  // Whether the counter has come to a number, where it is late by less than half of all numbers; with an event
  // it counts one more.
  function automatic logic has_come(need_t late, logic counts);
    return !late[8] || counts && late == '1;
  endfunction

  // Whether a MAC that ends a sum leaves the result registers to the RD_RESULT.
  function automatic logic yields(logic accumulate, number_t number, reader_t reader);
    number_t between;

    between = number - reader.number - 8'd1;
    return between < 8'd127 && (accumulate || reader.context_sums);
  endfunction

  // Tokens of a burst, or scores of a word: at most four.
  function automatic logic [2:0] at_most_four(logic [19:0] tokens);
    return tokens > 20'd4 ? 3'd4 : tokens[2:0];
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Decode: a register for the command as it comes, one for the command as it is decoded
  // ---------------------------------------------------------------------------------------------

  logic            input_valid_d, input_valid_q, command_valid_d, command_valid_q;
  logic            fresh_d, fresh_q;  // the tables' words are there, and not yet looked at
  dispatch_t       input_d, input_q;
  command_t        decoded, command_d, command_q;
  logic            taken, moves, enters, fits, lacks_d, lacks_q, breaks_pair, unused_input;
  logic            input_reads, input_writes, is_cleared;
  logic            forwards, forwarded_q;  // it needs what enters as it is decoded
  fault_e          decode_fault, fault_d, fault_q;
  result_address_t results;
  logic            in_buffer;  // four elements from the command's place on are in the score buffer
  logic [8:0]      cleared_d, cleared_q;  // words of the tables that are cleared in this run

  assign dispatch_ready_o = !input_valid_q;
  assign taken            = dispatch_valid_i && !input_valid_q && fault_q == FaultNone;
  assign input_d          = input_valid_q ? input_q : dispatch_i;
  assign input_valid_d    = input_valid_q ? !moves : taken;

  assign results      = result_address_t'(input_q.word);
  assign in_buffer    = input_q.place <= SCORE_BUFFER - 18'd4;
  assign unused_input = &{1'b0, input_q.request, results.unused, results.bank};

  always_comb begin : decode
    logic [19:0] earlier;  // tokens of the bank groups before
    logic        of_scores;

    earlier        = {16'd0, results.lane, 2'd0};
    of_scores      = input_q.kind == OpRdResult && !results.context_sums && !results.upper;
    decoded.opcode = input_q.kind;
    decoded.head   = input_q.head;
    decoded.row    = input_q.row;
    decoded.column = input_q.column;
    decoded.word   = input_q.word;
    decoded.first  = input_q.first;
    decoded.last   = input_q.last;
    decoded.opens  = input_q.opens;
    decoded.place  = of_scores && !in_buffer ? '0 : input_q.place[16:0];
    decoded.keep   = in_buffer;
    decoded.count  = at_most_four(input_q.tokens);
    if (of_scores) begin
      decoded.count = input_q.tokens > earlier ? at_most_four(input_q.tokens - earlier) : '0;
    end
  end

  always_comb begin : decode_faults
    decode_fault = FaultNone;
    unique case (input_q.kind)
      OpMacScore, OpMacContext: begin
        if ({1'b0, input_q.row} >= size_i.rows) decode_fault = FaultNoRow;
        else if ({1'b0, input_q.column} >= size_i.columns) decode_fault = FaultNoColumn;
      end
      OpRdResult: begin
        if (results.context_sums ? input_q.place >= PARTIAL_SUMS : results.upper && !in_buffer) begin
          decode_fault = FaultNoPlace;
        end
      end
      OpWeigh: begin
        if (input_q.tokens == '0) decode_fault = FaultNoTokens;
        else if (19'(input_q.place) + 19'(at_most_four(input_q.tokens)) > 19'(SCORES)) begin
          decode_fault = FaultNoPlace;
        end
      end
      OpWrShared, OpWrWeights, OpFinish, OpCloseAll: ;
      default: decode_fault = FaultUnknownCommand;
    endcase
  end

  // ---------------------------------------------------------------------------------------------
  // The scoreboard
  // ---------------------------------------------------------------------------------------------

  // The tables have for each word the last write and the last MAC that have entered. A word is cleared before
  // it is looked at in a run.
  order_t     writes_d, writes_q, written_d, written_q;  // writes that have entered, that are done
  order_t     macs_d, macs_q, read_d, read_q;            // MACs that have entered, that are on the pins
  order_t     last_write, last_mac, last_use, entered, done, age;
  logic [6:0] under_way;
  need_t      need_d, need_q;
  logic       is_mac, is_weigh, clears, mac_push, operands_push, unused_done;

  assign input_reads  = input_q.kind == OpMacScore || input_q.kind == OpMacContext;
  assign input_writes = input_q.kind == OpWrShared || input_q.kind == OpWrWeights;
  assign is_mac       = command_q.opcode == OpMacScore || command_q.opcode == OpMacContext;
  assign is_weigh     = command_q.opcode == OpWeigh;

  assign is_cleared = cleared_q[8] || input_q.word < cleared_q[7:0];
  assign forwards   = input_q.word == command_q.word &&
                      (input_reads && operands_push || input_writes && mac_push);
  assign moves      = input_valid_q && (!command_valid_q || enters) &&
                      (!input_reads && !input_writes || is_cleared);
  assign clears     = !cleared_q[8] && !enters;

  ram_1r1w #(.WIDTH($bits(order_t)), .DEPTH(256)) u_last_writes (
    .clk_i,
    .write_i         (clears || operands_push),
    .write_address_i (enters ? command_q.word : cleared_q[7:0]),
    .data_i          (enters ? writes_d : '0),
    .read_i          (moves && input_reads && !forwards),
    .read_address_i  (input_q.word),
    .data_o          (last_write)
  );

  ram_1r1w #(.WIDTH($bits(order_t)), .DEPTH(256)) u_last_macs (
    .clk_i,
    .write_i         (clears || mac_push),
    .write_address_i (enters ? command_q.word : cleared_q[7:0]),
    .data_i          (enters ? macs_d : '0),
    .read_i          (moves && input_writes && !forwards),
    .read_address_i  (input_q.word),
    .data_o          (last_mac)
  );

  // A MAC needs the last write to its word, a write the last MAC of its word: done, or under way.
  assign last_use    = is_mac ? last_write : last_mac;
  assign entered     = is_mac ? writes_q : macs_q;
  assign done        = is_mac ? written_q : read_q;
  assign age         = entered - last_use;
  assign under_way   = entered[6:0] - done[6:0];
  assign unused_done = &{1'b0, done[15:9]};

  always_comb begin
    need_d = need_q;
    if (fresh_q) begin
      need_d = age < order_t'(under_way) ? last_use[8:0] : done[8:0];
      if (forwarded_q) need_d = entered[8:0];
    end
  end


  assign writes_d  = writes_q + order_t'(operands_push);
  assign written_d = written_q + order_t'(events_i.written);
  assign macs_d    = macs_q + order_t'(mac_push);
  assign read_d    = read_q + order_t'(events_i.read);

  always_comb begin
    cleared_d = cleared_q + 9'(clears);
    if (start_i) cleared_d = '0;
  end

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
  // Entry into the queues
  // ---------------------------------------------------------------------------------------------

  number_t    ended_d, ended_q, made_d, made_q;
  logic [6:0] asked_d, asked_q;  // bursts of the host in the operands queue
  logic [4:0] unpaired_d, unpaired_q;  // WEIGHs without their WR_WEIGHTS
  logic       closing_d, closing_q;  // a CLOSE_ALL is in the array queue
  // So many have entered since the one that the next of the other queue needs that another one could be too
  // many for the numbers in the queue.
  logic       write_far_d, write_far_q, mac_far_d, mac_far_q;
  need_t      writes_since, macs_since;
  logic       close_done, unused_since, unused_which;
  sum_t            sum;
  result_address_t which, address;

  assign lacks_d      = asked_q >= operands_i;
  assign writes_since = writes_q[8:0] - array_next.need;
  assign macs_since   = macs_q[8:0] - operand_next.need;
  assign write_far_d  = array_next_valid && !array_next.closes && writes_since[8:7] != '0;
  assign mac_far_d    = operands_next_valid && macs_since[8:7] != '0;
  assign unused_since = &{1'b0, writes_since, macs_since};

  always_comb begin
    unique case (command_q.opcode)
      OpWrShared:  breaks_pair = 1'b0;
      OpWeigh:     breaks_pair = unpaired_q == 5'(WORDS);
      OpWrWeights: breaks_pair = unpaired_q == '0;
      OpCloseAll:  breaks_pair = unpaired_q != '0;
      default:     breaks_pair = 1'b0;
    endcase
  end

  always_comb begin
    unique case (command_q.opcode)
      OpRdResult:        fits = results_ready && (sum.kind != SumScores || softmax_empty);
      OpWrShared:        fits = operands_ready && !write_far_q && (!command_q.first || array_empty);
      OpWrWeights:       fits = operands_ready && !write_far_q;
      OpFinish, OpWeigh: fits = softmax_ready;
      OpCloseAll:        fits = array_ready;
      default:           fits = array_ready && !mac_far_q;
    endcase
  end

  assign enters        = command_valid_q && !fresh_q && fits && !closing_q;
  assign mac_push      = enters && is_mac;
  assign array_push    = mac_push || enters && command_q.opcode == OpCloseAll && !breaks_pair;
  assign results_push  = enters && command_q.opcode == OpRdResult;
  assign operands_push = enters && (command_q.opcode == OpWrShared && !lacks_q ||
                                    command_q.opcode == OpWrWeights && !breaks_pair);
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
    number: ended_d, closes: !is_mac, need: need_q
  };
  assign result_entry  = '{address: address, sum: sum, number: ended_q};
  assign operand_entry = '{word: command_q.word, host: command_q.opcode == OpWrShared, need: need_q};
  assign softmax_entry = '{
    finishes: !is_weigh,
    weigh:    '{place: command_q.place, head: command_q.head, count: command_q.count}
  };

  always_comb begin
    closing_d = closing_q;
    if (array_push && !is_mac) closing_d = 1'b1;
    if (close_done) closing_d = 1'b0;
    fresh_d         = moves;
    command_d       = moves ? decoded : command_q;
    command_valid_d = moves ? decode_fault == FaultNone : command_valid_q && !enters;
  end

  // ---------------------------------------------------------------------------------------------
  // Array requests
  // ---------------------------------------------------------------------------------------------

  logic [9:0]  scores_d, scores_q;      // requested and not in the score buffer
  logic [15:0] elements_d, elements_q;  // of results, requested and not there yet
  logic [3:0]  finishing_d, finishing_q;
  logic [4:0]  words_d, words_q;        // of weights: from the weigh to the bus request
  logic [4:0]  complete_d, complete_q;  // those that are complete
  logic [2:0]  sent_d, sent_q, sent;    // MACs that are accepted and not on the pins
  logic [3:0]  lasts_d, lasts_q, lasts; // whether each ends a sum, the oldest at the bottom
  logic [9:0]  pace_d, pace_q;          // cycles until a MAC that is a sum by itself may be requested
  logic        over_d, over_q, closed_d, closed_q, head_ended_d, head_ended_q;
  logic        quiet_d, quiet_q;        // only the array queue has something to do
  logic        ended_run_d, ended_run_q;
  logic        reads_d, reads_q, closes_d, closes_q;  // the request
  logic        word_there, waits, may_end, unused_late;
  logic [2:0]  readers_d, readers_q, readers;    // RD_RESULTs that are accepted and not on the pins
  reader_t [3:0] reading_d, reading_q, reading;  // what they are, the oldest at the bottom
  reader_t     oldest, second;          // RD_RESULTs that are not done
  logic        oldest_known, second_known;  // they are not in the memory
  need_t       write_late, mac_late;

  assign quiet_d     = results_empty && operands_empty && softmax_empty && scores_q == '0 &&
                       elements_q == '0 && finishing_q == '0 && words_q == '0;
  assign ended_run_d = over_q && !input_valid_q && !command_valid_q && array_empty && quiet_d && !start_i;

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

  assign write_late = written_q[8:0] - array_next.need;
  assign word_there = has_come(write_late, events_i.written);
  assign reads_d    = array_next_valid && !array_next.closes && !events_i.array_taken &&
                      (reads_q || word_there && (!array_next.mac.last || may_end));
  assign closes_d   = !events_i.array_taken && !start_i &&
                      (array_next_valid ? array_next.closes && sent_q == '0 && quiet_q
                                        : ended_run_q && !closed_q);

  assign array_valid_o     = reads_q || closes_q;
  assign head_end_o        = closes_q && !head_ended_q;
  assign done_o            = ended_run_q && closed_q;
  assign unused_late = &{1'b0, write_late, mac_late};

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
      pace_d = {burst_i, 2'd0} > LATENCY ? {burst_i, 2'd0} - LATENCY - 10'd1 : '0;
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

  logic [8:0]    gap_d, gap_q;  // cycles until an RD_RESULT of the context may be requested
  number_t       made_since;
  reader_t       heading;
  logic          is_context, results_due, operands_due, made_reached;
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
                        (!is_context || readers_q == '0 && gap_q[8:1] == '0);
  assign mac_late     = read_q[8:0] - operand_next.need;
  assign operands_due = operands_next_valid && !operands_send && has_come(mac_late, events_i.read) &&
                        (operand_next.host || complete_q != '0 || events_i.word_made);
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
  assign asked_d       = asked_q + 7'(operands_push && operand_entry.host) -
                         7'(operands_send && operand_next.host);

  always_comb begin
    readers   = readers_q - 3'(events_i.results_taken);
    reading   = events_i.results_taken ? {reading_q[3], reading_q[3:1]} : reading_q;
    readers_d = readers;
    reading_d = reading;
    if (results_send) begin
      readers_d               = readers + 3'd1;
      reading_d[readers[1:0]] = heading;
    end
    gap_d = gap_q == '0 ? '0 : gap_q - 9'd1;
    if (events_i.results_taken) begin
      gap_d = {1'b0, burst_i} + (oldest.context_sums ? CONTEXT_GAP : TREE_GAP);
      gap_d = gap_d > LATENCY[8:0] + 9'd1 ? gap_d - LATENCY[8:0] - 9'd1 : '0;
    end
    if (start_i) gap_d = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // The softmax unit
  // ---------------------------------------------------------------------------------------------

  logic finishes_d, finishes_q, weighs_d, weighs_q, drops_d, drops_q, word_taken;
  logic scores_there, heads_finished;  // in the next cycle

  assign softmax_done = events_i.finish_taken || events_i.weigh_taken;
  assign finishes_d   = softmax_next_valid && !softmax_done && softmax_next.finishes && scores_there;
  assign weighs_d     = softmax_next_valid && !softmax_done && !softmax_next.finishes && scores_there &&
                        heads_finished && words_q != 5'(WORDS);

  // No scores enter while there is an entry, and no head where it is not sent.
  assign scores_there   = scores_q[9:3] == '0 && scores_q[2:0] == events_i.scaled;
  assign heads_finished = finishing_q[3:1] == '0 && (!finishing_q[0] || events_i.finished);

  assign finish_valid_o = finishes_q;
  assign finish_o.head  = finishes_q ? softmax_next.weigh.head : '0;
  assign weigh_valid_o  = weighs_q;
  assign weigh_o        = weighs_q ? softmax_next.weigh : '0;

  // After a fault nothing enters, so that no entry will write a word that none has claimed.
  assign drops_d        = fault_q != FaultNone && !input_valid_q && !command_valid_q && operands_empty &&
                          complete_q != '0 && !drops_q;
  assign weights_drop_o = drops_q;
  assign word_taken     = operands_send && !operand_next.host || drops_q;
  assign words_d        = words_q + 5'(events_i.weigh_taken) - 5'(word_taken);
  assign complete_d     = complete_q + 5'(events_i.word_made) - 5'(word_taken);

  assign scores_d    = scores_q - 10'(events_i.scaled) +
                       (results_push && sum.kind == SumScores ? 10'd4 : 10'd0);
  assign finishing_d = finishing_q + 4'(events_i.finish_taken) - 4'(events_i.finished);
  assign unpaired_d  = unpaired_q + 5'(softmax_push && is_weigh) -
                       5'(operands_push && !operand_entry.host) - 5'(drops_q);

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

  assign ends_unpaired = over_q && !input_valid_q && !command_valid_q && unpaired_q != '0;

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
      input_valid_q   <= 1'b0;
      command_valid_q <= 1'b0;
      fresh_q         <= 1'b0;
      fault_q         <= FaultNone;
      cleared_q       <= '0;
      writes_q        <= '0;
      written_q       <= '0;
      macs_q          <= '0;
      read_q          <= '0;
      ended_q         <= '0;
      made_q          <= '0;
      asked_q         <= '0;
      closing_q       <= 1'b0;
      unpaired_q      <= '0;
      lacks_q         <= 1'b0;
      write_far_q     <= 1'b0;
      mac_far_q       <= 1'b0;
      scores_q        <= '0;
      elements_q      <= '0;
      finishing_q     <= '0;
      words_q         <= '0;
      complete_q      <= '0;
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
      gap_q           <= '0;
      bus_reads_q     <= 1'b0;
      bus_writes_q    <= 1'b0;
      finishes_q      <= 1'b0;
      weighs_q        <= 1'b0;
      drops_q         <= 1'b0;
    end else begin
      input_valid_q   <= input_valid_d;
      command_valid_q <= command_valid_d;
      fresh_q         <= fresh_d;
      fault_q         <= fault_d;
      cleared_q       <= cleared_d;
      writes_q        <= writes_d;
      written_q       <= written_d;
      macs_q          <= macs_d;
      read_q          <= read_d;
      ended_q         <= ended_d;
      made_q          <= made_d;
      asked_q         <= asked_d;
      closing_q       <= closing_d;
      unpaired_q      <= unpaired_d;
      lacks_q         <= lacks_d;
      write_far_q     <= write_far_d;
      mac_far_q       <= mac_far_d;
      scores_q        <= scores_d;
      elements_q      <= elements_d;
      finishing_q     <= finishing_d;
      words_q         <= words_d;
      complete_q      <= complete_d;
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
      gap_q           <= gap_d;
      bus_reads_q     <= bus_reads_d;
      bus_writes_q    <= bus_writes_d;
      finishes_q      <= finishes_d;
      weighs_q        <= weighs_d;
      drops_q         <= drops_d;
    end
  end

  // What a valid bit or a count says to be there.
  always_ff @(posedge clk_i) begin
    input_q     <= input_d;
    forwarded_q <= forwards;
    command_q   <= command_d;
    need_q      <= need_d;
    reading_q   <= reading_d;
  end

  if (SCORES < 4 || SCORES > 131072) $fatal(1, "SCORES = %0d: expected 4 to 131072", SCORES);

endmodule
