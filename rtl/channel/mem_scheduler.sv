// SPDX-License-Identifier: MIT
// Queues of reads and writes of a channel, and which of their commands is next. Contract: mem_scheduler.md.

module mem_scheduler #(
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
  /// The request is a write; else a read.
  input  logic        write_i,
  /// Bank of the request: pseudo-rank, group, bank.
  input  logic [4:0]  bank_i,
  /// Row of the request.
  input  logic [14:0] row_i,
  /// Column of the request, in bursts.
  input  logic [3:0]  column_i,
  /// Tag of the request, which comes back with its command.
  input  logic [7:0]  tag_i,
  /// The row of the staged request is open in this cycle.
  input  logic        hit_i,
  /// A row is opened for MEM.
  input  logic        opens_i,
  /// Bank of the row.
  input  logic [4:0]  opens_bank_i,
  /// Number of the row.
  input  logic [14:0] opens_row_i,
  /// Banks whose row is closed for MEM.
  input  logic [31:0] closes_i,
  /// Banks that may have an RD.
  input  logic [31:0] read_ready_i,
  /// Banks that may have a WR.
  input  logic [31:0] write_ready_i,
  /// Banks that may have an ACT.
  input  logic [31:0] act_ready_i,
  /// Banks with an open row that may have a PRE.
  input  logic [31:0] precharge_ready_i,
  /// PIM has reserved a row.
  input  logic        reserved_i,
  /// The row that PIM has reserved.
  input  logic [14:0] reserved_row_i,
  /// PIM holds a row open, or has closed it just now.
  input  logic        held_i,
  /// The row that PIM holds.
  input  logic [14:0] held_row_i,
  /// The candidate for RD or WR is issued.
  input  logic        column_taken_i,
  /// The candidate for ACT is issued.
  input  logic        act_taken_i,
  /// The candidate for PRE is issued.
  input  logic        precharge_taken_i,
  /// A request is accepted.
  output logic        ready_o,
  /// Bank of the staged request, or zero.
  output logic [4:0]  staged_bank_o,
  /// Row of the staged request, or zero.
  output logic [14:0] staged_row_o,
  /// There is a candidate for RD or WR.
  output logic        column_valid_o,
  /// Whether the candidate is a WR.
  output logic        column_write_o,
  /// Bank of the RD or WR.
  output logic [4:0]  column_bank_o,
  /// Row of the RD or WR, which is open.
  output logic [14:0] column_row_o,
  /// Column of the RD or WR.
  output logic [3:0]  column_column_o,
  /// Tag of the RD or WR.
  output logic [7:0]  column_tag_o,
  /// There is a candidate for ACT.
  output logic        act_valid_o,
  /// Bank of the ACT.
  output logic [4:0]  act_bank_o,
  /// Row of the ACT.
  output logic [14:0] act_row_o,
  /// There is a candidate for PRE.
  output logic        precharge_valid_o,
  /// Bank of the PRE.
  output logic [4:0]  precharge_bank_o,
  /// A request of the kind that is served wants a row that PIM has.
  output logic        blocked_o,
  /// Writes are served; else reads.
  output logic        drains_o,
  /// There is no request.
  output logic        empty_o
);

  // Row hits of a bank after which another row may be opened in it.
  localparam logic [2:0] HITS = 3'd4;
  // Bursts behind the first, in a row, of one pseudo-rank, after which the other one is preferred.
  localparam logic [3:0] RUN  = 4'd15;

  localparam int unsigned LOW        = WRITES / 4;
  localparam int unsigned READ_BITS  = $clog2(READS);
  localparam int unsigned WRITE_BITS = $clog2(WRITES);
  localparam int unsigned PLACE_BITS = READ_BITS > WRITE_BITS ? READ_BITS : WRITE_BITS;

  // The request that has not entered its queue yet.
  typedef struct packed {
    logic        write;
    logic [4:0]  bank;
    logic [14:0] row;
    logic [3:0]  column;
    logic [7:0]  tag;
  } request_t;

  request_t staged_d, staged_q;
  logic     staged_valid_d, staged_valid_q, enters, behind;

  // The queues.
  logic                  read_full, write_full, read_has, write_has;
  logic [READ_BITS:0]    reads;
  logic [WRITE_BITS:0]   writes;
  logic [31:0]           capped, first;
  logic                  read_column_valid, write_column_valid, read_act_valid, write_act_valid;
  logic                  read_close_valid, write_close_valid, read_blocked, write_blocked;
  logic [READ_BITS-1:0]  read_place;
  logic [WRITE_BITS-1:0] write_place;
  logic [31:0]           read_column, write_column;
  logic [19:0]           read_act, write_act;
  logic [4:0]            read_close, write_close;

  // The candidates.
  typedef struct packed {
    logic                  valid;
    logic                  write;
    logic [PLACE_BITS-1:0] place;
    logic [31:0]           entry;
  } column_t;

  column_t     column_d, column_q;
  logic        act_valid_d, act_valid_q, close_valid_d, close_valid_q, blocked_d, blocked_q, leaves;
  logic [19:0] act_d, act_q;
  logic [4:0]  close_d, close_q;
  logic        drains_d, drains_q;

  // Rows that were opened and closed in the last cycle.
  logic        opens_q;
  logic [4:0]  opens_bank_q;
  logic [14:0] opens_row_q;
  logic [31:0] closes_q;

  assign leaves = column_q.valid && column_taken_i;

  mem_queue #(.DEPTH(READS)) u_reads (
    .clk_i,
    .rst_ni,
    .push_i            (enters && !staged_q.write),
    .bank_i            (staged_q.bank),
    .row_i             (staged_q.row),
    .column_i          (staged_q.column),
    .tag_i             (staged_q.tag),
    .hit_i,
    .has_o             (read_has),
    .remove_i          (leaves && !column_q.write),
    .place_i           (READ_BITS'(column_q.place)),
    .opens_i           (opens_q),
    .opens_bank_i      (opens_bank_q),
    .opens_row_i       (opens_row_q),
    .closes_i          (closes_q),
    .column_ready_i    (read_ready_i),
    .act_ready_i,
    .precharge_ready_i,
    .capped_i          (capped),
    .first_i           (first),
    .reserved_i,
    .reserved_row_i,
    .held_i,
    .held_row_i,
    .count_o           (reads),
    .full_o            (read_full),
    .column_valid_o    (read_column_valid),
    .column_place_o    (read_place),
    .column_o          (read_column),
    .act_valid_o       (read_act_valid),
    .act_o             (read_act),
    .precharge_valid_o (read_close_valid),
    .precharge_o       (read_close),
    .blocked_o         (read_blocked)
  );

  mem_queue #(.DEPTH(WRITES)) u_writes (
    .clk_i,
    .rst_ni,
    .push_i            (enters && staged_q.write),
    .bank_i            (staged_q.bank),
    .row_i             (staged_q.row),
    .column_i          (staged_q.column),
    .tag_i             (staged_q.tag),
    .hit_i,
    .has_o             (write_has),
    .remove_i          (leaves && column_q.write),
    .place_i           (WRITE_BITS'(column_q.place)),
    .opens_i           (opens_q),
    .opens_bank_i      (opens_bank_q),
    .opens_row_i       (opens_row_q),
    .closes_i          (closes_q),
    .column_ready_i    (write_ready_i),
    .act_ready_i,
    .precharge_ready_i,
    .capped_i          (capped),
    .first_i           (first),
    .reserved_i,
    .reserved_row_i,
    .held_i,
    .held_row_i,
    .count_o           (writes),
    .full_o            (write_full),
    .column_valid_o    (write_column_valid),
    .column_place_o    (write_place),
    .column_o          (write_column),
    .act_valid_o       (write_act_valid),
    .act_o             (write_act),
    .precharge_valid_o (write_close_valid),
    .precharge_o       (write_close),
    .blocked_o         (write_blocked)
  );

  // A request waits behind those of its address in the other queue, and these are served until it may enter.
  assign behind         = staged_valid_q && (staged_q.write ? read_has : write_has);
  assign enters         = staged_valid_q && !behind && !(staged_q.write ? write_full : read_full);
  assign staged_valid_d = staged_valid_q ? !enters : valid_i;
  assign staged_d       = !staged_valid_d ? '0 :
                          staged_valid_q ? staged_q : {write_i, bank_i, row_i, column_i, tag_i};

  // Which kind is served.
  logic no_reads, no_writes, many_writes;

  assign no_reads    = reads == '0;
  assign no_writes   = writes == '0;
  assign many_writes = writes > (WRITE_BITS + 1)'(LOW);

  always_comb begin
    drains_d = drains_q ? !no_writes && (no_reads || many_writes) : write_full || (no_reads && !no_writes);
    if (behind) drains_d = !staged_q.write;
  end

  // Row hits of each bank since its ACT.
  logic [31:0][2:0] hits_d, hits_q;

  for (genvar bank = 0; bank < 32; bank++) begin : gen_bank
    logic hit, opened;

    assign hit          = leaves && column_q.entry[31:27] == 5'(bank);
    assign opened       = opens_q && opens_bank_q == 5'(bank);
    assign capped[bank] = hits_q[bank] == HITS;
    assign hits_d[bank] = opened ? '0 : hits_q[bank] + 3'(hit && !capped[bank]);
  end

  // Bursts of one pseudo-rank in a row.
  logic       rank_d, rank_q;
  logic [3:0] run_d, run_q;

  always_comb begin
    rank_d = rank_q;
    run_d  = run_q;
    if (leaves) begin
      rank_d = column_q.entry[31];
      run_d  = column_q.entry[31] != rank_q ? '0 : run_q == RUN ? RUN : run_q + 4'd1;
    end
  end

  assign first = rank_q != (run_q == RUN) ? 32'hFFFF_0000 : 32'h0000_FFFF;

  // The candidates of the next cycle. What is issued in this one is none of them.
  logic picks_column, picks_act, picks_close;

  assign picks_column  = !column_taken_i && (drains_q ? write_column_valid : read_column_valid);
  assign picks_act     = !act_taken_i && (drains_q ? write_act_valid : read_act_valid);
  assign picks_close   = !precharge_taken_i && (drains_q ? write_close_valid : read_close_valid);
  assign column_d      = !picks_column ? '0 :
                         drains_q ? {1'b1, 1'b1, PLACE_BITS'(write_place), write_column} :
                                    {1'b1, 1'b0, PLACE_BITS'(read_place), read_column};
  assign act_valid_d   = picks_act;
  assign act_d         = !picks_act ? '0 : drains_q ? write_act : read_act;
  assign close_valid_d = picks_close;
  assign close_d       = !picks_close ? '0 : drains_q ? write_close : read_close;
  assign blocked_d     = drains_q ? write_blocked : read_blocked;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      staged_valid_q <= 1'b0;
      staged_q       <= '0;
      drains_q       <= 1'b0;
      hits_q         <= '0;
      opens_q        <= 1'b0;
      closes_q       <= '0;
      rank_q         <= 1'b0;
      run_q          <= '0;
      column_q       <= '0;
      act_valid_q    <= 1'b0;
      act_q          <= '0;
      close_valid_q  <= 1'b0;
      close_q        <= '0;
      blocked_q      <= 1'b0;
    end else begin
      staged_valid_q <= staged_valid_d;
      staged_q       <= staged_d;
      drains_q       <= drains_d;
      hits_q         <= hits_d;
      opens_q        <= opens_i;
      closes_q       <= closes_i;
      rank_q         <= rank_d;
      run_q          <= run_d;
      column_q       <= column_d;
      act_valid_q    <= act_valid_d;
      act_q          <= act_d;
      close_valid_q  <= close_valid_d;
      close_q        <= close_d;
      blocked_q      <= blocked_d;
    end
  end

  // Without a reset: of the row that is opened.
  always_ff @(posedge clk_i) begin
    opens_bank_q <= opens_bank_i;
    opens_row_q  <= opens_row_i;
  end

  assign ready_o                       = !staged_valid_q;
  assign staged_bank_o                 = staged_q.bank;
  assign staged_row_o                  = staged_q.row;
  assign column_valid_o                = column_q.valid;
  assign column_write_o                = column_q.write;
  assign {column_bank_o, column_row_o, column_column_o, column_tag_o} = column_q.entry;
  assign act_valid_o                   = act_valid_q;
  assign {act_bank_o, act_row_o}       = act_q;
  assign precharge_valid_o             = close_valid_q;
  assign precharge_bank_o              = close_q;
  assign blocked_o                     = blocked_q;
  assign drains_o                      = drains_q;
  assign empty_o                       = !staged_valid_q && no_reads && no_writes;

  if (READS < 4 || READS != 1 << $clog2(READS))
    $fatal(1, "READS = %0d: expected a power of two, 4 or more", READS);
  if (WRITES < 4 || WRITES != 1 << $clog2(WRITES))
    $fatal(1, "WRITES = %0d: expected a power of two, 4 or more", WRITES);

endmodule
