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
  parameter int unsigned TREE_AFTER_CONTEXT    = 9
) (
  /// Clock: one edge per cycle of the rank PU's core.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// Size of a bank.
  input  bank_size_t     size_i,
  /// Cycles from one RD_RESULT to the next, 1 or more: of a burst on the data bus, or tCCD_RESULT.
  input  logic [7:0]     burst_i,
  /// Sums have 32 bits: a burst of the context holds two of them, not four.
  input  logic           wide_i,
  /// A run starts.
  input  logic           start_i,
  /// The dispatcher's run has ended.
  input  logic           done_i,
  /// Bursts of the host for WR_SHARED that are still to be taken; 127 for more.
  input  logic [6:0]     operands_i,
  /// The host's next burst is there. Once set, it is set until that burst is taken.
  input  logic           operand_valid_i,
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

  function automatic logic is_read(opcode_e opcode);
    return opcode == OpMacScore || opcode == OpMacContext;
  endfunction

  function automatic logic is_write(opcode_e opcode);
    return opcode == OpWrShared || opcode == OpWrWeights;
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
  place_t          place;
  logic [2:0]      count;
  logic            keep, unused_input;

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

  assign unused_input = &{1'b0, input_command.request, input_next_valid, input_next};

  sequencer_decode #(.SCORES(SCORES)) u_decode (
    .size_i,
    .command_i (input_command),
    .fault_o   (decode_fault),
    .place_o   (place),
    .count_o   (count),
    .keep_o    (keep)
  );

  assign decoded = '{
    opcode: input_command.kind, head: input_command.head, row: input_command.row, column: input_command.column,
    word: input_command.word, first: input_command.first, last: input_command.last, opens: input_command.opens,
    place: place, count: count, keep: keep
  };

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

  number_t    ended_d, ended_q, made;
  logic [6:0] asked_d, asked_q;  // bursts of the host in the operands queue
  logic       closing_d, closing_q;  // a CLOSE_ALL is in the array queue
  logic       host_push, weights_push, close_done, paired, full;
  sum_t       sum;
  word_t      address;

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

  sequencer_sum u_sum (
    .wide_i,
    .word_i    (command_q.word),
    .head_i    (command_q.head),
    .place_i   (command_q.place),
    .first_i   (command_q.first),
    .last_i    (command_q.last),
    .count_i   (command_q.count),
    .keep_i    (command_q.keep),
    .address_o (address),
    .sum_o     (sum)
  );

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

  assign closing_d = (closing_q || array_push && !is_mac) && !close_done;

  // ---------------------------------------------------------------------------------------------
  // Array requests
  // ---------------------------------------------------------------------------------------------

  logic [15:0] elements_d, elements_q;  // of results, requested and not there yet
  logic        over_d, over_q;
  logic        quiet_d, quiet_q;        // only the array queue has something to do
  logic        ended_run_d, ended_run_q;
  logic        reads, closes, closed;   // the request; the last was a CLOSE_ALL
  logic        waits, softmax_quiet;

  assign quiet_d     = results_empty && operands_empty && softmax_empty && elements_q == '0 && softmax_quiet;
  assign ended_run_d = over_q && !before_queues && array_empty && quiet_d && !start_i;

  assign array_send = events_i.array_taken && array_next_valid;
  assign close_done = events_i.array_taken && array_next_valid && closes;
  assign array_done = events_i.read || close_done;

  sequencer_array u_array_requests (
    .clk_i,
    .rst_ni,
    .start_i,
    .burst_i,
    .next_valid_i  (array_next_valid),
    .next_closes_i (array_next.closes),
    .next_last_i   (array_next.mac.last),
    .word_there_i  (word_there),
    .waits_i       (waits),
    .quiet_i       (quiet_q),
    .ended_i       (ended_run_q),
    .taken_i       (events_i.array_taken),
    .read_i        (events_i.read),
    .close_push_i  (array_push && !is_mac),
    .reads_o       (reads),
    .closes_o      (closes),
    .head_end_o,
    .closed_o      (closed)
  );

  assign array_valid_o = reads || closes;
  assign done_o        = ended_run_q && closed;

  always_comb begin
    array_o = '0;
    if (closes) array_o.kind = ArrayCloseAll;
    if (reads) begin
      array_o.kind   = ArrayReadAll;
      array_o.row    = array_next.row;
      array_o.column = array_next.column;
      array_o.mac    = array_next.mac;
    end
  end

  assign over_d = (over_q || done_i) && !start_i;

  // ---------------------------------------------------------------------------------------------
  // Bus requests
  // ---------------------------------------------------------------------------------------------

  logic results_due, operands_due, has_word, overwritten;
  logic bus_reads_d, bus_reads_q, bus_writes_d, bus_writes_q;

  sequencer_results #(
    .LATENCY(LATENCY),
    .CONTEXT_AFTER_CONTEXT(CONTEXT_AFTER_CONTEXT),
    .CONTEXT_AFTER_TREE(CONTEXT_AFTER_TREE),
    .TREE_AFTER_CONTEXT(TREE_AFTER_CONTEXT)
  ) u_readers (
    .clk_i,
    .rst_ni,
    .start_i,
    .burst_i,
    .next_valid_i     (results_next_valid),
    .next_context_i   (result_next.sum.kind == SumContext),
    .next_kept_i      (result_next.sum.kind != SumContext && result_next.address[1:0] != '0),
    .next_number_i    (result_next.number),
    .empty_i          (results_empty),
    .single_i         (results_single),
    .send_i           (results_send),
    .taken_i          (events_i.results_taken),
    .results_i        (events_i.results),
    .mac_accumulate_i (array_next.mac.accumulate),
    .mac_number_i     (array_next.number),
    .due_o            (results_due),
    .waits_o          (waits),
    .overwritten_o    (overwritten),
    .made_o           (made)
  );

  assign operands_due = operands_next_valid && !operands_send && word_free &&
                        (operand_next.host ? operand_valid_i : has_word);

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
  assign asked_d       = asked_q + 7'(host_push) - 7'(operands_send && operand_next.host);

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

  logic ends_unpaired;

  assign ends_unpaired = over_q && !before_queues && !paired;

  assign fault_o = fault_q;

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
      asked_q         <= '0;
      closing_q       <= 1'b0;
      lacks_q         <= 1'b0;
      elements_q      <= '0;
      over_q          <= 1'b0;
      quiet_q         <= 1'b0;
      ended_run_q     <= 1'b0;
      bus_reads_q     <= 1'b0;
      bus_writes_q    <= 1'b0;
    end else begin
      look_valid_q    <= look_valid_d;
      command_valid_q <= command_valid_d;
      fault_q         <= fault_d;
      ended_q         <= ended_d;
      asked_q         <= asked_d;
      closing_q       <= closing_d;
      lacks_q         <= lacks_d;
      elements_q      <= elements_d;
      over_q          <= over_d;
      quiet_q         <= quiet_d;
      ended_run_q     <= ended_run_d;
      bus_reads_q     <= bus_reads_d;
      bus_writes_q    <= bus_writes_d;
    end
  end

  // What a valid bit or a count says to be there.
  always_ff @(posedge clk_i) begin
    look_q    <= look_d;
    command_q <= command_d;
  end

  if (SCORES < 4 || SCORES > 131072) $fatal(1, "SCORES = %0d: expected 4 to 131072", SCORES);
  if (LATENCY > 15 || CONTEXT_AFTER_TREE > 31 || TREE_AFTER_CONTEXT > 31)
    $fatal(1, "LATENCY = %0d, idle cycles %0d and %0d: expected up to 15 and 31", LATENCY,
           CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT);
  if (CONTEXT_AFTER_CONTEXT > CONTEXT_AFTER_TREE + 1)
    $fatal(1, "CONTEXT_AFTER_CONTEXT = %0d: expected up to %0d", CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE + 1);

endmodule
