// SPDX-License-Identifier: MIT
// The banks of a channel of NeuPIMs, as its controller knows them: who of them is told of a command, and what they allow.
// Part of channel_controller.

module channel_banks (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: all rows are closed.
  input  logic        rst_ni,
  /// tRCD, in tCK; as all timings, does not change after the first command.
  input  logic [7:0]  rcd_i,
  /// tRCD of WR, in tCK.
  input  logic [7:0]  rcd_wr_i,
  /// tRAS, in tCK.
  input  logic [7:0]  ras_i,
  /// tRP, in tCK.
  input  logic [7:0]  rp_i,
  /// tRTP, in tCK.
  input  logic [7:0]  rtp_i,
  /// WR to PRE, in tCK.
  input  logic [7:0]  wr_to_pre_i,
  /// Length of a GWRITE, in tCK.
  input  logic [7:0]  copy_i,
  /// The command of this cycle is an ACT of MEM.
  input  logic        act_i,
  /// It is a PRE of MEM.
  input  logic        precharge_i,
  /// It is a PREA.
  input  logic        precharge_all_i,
  /// It is an RD.
  input  logic        rd_i,
  /// It is a WR.
  input  logic        wr_i,
  /// It is an ACT of PIM, for a GWRITE.
  input  logic        pim_opens_i,
  /// It is a PRE of PIM, of a bank in an operation's way.
  input  logic        pim_closes_i,
  /// It is a PIM_ACTIVATION.
  input  logic        pim_act_i,
  /// It is a PIM_PRECHARGE.
  input  logic        pim_precharge_i,
  /// It is a PIM_GWRITE.
  input  logic        gwrite_i,
  /// Bank of an RD or WR, if there is one; so of the others.
  input  logic [4:0]  column_bank_i,
  /// Bank of an ACT of MEM.
  input  logic [4:0]  act_bank_i,
  /// Bank of a PRE of MEM.
  input  logic [4:0]  precharge_bank_i,
  /// Bank, or the first of the group, of a command of PIM.
  input  logic [4:0]  pim_bank_i,
  /// The PIM_PRECHARGE is of all banks.
  input  logic        all_i,
  /// Row of an ACT or PIM_ACTIVATION.
  input  logic [14:0] row_i,
  /// Banks of the pseudo-rank of a PREA.
  input  logic [31:0] rank_i,
  /// Row that is asked for in MEM.
  input  logic [14:0] mem_want_i,
  /// Row of the operation of PIM, which MEM opens in no bank.
  input  logic [14:0] pim_want_i,
  /// Banks with an open row of MEM.
  output logic [31:0] open_o,
  /// Banks whose row is that which is asked for.
  output logic [31:0] hit_o,
  /// Banks that hold the row of PIM's operation in MEM; known in the second cycle of the operation.
  output logic [31:0] way_o,
  /// Banks that may have an RD or GWRITE.
  output logic [31:0] read_ready_o,
  /// Banks that may have a WR.
  output logic [31:0] write_ready_o,
  /// Banks with an open row of MEM that may have a PRE.
  output logic [31:0] precharge_ready_o,
  /// Banks without a row of MEM, for tRP.
  output logic [31:0] closed_o,
  /// Banks with an open row of PIM.
  output logic [31:0] pim_open_o,
  /// Banks that may open the row of PIM's operation; known in its second cycle.
  output logic [31:0] pim_act_ready_o,
  /// Banks without any row, for tRP.
  output logic [31:0] quiet_o
);

  localparam int unsigned BANKS = 32;

  logic [BANKS-1:0] precharge_ready, pim_closed;

  // Banks whose row of MEM, open or closed, is that of PIM's operation. A row that is opened is not, unless a GWRITE opens it, and then
  // it is not asked for.
  logic [BANKS-1:0] same_row_d, same_row_q;

  for (genvar bank = 0; bank < BANKS; bank++) begin : gen_bank
    logic        is_column, is_pim, is_pim_group, act, precharge;
    logic [14:0] mem_row;

    assign is_column    = column_bank_i == 5'(bank);
    assign is_pim       = pim_bank_i == 5'(bank);
    assign is_pim_group = pim_bank_i[4:2] == 3'(bank / 4);
    assign act          = (act_i && act_bank_i == 5'(bank)) || (pim_opens_i && is_pim);
    assign precharge    = (precharge_i && precharge_bank_i == 5'(bank)) || (pim_closes_i && is_pim) || (precharge_all_i && rank_i[bank]);

    assign same_row_d[bank]      = !act && mem_row == pim_want_i;
    assign way_o[bank]           = open_o[bank] && same_row_q[bank];
    assign pim_act_ready_o[bank] = pim_closed[bank] && (!same_row_q[bank] || closed_o[bank]);

    /* verilator lint_off PINCONNECTEMPTY */
    bank_state u_state (
      .clk_i,
      .rst_ni,
      .rcd_i,
      .rcd_wr_i,
      .ras_i,
      .rp_i,
      .rtp_i,
      .wr_to_pre_i,
      .copy_i,
      .act_i                 (act),
      .precharge_i           (precharge),
      .read_i                (rd_i && is_column),
      .write_i               (wr_i && is_column),
      .gwrite_i              (gwrite_i && is_pim),
      .pim_act_i             (pim_act_i && is_pim_group),
      .pim_precharge_i       (pim_precharge_i && (all_i || is_pim)),
      .row_i,
      .mem_want_i,
      .pim_want_i,
      .reserved_i            (1'b0),
      .mem_open_o            (open_o[bank]),
      .mem_row_o             (mem_row),
      .pim_open_o            (pim_open_o[bank]),
      .pim_row_o             (),
      .mem_hit_o             (hit_o[bank]),
      .pim_hit_o             (),
      .in_the_way_o          (),
      .closed_o              (closed_o[bank]),
      .pim_closed_o          (pim_closed[bank]),
      .act_ready_o           (),
      .read_ready_o          (read_ready_o[bank]),
      .write_ready_o         (write_ready_o[bank]),
      .precharge_ready_o     (precharge_ready[bank]),
      .pim_act_ready_o       (),
      .pim_precharge_ready_o (),
      .quiet_o               (quiet_o[bank])
    );
    /* verilator lint_on PINCONNECTEMPTY */
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) same_row_q <= '0;
    else         same_row_q <= same_row_d;
  end

  assign precharge_ready_o = precharge_ready & open_o;

endmodule
