// SPDX-License-Identifier: MIT
// Commands of the data lines of an AiM's channel, spelled out into requests: results, and words of fillings.
// Contract: aim_channel.md.
//
//   cycle          0    1    2    3    4
//   push_i         2                        a filling of two words
//   due_i          0    0    1    0    0
//   bus_valid_o         1    1    1         a word, results, a word
//   bus_ready_i         1    1    1
//   ahead               0    1    2    2    accepted, and not on the pins: issued_i in cycle 3

module aim_bus_port import pimlico_pkg::*; #(
  /// 1: two sides in the buffers; 0: one, and words wait for all results.
  parameter int unsigned PINGPONG = 1
) (
  /// Clock: one edge per cycle.
  input  logic         clk_i,
  /// Asynchronous reset, active low.
  input  logic         rst_ni,
  /// A filling enters the queue. Only where ready_o is set.
  input  logic         push_i,
  /// Words of the filling, 1 to 64.
  input  logic [6:0]   count_i,
  /// The mode allows a request.
  input  logic         mode_i,
  /// Sums whose results have not left.
  input  logic [5:0]   sums_i,
  /// Results may be requested.
  input  logic         due_i,
  /// A column that frees a filling is on the pins.
  input  logic         freed_i,
  /// Words that are there.
  input  logic [5:0]   operands_i,
  /// A word is on the data lines.
  input  logic         operand_taken_i,
  /// The rank controller accepts the request, if there is one.
  input  logic         bus_ready_i,
  /// The pins show the command of the oldest request.
  input  logic         issued_i,
  /// The queue has room.
  output logic         ready_o,
  /// There is no filling that is not requested.
  output logic         empty_o,
  /// No request is on its way to the pins.
  output logic         quiet_o,
  /// There is a request.
  output logic         bus_valid_o,
  /// The request.
  output bus_request_t bus_o,
  /// Results are first requested.
  output logic         requests_o,
  /// A request was made in an earlier cycle and is not accepted.
  output logic         held_o,
  /// RD_RESULTs on their way to the pins that no word is before.
  output logic [2:0]   front_o,
  /// A word is on its way to the pins.
  output logic         words_o
);

  localparam int unsigned DEPTH      = 4;
  localparam int unsigned COUNT_BITS = $clog2(DEPTH) + 1;
  localparam logic [1:0]  SIDES      = PINGPONG != 0 ? 2'd2 : 2'd1;

  // Fillings, and the word of the first that is next.
  logic                  waiting, starts_word, is_last;
  logic [COUNT_BITS-1:0] unused_count;
  logic [6:0]            words;
  logic [5:0]            word_d, word_q;

  counted_fifo #(.WIDTH(7), .DEPTH(DEPTH)) u_queue (
    .clk_i, .rst_ni, .push_i,
    .data_i  (count_i),
    .pop_i   (starts_word && is_last),
    .ready_o (ready_o),
    .valid_o (waiting),
    .count_o (unused_count),
    .data_o  (words)
  );

  assign is_last = {1'b0, word_q} == words - 7'd1;
  assign word_d  = starts_word ? (is_last ? '0 : word_q + 6'd1) : word_q;

  // Sides that are filled; words that were requested and not on the lines.
  logic [1:0] used_d, used_q;
  logic [5:0] claimed_d, claimed_q;
  logic       in_turn, may_word, due, held_d, held_q;

  assign used_d    = used_q + 2'(starts_word && is_last) - 2'(freed_i);
  assign claimed_d = claimed_q + 6'(starts_word) - 6'(operand_taken_i);
  // No word goes before results that a column relies on.
  assign in_turn   = PINGPONG != 0 ? sums_i <= 6'd2 + 6'(front_o) : sums_i == '0;
  assign may_word  = waiting && in_turn && used_q < SIDES && claimed_q < operands_i;

  assign due         = !held_q && mode_i && due_i;
  assign starts_word = !held_q && mode_i && !due_i && may_word;
  assign requests_o  = due;
  assign bus_valid_o = held_q || due || starts_word;
  assign held_d      = bus_valid_o && !bus_ready_i;

  // The request. One that is not accepted waits in a register.
  bus_request_t new_request, waits_q;

  always_comb begin
    new_request = '0;
    if (starts_word) begin
      new_request.write    = 1'b1;
      new_request.address  = {2'd0, word_q};
      new_request.sum.last = is_last;
    end
  end

  assign bus_o = held_q ? waits_q : new_request;

  // Requests that are accepted and not on the pins, which of them are words, the oldest at the bottom.
  logic       accepted;
  logic [2:0] ahead_d, ahead_q, ahead;
  logic [3:0] is_word_d, is_word_q, is_word;

  assign accepted  = bus_valid_o && bus_ready_i;
  assign ahead     = ahead_q - 3'(issued_i);
  assign ahead_d   = ahead + 3'(accepted);
  assign is_word   = issued_i ? {1'b0, is_word_q[3:1]} : is_word_q;

  always_comb begin
    is_word_d = is_word;
    if (accepted) is_word_d[ahead[1:0]] = bus_o.write;
  end

  always_comb begin
    front_o = '0;
    words_o = 1'b0;
    for (int unsigned i = 0; i < 4; i++) begin
      if (ahead_q > 3'(i)) begin
        words_o |= is_word_q[i];
        front_o += 3'(!words_o);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q    <= '0;
      used_q    <= '0;
      claimed_q <= '0;
      held_q    <= 1'b0;
      ahead_q   <= '0;
    end else begin
      word_q    <= word_d;
      used_q    <= used_d;
      claimed_q <= claimed_d;
      held_q    <= held_d;
      ahead_q   <= ahead_d;
    end
  end

  // Without a reset: held_q and ahead_q say whether these count.
  always_ff @(posedge clk_i) begin
    waits_q   <= bus_o;
    is_word_q <= is_word_d;
  end

  assign empty_o = !waiting;
  assign quiet_o = !held_q && ahead_q == '0;
  assign held_o  = held_q;

  if (PINGPONG > 1) $fatal(1, "PINGPONG = %0d: expected 0 or 1", PINGPONG);

endmodule
