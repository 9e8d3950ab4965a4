// SPDX-License-Identifier: MIT
// Slots of the bank PUs: each begins with an edge of their clock. Contract: slot_timer.md.

module slot_timer #(
  /// Slots without an RD_ALL after which no PU has anything left to do: the pipeline of bank_pu, and one.
  parameter  int unsigned IDLE_SLOTS = 5,
  localparam int unsigned LEFT_BITS  = $clog2(IDLE_SLOTS + 1)
) (
  /// Clock: one edge per tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: no slot begins.
  input  logic       rst_ni,
  /// A slot may begin.
  input  logic       enable_i,
  /// An RD_ALL is on the pins.
  input  logic       read_all_i,
  /// tCCD_L, 1 or more.
  input  logic [7:0] slot_i,
  /// A slot begins.
  output logic       begin_o
);

  logic [LEFT_BITS-1:0] left_d, left_q;  // slots before the clock stands still
  logic [7:0]           tck_d, tck_q;    // tCK of this slot

  assign begin_o = enable_i && (read_all_i || (left_q != '0 && tck_q == '0));

  always_comb begin
    left_d = left_q;
    tck_d  = tck_q == '0 ? '0 : tck_q - 8'd1;
    if (begin_o) begin
      left_d = read_all_i ? LEFT_BITS'(IDLE_SLOTS) : left_q - LEFT_BITS'(1);
      tck_d  = slot_i - 8'd1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      tck_q  <= '0;
    end else begin
      left_q <= left_d;
      tck_q  <= tck_d;
    end
  end

  if (IDLE_SLOTS == 0) $fatal(1, "IDLE_SLOTS = %0d: expected 1 or more", IDLE_SLOTS);

endmodule
