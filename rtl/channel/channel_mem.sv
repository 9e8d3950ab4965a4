// SPDX-License-Identifier: MIT
// MEM's side of the controller of a channel of NeuPIMs: which candidate of the scheduler is issued. Part of channel_controller.

module channel_mem import channel_pkg::*; #(
  /// Reads that wait, a power of two, 4 or more.
  parameter int unsigned READS  = 32,
  /// Writes that wait, a power of two, 4 or more.
  parameter int unsigned WRITES = 32
) (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: there is no request.
  input  logic        rst_ni,
  /// A request.
  input  logic        valid_i,
  /// It is a write; else a read.
  input  logic        write_i,
  /// Its bank.
  input  logic [4:0]  bank_i,
  /// Its row.
  input  logic [14:0] row_i,
  /// Its column.
  input  logic [3:0]  column_i,
  /// Its tag.
  input  logic [7:0]  tag_i,
  /// All banks are of one pseudo-rank.
  input  logic        single_i,
  /// The banks have a single row buffer.
  input  logic        blocked_i,
  /// The command of this cycle opens a row for MEM.
  input  logic        opens_i,
  /// Bank of the row.
  input  logic [4:0]  opens_bank_i,
  /// Number of the row.
  input  logic [14:0] opens_row_i,
  /// Banks that it closes for MEM.
  input  logic [31:0] closes_i,
  /// The command of this cycle is none of MEM's.
  input  logic        slot_taken_i,
  /// A REF is due.
  input  logic        owed_i,
  /// Banks of its pseudo-rank.
  input  logic [31:0] of_turn_i,
  /// Banks of the pseudo-ranks.
  input  logic [1:0][31:0] banks_i,
  /// With a single row buffer: PIM has the channel.
  input  logic        owner_i,
  /// PIM has an operation.
  input  logic        op_valid_i,
  /// It is a GWRITE.
  input  logic        op_gwrite_i,
  /// Bank of the GWRITE.
  input  logic [4:0]  op_bank_i,
  /// Row of the operation.
  input  logic [14:0] op_row_i,
  /// No row of PIM is open, for tRP.
  input  logic        pim_rests_i,
  /// The row of PIM that is open, or was last.
  input  logic [14:0] pim_row_i,
  /// PIM holds RDs back.
  input  logic        holds_reads_i,
  /// PIM holds WRs back, by pseudo-rank.
  input  logic [1:0]  holds_writes_i,
  /// PIM holds ACTs back, by pseudo-rank.
  input  logic [1:0]  holds_acts_i,
  /// Banks that hold the row of the staged request.
  input  logic [31:0] hit_i,
  /// Banks that may have an RD.
  input  logic [31:0] read_ready_i,
  /// Banks that may have a WR.
  input  logic [31:0] write_ready_i,
  /// Banks with an open row that may have a PRE.
  input  logic [31:0] precharge_ready_i,
  /// Banks without a row, for tRP.
  input  logic [31:0] closed_i,
  /// RD, for the data bus, by pseudo-rank.
  input  logic [1:0]  read_bus_i,
  /// WR, for the data bus, by pseudo-rank.
  input  logic [1:0]  write_bus_i,
  /// tWTR_S is over, by pseudo-rank.
  input  logic [1:0]  turned_i,
  /// tWTR_L is over, by group.
  input  logic [7:0]  turned_group_i,
  /// tRRD_S is over, by pseudo-rank.
  input  logic [1:0]  act_over_i,
  /// tRRD_L is over, by group.
  input  logic [7:0]  act_group_i,
  /// tFAW behind a PIM_ACTIVATION is over, by pseudo-rank.
  input  logic [1:0]  faw_over_i,
  /// tRFC is over, by pseudo-rank.
  input  logic [1:0]  rfc_over_i,
  /// The window has room for an ACT, by pseudo-rank.
  input  logic [1:0]  room_i,
  /// An RD would meet results on the data bus.
  input  logic        read_meets_i,
  /// A WR would meet results on the data bus.
  input  logic        write_meets_i,
  /// A request is accepted.
  output logic        ready_o,
  /// There is no request.
  output logic        mem_empty_o,
  /// Row of the staged request.
  output logic [14:0] staged_row_o,
  /// MEM's command, if it has the slot.
  output pins_t       of_mem_o,
  /// Banks of its candidates for RD or WR, ACT and PRE, and the row to be opened: known before it has the slot.
  output logic [4:0]  column_bank_o,
  output logic [4:0]  act_bank_o,
  output logic [4:0]  precharge_bank_o,
  output logic [14:0] act_row_o,
  /// Why no burst is moved.
  output mem_lost_e   mem_lost_o
);

  logic [4:0]  staged_bank;
  logic        column_valid, column_write, opens_valid, closes_valid, mem_blocked, unused_drains;
  logic [4:0]  column_bank, opens_bank, closes_bank;
  logic [14:0] column_row, opens_row;
  logic [3:0]  column_column;
  logic [7:0]  column_tag;
  logic        column_taken, act_taken, precharge_taken, reserved, held;
  logic [31:0] stop_d, stop_q, acts_of_banks;
  logic [1:0]  windows, acts, acts_to_pick, holds_q;

  // Banks that MEM may not use, and rows that PIM has. With a single row buffer these are all, or none.
  logic gwrites;

  always_comb begin
    stop_d = owed_i ? of_turn_i : '0;
    if (gwrites) stop_d[op_bank_i] = 1'b1;
    if (owner_i) stop_d = '1;
  end

  assign gwrites  = op_valid_i && op_gwrite_i && !blocked_i;
  assign reserved = op_valid_i && !op_gwrite_i && !blocked_i;
  assign held     = !pim_rests_i;

  // Pseudo-ranks that may have an ACT. A pick takes what is left to MEM in the last cycle.
  assign windows       = rfc_over_i & faw_over_i & room_i;
  assign acts          = windows & ~holds_acts_i;
  assign acts_to_pick  = windows & ~holds_q;
  assign acts_of_banks = (acts_to_pick[0] ? banks_i[0] : '0) | (acts_to_pick[1] ? banks_i[1] : '0);

  mem_scheduler #(.READS(READS), .WRITES(WRITES)) u_scheduler (
    .clk_i,
    .rst_ni,
    .valid_i           (valid_i),
    .write_i           (write_i),
    .bank_i            (bank_i),
    .row_i             (row_i),
    .column_i          (column_i),
    .tag_i             (tag_i),
    .hit_i             (hit_i[staged_bank]),
    .opens_i           (opens_i),
    .opens_bank_i      (opens_bank_i),
    .opens_row_i       (opens_row_i),
    .closes_i          (closes_i),
    .read_ready_i      (read_ready_i & ~stop_q),
    .write_ready_i     (write_ready_i & ~stop_q),
    .act_ready_i       (closed_i & ~stop_q & acts_of_banks),
    .precharge_ready_i (precharge_ready_i & ~stop_q),
    .reserved_i        (reserved),
    .reserved_row_i    (op_row_i),
    .held_i            (held),
    .held_row_i        (pim_row_i),
    .column_taken_i    (column_taken),
    .act_taken_i       (act_taken),
    .precharge_taken_i (precharge_taken),
    .ready_o           (ready_o),
    .staged_bank_o     (staged_bank),
    .staged_row_o      (staged_row_o),
    .column_valid_o    (column_valid),
    .column_write_o    (column_write),
    .column_bank_o     (column_bank),
    .column_row_o      (column_row),
    .column_column_o   (column_column),
    .column_tag_o      (column_tag),
    .act_valid_o       (opens_valid),
    .act_bank_o        (opens_bank),
    .act_row_o         (opens_row),
    .precharge_valid_o (closes_valid),
    .precharge_bank_o  (closes_bank),
    .blocked_o         (mem_blocked),
    .drains_o          (unused_drains),
    .empty_o           (mem_empty_o)
  );

  // The candidates once more, in the cycle in which they would be issued.
  logic column_rank, opens_rank, column_stops, opens_stops, closes_stops;
  logic column_may, column_on_bus, column_meets, column_ok, opens_may, closes_may;

  assign column_rank = !single_i && column_bank[4];
  assign opens_rank  = !single_i && opens_bank[4];
  assign column_stops  = owner_i || (owed_i && of_turn_i[column_bank]) || (gwrites && column_bank == op_bank_i);
  assign opens_stops   = owner_i || (owed_i && of_turn_i[opens_bank]) || (gwrites && opens_bank == op_bank_i);
  assign closes_stops  = owner_i || (owed_i && of_turn_i[closes_bank]) || (gwrites && closes_bank == op_bank_i);
  assign column_may    = column_valid && (column_write ? write_ready_i[column_bank] : read_ready_i[column_bank]) &&
                         !column_stops && !(reserved && column_row == op_row_i);
  assign column_on_bus = column_write ? write_bus_i[column_rank] :
                         read_bus_i[column_rank] && turned_i[column_rank] && turned_group_i[column_bank[4:2]];
  assign column_meets = column_write ? write_meets_i || holds_writes_i[column_rank] : read_meets_i || holds_reads_i;
  assign column_ok    = column_may && column_on_bus && !column_meets;
  assign opens_may     = opens_valid && closed_i[opens_bank] && !opens_stops && acts[opens_rank] &&
                         !(reserved && opens_row == op_row_i) && !(held && opens_row == pim_row_i) &&
                         act_over_i[opens_rank] && act_group_i[opens_bank[4:2]];
  assign closes_may    = closes_valid && precharge_ready_i[closes_bank] && !closes_stops;

  assign column_taken    = column_ok && !slot_taken_i;
  assign act_taken       = opens_may && !slot_taken_i && !column_taken;
  assign precharge_taken = closes_may && !slot_taken_i && !column_taken && !act_taken;

  always_comb begin
    of_mem_o = '0;
    if (column_taken) begin
      of_mem_o.command = column_write ? Wr : Rd;
      of_mem_o.bank    = column_bank;
      of_mem_o.column  = 5'(column_column);
      of_mem_o.of_mem  = 1'b1;
      of_mem_o.tag     = column_tag;
    end else if (act_taken) begin
      of_mem_o.command = Act;
      of_mem_o.bank    = opens_bank;
      of_mem_o.row     = opens_row;
    end else if (precharge_taken) begin
      of_mem_o.command = Pre;
      of_mem_o.bank    = closes_bank;
    end
  end

  assign column_bank_o    = column_bank;
  assign act_bank_o       = opens_bank;
  assign precharge_bank_o = closes_bank;
  assign act_row_o        = opens_row;

  // The burst of an RD or WR in the last cycle has the data bus in this one too.
  logic moves_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      moves_q <= 1'b0;
      holds_q <= '0;
      stop_q  <= '0;
    end else begin
      moves_q <= column_taken;
      holds_q <= holds_acts_i;
      stop_q  <= stop_d;
    end
  end

  // Why no burst is moved.
  always_comb begin
    mem_lost_o = owed_i ? MemRefresh : mem_blocked ? MemReserved : MemRow;
    if (column_valid) begin
      if (!column_may)         mem_lost_o = owed_i && of_turn_i[column_bank] ? MemRefresh : MemReserved;
      else if (!column_on_bus) mem_lost_o = MemNone;
      else if (column_meets)   mem_lost_o = MemResults;
      else                     mem_lost_o = slot_taken_i ? MemCommandBus : MemNone;
    end else if (opens_valid) begin
      if (opens_may)                mem_lost_o = slot_taken_i ? MemCommandBus : MemRow;
      else if (!acts[opens_rank]) mem_lost_o = MemWindow;
    end
    if (mem_empty_o || moves_q) mem_lost_o = MemNone;
  end

endmodule
