// SPDX-License-Identifier: MIT
// The windows of the host: which are open, and which WR and RD are of one. Contract: host_port.md.

module host_windows import pimlico_pkg::*; (
  /// Clock: tCK.
  input  logic       clk_i,
  /// Asynchronous reset, active low: no window is open.
  input  logic       rst_ni,
  /// The host's command.
  input  pins_t      command_i,
  /// A tCK later: a WR of the mailbox or of the operands.
  output logic       write_o,
  /// The WR is of the operands.
  output logic       operand_o,
  /// A tCK later: a RD of a window.
  output logic       read_o,
  /// Window of the RD: bank of its group.
  output logic [1:0] window_o,
  /// The RD is of the outputs' results; else of the context's.
  output logic       outputs_o,
  /// Number of the burst of results, modulo 64.
  output logic [5:0] burst_o
);

  localparam row_t WINDOW_ROW = '1;

  // Select of a window from registers: the pins have a tCK for the decoder.
  pins_t            command_d, command_q;
  logic [BANKS-1:0] open_d, open_q;
  logic             open, unused;

  assign command_d = command_i;

  always_comb begin
    open_d = open_q;
    case (command_q.command)
      PinAct:    open_d[command_q.bank] = command_q.row == WINDOW_ROW;
      PinPre:    open_d[command_q.bank] = 1'b0;
      PinPreAll: open_d = '0;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      command_q <= '0;
      open_q    <= '0;
    end else begin
      command_q <= command_d;
      open_q    <= open_d;
    end
  end

  assign open      = open_q[command_q.bank];
  assign write_o   = open && command_q.command == PinWr && !command_q.bank[1];
  assign operand_o = command_q.bank[0];
  assign read_o    = open && command_q.command == PinRd;
  assign window_o  = command_q.bank[1:0];
  assign outputs_o = command_q.bank[3];
  assign burst_o   = {command_q.column[4:0], command_q.bank[2]};
  assign unused    = &{1'b0, command_q.column[7:5]};

endmodule
