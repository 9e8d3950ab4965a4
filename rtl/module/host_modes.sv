// SPDX-License-Identifier: MIT
// An MRS of the host as the chips get it: with their own CL and CWL, and without the modes that the module has no way for.
// Contract: host_port.md.

module host_modes import pimlico_pkg::*; (
  /// CL of the chips.
  input  logic [7:0] cl_i,
  /// CWL of the chips.
  input  logic [7:0] cwl_i,
  /// The host's command.
  input  pins_t      command_i,
  /// The command for the chips.
  output pins_t      command_o
);

  logic [4:0]  cl;
  logic [2:0]  cwl;
  logic [13:0] forced, levels;  // bits that are not the host's, and what they are

  // JESD79-4, MR0 and MR2; 0 if there is no code.
  always_comb begin
    case (cl_i)
      8'd9, 8'd10, 8'd11, 8'd12, 8'd13, 8'd14, 8'd15, 8'd16: cl = 5'(cl_i - 8'd9);
      8'd18:   cl = 5'd8;
      8'd20:   cl = 5'd9;
      8'd22:   cl = 5'd10;
      8'd24:   cl = 5'd11;
      8'd23:   cl = 5'd12;
      8'd17:   cl = 5'd13;
      8'd19:   cl = 5'd14;
      8'd21:   cl = 5'd15;
      8'd25, 8'd26, 8'd27, 8'd28, 8'd29, 8'd30, 8'd31, 8'd32: cl = 5'(cl_i - 8'd9);
      default: cl = '0;
    endcase
    case (cwl_i)
      8'd9, 8'd10, 8'd11, 8'd12: cwl = 3'(cwl_i - 8'd9);
      8'd14:   cwl = 3'd4;
      8'd16:   cwl = 3'd5;
      8'd18:   cwl = 3'd6;
      8'd20:   cwl = 3'd7;
      default: cwl = '0;
    endcase
  end

  always_comb begin
    {forced, levels} = '0;
    case (command_i.bank)
      4'd0: begin
        forced                                = 14'b01_0000_0111_0111;  // CL, burst length
        {levels[12], levels[6:4], levels[2]} = cl;
      end
      4'd1: forced = 14'b00_0000_0001_1000;                            // additive latency
      4'd2: begin
        forced      = 14'b01_0000_0011_1000;                           // CWL, CRC of written data
        levels[5:3] = cwl;
      end
      4'd3: forced = 14'b00_0001_1101_1100;                            // fine refresh, one chip alone, gear-down, MPR
      4'd4: forced = 14'b00_0001_1100_0000;                            // command address latency
      4'd5: forced = 14'b01_1100_0000_0111;                            // DM, DBI, parity
      default: ;
    endcase
  end

  always_comb begin
    command_o = command_i;
    if (command_i.command == PinMrs) command_o.row[13:0] = command_i.row[13:0] & ~forced | levels;
  end

endmodule
