// SPDX-License-Identifier: MIT
// Which command of JEDEC's the host's pins show. Bits that a command does not use may have either level: what a host
// has there means nothing, and it does not reach the chips.

module host_decoder import pimlico_pkg::*; (
  /// The host's pins.
  input  dram_pins_t pins_i,
  /// The command; none if it is not an ACT, PRE, PREA, REF, RD, WR or MRS.
  output pins_t      command_o
);

  logic [2:0] code;
  bank_t      bank;
  logic       is_burst;  // of eight from beat 0, without auto-precharge
  logic       unused;

  assign code     = {pins_i.ras_n, pins_i.cas_n, pins_i.we_n};
  assign bank     = {pins_i.bg, pins_i.ba};
  assign is_burst = pins_i.a[12] && !pins_i.a[10] && pins_i.a[2:0] == '0;
  assign unused   = &{1'b0, pins_i};

  always_comb begin
    command_o = '0;
    if (!pins_i.cs_n && !pins_i.act_n) begin
      if (!pins_i.ras_n) begin
        command_o = '{command: PinAct, bank: bank, row: {pins_i.cas_n, pins_i.we_n, pins_i.a}, column: '0};
      end
    end else if (!pins_i.cs_n) begin
      case (code)
        3'b000: if (!pins_i.bg[1]) command_o = '{
          command: PinMrs, bank: bank, row: row_t'(pins_i.a), column: '0
        };
        3'b001: command_o.command = PinRef;
        3'b010: command_o = '{
          command: pins_i.a[10] ? PinPreAll : PinPre, bank: pins_i.a[10] ? '0 : bank, row: '0, column: '0
        };
        3'b100, 3'b101: if (is_burst) command_o = '{
          command: pins_i.we_n ? PinRd : PinWr, bank: bank, row: '0, column: column_t'(pins_i.a[9:3])
        };
        default: ;
      endcase
    end
  end

endmodule
