// SPDX-License-Identifier: MIT
// Reads or writes of a channel that wait, in the order of their ages, and which of them could be next. Part of mem_scheduler.
//
// The oldest entry is at place 0: where one leaves, the younger ones move up. Picks are those of this cycle; an entry that
// leaves in it is among them.

module mem_queue #(
  /// Entries, 2 or more.
  parameter  int unsigned DEPTH      = 32,
  localparam int unsigned PLACE_BITS = $clog2(DEPTH)
) (
  /// Clock: one edge per tCK.
  input  logic                  clk_i,
  /// Asynchronous reset, active low: empty.
  input  logic                  rst_ni,
  /// An entry comes. Only where full_o is not set.
  input  logic                  push_i,
  /// Bank of the entry that comes, or that could; whether others are of the same burst is asked of it.
  input  logic [4:0]            bank_i,
  /// Its row.
  input  logic [14:0]           row_i,
  /// Its column.
  input  logic [3:0]            column_i,
  /// Its tag.
  input  logic [7:0]            tag_i,
  /// Its row is open.
  input  logic                  hit_i,
  /// The burst that may come is of the other kind: is one of its address here?
  output logic                  has_o,
  /// An entry leaves.
  input  logic                  remove_i,
  /// Its place.
  input  logic [PLACE_BITS-1:0] place_i,
  /// A row is opened for MEM.
  input  logic                  opens_i,
  /// Bank of the row.
  input  logic [4:0]            opens_bank_i,
  /// Number of the row.
  input  logic [14:0]           opens_row_i,
  /// Banks whose row is closed for MEM.
  input  logic [31:0]           closes_i,
  /// Banks that may have the column command.
  input  logic [31:0]           column_ready_i,
  /// Banks that may have an ACT.
  input  logic [31:0]           act_ready_i,
  /// Banks with an open row that may have a PRE.
  input  logic [31:0]           precharge_ready_i,
  /// Banks that have had so many row hits that another row may be opened.
  input  logic [31:0]           capped_i,
  /// Banks that are preferred.
  input  logic [31:0]           first_i,
  /// PIM has reserved a row.
  input  logic                  reserved_i,
  /// The row that PIM has reserved.
  input  logic [14:0]           reserved_row_i,
  /// PIM holds a row.
  input  logic                  held_i,
  /// The row that PIM holds.
  input  logic [14:0]           held_row_i,
  /// Entries.
  output logic [PLACE_BITS:0]   count_o,
  /// There is no room.
  output logic                  full_o,
  /// There is an entry for a column command.
  output logic                  column_valid_o,
  /// Its place.
  output logic [PLACE_BITS-1:0] column_place_o,
  /// Its bank, row, column and tag.
  output logic [31:0]           column_o,
  /// There is an entry whose row may be opened.
  output logic                  act_valid_o,
  /// Its bank and row.
  output logic [19:0]           act_o,
  /// There is an entry for which another row may be closed.
  output logic                  precharge_valid_o,
  /// Its bank.
  output logic [4:0]            precharge_o,
  /// There is an entry whose row PIM has.
  output logic                  blocked_o
);

  typedef struct packed {
    logic [4:0]  bank;
    logic [14:0] row;
    logic [3:0]  column;
    logic [7:0]  tag;
  } entry_t;

  entry_t              entries_d [DEPTH], entries_q [DEPTH];
  logic [DEPTH-1:0]    hit_d, hit_q;
  logic [PLACE_BITS:0] count_d, count_q;

  // Which places have an entry, and which of these are not of PIM's rows.
  logic [DEPTH-1:0] valid, of_pim, same;

  for (genvar place = 0; place < DEPTH; place++) begin : gen_place
    assign valid[place]  = count_q > (PLACE_BITS + 1)'(place);
    assign of_pim[place] = (reserved_i && entries_q[place].row == reserved_row_i) ||
                           (held_i && entries_q[place].row == held_row_i);
    assign same[place]   = valid[place] && entries_q[place].bank == bank_i && entries_q[place].row == row_i &&
                           entries_q[place].column == column_i;
  end

  assign has_o     = |same;
  assign blocked_o = |(valid & of_pim);

  // Banks with an entry whose row is open, and with one whose row is not.
  logic [DEPTH-1:0] hits, others;
  logic [31:0]      hit_banks, other_banks, may_hit, may_act, may_close, preferred;

  assign hits   = valid & ~of_pim & hit_q;
  assign others = valid & ~of_pim & ~hit_q;

  always_comb begin
    hit_banks   = '0;
    other_banks = '0;
    for (int unsigned place = 0; place < DEPTH; place++) begin
      if (hits[place])   hit_banks[entries_q[place].bank]   = 1'b1;
      if (others[place]) other_banks[entries_q[place].bank] = 1'b1;
    end
  end

  assign may_hit   = column_ready_i & hit_banks & ~(capped_i & other_banks);
  assign preferred = |(may_hit & first_i) ? may_hit & first_i : may_hit;
  assign may_act   = act_ready_i & other_banks;
  assign may_close = precharge_ready_i & other_banks & (capped_i | ~hit_banks);

  // The oldest of each: from the youngest on, an older one takes its place.
  always_comb begin
    column_valid_o    = 1'b0;
    column_place_o    = '0;
    column_o          = '0;
    act_valid_o       = 1'b0;
    act_o             = '0;
    precharge_valid_o = 1'b0;
    precharge_o       = '0;
    for (int place = int'(DEPTH) - 1; place >= 0; place--) begin
      if (hits[place] && preferred[entries_q[place].bank]) begin
        column_valid_o = 1'b1;
        column_place_o = PLACE_BITS'(place);
        column_o       = entries_q[place];
      end
      if (others[place] && may_act[entries_q[place].bank]) begin
        act_valid_o = 1'b1;
        act_o       = {entries_q[place].bank, entries_q[place].row};
      end
      if (others[place] && may_close[entries_q[place].bank]) begin
        precharge_valid_o = 1'b1;
        precharge_o       = entries_q[place].bank;
      end
    end
  end

  // Entries of the next cycle: those behind the one that leaves move up, and one that comes is the last.
  logic [PLACE_BITS:0] kept;

  assign kept    = count_q - (PLACE_BITS + 1)'(remove_i);
  assign count_d = kept + (PLACE_BITS + 1)'(push_i);

  for (genvar place = 0; place < DEPTH; place++) begin : gen_next
    logic comes, opened, closed, hit;

    assign comes = push_i && kept == (PLACE_BITS + 1)'(place);

    if (place == DEPTH - 1) begin : gen_last
      assign entries_d[place] = comes ? {bank_i, row_i, column_i, tag_i} : entries_q[place];
      assign hit              = comes ? hit_i : hit_q[place];
    end else begin : gen_inner
      logic moves;

      assign moves            = remove_i && PLACE_BITS'(place) >= place_i;
      assign entries_d[place] = comes ? {bank_i, row_i, column_i, tag_i} :
                                moves ? entries_q[place+1] : entries_q[place];
      assign hit              = comes ? hit_i : moves ? hit_q[place+1] : hit_q[place];
    end

    assign opened       = opens_i && entries_d[place].bank == opens_bank_i;
    assign closed       = closes_i[entries_d[place].bank];
    assign hit_d[place] = opened ? entries_d[place].row == opens_row_i : hit && !closed;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_d;
  end

  // Without a reset: count_q says which places have an entry.
  always_ff @(posedge clk_i) begin
    for (int unsigned place = 0; place < DEPTH; place++) entries_q[place] <= entries_d[place];
    hit_q <= hit_d;
  end

  assign count_o = count_q;
  assign full_o  = count_q == (PLACE_BITS + 1)'(DEPTH);

  if (DEPTH < 2) $fatal(1, "DEPTH = %0d: expected 2 or more", DEPTH);

endmodule
