// SPDX-License-Identifier: MIT
// The host's bursts for the module, messages and operands, in the order of their arrival. Contract: host_port.md.

module host_queue import pimlico_pkg::*; (
  /// Clock: a beat.
  input  logic        clk_i,
  /// Clock: one edge per tCK.
  input  logic        clk_tck_i,
  /// Clock: one edge per cycle of the core.
  input  logic        clk_core_i,
  /// Asynchronous reset, active low: empty.
  input  logic        rst_ni,
  /// The second of the two beats of a tCK.
  input  logic        second_i,
  /// The last tCK of a cycle of the core.
  input  logic        last_i,
  /// CWL, 4 to 48.
  input  logic [7:0]  cwl_i,
  /// A WR of a window was on the pins a tCK ago.
  input  logic        write_i,
  /// The burst of the WR is an operand; else a message.
  input  logic        operand_i,
  /// A beat of the host's data bus.
  input  beat_t       host_dq_i,
  /// The burst at the head leaves with the cycle of the core. Only where valid_o is set.
  input  logic        pop_i,
  /// The burst that leaves is a START that is executed.
  input  logic        started_i,
  /// There is a burst at the head.
  output logic        valid_o,
  /// The burst at the head is an operand; else a message.
  output logic        operand_o,
  /// The burst at the head.
  output burst_t      burst_o,
  /// A START waits.
  output logic        waits_o,
  /// A burst has found no room.
  output logic        lost_o,
  /// Bursts that have left, or were lost.
  output logic [15:0] taken_o
);

  localparam int unsigned DEPTH    = 128;
  localparam logic [1:0]  IS_START = 2'd2;

  typedef logic [$clog2(DEPTH)-1:0] place_t;
  typedef logic [$clog2(DEPTH):0]   count_t;

  // Time of a burst, CWL - 1 tCK after its WR, which was registered. What the burst is waits for it.
  logic       arrives, first, last, is_operand, unused_ahead, unused_valid;
  logic [1:0] index;

  burst_timer u_timer (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (write_i),
    .latency_i (cwl_i - 8'd2),
    .ahead_o   (unused_ahead),
    .busy_o    (arrives),
    .index_o   (index),
    .last_o    (last)
  );

  assign first = arrives && index == '0;

  fifo #(.WIDTH(1), .DEPTH(16)) u_kinds (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (write_i),
    .data_i  (operand_i),
    .pop_i   (first),
    .valid_o (unused_valid),
    .data_o  (is_operand)
  );

  // A pair of beats in every tCK, each into registers with a clock of their own.
  logic [1:0][63:0] pair;
  burst_t           burst;

  ddr_in #(.WIDTH(64)) u_beats (.clk_i, .data_i(host_dq_i), .pair_o(pair));

  word_registers #(.WIDTH(128), .DEPTH(4)) u_burst (
    .clk_i, .write_i(arrives && second_i), .address_i(index), .data_i(pair), .words_o(burst)
  );

  // The tCK after its last beats: the burst enters, or is lost.
  logic   enters_d, enters_q, operand_d, operand_q, pushes, is_lost, pops, full_d, full_q;
  count_t count_d, count_q;
  place_t place_d, place_q, oldest_d, oldest_q;

  assign enters_d  = last;
  assign operand_d = first ? is_operand : operand_q;
  assign pushes    = enters_q && !full_q;
  assign is_lost   = enters_q && full_q;
  assign pops      = last_i && pop_i;
  assign count_d   = counted(count_q, pushes, pops);
  assign full_d    = pushes == pops ? full_q : pushes && count_q == count_t'(DEPTH - 1);
  assign place_d   = pushes ? place_q + place_t'(1) : place_q;
  assign oldest_d  = pops ? oldest_q + place_t'(1) : oldest_q;

  // Both sums are there before it is known which is meant.
  function automatic count_t counted(count_t count, logic up, logic down);
    count_t more, less;
    more = count + count_t'(1);
    less = count - count_t'(1);
    return up == down ? count : up ? more : less;
  endfunction

  // The head is in the memory's read register. It is there in the cycle after the one in whose last tCK it waits.
  logic valid_d, valid_q, reads;

  assign valid_d = pop_i ? count_q > count_t'(1) : count_q != '0;
  assign reads   = last_i && valid_d && (pop_i || !valid_q);

  // A memory for each word: one for the burst would not be as fast as a tCK.
  ram_1r1w #(.WIDTH(1 + 64), .DEPTH(DEPTH)) u_first (
    .clk_i           (clk_tck_i),
    .write_i         (pushes),
    .write_address_i (place_q),
    .data_i          ({operand_q, burst[0]}),
    .read_i          (reads),
    .read_address_i  (oldest_d),
    .data_o          ({operand_o, burst_o[0]})
  );

  for (genvar w = 1; w < 8; w++) begin : gen_word
    ram_1r1w #(.WIDTH(64), .DEPTH(DEPTH)) u_words (
      .clk_i           (clk_tck_i),
      .write_i         (pushes),
      .write_address_i (place_q),
      .data_i          (burst[w]),
      .read_i          (reads),
      .read_address_i  (oldest_d),
      .data_o          (burst_o[w])
    );
  end

  // STARTs in the queue, and what the host is told.
  logic        waits_d, waits_q, lost_d, lost_q, comes, goes;
  count_t      starts_d, starts_q;
  logic [15:0] taken_d, taken_q;

  assign comes    = pushes && !operand_q && burst[0][1:0] == IS_START;
  assign goes     = last_i && started_i;
  assign starts_d = counted(starts_q, comes, goes);
  assign waits_d  = comes == goes ? waits_q : comes || starts_q != count_t'(1);
  assign lost_d   = lost_q || is_lost;

  always_comb begin
    taken_d = taken_q;
    if (pops != is_lost) taken_d = taken_q + 16'd1;
    if (pops && is_lost) taken_d = taken_q + 16'd2;
  end

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enters_q <= 1'b0;
      full_q   <= 1'b0;
      count_q  <= '0;
      place_q  <= '0;
      oldest_q <= '0;
      waits_q  <= 1'b0;
      starts_q <= '0;
      lost_q   <= 1'b0;
      taken_q  <= '0;
    end else begin
      enters_q <= enters_d;
      full_q   <= full_d;
      count_q  <= count_d;
      place_q  <= place_d;
      oldest_q <= oldest_d;
      waits_q  <= waits_d;
      starts_q <= starts_d;
      lost_q   <= lost_d;
      taken_q  <= taken_d;
    end
  end

  always_ff @(posedge clk_tck_i) begin
    operand_q <= operand_d;
  end

  always_ff @(posedge clk_core_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else         valid_q <= valid_d;
  end

  assign valid_o = valid_q;
  assign waits_o = waits_q;
  assign lost_o  = lost_q;
  assign taken_o = taken_q;

endmodule
