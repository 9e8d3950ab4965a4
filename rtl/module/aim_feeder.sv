// SPDX-License-Identifier: MIT
// Words for the global buffers: of the host or of the GPR, filling by filling, into a FIFO. Contract: aim_hub.md.
//
//   cycle              0    1    2    3    4    5
//   push_i             1                             a filling of two words of the GPR
//   gpr_read_o              1    1
//   words_o            0    0    0    1    2    1
//   operand_taken_i                        1

module aim_feeder #(
  /// Channels, a power of two, up to 32.
  parameter int unsigned CHANNELS = 2
) (
  /// Clock: one edge per cycle.
  input  logic                            clk_i,
  /// Asynchronous reset, active low.
  input  logic                            rst_ni,
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
  /// The words read last from the GPR.
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
  /// A word of the GPR is read.
  output logic                            gpr_read_o,
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
  logic       waiting, feeds, is_last;
  logic [2:0] unused_count;
  logic [5:0] number_d, number_q;
  logic [2:0] kept_d, kept_q;  // fillings of the GPR in the queue

  assign pushed = '{kept: kept_i, word: word_i, count: count_i, elements: elements_i};

  counted_fifo #(.WIDTH($bits(filling_t)), .DEPTH(4)) u_fillings (
    .clk_i, .rst_ni, .push_i,
    .data_i  (pushed),
    .pop_i   (feeds && is_last),
    .ready_o (ready_o),
    .valid_o (waiting),
    .count_o (unused_count),
    .data_o  (head)
  );

  assign is_last  = {1'b0, number_q} == head.count - 7'd1;
  assign feeds    = gpr_read_o || (operand_valid_i && operand_ready_o);
  assign number_d = feeds ? (is_last ? '0 : number_q + 6'd1) : number_q;
  assign kept_d   = kept_q + 3'(push_i && kept_i) - 3'(gpr_read_o && is_last);

  // A word that is on its way: from which memory, and how many of its elements count.
  logic                 fetched_d, fetched_q;
  logic [BANK_BITS-1:0] bank_d, bank_q;
  logic [4:0]           elements_d, elements_q;

  assign fetched_d  = gpr_read_o;
  assign bank_d     = CHANNELS > 1 ? gpr_word_o[BANK_BITS-1:0] : '0;
  assign elements_d = is_last ? head.elements : 5'd16;

  // The FIFO.
  logic              fifo_ready, unused_valid;
  logic [15:0][15:0] fetched, entering;

  always_comb begin
    fetched = '0;
    for (int unsigned e = 0; e < 16; e++) begin
      if (5'(e) < elements_q) fetched[e] = gpr_data_i[bank_q][e];
    end
  end

  assign entering = fetched_q ? fetched : operand_i;

  counted_fifo #(.WIDTH(256), .DEPTH(32)) u_words (
    .clk_i,
    .rst_ni,
    .push_i  (fetched_q || (operand_valid_i && operand_ready_o)),
    .data_i  (entering),
    .pop_i   (operand_taken_i),
    .ready_o (fifo_ready),
    .valid_o (unused_valid),
    .count_o (words_o),
    .data_o  (word_o)
  );

  assign operand_ready_o = waiting && !head.kept && fifo_ready && !fetched_q;
  assign gpr_read_o      = waiting && head.kept && words_o + 6'(fetched_q) < 6'd32 && gpr_free_i;
  assign gpr_word_o      = head.word + 14'(number_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      number_q  <= '0;
      kept_q    <= '0;
      fetched_q <= 1'b0;
    end else begin
      number_q  <= number_d;
      kept_q    <= kept_d;
      fetched_q <= fetched_d;
    end
  end

  // Without a reset: fetched_q says whether these count.
  always_ff @(posedge clk_i) begin
    bank_q     <= bank_d;
    elements_q <= elements_d;
  end

  assign feeding_o = kept_q != '0;
  assign idle_o    = !waiting && !fetched_q && words_o == '0;

  if (CHANNELS == 0 || CHANNELS > 32 || CHANNELS != 1 << $clog2(CHANNELS))
    $fatal(1, "CHANNELS = %0d: expected a power of two, 1 to 32", CHANNELS);

endmodule
