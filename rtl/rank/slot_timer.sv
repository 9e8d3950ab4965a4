// SPDX-License-Identifier: MIT
// Slots of the bank PUs: each begins with an edge of their clock. Contract: slot_timer.md.

module slot_timer #(
  /// Slots without an RD_ALL after which no PU has anything left to do: the pipeline of bank_pu, and one.
  parameter  int unsigned IDLE_SLOTS   = 5,
  /// The longest latency, in cycles.
  parameter  int unsigned LONGEST      = 12,
  localparam int unsigned LEFT_BITS    = $clog2(IDLE_SLOTS + 1),
  localparam int unsigned LATENCY_BITS = $clog2(LONGEST + 1)
) (
  /// Clock: one edge per tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: no slot begins.
  input  logic       rst_ni,
  /// A slot may begin.
  input  logic       enable_i,
  /// An RD_ALL is on the pins.
  input  logic       read_all_i,
  /// RL_MAC, 0 to LONGEST: from an RD_ALL to its slot.
  input  logic [7:0] latency_i,
  /// tCCD_L, 1 or more.
  input  logic [7:0] slot_i,
  /// A slot begins.
  output logic       begin_o
);

  logic [LEFT_BITS-1:0] left_d, left_q;  // slots before the clock stands still
  logic [7:0]           tck_d, tck_q;    // tCK of this slot

  // Bit n: an RD_ALL n tCK ago.
  logic [LONGEST:0] line;
  logic [LONGEST:1] line_q;
  logic             arrives, unused_latency;

  assign line           = {line_q, read_all_i};
  assign arrives        = line[latency_i[LATENCY_BITS-1:0]];
  assign unused_latency = &{1'b0, latency_i};

  assign begin_o = enable_i && (arrives || (left_q != '0 && tck_q == '0));

  always_comb begin
    left_d = left_q;
    tck_d  = tck_q == '0 ? '0 : tck_q - 8'd1;
    if (begin_o) begin
      left_d = arrives ? LEFT_BITS'(IDLE_SLOTS) : left_q - LEFT_BITS'(1);
      tck_d  = slot_i - 8'd1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      line_q <= '0;
      left_q <= '0;
      tck_q  <= '0;
    end else begin
      line_q <= line[LONGEST-1:0];
      left_q <= left_d;
      tck_q  <= tck_d;
    end
  end

  if (IDLE_SLOTS == 0) $fatal(1, "IDLE_SLOTS = %0d: expected 1 or more", IDLE_SLOTS);
  if (LONGEST < 2 || LONGEST > 255) $fatal(1, "LONGEST = %0d: expected 2 to 255", LONGEST);

endmodule
