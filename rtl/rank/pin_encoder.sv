// SPDX-License-Identifier: MIT
// A command on the pins of a DDR4 chip. Contract: pin_codes.md.

module pin_encoder import pimlico_pkg::*; (
  /// The command.
  input  pins_t      command_i,
  /// The chips' pins.
  output dram_pins_t pins_o
);

  localparam logic BURST_OF_8 = 1'b1;

  row_t    row;
  column_t column;
  logic    unused;

  assign row    = command_i.row;
  assign column = command_i.column;
  assign unused = &{1'b0, command_i};

  always_comb begin
    pins_o = '{cs_n: 1'b0, act_n: 1'b1, ras_n: 1'b1, cas_n: 1'b1, we_n: 1'b1, bg: '0, ba: '0, a: '0};
    case (command_i.command)
      PinAct: begin
        {pins_o.act_n, pins_o.ras_n, pins_o.cas_n, pins_o.we_n} = {2'b00, row[15:14]};
        {pins_o.bg, pins_o.ba}                                 = command_i.bank;
        pins_o.a                                               = row[13:0];
      end
      PinActAll: begin
        pins_o.ras_n           = 1'b0;
        {pins_o.bg, pins_o.ba} = {1'b0, command_i.bank[3], row[15:14]};
        pins_o.a               = row[13:0];
      end
      PinSetWord: begin
        pins_o.ras_n = 1'b0;
        pins_o.bg    = 2'b10;
        pins_o.a     = 14'(column);
      end
      PinMrs: begin
        {pins_o.ras_n, pins_o.cas_n, pins_o.we_n} = 3'b000;
        {pins_o.bg, pins_o.ba}                    = {1'b0, command_i.bank[2:0]};
        pins_o.a                                  = row[13:0];
      end
      PinPre, PinPreAll: begin
        {pins_o.ras_n, pins_o.we_n} = 2'b00;
        {pins_o.bg, pins_o.ba}      = command_i.command == PinPre ? command_i.bank : '0;
        pins_o.a[10]                = command_i.command == PinPreAll;
      end
      PinRef: {pins_o.ras_n, pins_o.cas_n} = 2'b00;
      PinRd, PinWr, PinRdAll: begin
        pins_o.cas_n           = 1'b0;
        pins_o.we_n            = command_i.command != PinWr;
        {pins_o.bg, pins_o.ba} = command_i.bank;
        pins_o.a               = {1'b0, BURST_OF_8, command_i.command == PinRdAll, 1'b0, column[6:0], 3'd0};
      end
      PinRdResult, PinWrShared: begin
        pins_o.cas_n = 1'b0;
        pins_o.we_n  = command_i.command == PinRdResult;
        pins_o.ba[0] = column[7];
        pins_o.a     = {command_i.command == PinRdResult, BURST_OF_8, command_i.command == PinWrShared, 1'b0,
                        column[6:0], 3'd0};
      end
      default: pins_o.cs_n = 1'b1;
    endcase
  end

endmodule
