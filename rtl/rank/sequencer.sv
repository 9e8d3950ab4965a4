// SPDX-License-Identifier: MIT
// The sequencer: queues between the dispatcher and the rank's ports, and the interlocks that hold back
// the head of each until the data are there that it works on.
//
//               ┌─▶ array ────▶ array port: MAC, CLOSE_ALL
// dispatcher ─▶ door ─▶ results ──┬─▶ bus port: RD_RESULT before WR_SHARED, WR_WEIGHTS
//               ├─▶ operands ─────┘
//               └─▶ softmax ──▶ softmax unit: FINISH, WEIGH
//
// A clock is one tCK. Commands enter in the order of the program, through a register (the door); each
// queue keeps its order, and there is none between the queues but for the interlocks. They know the
// entries of the queues and a few counters, not the program:
//
//   head of a queue         waits for
//   MAC                     its word of the shared buffers, as it was to be when the MAC entered
//   MAC that ends a sum     where this sum or the one before is of the context, for the results of that
//                           one to have left; a MAC that is a sum by itself, for the time in which a
//                           chunk's results leave
//   CLOSE_ALL               everything before it
//   RD_RESULT               the sum that ended last before it in the program; of the context, a tCK after
//                           the burst before it
//   WR_SHARED, WR_WEIGHTS   the MACs before it that use the word's present content; its data
//   FINISH                  the scores before it
//   WEIGH                   the reciprocals before it; room for a word of weights
//
// At the door waits, beside what finds its queue full: a write to a word of which another write is not
// done, so that one bit tells a word's present content from the next; a WR_SHARED with first, for the
// array queue to be empty; an RD_RESULT of scores, while the softmax queue has something to do with the
// scores before; and everything behind a CLOSE_ALL in its queue.
//
// What an entry waits for was dispatched before it, so the queues always drain. Of a word of weights
// that means: a WR_WEIGHTS has its WEIGH before it; at most sixteen WEIGHs are without their WR_WEIGHTS,
// as many words as are kept, and none at a CLOSE_ALL or at the end. What breaks this is a fault.
//
// Timing. Registers alone decide the outputs, whatever the inputs of the clock are: a request stands until
// it is taken, and what happens in a clock shows in the next.
//
//   clock             0     1     2     3     4
//   dispatch_valid_i  A     B     B     0
//   dispatch_ready_o  1     1     0     1           A goes through in clock 1, B waits in 2
//   door              -     A     B     B     -
//   array_valid_o     0     0     1     1     0     A in its queue
//   array_taken_i     0     0     0     1     0
//
// An entry is sent when its port takes it (array_taken_i, bus_taken_i), and stays in its queue until what
// it asks for is done, in order: read_i, results_taken_i, written_i. FINISH and WEIGH are done when the
// softmax unit takes them.
//
// Runs. start_i is set in a clock in which nothing else happens: a run begins, and the fault of the one
// before is forgotten. done_i tells that the dispatcher's run has ended. When all that was dispatched is
// done, a CLOSE_ALL is asked for if the last array command was none, and then done_o stands. Each
// CLOSE_ALL sets head_end_o in the first clock in which it is asked for.
//
// Faults. fault_o is the first since the start. The command that has it enters no queue, and those that
// are taken after it are dropped; what was in the queues goes on, and weights that nobody writes any more
// are dropped.
//
//   1 there is no such command   4 no such place                  7 results of a sum had not been read
//   2 no such row                5 a WEIGH without tokens           when those of the next came
//   3 no such column             6 more WR_SHARED than bursts     8 WEIGHs and WR_WEIGHTS do not match
//
// What the commands ask for, field by field, stands in hw-models/units/src/rank/sequencer/command.rs.
//
// Depths. The banks take a MAC in 8 tCK, and need the next from the queue whatever else the dispatcher
// has to do: 32 RD_RESULTs between two segments of the context (16 sums of 32 bits, two bursts each),
// then WEIGH, softmax unit, WR_WEIGHTS and CWL for the first weights, some 50 tCK, with 80 in which
// results have the bus: 160 tCK are 20 MACs. The results queue has room for two segments, the operands
// queue for the query vectors of eight heads of 256 elements.

