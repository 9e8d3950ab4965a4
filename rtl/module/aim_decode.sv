// SPDX-License-Identifier: MIT
// Commands of the dispatcher as commands for the channels, the feeder and the EPU. Contract: aim_hub.md.
//
//   cycle            0     1     2     3     4     5     6     7     8
//   second_i         0     1     0     1     0     1     0     1     0
//   dispatch_i       mac   mac   mac   mac   rd    rd    close close
//   head                         mac         mac         rd          close
//   command_o                                mac         rd          mac      the second with frees; CLOSE follows
//   busy_o           0     0     1     1     1     1     1     1     1

module aim_decode import pimlico_pkg::*; #(
  /// Channels, a power of two, up to 32.
  parameter  int unsigned CHANNELS  = 2,
  localparam int unsigned LINE_BITS = 4 + $clog2(CHANNELS)
) (
  /// Clock: one edge per cycle.
  input  logic         clk_i,
  /// Clock of the EPU: one edge in two cycles.
  input  logic         clk_epu_i,
  /// Asynchronous reset, active low.
  input  logic         rst_ni,
  /// The second cycle of an EPU cycle.
  input  logic         second_i,
  /// Size of a bank: rows and columns.
  input  bank_size_t   size_i,
  /// A run starts.
  input  logic         start_i,
  /// The program has ended.
  input  logic         ended_i,
  /// There is a command, for an EPU cycle.
  input  logic         dispatch_valid_i,
  /// The command.
  input  dispatch_t    dispatch_i,
  /// The host writes a column.
  input  logic         write_valid_i,
  /// The column.
  input  aim_write_t   write_i,
  /// The channels have room for the command.
  input  logic         command_ready_i,
  /// The queue of fillings has room.
  input  logic         fill_ready_i,
  /// Another result may be requested.
  input  logic         room_i,
  /// No results are pending.
  input  logic         no_results_i,
  /// The feeder reads the GPR.
  input  logic         feeding_i,
  /// Softmax is busy.
  input  logic         weighing_i,
  /// The command enters the queue at the end of the EPU cycle, if there is one.
  output logic         dispatch_ready_o,
  /// There is a command for the channels.
  output logic         command_valid_o,
  /// The command for the channels.
  output aim_command_t command_o,
  /// The host's write is accepted, if there is one.
  output logic         write_ready_o,
  /// A filling enters the queue.
  output logic         fill_valid_o,
  /// The filling is of words of the GPR; else of the host's.
  output logic         fill_kept_o,
  /// Words of the filling.
  output logic [6:0]   fill_count_o,
  /// Elements of its last word, 1 to 16: the others are +0.
  output logic [4:0]   fill_elements_o,
  /// Results are requested.
  output logic         results_o,
  /// The results are added to what is there.
  output logic         goes_on_o,
  /// Softmax begins.
  output logic         weigh_o,
  /// First word of the GPR of a filling, of softmax, or of results.
  output logic [13:0]  word_o,
  /// Query head of softmax.
  output logic [2:0]   head_o,
  /// Scores of softmax.
  output logic [19:0]  tokens_o,
  /// A command is in the queue, or a MAC is kept back.
  output logic         busy_o,
  /// Fault of the run.
  output fault_e       fault_o
);

  // A command in the queue.
  typedef struct packed {
    fault_e      fault;
    opcode_e     kind;
    logic [6:0]  count;     // columns or words
    logic [4:0]  elements;  // of the last word
    logic [15:0] row;
    logic [7:0]  column;
    logic [13:0] word;      // of the GPR
    logic [2:0]  head;
    logic        first;
    logic        last;
    logic        opens;
    logic [19:0] tokens;
  } request_t;

  // What is dispatched. Columns or words: as many as it says, or as its tokens take.
  logic        by_weigh, by_tokens;
  logic [16:0] of_tokens, count;
  logic        unused_request;

  assign by_weigh       = dispatch_i.kind == OpWeigh;
  assign by_tokens      = by_weigh || dispatch_i.word == '0;
  assign of_tokens      = {1'b0, dispatch_i.tokens[19:4]} + 17'(dispatch_i.tokens[3:0] != '0);
  assign count          = by_tokens ? of_tokens : 17'(dispatch_i.word);
  assign unused_request = &{1'b0, dispatch_i.request};

  // Faults.
  fault_e      found;
  logic        no_count, no_row, no_operand, no_column, no_word, no_line, beyond;
  logic [9:0]  end_column;
  logic [17:0] end_word;

  assign end_column = 10'(dispatch_i.column) + 10'(count);
  assign end_word   = 18'(dispatch_i.place[17:4]) + 18'(count);
  assign no_count   = count == '0 || count > 17'd64;
  assign no_row     = {1'b0, dispatch_i.row} >= size_i.rows;
  assign no_operand = {1'b0, dispatch_i.head, 3'd0} + 7'(count) > 7'd64;
  assign no_column  = end_column > {1'b0, size_i.columns};
  assign no_word    = dispatch_i.place[3:0] != '0;
  assign no_line    = dispatch_i.place[LINE_BITS-1:0] != '0;
  assign beyond     = end_word > 18'h4000;

  always_comb begin
    found = FaultNone;
    unique case (dispatch_i.kind)
      OpMacScore: begin
        if (no_column) found = FaultNoColumn;
        if (no_operand) found = FaultNoOperand;
        if (no_count) found = FaultNoTokens;
        if (no_row) found = FaultNoRow;
      end
      OpWrShared: if (no_count) found = FaultNoTokens;
      OpWrWeights: begin
        if (no_word || beyond) found = FaultNoPlace;
        if (no_count) found = FaultNoTokens;
      end
      OpRdResult: if (no_line) found = FaultNoPlace;
      OpWeigh: begin
        if (no_word || beyond) found = FaultNoPlace;
        if (count == '0) found = FaultNoTokens;
      end
      OpCloseAll: ;
      default: found = FaultUnknownCommand;
    endcase
  end

  // The queue between the dispatcher's clock and that of the channels. What the dispatcher is told stands for an EPU
  // cycle: there is room for a command, whether others leave or not.
  request_t   entering, head;
  logic       enters, taken, waiting, ready_d, ready_q, unused_room;
  logic [1:0] waits_for;  // commands in the queue

  assign entering = '{
    fault:    found,
    kind:     dispatch_i.kind,
    count:    7'(count),
    elements: dispatch_i.word == '0 && dispatch_i.tokens[3:0] != '0 ? {1'b0, dispatch_i.tokens[3:0]} : 5'd16,
    row:      dispatch_i.row,
    column:   dispatch_i.column,
    word:     dispatch_i.place[17:4],
    head:     dispatch_i.head,
    first:    dispatch_i.first,
    last:     dispatch_i.last,
    opens:    dispatch_i.opens,
    tokens:   dispatch_i.tokens
  };
  assign enters = second_i && dispatch_valid_i && ready_q;

  counted_fifo #(.WIDTH($bits(request_t)), .DEPTH(2)) u_queue (
    .clk_i, .rst_ni,
    .push_i  (enters),
    .data_i  (entering),
    .pop_i   (taken),
    .ready_o (unused_room),
    .valid_o (waiting),
    .count_o (waits_for),
    .data_o  (head)
  );

  assign ready_d = waits_for + 2'(enters) - 2'(taken) < 2'd2;

  always_ff @(posedge clk_epu_i or negedge rst_ni) begin
    if (!rst_ni) ready_q <= 1'b1;
    else         ready_q <= ready_d;
  end

  // The oldest command.
  logic is_mac, is_weights, is_fill, is_results, is_weigh, is_close;

  assign is_mac     = head.kind == OpMacScore;
  assign is_weights = head.kind == OpWrWeights;
  assign is_fill    = head.kind == OpWrShared || is_weights;
  assign is_results = head.kind == OpRdResult;
  assign is_weigh   = head.kind == OpWeigh;
  assign is_close   = head.kind == OpCloseAll;

  // Behind a fault all is dropped.
  logic   live, dropped;
  fault_e fault_d, fault_q;

  assign live    = waiting && fault_q == FaultNone && head.fault == FaultNone;
  assign dropped = waiting && !live;

  always_comb begin
    fault_d = fault_q;
    if (waiting && fault_q == FaultNone) fault_d = head.fault;
    if (start_i) fault_d = FaultNone;
  end

  // The MAC that is kept back: whether it frees its filling shows with what follows.
  aim_command_t mac_d, mac_q;
  logic         kept_d, kept_q, ended_d, ended_q, flushes, sends_kept, keeps;

  assign flushes    = kept_q && (live ? is_weigh || is_close || (is_weights && head.first) : ended_q);
  assign sends_kept = flushes || (live && is_mac && kept_q);
  assign keeps      = live && is_mac && (!kept_q || command_ready_i);
  assign kept_d     = keeps || (kept_q && !(sends_kept && command_ready_i));
  assign ended_d    = !start_i && (ended_q || ended_i);

  always_comb begin
    mac_d = mac_q;
    if (keeps) begin
      mac_d = '{
        kind: AimMac, bank: '0, row: head.row, column: head.column, word: {head.head, 3'd0},
        count: head.count, first: head.first, last: head.last, frees: 1'b0
      };
    end
  end

  // What may be sent.
  logic waits, sends_fill, sends_results, sends_close, begins_weigh;

  assign waits         = is_weights && (weighing_i || (head.first && (kept_q || !no_results_i)));
  assign sends_fill    = live && is_fill && fill_ready_i && !waits;
  assign sends_results = live && is_results && room_i && !weighing_i;
  assign sends_close   = live && is_close && !kept_q;
  assign begins_weigh  = live && is_weigh && !kept_q && no_results_i && !feeding_i && !weighing_i;

  always_comb begin
    command_o       = mac_q;
    command_o.frees = flushes || head.opens;
    if (!sends_kept) begin
      command_o        = '0;
      command_o.bank   = write_i.bank;
      command_o.row    = write_i.row;
      command_o.column = write_i.column;
      command_o.kind   = AimWrite;
      if (sends_results) command_o = '{kind: AimResults, default: '0};
      if (sends_close) command_o = '{kind: AimClose, default: '0};
      if (sends_fill) command_o = '{kind: AimFill, count: head.count, default: '0};
    end
  end

  logic sends;

  assign sends           = sends_kept || sends_fill || sends_results || sends_close;
  assign command_valid_o = sends || write_valid_i;
  assign write_ready_o   = !sends && command_ready_i;

  assign fill_valid_o    = sends_fill && command_ready_i;
  assign fill_kept_o     = is_weights;
  assign fill_count_o    = head.count;
  assign fill_elements_o = head.elements;
  assign results_o       = sends_results && command_ready_i;
  assign goes_on_o       = !head.first;
  assign weigh_o         = begins_weigh;
  assign word_o          = head.word;
  assign head_o          = head.head;
  assign tokens_o        = head.tokens;

  assign taken            = dropped || keeps || begins_weigh ||
                            ((sends_fill || sends_results || sends_close) && command_ready_i);
  assign dispatch_ready_o = ready_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      kept_q  <= 1'b0;
      ended_q <= 1'b0;
      fault_q <= FaultNone;
    end else begin
      kept_q  <= kept_d;
      ended_q <= ended_d;
      fault_q <= fault_d;
    end
  end

  // Without a reset: kept_q says whether it counts.
  always_ff @(posedge clk_i) mac_q <= mac_d;

  assign busy_o  = waiting || kept_q;
  assign fault_o = fault_q;

  if (CHANNELS == 0 || CHANNELS > 32 || CHANNELS != 1 << $clog2(CHANNELS))
    $fatal(1, "CHANNELS = %0d: expected a power of two, 1 to 32", CHANNELS);

endmodule
