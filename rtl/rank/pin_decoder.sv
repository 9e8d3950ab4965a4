// SPDX-License-Identifier: MIT
// Which command the pins of a DDR4 chip show, of those that its banks alone do not obey. What the command is about
// stands on the pins. Contract: pin_codes.md.

module pin_decoder import pimlico_pkg::*; (
  /// The chip's pins.
  input  dram_pins_t pins_i,
  /// RD.
  output logic       rd_o,
  /// WR.
  output logic       wr_o,
  /// RD_ALL.
  output logic       rd_all_o,
  /// RD_RESULT.
  output logic       rd_result_o,
  /// WR_SHARED.
  output logic       wr_shared_o,
  /// SET_WORD.
  output logic       set_word_o
);

  logic       reads, writes, reserved;
  logic       is_burst;         // of eight from beat 0, without auto-precharge
  logic       of_rank;          // no bank is named
  logic [4:0] code;
  logic       unused;

  assign code     = {pins_i.cs_n, pins_i.act_n, pins_i.ras_n, pins_i.cas_n, pins_i.we_n};
  assign reads    = code == 5'b01101;
  assign writes   = code == 5'b01100;
  assign reserved = code == 5'b01011;
  assign is_burst = pins_i.a[12] && !pins_i.a[10] && pins_i.a[2:0] == '0;
  assign of_rank  = {pins_i.bg, pins_i.ba[1]} == '0;
  assign unused   = &{1'b0, pins_i};

  assign rd_o        = reads  && is_burst && !pins_i.a[13] && !pins_i.a[11];
  assign rd_all_o    = reads  && is_burst && !pins_i.a[13] &&  pins_i.a[11];
  assign rd_result_o = reads  && is_burst &&  pins_i.a[13] && !pins_i.a[11] && of_rank;
  assign wr_o        = writes && is_burst && !pins_i.a[13] && !pins_i.a[11];
  assign wr_shared_o = writes && is_burst && !pins_i.a[13] &&  pins_i.a[11] && of_rank;
  assign set_word_o  = reserved && {pins_i.bg, pins_i.ba} == 4'b1000 && pins_i.a[13:8] == '0;

endmodule