module sequencer (
  /// Clock: tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: no run, nothing queued.
  input  logic        rst_ni,
  /// Rows of a bank.
  input  logic [16:0] rows_i,
  /// Columns of a row.
  input  logic [8:0]  columns_i,
  /// tCK of a burst on the data bus.
  input  logic [7:0]  burst_i,
  /// Sums are of 32 bits: two to a burst of the context, not four.
  input  logic        wide_i,
  /// A run starts.
  input  logic        start_i,
  /// The dispatcher's run has ended.
  input  logic        done_i,
  /// Bursts that the host has ready for WR_SHARED; 127 for more.
  input  logic [6:0]  operands_i,
  /// A command from the dispatcher.
  input  logic        dispatch_valid_i,
  /// Its opcode.
  input  logic [3:0]  dispatch_kind_i,
  /// Query head.
  input  logic [2:0]  dispatch_head_i,
  /// Row of a MAC.
  input  logic [15:0] dispatch_row_i,
  /// Place in the score buffer, or among the partial sums.
  input  logic [17:0] dispatch_place_i,
  /// Column.
  input  logic [7:0]  dispatch_column_i,
  /// Word of the shared buffers, or which results.
  input  logic [7:0]  dispatch_word_i,
  /// Begins a sum, or a head; WR_SHARED: behind all MACs before it.
  input  logic        dispatch_first_i,
  /// Ends it.
  input  logic        dispatch_last_i,
  /// The first of an operator.
  input  logic        dispatch_opens_i,
  /// Tokens that there are.
  input  logic [19:0] dispatch_tokens_i,
  /// The array request is taken.
  input  logic        array_taken_i,
  /// The bus request is taken.
  input  logic        bus_taken_i,
  /// The finish is taken.
  input  logic        finish_taken_i,
  /// The weighing is taken.
  input  logic        weigh_taken_i,
  /// An RD_ALL is on the pins.
  input  logic        read_i,
  /// An RD_RESULT is.
  input  logic        results_taken_i,
  /// A word of the shared buffers is written.
  input  logic        written_i,
  /// The bank PUs have new results.
  input  logic        results_i,
  /// A score has been scaled.
  input  logic        scaled_i,
  /// A head can be weighed.
  input  logic        finished_i,
  /// There is a weight.
  input  logic        weight_valid_i,
  /// The weight.
  input  logic [15:0] weight_i,
  /// An element of the context has gone to the host.
  input  logic        context_valid_i,
  /// An output of a matrix has.
  input  logic        output_valid_i,
  /// The dispatcher's command is taken if there is one.
  output logic        dispatch_ready_o,
  /// What is wrong with the run; 0 for nothing.
  output logic [3:0]  fault_o,
  /// The run has ended, and all that was dispatched is done.
  output logic        done_o,
  /// An array request.
  output logic        array_valid_o,
  /// 1: all banks closed; 0: a column of every bank to its PU.
  output logic        array_close_o,
  /// Row; 0 without a read, as what follows.
  output logic [15:0] array_row_o,
  /// Column.
  output logic [7:0]  array_column_o,
  /// Word of the shared buffers.
  output logic [7:0]  array_shared_o,
  /// Accumulator mode of the bank PUs.
  output logic        array_accumulate_o,
  /// Begins a sum.
  output logic        array_first_o,
  /// Ends a sum.
  output logic        array_last_o,
  /// The first of an operator.
  output logic        array_opens_o,
  /// A bus request.
  output logic        bus_valid_o,
  /// 1: WR_SHARED; 0: RD_RESULT.
  output logic        bus_write_o,
  /// Word of the shared buffers, or which results.
  output logic [7:0]  bus_address_o,
  /// WR_SHARED: the host's next burst.
  output logic        bus_host_o,
  /// WR_SHARED: four weights, for each chip alike; 0 for another request.
  output logic [63:0] bus_weights_o,
  /// RD_RESULT: 0 scores, 1 outputs of a matrix, 2 context; 0 without one, as what follows.
  output logic [1:0]  sum_kind_o,
  /// Scores, context: query head.
  output logic [2:0]  sum_head_o,
  /// Scores: in the first chunk of their head. Context: begins a sum.
  output logic        sum_first_o,
  /// Context: ends a sum.
  output logic        sum_last_o,
  /// Scores: tokens that there are, 0 to 4.
  output logic [2:0]  sum_tokens_o,
  /// Place of the first in the score buffer; context: among the partial sums.
  output logic [16:0] sum_place_o,
  /// Scores: they are kept.
  output logic        sum_keep_o,
  /// Outputs, context: go on from a partial sum.
  output logic        sum_goes_on_o,
  /// Outputs, context: complete; otherwise they become partial sums.
  output logic        sum_complete_o,
  /// The scores of a head are complete.
  output logic        finish_valid_o,
  /// Which head.
  output logic [2:0]  finish_head_o,
  /// A score in the buffer becomes a weight.
  output logic        weigh_valid_o,
  /// Its place.
  output logic [16:0] weigh_place_o,
  /// Its head.
  output logic [2:0]  weigh_head_o,
  /// A head ends: REFs that were postponed come now.
  output logic        head_end_o
);

  localparam int unsigned ARRAY    = 32;
  localparam int unsigned RESULTS  = 64;
  localparam int unsigned OPERANDS = 64;
  localparam int unsigned SOFTMAX  = 16;
  localparam int unsigned WORDS    = 16;  // of weights

  // From the acceptance of a request to its command on the pins: rank_controller.
  localparam logic [9:0] LATENCY = 10'd2;

  localparam logic [17:0] SCORE_BUFFER = 18'd131072;
  localparam logic [17:0] PARTIAL_SUMS = 18'd256;

  localparam logic [1:0] SCORES  = 2'd0;
  localparam logic [1:0] OUTPUTS = 2'd1;
  localparam logic [1:0] CONTEXT = 2'd2;

  localparam logic [3:0] NO_FAULT        = 4'd0;
  localparam logic [3:0] UNKNOWN_COMMAND = 4'd1;
  localparam logic [3:0] NO_ROW          = 4'd2;
  localparam logic [3:0] NO_COLUMN       = 4'd3;
  localparam logic [3:0] NO_PLACE        = 4'd4;
  localparam logic [3:0] NO_TOKENS       = 4'd5;
  localparam logic [3:0] NO_OPERAND      = 4'd6;
  localparam logic [3:0] OVERWRITTEN     = 4'd7;
  localparam logic [3:0] UNPAIRED        = 4'd8;

  typedef enum logic [3:0] {
    None       = 4'd0,
    MacScore   = 4'd1,
    MacContext = 4'd2,
    RdResult   = 4'd3,
    WrShared   = 4'd4,
    WrWeights  = 4'd5,
    Finish     = 4'd6,
    Weigh      = 4'd7,
    CloseAll   = 4'd8
  } kind_e;

  // Numbers a sum, modulo 256: so many are never in the queues.
  typedef logic [7:0] sum_t;

  // What the adder unit does with results.
  typedef struct packed {
    logic [7:0]  address;
    logic [1:0]  kind;
    logic [2:0]  head;
    logic        first;
    logic        last;
    logic [2:0]  tokens;
    logic [16:0] place;
    logic        keep;
    logic        goes_on;
    logic        complete;
  } result_t;

  // A command at the door.
  typedef struct packed {
    kind_e       kind;
    logic [15:0] row;
    logic [7:0]  column;
    logic [7:0]  index;  // word of the shared buffers
    logic        first;
    logic        last;
    logic        opens;
    logic [2:0]  head;
    logic [16:0] place;
    logic [2:0]  count;
    result_t     result;
  } command_t;

  typedef struct packed {
    logic [15:0] row;
    logic [7:0]  column;
    logic        accumulate;
    logic        first;
    logic        last;
    logic        opens;
    sum_t        sum;      // that it is part of
    logic        closes;
    logic [7:0]  shared;
    logic        content;  // of its word, on which it works
  } array_entry_t;

  typedef struct packed {
    result_t result;
    sum_t    sum;          // that it takes away
  } result_entry_t;

  typedef struct packed {
    logic [7:0] index;
    logic       host;
    logic       content;
  } operand_entry_t;

  typedef struct packed {
    logic        finishes;
    logic [2:0]  head;
    logic [16:0] place;
    logic [2:0]  count;
  } softmax_entry_t;

  // Whether a sum ended before another one in the program.
  function automatic logic is_before(sum_t one, sum_t other);
    return other - one - 8'd1 < 8'd127;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // The door
  // ---------------------------------------------------------------------------------------------

  command_t   decoded, door_d, door_q;
  logic       door_valid_d, door_valid_q, taken, enters, fits, lacks_operand, breaks_pair;
  logic [3:0] decode_fault, fault_d, fault_q;

  always_comb begin : decode
    logic [19:0] earlier, left;
    logic [17:0] last_place;

    earlier      = {16'd0, dispatch_word_i[1:0], 2'd0};  // tokens of the bank groups before
    left         = dispatch_tokens_i > earlier ? dispatch_tokens_i - earlier : '0;
    decode_fault = NO_FAULT;

    decoded        = '0;
    decoded.kind   = kind_e'(dispatch_kind_i);
    decoded.row    = dispatch_row_i;
    decoded.column = dispatch_column_i;
    decoded.index  = dispatch_word_i;
    decoded.first  = dispatch_first_i;
    decoded.last   = dispatch_last_i;
    decoded.opens  = dispatch_opens_i;
    decoded.head   = dispatch_head_i;
    decoded.place  = dispatch_place_i[16:0];
    decoded.count  = dispatch_tokens_i > 20'd4 ? 3'd4 : dispatch_tokens_i[2:0];
    last_place     = dispatch_place_i + 18'(decoded.count) - 18'd1;

    if (dispatch_word_i[7]) begin
      // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
      decoded.result.kind     = CONTEXT;
      decoded.result.address  = {dispatch_word_i[7:6], 2'd0, dispatch_word_i[3:0]};
      decoded.result.head     = dispatch_head_i;
      decoded.result.first    = !dispatch_word_i[6];
      decoded.result.last     = !wide_i || dispatch_word_i[6];
      decoded.result.place    = dispatch_place_i[16:0];
      decoded.result.goes_on  = !dispatch_first_i;
      decoded.result.complete = dispatch_last_i;
    end else if (dispatch_word_i[6]) begin
      decoded.result.kind     = OUTPUTS;
      decoded.result.address  = {6'd0, dispatch_word_i[1:0]};
      decoded.result.place    = dispatch_place_i[16:0];
      decoded.result.goes_on  = !dispatch_first_i;
      decoded.result.complete = dispatch_last_i;
    end else begin
      decoded.result.address = {6'd0, dispatch_word_i[1:0]};
      decoded.result.head    = dispatch_head_i;
      decoded.result.first   = dispatch_first_i;
      decoded.result.tokens  = left > 20'd4 ? 3'd4 : left[2:0];
      decoded.result.keep    = dispatch_place_i <= SCORE_BUFFER - 18'd4;
      if (decoded.result.keep) decoded.result.place = dispatch_place_i[16:0];
    end

    unique case (decoded.kind)
      MacScore, MacContext: begin
        if ({1'b0, dispatch_row_i} >= rows_i) decode_fault = NO_ROW;
        else if ({1'b0, dispatch_column_i} >= columns_i) decode_fault = NO_COLUMN;
      end
      RdResult: begin
        if (decoded.result.kind == CONTEXT && dispatch_place_i >= PARTIAL_SUMS ||
            decoded.result.kind == OUTPUTS && dispatch_place_i > SCORE_BUFFER - 18'd4) begin
          decode_fault = NO_PLACE;
        end
      end
      Weigh: begin
        if (decoded.count == '0) decode_fault = NO_TOKENS;
        else if (dispatch_place_i >= SCORE_BUFFER || last_place >= SCORE_BUFFER) begin
          decode_fault = NO_PLACE;
        end
      end
      WrShared, WrWeights, Finish, CloseAll: ;
      default: decode_fault = UNKNOWN_COMMAND;
    endcase
  end

  assign dispatch_ready_o = !door_valid_q || enters;
  assign taken            = dispatch_valid_i && dispatch_ready_o && fault_q == NO_FAULT;

  // ---------------------------------------------------------------------------------------------
  // The queues
  // ---------------------------------------------------------------------------------------------

  logic           array_push, array_send, array_done, array_ready, array_empty, array_next_valid;
  logic           array_second_valid, word_is_used, unused_array;
  array_entry_t   array_entry, array_next, array_oldest, array_second;
  logic           results_push, results_send, results_ready, results_empty, results_next_valid;
  logic           results_second_valid, results_found, unused_results;
  result_entry_t  result_entry, result_next, result_oldest, result_second;
  logic           operands_push, operands_send, operands_ready, operands_empty;
  logic           operands_next_valid, operands_second_valid, operands_found, unused_operands;
  operand_entry_t operand_entry, operand_next, operand_oldest, operand_second;
  logic           softmax_push, softmax_done, softmax_ready, softmax_empty, softmax_next_valid;
  logic           softmax_second_valid, softmax_found, unused_softmax;
  softmax_entry_t softmax_entry, softmax_next, softmax_oldest, softmax_second;

  request_queue #(.WIDTH($bits(array_entry_t)), .DEPTH(ARRAY), .SEARCH_BITS(10)) u_array (
    .clk_i,
    .rst_ni,
    .push_i         (array_push),
    .data_i         (array_entry),
    .send_i         (array_send),
    .done_i         (array_done),
    .search_i       ({1'b0, operand_next.index, !operand_next.content}),
    .ready_o        (array_ready),
    .empty_o        (array_empty),
    .next_valid_o   (array_next_valid),
    .next_o         (array_next),
    .oldest_o       (array_oldest),
    .second_valid_o (array_second_valid),
    .second_o       (array_second),
    .found_o        (word_is_used)
  );

  request_queue #(.WIDTH($bits(result_entry_t)), .DEPTH(RESULTS)) u_results (
    .clk_i,
    .rst_ni,
    .push_i         (results_push),
    .data_i         (result_entry),
    .send_i         (results_send),
    .done_i         (results_taken_i),
    .search_i       (1'b0),
    .ready_o        (results_ready),
    .empty_o        (results_empty),
    .next_valid_o   (results_next_valid),
    .next_o         (result_next),
    .oldest_o       (result_oldest),
    .second_valid_o (results_second_valid),
    .second_o       (result_second),
    .found_o        (results_found)
  );

  request_queue #(.WIDTH($bits(operand_entry_t)), .DEPTH(OPERANDS)) u_operands (
    .clk_i,
    .rst_ni,
    .push_i         (operands_push),
    .data_i         (operand_entry),
    .send_i         (operands_send),
    .done_i         (written_i),
    .search_i       (1'b0),
    .ready_o        (operands_ready),
    .empty_o        (operands_empty),
    .next_valid_o   (operands_next_valid),
    .next_o         (operand_next),
    .oldest_o       (operand_oldest),
    .second_valid_o (operands_second_valid),
    .second_o       (operand_second),
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
    .second_valid_o (softmax_second_valid),
    .second_o       (softmax_second),
    .found_o        (softmax_found)
  );

  assign unused_array    = &{1'b0, array_second_valid, array_second, array_oldest};
  assign unused_results  = &{1'b0, results_found, result_oldest, result_second};
  assign unused_operands = &{1'b0, operands_second_valid, operands_found, operand_second,
                             operand_oldest};
  assign unused_softmax  = &{1'b0, softmax_second_valid, softmax_found, softmax_oldest,
                             softmax_second};

  // ---------------------------------------------------------------------------------------------
  // What enters
  // ---------------------------------------------------------------------------------------------

  logic [255:0] next_content_d, next_content_q, content_d, content_q;
  sum_t         ended_d, ended_q, made_d, made_q;
  logic [6:0]   asked_d, asked_q;  // bursts of the host in the operands queue
  logic [4:0]   unpaired_d, unpaired_q;  // WEIGHs without their WR_WEIGHTS
  logic         drops_word;
  logic         is_mac, is_write, word_is_written, oldest_closes;
  logic         closing_d, closing_q;  // a CLOSE_ALL is in the array queue

  assign is_mac          = door_q.kind == MacScore || door_q.kind == MacContext;
  assign is_write        = door_q.kind == WrShared || door_q.kind == WrWeights;
  assign word_is_written = next_content_q[door_q.index] == content_q[door_q.index];
  assign lacks_operand   = door_q.kind == WrShared && asked_q >= operands_i;
  assign oldest_closes   = !array_empty && array_oldest.closes;

  always_comb begin
    unique case (door_q.kind)
      Weigh:     breaks_pair = unpaired_q == 5'(WORDS);
      WrWeights: breaks_pair = unpaired_q == '0;
      CloseAll:  breaks_pair = unpaired_q != '0;
      default:   breaks_pair = 1'b0;
    endcase
  end

  always_comb begin
    unique case (door_q.kind)
      RdResult:  fits = results_ready && (door_q.result.kind != SCORES || softmax_empty);
      WrShared:  fits = operands_ready && word_is_written && (!door_q.first || array_empty);
      WrWeights: fits = operands_ready && word_is_written;
      Finish,
      Weigh:     fits = softmax_ready;
      default:   fits = array_ready;
    endcase
  end

  assign enters        = door_valid_q && fits && !closing_q;
  assign array_push    = enters && (is_mac || door_q.kind == CloseAll) && !breaks_pair;
  assign results_push  = enters && door_q.kind == RdResult;
  assign operands_push = enters && is_write && !lacks_operand && !breaks_pair;
  assign softmax_push  = enters && (door_q.kind == Finish || door_q.kind == Weigh) && !breaks_pair;

  assign ended_d = ended_q + 8'(array_push && is_mac && door_q.last);

  assign array_entry = '{
    row: door_q.row, column: door_q.column, accumulate: door_q.kind == MacContext,
    first: door_q.first, last: door_q.last, opens: door_q.opens, sum: ended_d,
    closes: !is_mac, shared: door_q.index, content: next_content_q[door_q.index]
  };
  assign result_entry  = '{result: door_q.result, sum: ended_q};
  assign operand_entry = '{
    index: door_q.index, host: door_q.kind == WrShared, content: !next_content_q[door_q.index]
  };
  assign softmax_entry = '{
    finishes: door_q.kind == Finish, head: door_q.head, place: door_q.place, count: door_q.count
  };

  always_comb begin
    next_content_d = next_content_q;
    content_d      = content_q;
    if (operands_push) next_content_d[door_q.index] = operand_entry.content;
    if (written_i) content_d[operand_oldest.index] = operand_oldest.content;
    closing_d    = closing_q;
    if (array_push && !is_mac) closing_d = 1'b1;
    if (array_done && oldest_closes) closing_d = 1'b0;
    door_d       = taken && decode_fault == NO_FAULT ? decoded : door_q;
    door_valid_d = taken && decode_fault == NO_FAULT || door_valid_q && !enters;
  end

  // ---------------------------------------------------------------------------------------------
  // Array requests
  // ---------------------------------------------------------------------------------------------

  logic [9:0]  scores_d, scores_q;      // asked for and not in the score buffer
  logic [15:0] elements_d, elements_q;  // of results, asked for and not come
  logic [3:0]  finishing_d, finishing_q;
  logic        ending_d, ending_q;      // a MAC that ends a sum is taken and not on the pins
  logic [9:0]  pace_d, pace_q;          // clocks until a MAC that is a sum by itself may be asked for
  logic        over_d, over_q, closed_d, closed_q, head_ended_d, head_ended_q;
  logic        no_words, quiet, drained, waits, may_end, asks_read, closes;

  assign quiet   = results_empty && operands_empty && softmax_empty && scores_q == '0 &&
                   elements_q == '0 && finishing_q == '0 && no_words;
  assign drained = !door_valid_q && array_empty && quiet;

  // The results of a sum take the place of those before.
  assign waits     = !results_empty && is_before(result_oldest.sum, array_next.sum) &&
                     (array_next.accumulate || result_oldest.result.kind == CONTEXT);
  assign may_end   = !waits && (!array_next.first || !ending_q && pace_q == '0);
  assign asks_read = array_next_valid && !array_next.closes &&
                     content_q[array_next.shared] == array_next.content &&
                     (!array_next.last || may_end);
  assign closes    = array_next_valid ? array_next.closes && oldest_closes && quiet
                                      : over_q && drained && !closed_q;

  assign array_valid_o      = asks_read || closes;
  assign array_close_o      = closes;
  assign array_row_o        = asks_read ? array_next.row : '0;
  assign array_column_o     = asks_read ? array_next.column : '0;
  assign array_shared_o     = asks_read ? array_next.shared : '0;
  assign array_accumulate_o = asks_read && array_next.accumulate;
  assign array_first_o      = asks_read && array_next.first;
  assign array_last_o       = asks_read && array_next.last;
  assign array_opens_o      = asks_read && array_next.opens;
  assign head_end_o         = closes && !head_ended_q;
  assign done_o             = over_q && drained && closed_q;

  assign array_send = array_taken_i && !array_empty;
  assign array_done = read_i || array_taken_i && closes && !array_empty;
  assign made_d     = made_q + 8'(results_i);

  always_comb begin
    closed_d     = array_taken_i ? closes : closed_q;
    head_ended_d = head_ended_q || closes;
    if (array_taken_i && !closes || array_push && !is_mac) head_ended_d = 1'b0;
    ending_d = ending_q || array_taken_i && array_last_o;
    pace_d   = pace_q == '0 ? '0 : pace_q - 10'd1;
    if (read_i && array_oldest.last) begin
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

  logic        leaving_d, leaving_q;  // an RD_RESULT of the context is taken and not on the pins
  logic [7:0]  gap_d, gap_q;          // clocks until the next may be asked for
  logic        asks_results, asks_operand, word_ready;
  logic [63:0] word;
  result_t     asked_result;

  assign asks_results = results_next_valid && !is_before(made_q, result_next.sum) &&
                        (result_next.result.kind != CONTEXT || !leaving_q && gap_q == '0);
  assign asks_operand = !asks_results && operands_next_valid && !word_is_used &&
                        (operand_next.host || word_ready);
  assign asked_result = asks_results ? result_next.result : '0;

  assign bus_valid_o    = asks_results || asks_operand;
  assign bus_write_o    = asks_operand;
  assign bus_address_o  = asks_operand ? operand_next.index : asked_result.address;
  assign bus_host_o     = asks_operand && operand_next.host;
  assign bus_weights_o  = asks_operand && !operand_next.host ? word : '0;
  assign sum_kind_o     = asked_result.kind;
  assign sum_head_o     = asked_result.head;
  assign sum_first_o    = asked_result.first;
  assign sum_last_o     = asked_result.last;
  assign sum_tokens_o   = asked_result.tokens;
  assign sum_place_o    = asked_result.place;
  assign sum_keep_o     = asked_result.keep;
  assign sum_goes_on_o  = asked_result.goes_on;
  assign sum_complete_o = asked_result.complete;

  assign results_send  = bus_taken_i && asks_results;
  assign operands_send = bus_taken_i && asks_operand;
  assign asked_d       = asked_q + 7'(operands_push && operand_entry.host) -
                         7'(operands_send && operand_next.host);

  always_comb begin
    leaving_d = leaving_q || results_send && result_next.result.kind == CONTEXT;
    gap_d     = gap_q == '0 ? '0 : gap_q - 8'd1;
    if (results_taken_i && result_oldest.result.kind == CONTEXT) begin
      // A partial sum comes to the adder unit a tCK before the burst: leave room for it.
      leaving_d = 1'b0;
      gap_d     = burst_i > LATENCY[7:0] ? burst_i - LATENCY[7:0] : '0;
    end
    if (start_i) gap_d = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // The softmax unit
  // ---------------------------------------------------------------------------------------------

  logic       word_room, word_last;
  logic [1:0] word_index;

  assign finish_valid_o = softmax_next_valid && softmax_next.finishes && scores_q == '0;
  assign finish_head_o  = finish_valid_o ? softmax_next.head : '0;
  assign weigh_valid_o  = softmax_next_valid && !softmax_next.finishes && scores_q == '0 &&
                          finishing_q == '0 && word_room;
  assign weigh_place_o  = weigh_valid_o ? softmax_next.place + 17'(word_index) : '0;
  assign weigh_head_o   = weigh_valid_o ? softmax_next.head : '0;
  assign softmax_done   = finish_taken_i || weigh_taken_i && word_last;

  weight_words u_weights (
    .clk_i,
    .rst_ni,
    .count_i        (softmax_next.count),
    .asked_i        (weigh_taken_i),
    .weight_valid_i,
    .weight_i,
    .taken_i        (operands_send && !operand_next.host || drops_word),
    .room_o         (word_room),
    .index_o        (word_index),
    .last_o         (word_last),
    .idle_o         (no_words),
    .ready_valid_o  (word_ready),
    .ready_o        (word)
  );

  assign scores_d    = scores_q + (results_push && door_q.result.kind == SCORES ? 10'd4 : 10'd0) -
                       10'(scaled_i);
  assign finishing_d = finishing_q + 4'(finish_taken_i) - 4'(finished_i);

  // After a fault nothing enters, so that a word which no entry is to write has nobody who will.
  assign drops_word = fault_q != NO_FAULT && !door_valid_q && operands_empty && word_ready;
  assign unpaired_d = unpaired_q + 5'(softmax_push && door_q.kind == Weigh) -
                      5'(operands_push && !operand_entry.host) - 5'(drops_word);

  always_comb begin
    elements_d = elements_q - 16'(context_valid_i) - 16'(output_valid_i);
    if (results_push && door_q.result.complete) begin
      if (door_q.result.kind == CONTEXT && door_q.result.last) elements_d = elements_d + 16'd8;
      if (door_q.result.kind == OUTPUTS) elements_d = elements_d + 16'd4;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Faults, and the registers
  // ---------------------------------------------------------------------------------------------

  logic overwritten, ends_unpaired;

  assign ends_unpaired = over_q && !door_valid_q && unpaired_q != '0;

  // The results of the oldest entry that is not done after this clock have come, and others come.
  assign overwritten = results_i &&
                       (results_taken_i ? results_second_valid && !is_before(made_q, result_second.sum)
                                        : !results_empty && !is_before(made_q, result_oldest.sum));
  assign fault_o     = fault_q;

  always_comb begin
    fault_d = fault_q;
    if (fault_q == NO_FAULT) begin
      if (overwritten) fault_d = OVERWRITTEN;
      else if (taken && decode_fault != NO_FAULT) fault_d = decode_fault;
      else if (enters && lacks_operand) fault_d = NO_OPERAND;
      else if (enters && breaks_pair || ends_unpaired) fault_d = UNPAIRED;
    end
    if (start_i) fault_d = NO_FAULT;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      door_valid_q   <= 1'b0;
      door_q         <= '0;
      fault_q        <= NO_FAULT;
      next_content_q <= '0;
      content_q      <= '0;
      ended_q        <= '0;
      made_q         <= '0;
      asked_q        <= '0;
      closing_q      <= 1'b0;
      unpaired_q     <= '0;
      scores_q       <= '0;
      elements_q     <= '0;
      finishing_q    <= '0;
      ending_q       <= 1'b0;
      pace_q         <= '0;
      over_q         <= 1'b0;
      closed_q       <= 1'b0;
      head_ended_q   <= 1'b0;
      leaving_q      <= 1'b0;
      gap_q          <= '0;
    end else begin
      door_valid_q   <= door_valid_d;
      door_q         <= door_d;
      fault_q        <= fault_d;
      next_content_q <= next_content_d;
      content_q      <= content_d;
      ended_q        <= ended_d;
      made_q         <= made_d;
      asked_q        <= asked_d;
      closing_q      <= closing_d;
      unpaired_q     <= unpaired_d;
      scores_q       <= scores_d;
      elements_q     <= elements_d;
      finishing_q    <= finishing_d;
      ending_q       <= ending_d;
      pace_q         <= pace_d;
      over_q         <= over_d;
      closed_q       <= closed_d;
      head_ended_q   <= head_ended_d;
      leaving_q      <= leaving_d;
      gap_q          <= gap_d;
    end
  end

endmodule
