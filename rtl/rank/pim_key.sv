// SPDX-License-Identifier: MIT
// Whether a chip obeys the commands of processing in memory: from the key on, until the lock. Contract: pin_codes.md.

module pim_key import pimlico_pkg::*; (
  /// Clock: one edge per tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: locked.
  input  logic       rst_ni,
  /// The chip's pins.
  input  dram_pins_t pins_i,
  /// The chip obeys them; changes in the tCK after an MRS.
  output logic       unlocked_o
);

  localparam logic [3:0][13:0] KEY  = {14'h33C6, 14'h2C39, 14'h35A3, 14'h2A5C};  // the first is KEY[0]
  localparam logic [13:0]      LOCK = 14'h2000;

  logic       mrs, of_key, is_next, is_first, unlocks, locks, unlocked_d, unlocked_q;
  logic [1:0] count_d, count_q;  // opcodes of the key so far

  assign mrs      = {pins_i.cs_n, pins_i.act_n, pins_i.ras_n, pins_i.cas_n, pins_i.we_n} == 5'b01000 && !pins_i.bg[1];
  assign of_key   = {pins_i.bg[0], pins_i.ba} == 3'd7;
  assign is_next  = of_key && pins_i.a == KEY[count_q];
  assign is_first = of_key && pins_i.a == KEY[0];
  assign unlocks  = mrs && is_next && count_q == 2'd3;
  assign locks    = mrs && of_key && pins_i.a == LOCK;

  always_comb begin
    count_d = count_q;
    if (mrs) count_d = is_next ? count_q + 2'd1 : 2'(is_first);
  end

  assign unlocked_d = (unlocked_q || unlocks) && !locks;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {count_q, unlocked_q} <= '0;
    else         {count_q, unlocked_q} <= {count_d, unlocked_d};
  end

  assign unlocked_o = unlocked_q;

endmodule
