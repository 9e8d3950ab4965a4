// SPDX-License-Identifier: MIT
// Open rows and timers of a bank with two row buffers, on the controller's side. Contract: bank_state.md.

module bank_state (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: both row buffers are closed.
  input  logic        rst_ni,
  /// tRCD, in tCK; as all timings, does not change after reset.
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
  /// An ACT of the bank is on the pins.
  input  logic        act_i,
  /// A PRE of the bank, or a PREA, is on the pins.
  input  logic        precharge_i,
  /// An RD of the bank is on the pins.
  input  logic        read_i,
  /// A WR of the bank is on the pins.
  input  logic        write_i,
  /// A PIM_GWRITE of the bank is on the pins.
  input  logic        gwrite_i,
  /// A PIM_ACTIVATION of the bank's group is on the pins.
  input  logic        pim_act_i,
  /// A PIM_PRECHARGE of the bank is on the pins.
  input  logic        pim_precharge_i,
  /// Row of the ACT or PIM_ACTIVATION.
  input  logic [14:0] row_i,
  /// Row that MEM wants.
  input  logic [14:0] mem_want_i,
  /// Row that PIM wants.
  input  logic [14:0] pim_want_i,
  /// PIM has reserved the row that it wants.
  input  logic        reserved_i,
  /// The MEM row buffer holds a row.
  output logic        mem_open_o,
  /// Row of the last ACT.
  output logic [14:0] mem_row_o,
  /// The PIM row buffer holds a row.
  output logic        pim_open_o,
  /// Row of the last PIM_ACTIVATION.
  output logic [14:0] pim_row_o,
  /// The MEM row buffer holds the row that MEM wants.
  output logic        mem_hit_o,
  /// The PIM row buffer holds the row that PIM wants.
  output logic        pim_hit_o,
  /// The MEM row buffer holds the row that PIM wants.
  output logic        in_the_way_o,
  /// The MEM row buffer is closed, for tRP.
  output logic        closed_o,
  /// The PIM row buffer is closed, for tRP.
  output logic        pim_closed_o,
  /// An ACT of the row that MEM wants may be on the pins.
  output logic        act_ready_o,
  /// An RD or PIM_GWRITE may be on the pins.
  output logic        read_ready_o,
  /// A WR may be on the pins.
  output logic        write_ready_o,
  /// A PRE may be on the pins.
  output logic        precharge_ready_o,
  /// A PIM_ACTIVATION of the row that PIM wants may be on the pins.
  output logic        pim_act_ready_o,
  /// A PIM_PRECHARGE may be on the pins.
  output logic        pim_precharge_ready_o,
  /// Both row buffers are closed, for tRP.
  output logic        quiet_o
);

  // Open rows.
  logic        mem_open_d, mem_open_q, pim_open_d, pim_open_q;
  logic [14:0] mem_row_d, mem_row_q, pim_row_d, pim_row_q;

  assign mem_open_d = act_i || mem_open_q && !precharge_i;
  assign pim_open_d = pim_act_i || pim_open_q && !pim_precharge_i;
  assign mem_row_d  = act_i ? row_i : mem_row_q;
  assign pim_row_d  = pim_act_i ? row_i : pim_row_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mem_open_q <= 1'b0;
      pim_open_q <= 1'b0;
      mem_row_q  <= '0;
      pim_row_q  <= '0;
    end else begin
      mem_open_q <= mem_open_d;
      pim_open_q <= pim_open_d;
      mem_row_q  <= mem_row_d;
      pim_row_q  <= pim_row_d;
    end
  end

  // What was on the pins in the last cycle: timers are started by it, so that no command waits for them.
  logic act_q, precharge_q, read_q, write_q, gwrite_q, pim_act_q, pim_precharge_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {act_q, precharge_q, read_q, write_q, gwrite_q, pim_act_q, pim_precharge_q} <= '0;
    end else begin
      act_q           <= act_i;
      precharge_q     <= precharge_i;
      read_q          <= read_i;
      write_q         <= write_i;
      gwrite_q        <= gwrite_i;
      pim_act_q       <= pim_act_i;
      pim_precharge_q <= pim_precharge_i;
    end
  end

  // Timers of MEM. Where several commands start one, it keeps the later end.
  logic       starts_column, starts_row, read_over, write_over, row_over, mem_closed;
  logic [7:0] read_clocks, write_clocks, row_clocks;

  assign starts_column = act_q || gwrite_q;
  assign read_clocks   = gwrite_q ? copy_i : rcd_i;
  assign write_clocks  = gwrite_q ? copy_i : rcd_wr_i;
  assign starts_row    = act_q || read_q || write_q || gwrite_q;

  always_comb begin
    row_clocks = ras_i;
    if (read_q)   row_clocks = rtp_i;
    if (write_q)  row_clocks = wr_to_pre_i;
    if (gwrite_q) row_clocks = copy_i;
  end

  late_timer #(.WIDTH(8), .KEEP(1)) u_read (
    .clk_i,
    .rst_ni,
    .start_i  (starts_column),
    .clocks_i (read_clocks),
    .over_o   (read_over)
  );

  late_timer #(.WIDTH(8), .KEEP(1)) u_write (
    .clk_i,
    .rst_ni,
    .start_i  (starts_column),
    .clocks_i (write_clocks),
    .over_o   (write_over)
  );

  late_timer #(.WIDTH(8), .KEEP(1)) u_row (
    .clk_i,
    .rst_ni,
    .start_i  (starts_row),
    .clocks_i (row_clocks),
    .over_o   (row_over)
  );

  late_timer #(.WIDTH(8)) u_closed (
    .clk_i,
    .rst_ni,
    .start_i  (precharge_q),
    .clocks_i (rp_i),
    .over_o   (mem_closed)
  );

  // Timers of PIM.
  logic pim_row_over, pim_closed;

  late_timer #(.WIDTH(8)) u_pim_row (
    .clk_i,
    .rst_ni,
    .start_i  (pim_act_q),
    .clocks_i (ras_i),
    .over_o   (pim_row_over)
  );

  late_timer #(.WIDTH(8)) u_pim_closed (
    .clk_i,
    .rst_ni,
    .start_i  (pim_precharge_q),
    .clocks_i (rp_i),
    .over_o   (pim_closed)
  );

  // The row that one buffer wants: of the other it must not be, nor have been within tRP, nor be reserved.
  logic mem_of_mem, mem_of_pim, pim_of_mem, pim_of_pim, is_reserved;

  assign mem_of_mem  = mem_want_i == mem_row_q;
  assign mem_of_pim  = mem_want_i == pim_row_q;
  assign pim_of_mem  = pim_want_i == mem_row_q;
  assign pim_of_pim  = pim_want_i == pim_row_q;
  assign is_reserved = reserved_i && mem_want_i == pim_want_i;

  assign mem_open_o            = mem_open_q;
  assign mem_row_o             = mem_row_q;
  assign pim_open_o            = pim_open_q;
  assign pim_row_o             = pim_row_q;
  assign mem_hit_o             = mem_open_q && mem_of_mem;
  assign pim_hit_o             = pim_open_q && pim_of_pim;
  assign in_the_way_o          = mem_open_q && pim_of_mem;
  assign closed_o              = !mem_open_q && mem_closed;
  assign pim_closed_o          = !pim_open_q && pim_closed;
  assign act_ready_o           = !mem_open_q && mem_closed && !is_reserved &&
                                 !(mem_of_pim && (pim_open_q || !pim_closed));
  assign read_ready_o          = mem_open_q && read_over;
  assign write_ready_o         = mem_open_q && write_over;
  assign precharge_ready_o     = row_over || !mem_open_q;
  assign pim_act_ready_o       = !pim_open_q && pim_closed && !(pim_of_mem && (mem_open_q || !mem_closed));
  assign pim_precharge_ready_o = pim_row_over || !pim_open_q;
  assign quiet_o               = !mem_open_q && !pim_open_q && mem_closed && pim_closed;

endmodule
