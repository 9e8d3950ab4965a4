// SPDX-License-Identifier: MIT
// Words for the global buffers: of the host or of the GPR, filling by filling, into a FIFO. Contract: aim_hub.md.
//
//   cycle              0    1    2    3    4    5    6
//   second_i           0    1    0    1    0    1    0
//   push_i             1                                  a filling of two words of the GPR
//   gpr_read_o              1                             both, as they are in one line
//   gpr_data_i                        d                   of the two memories
//   words_o            0    0    0    0    1    2    1
//   operand_taken_i                             1

module aim_feeder #(
  /// Channels, a power of two, up to 32.
  parameter int unsigned CHANNELS = 2
) (
  /// Clock: one edge per cycle.
  input  logic                            clk_i,
  /// Asynchronous reset, active low.
  input  logic                            rst_ni,
  /// The second cycle of an EPU cycle.
  input  logic                            second_i,
  /// A filling enters the queue. Only where ready_o is set.
  input  logic                            push_i,
  /// It is of words of the GPR; else of the host's.
  input  logic                            kept_i,
  /// The first word of the GPR.
  input  logic [13:0]                     word_i,
  /// Words of the filling, 1 to 64.
  input  logic [6:0]                      count_i,
  /// Elements of its last word, of the GPR: 1 to 16; the others are +0.
  input  logic [4:0]                      elements_i,
  /// There is a word of the host.
  input  logic                            operand_valid_i,
  /// The word of the host.
  input  logic [15:0][15:0]               operand_i,
  /// The GPR may be read.
  input  logic                            gpr_free_i,
  /// The words read last from the GPR, in the second cycle behind the read at the latest.
  input  logic [CHANNELS-1:0][15:0][15:0] gpr_data_i,
  /// The channels take the oldest word.
  input  logic                            operand_taken_i,
  /// The queue has room.
  output logic                            ready_o,
  /// A filling of words of the GPR is in the queue.
  output logic                            feeding_o,
  /// Nothing is queued or on its way.
  output logic                            idle_o,
  /// The word of the host is accepted, if there is one.
  output logic                            operand_ready_o,
  /// A word of the GPR is read: in the second cycle of an EPU cycle.
  output logic                            gpr_read_o,
  /// The word behind it is read, too. It is in the same line, of the next memory.
  output logic                            gpr_pair_o,
  /// The word of the GPR that is read.
  output logic [13:0]                     gpr_word_o,
  /// Words in the FIFO.
  output logic [5:0]                      words_o,
  /// The oldest word.
  output logic [15:0][15:0]               word_o
);

  localparam int unsigned BANK_BITS = CHANNELS > 1 ? $clog2(CHANNELS) : 1;

  // A filling that is to be fed.
  typedef struct packed {
    logic        kept;
    logic [13:0] word;
    logic [6:0]  count;
    logic [4:0]  elements;
  } filling_t;

  filling_t   pushed, head;
  logic       waiting, feeds, is_last, is_next_last, ends;
  logic [2:0] unused_count;
  logic [5:0] number_d, number_q;
  logic [2:0] kept_d, kept_q;  // fillings of the GPR in the queue

  assign pushed = '{kept: kept_i, word: word_i, count: count_i, elements: elements_i};

  counted_fifo #(.WIDTH($bits(filling_t)), .DEPTH(4)) u_fillings (
    .clk_i, .rst_ni, .push_i,
    .data_i  (pushed),
    .pop_i   (feeds && ends),
    .ready_o (ready_o),
    .valid_o (waiting),
    .count_o (unused_count),
    .data_o  (head)
  );

  assign is_last      = {1'b0, number_q} == head.count - 7'd1;
  assign is_next_last = {1'b0, number_q} == head.count - 7'd2;
  assign ends         = is_last || (gpr_pair_o && is_next_last);
  assign feeds        = gpr_read_o || (operand_valid_i && operand_ready_o);
  assign kept_d       = kept_q + 3'(push_i && kept_i) - 3'(gpr_read_o && ends);

  always_comb begin
    number_d = number_q;
    if (feeds) number_d = ends ? '0 : number_q + (gpr_pair_o ? 6'd2 : 6'd1);
  end

  // Words on their way, for an EPU cycle: whether there are two, from which memory the first, and how many elements
  // of each count.
  logic                 fetched_d, fetched_q, paired_d, paired_q;
  logic [BANK_BITS-1:0] bank_d, bank_q;
  logic [1:0][4:0]      elements_d, elements_q;

  always_comb begin
    fetched_d  = fetched_q;
    paired_d   = paired_q;
    bank_d     = bank_q;
    elements_d = elements_q;
    if (second_i) begin
      fetched_d  = gpr_read_o;
      paired_d   = gpr_pair_o;
      bank_d     = CHANNELS > 1 ? gpr_word_o[BANK_BITS-1:0] : '0;
      elements_d = {is_next_last ? head.elements : 5'd16, is_last ? head.elements : 5'd16};
    end
  end

  // What came: the second word waits for a cycle.
  logic                   arrives, later_valid_d, later_valid_q;
  logic [1:0][15:0][15:0] fetched;
  logic [15:0][15:0]      later_d, later_q;
  logic [BANK_BITS-1:0]   next_bank;

  // A pair begins with an even word.
  if (CHANNELS > 1) assign next_bank = bank_q | BANK_BITS'(1);
  else              assign next_bank = '0;

  always_comb begin
    fetched = '0;
    for (int unsigned e = 0; e < 16; e++) begin
      if (5'(e) < elements_q[0]) fetched[0][e] = gpr_data_i[bank_q][e];
      if (5'(e) < elements_q[1]) fetched[1][e] = gpr_data_i[next_bank][e];
    end
  end

  assign arrives       = second_i && fetched_q;
  assign later_valid_d = arrives && paired_q;
  assign later_d       = later_valid_d ? fetched[1] : later_q;

  // The FIFO.
  logic              fifo_ready, unused_valid;
  logic [15:0][15:0] entering;

  assign entering = later_valid_q ? later_q : arrives ? fetched[0] : operand_i;

  counted_fifo #(.WIDTH(256), .DEPTH(32)) u_words (
    .clk_i,
    .rst_ni,
    .push_i  (arrives || later_valid_q || (operand_valid_i && operand_ready_o)),
    .data_i  (entering),
    .pop_i   (operand_taken_i),
    .ready_o (fifo_ready),
    .valid_o (unused_valid),
    .count_o (words_o),
    .data_o  (word_o)
  );

  assign operand_ready_o = waiting && !head.kept && fifo_ready && !fetched_q && !later_valid_q;
  // There is room for two words more than are there and on their way.
  assign gpr_read_o      = second_i && waiting && head.kept && gpr_free_i &&
                           words_o + 6'(fetched_q) + 6'(paired_q) < 6'd31;
  assign gpr_pair_o      = CHANNELS > 1 && gpr_read_o && !gpr_word_o[0] && !is_last;
  assign gpr_word_o      = head.word + 14'(number_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      number_q      <= '0;
      kept_q        <= '0;
      fetched_q     <= 1'b0;
      paired_q      <= 1'b0;
      later_valid_q <= 1'b0;
    end else begin
      number_q      <= number_d;
      kept_q        <= kept_d;
      fetched_q     <= fetched_d;
      paired_q      <= paired_d;
      later_valid_q <= later_valid_d;
    end
  end

  // Without a reset: fetched_q and later_valid_q say whether these count.
  always_ff @(posedge clk_i) begin
    bank_q     <= bank_d;
    elements_q <= elements_d;
    later_q    <= later_d;
  end

  assign feeding_o = kept_q != '0;
  assign idle_o    = !waiting && !fetched_q && !later_valid_q && words_o == '0;

  if (CHANNELS == 0 || CHANNELS > 32 || CHANNELS != 1 << $clog2(CHANNELS))
    $fatal(1, "CHANNELS = %0d: expected a power of two, 1 to 32", CHANNELS);

endmodule
