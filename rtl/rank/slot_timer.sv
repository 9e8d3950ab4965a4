// SPDX-License-Identifier: MIT
// The slots of the bank PUs, whose clock has an edge with the beginning of each.
//
// An RD_ALL begins a slot of tCCD_L, whatever is left of the one before; without one the next slot
// follows. After IDLE_SLOTS slots without an RD_ALL, when all sums have left the PUs' pipeline, the clock
// stands still until the next. tCCD_L = 8, IDLE_SLOTS = 2:
//
//   tCK           0 . . . . . . . 8 . . . . . . . 16. . . . . . . 24
//   read_all_i    1
//   begin_o       1               1               1
//   left_q        x               2               1               0
//
// In a tCK where enable_i is clear no slot begins, but time goes on.

module slot_timer #(
  /// Slots without an RD_ALL after which no PU has anything left to do: the pipeline of bank_pu, and one.
  parameter  int unsigned IDLE_SLOTS = 5,
  localparam int unsigned LEFT_BITS  = $clog2(IDLE_SLOTS + 1)
) (
  /// Clock: tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: the clock stands still.
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

endmodule
