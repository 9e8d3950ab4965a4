// SPDX-License-Identifier: MIT
// Reads or writes of a channel that wait, in the order of their ages, and which of them could be next. Part of mem_scheduler.
//
// The oldest entry is at place 0: behind one that leaves the younger ones move up, in the cycle after it, as who is issued
// is known late. Picks are those of this cycle; an entry that leaves in it is among them, so that none leaves in the next.
// Whether PIM has an entry's row is as it was in the last cycle.

module mem_queue #(
  /// Entries, a power of two, 2 or more.
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
  /// An entry leaves. Not in two cycles in a row.
  input  logic                  remove_i,
  /// Its place, where column_place_o said.
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
  /// Its place in the next cycle.
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
  logic [DEPTH-1:0]    hit_d, hit_q, of_pim_d, of_pim_q;
  logic [PLACE_BITS:0] count_d, count_q;

  // Which places have an entry, the lowest ones; and which of these entries wait, all but the one that left in the last cycle.
  // Its place and those behind it take the entry of the next place.
  logic [DEPTH-1:0] valid_d, valid_q, waits_d, waits_q, takes_d, takes_q, same;
  logic             left;

  for (genvar place = 0; place < DEPTH; place++) begin : gen_place
    assign same[place] = waits_q[place] && entries_q[place].bank == bank_i && entries_q[place].row == row_i &&
                         entries_q[place].column == column_i;
  end

  assign has_o     = |same;
  assign blocked_o = |(waits_q & of_pim_q);
  assign waits_d   = valid_d & ~(DEPTH'(remove_i) << place_i);
  assign takes_d   = remove_i ? '1 << place_i : '0;
  assign left      = takes_q[DEPTH-1];

  // Of each entry, and behind them of the one that comes: whether PIM has its row, and whether that is open now.
  logic [DEPTH:0] of_pim, hit;

  for (genvar place = 0; place <= DEPTH; place++) begin : gen_row
    logic        was_hit, opened, closed;
    logic [4:0]  bank;
    logic [14:0] row;

    if (place == DEPTH) begin : gen_comes
      assign {was_hit, bank, row} = {hit_i, bank_i, row_i};
    end else begin : gen_waits
      assign {was_hit, bank, row} = {hit_q[place], entries_q[place].bank, entries_q[place].row};
    end

    assign opened        = opens_i && bank == opens_bank_i;
    assign closed        = closes_i[bank];
    assign hit[place]    = opened ? row == opens_row_i : was_hit && !closed;
    assign of_pim[place] = (reserved_i && row == reserved_row_i) || (held_i && row == held_row_i);
  end

  // Banks with an entry whose row is open, and with one whose row is not.
  logic [DEPTH-1:0] hits, others;
  logic [31:0]      hit_banks, other_banks, may_hit, may_close;

  assign hits   = waits_q & ~of_pim_q & hit_q;
  assign others = waits_q & ~of_pim_q & ~hit_q;

  always_comb begin
    hit_banks   = '0;
    other_banks = '0;
    for (int unsigned place = 0; place < DEPTH; place++) begin
      if (hits[place])   hit_banks[entries_q[place].bank]   = 1'b1;
      if (others[place]) other_banks[entries_q[place].bank] = 1'b1;
    end
  end

  assign may_hit   = column_ready_i & ~(capped_i & other_banks);
  assign may_close = precharge_ready_i & (capped_i | ~hit_banks);

  // The oldest of each, by a tree: node 1 has it, and of the two branches of node n the older is 2 n. For column commands an
  // entry of a bank that is preferred comes before all others: it is the younger branch's only where the older has none.
  localparam int unsigned NODES = 2 * DEPTH;

  logic [NODES-1:1]       column_any, column_first, act_any, close_any;
  logic [PLACE_BITS-1:0]  column_place [NODES-1:1];
  entry_t                 column_entry [NODES-1:1];
  logic [19:0]            act_entry [NODES-1:1];
  logic [4:0]             close_bank [NODES-1:1];
  logic [DEPTH-1:1]       column_older;

  // The places of the next cycle are one lower behind the entry that left.
  logic [DEPTH-1:0] moves;

  assign moves = takes_q << 1;

  always_comb begin
    for (int unsigned place = 0; place < DEPTH; place++) begin
      column_any[DEPTH+place]   = hits[place] && may_hit[entries_q[place].bank];
      column_place[DEPTH+place] = PLACE_BITS'(place) - PLACE_BITS'(moves[place]);
      column_entry[DEPTH+place] = entries_q[place];
      column_first[DEPTH+place] = column_any[DEPTH+place] && first_i[entries_q[place].bank];
      act_any[DEPTH+place]      = others[place] && act_ready_i[entries_q[place].bank];
      act_entry[DEPTH+place]    = {entries_q[place].bank, entries_q[place].row};
      close_any[DEPTH+place]    = others[place] && may_close[entries_q[place].bank];
      close_bank[DEPTH+place]   = entries_q[place].bank;
    end
    for (int unsigned node = DEPTH - 1; node > 0; node--) begin
      column_any[node]   = column_any[2*node] || column_any[2*node+1];
      column_first[node] = column_first[2*node] || column_first[2*node+1];
      column_older[node] = column_first[2*node] || (column_any[2*node] && !column_first[2*node+1]);
      column_place[node] = column_older[node] ? column_place[2*node] : column_place[2*node+1];
      column_entry[node] = column_older[node] ? column_entry[2*node] : column_entry[2*node+1];
      act_any[node]      = act_any[2*node] || act_any[2*node+1];
      act_entry[node]    = act_any[2*node] ? act_entry[2*node] : act_entry[2*node+1];
      close_any[node]    = close_any[2*node] || close_any[2*node+1];
      close_bank[node]   = close_any[2*node] ? close_bank[2*node] : close_bank[2*node+1];
    end
  end

  assign column_valid_o    = column_any[1];
  assign column_place_o    = column_place[1];
  assign column_o          = column_entry[1];
  assign act_valid_o       = act_any[1];
  assign act_o             = act_entry[1];
  assign precharge_valid_o = close_any[1];
  assign precharge_o       = close_bank[1];

  // Entries of the next cycle: those behind the one that left move up, and one that comes is the last.
  logic [DEPTH-1:0] kept;

  assign kept    = left ? valid_q >> 1 : valid_q;
  assign valid_d = push_i ? {kept[DEPTH-2:0], 1'b1} : kept;
  assign count_d = count_q - (PLACE_BITS + 1)'(remove_i) + (PLACE_BITS + 1)'(push_i);

  for (genvar place = 0; place < DEPTH; place++) begin : gen_next
    logic comes;

    if (place == 0) begin : gen_first
      assign comes = push_i && !kept[place];
    end else begin : gen_other
      assign comes = push_i && !kept[place] && kept[place-1];
    end

    if (place == DEPTH - 1) begin : gen_last
      assign entries_d[place] = comes ? {bank_i, row_i, column_i, tag_i} : entries_q[place];
      assign hit_d[place]     = comes ? hit[DEPTH] : hit[place];
      assign of_pim_d[place]  = comes ? of_pim[DEPTH] : of_pim[place];
    end else begin : gen_inner
      assign entries_d[place] = comes ? {bank_i, row_i, column_i, tag_i} :
                                takes_q[place] ? entries_q[place+1] : entries_q[place];
      assign hit_d[place]     = comes ? hit[DEPTH] : takes_q[place] ? hit[place+1] : hit[place];
      assign of_pim_d[place]  = comes ? of_pim[DEPTH] : takes_q[place] ? of_pim[place+1] : of_pim[place];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      valid_q <= '0;
      waits_q <= '0;
      takes_q <= '0;
    end else begin
      count_q <= count_d;
      valid_q <= valid_d;
      waits_q <= waits_d;
      takes_q <= takes_d;
    end
  end

  // Without a reset: valid_q says which places have an entry.
  always_ff @(posedge clk_i) begin
    for (int unsigned place = 0; place < DEPTH; place++) entries_q[place] <= entries_d[place];
    hit_q    <= hit_d;
    of_pim_q <= of_pim_d;
  end

  assign count_o = count_q;
  assign full_o  = valid_q[DEPTH-1] && !left;

  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
