// SPDX-License-Identifier: MIT
// Rank controller: makes DRAM commands of array and bus requests, keeps all timings. Contract: rank_controller.md.

module rank_controller import pimlico_pkg::*; #(
  /// Bank groups, a power of two, 4 or more for tRRD_L within tFAW.
  parameter  int unsigned BANK_GROUPS     = 4,
  /// Banks in a group, a power of two; at most 16 banks in all.
  parameter  int unsigned BANKS_PER_GROUP = 4,
  /// Commands in a cycle: 1; or 2, the second from the bus port.
  parameter  int unsigned SLOTS           = 1,
  localparam int unsigned BANK_COUNT      = BANK_GROUPS * BANKS_PER_GROUP,
  localparam int unsigned BANK_BITS       = $clog2(BANK_COUNT)
) (
  /// Clock: one edge per cycle, of SLOTS tCK or more.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// Timings of the DRAM, in cycles; sampled in the first cycle after reset.
  input  timing_t        timing_i,
  /// There is an array request.
  input  logic           array_valid_i,
  /// The array request.
  input  array_request_t array_i,
  /// There is a bus request.
  input  logic           bus_valid_i,
  /// The bus request.
  input  bus_request_t   bus_i,
  /// A REF is requested, where it costs no bandwidth.
  input  logic           refresh_i,
  /// A REF is requested now.
  input  logic           force_i,
  /// The array request is accepted, if there is one.
  output logic           array_ready_o,
  /// The bus request is accepted, if there is one.
  output logic           bus_ready_o,
  /// The command pins; SLOTS = 2: in the first slot of the cycle.
  output pins_t          pins_o,
  /// SLOTS = 2: the command pins in the second slot, for the bus port; no command with SLOTS = 1.
  output pins_t          bus_pins_o,
  /// What the bank PUs do with the column of an RD_ALL on the pins; 0 without one.
  output mac_t           mac_o,
  /// The bus request of an RD_RESULT or WR_SHARED on the pins; 0 without one.
  output bus_request_t   transfer_o,
  /// The pins show the command of the oldest array request: RD_ALL, RD, WR, or a PREA.
  output logic           array_issued_o,
  /// The pins show the command of the oldest bus request.
  output logic           bus_issued_o,
  /// The pins show a REF.
  output logic           refresh_issued_o,
  /// An all-bank read could not be chosen for its row.
  output logic           lost_row_switch_o,
  /// An all-bank read could not be chosen for a refresh.
  output logic           lost_refresh_o,
  /// Nothing is queued.
  output logic           idle_o
);

  localparam int unsigned GROUP_BITS = $clog2(BANK_GROUPS);
  localparam int unsigned INDEX_BITS = $clog2(BANKS_PER_GROUP);
  // The ports do not share a slot.
  localparam bit          APART      = SLOTS == 2;

  typedef logic [BANK_BITS-1:0] index_t;

  // The outputs that are registers.
  typedef struct packed {
    pins_t        pins;
    pins_t        bus_pins;
    mac_t         mac;
    bus_request_t transfer;
    logic         array_issued;
    logic         bus_issued;
    logic         refresh_issued;
    logic         lost_row_switch;
    logic         lost_refresh;
  } output_t;

  // Configuration, of one edge of a clock of its own. The time from ACT to PRE is so long that tRC is
  // over when tRP is.
  logic       clk_configuration, configured_q, single_d, single_q, half_d, half_q, turns_d, turns_q, unused_timing;
  timing_t    timing_d, timing_q;
  logic [7:0] rc_less_rp;

  assign rc_less_rp = timing_i.rc > timing_i.rp ? timing_i.rc - timing_i.rp : '0;

  always_comb begin
    timing_d = timing_i;
    if (rc_less_rp > timing_i.ras) timing_d.ras = rc_less_rp;
  end

  // An all-bank read's row is opened by ACTs, by two ACT_ALLs of half of the banks, or by one.
  assign single_d = timing_i.faw_banks[4:3] == 2'b00;
  assign half_d   = timing_i.faw_banks[4:3] == 2'b01;

  // The shared buffers turn from write to read.
  assign turns_d = timing_i.shared_to_rd != '0;

  assign unused_timing = &{1'b0, timing_q.faw_banks, timing_q.rc, timing_q.rl_mac, timing_q.cl, timing_q.cwl, timing_q.refi};

  clock_gate #(.OPEN_IN_RESET(1)) u_clk_configuration (
    .clk_i, .rst_ni, .enable_i(!configured_q), .clk_o(clk_configuration)
  );

  always_ff @(posedge clk_configuration or negedge rst_ni) begin
    if (!rst_ni) configured_q <= 1'b0;
    else         configured_q <= 1'b1;
  end

  always_ff @(posedge clk_configuration) begin
    timing_q <= timing_d;
    single_q <= single_d;
    half_q   <= half_d;
    turns_q  <= turns_d;
  end

  // What is chosen in this cycle: one of these, or none.
  logic act, act_all, pre, pre_all, rd, wr, rd_all, set_word, rd_result, wr_shared, refresh;

  // Queues. What arrives comes to the head of the array queue if that goes, or if there is none.
  logic           array_push, array_pop, array_room, waiting, arrives_valid;
  logic           bus_push, bus_pop, bus_room, bus_waiting;
  array_request_t head, arrives;
  bus_request_t   burst, unused_burst;
  logic           unused_valid, unused_request;

  assign array_ready_o = configured_q && array_room && (waiting || !(refresh_i || force_i));
  assign bus_ready_o   = configured_q && bus_room;
  assign array_push    = array_valid_i && array_ready_o;
  assign bus_push      = bus_valid_i && bus_ready_o;
  assign idle_o        = !waiting && !bus_waiting;

  skid_buffer #(.WIDTH($bits(array_request_t))) u_array (
    .clk_i, .rst_ni,
    .push_i       (array_push),
    .data_i       (array_i),
    .ready_o      (array_room),
    .pop_i        (array_pop),
    .valid_o      (waiting),
    .data_o       (head),
    .next_valid_o (arrives_valid),
    .next_o       (arrives)
  );
  skid_buffer #(.WIDTH($bits(bus_request_t))) u_bus (
    .clk_i, .rst_ni,
    .push_i       (bus_push),
    .data_i       (bus_i),
    .ready_o      (bus_room),
    .pop_i        (bus_pop),
    .valid_o      (bus_waiting),
    .data_o       (burst),
    .next_valid_o (unused_valid),
    .next_o       (unused_burst)
  );

  logic   advance, arrives_all, arrives_open, arrives_hit;
  index_t arrives_bank;

  assign advance        = array_pop || !waiting;
  assign arrives_all    = arrives.kind == ArrayReadAll;
  assign arrives_bank   = arrives_all ? '0 : index_t'(arrives.bank);
  assign unused_request = &{1'b0, head.kind, head.bank, arrives, unused_burst};

  // The word of the shared buffers that the chips read next, when the head has gone, and the one that was
  // set. Whether the word of the head, an all-bank read, is one of these; where it is not, it is set.
  word_t behind_d, behind_q, set_d, set_q;
  logic  goes_on_d, goes_on_q, known_d, known_q, arrives_on;

  assign arrives_on = arrives.mac.word == behind_q;

  always_comb begin
    behind_d  = behind_q;
    set_d     = set_q;
    goes_on_d = goes_on_q || set_word;
    known_d   = known_q || set_word;
    if (set_word) set_d = head.mac.word;
    if (advance) begin
      goes_on_d = arrives_on;
      known_d   = APART || arrives_on || arrives.mac.word == set_q;
      if (arrives_valid && arrives_all) behind_d = arrives.mac.word + 8'd1;
    end
  end

  // Rows. uniform_q: all banks are open at the row of bank 0.
  logic [BANK_COUNT-1:0] open_d, open_q, here;
  row_t [BANK_COUNT-1:0] row_d, row_q;
  logic [BANK_COUNT-1:0] opened_here;
  logic                  uniform_d, uniform_q, any_open, opened, completes;

  // What is known of the head, where there is one: its kind; the bank of its next command, which an
  // opening of several commands moves; that this bank is open, of RD and WR; that it finds its row open, of all but
  // CloseAll.
  logic   head_all_d, head_all_q, head_rd_d, head_rd_q, head_wr_d, head_wr_q, head_close_d, head_close_q;
  index_t bank_d, bank_q;
  logic   bank_open_d, bank_open_q, hit_d, hit_q;
  logic   opening;

  assign any_open  = open_q != '0;
  assign opening   = head_all_q && bank_q != '0;
  // The head's row is open behind the ACT or ACT_ALL that is chosen.
  assign opened    = act || act_all;
  assign completes = opened && (!head_all_q || (single_q ? &bank_q : !half_q || bank_q[BANK_BITS-1]));

  for (genvar b = 0; b < BANK_COUNT; b++) begin : gen_here
    assign here[b]        = bank_q == index_t'(b);
    assign opened_here[b] = (act && here[b]) ||
                            (act_all && (!half_q || bank_q[BANK_BITS-1] == (b >= BANK_COUNT / 2)));
  end

  always_comb begin
    open_d    = open_q;
    row_d     = row_q;
    uniform_d = uniform_q;
    for (int unsigned b = 0; b < BANK_COUNT; b++) begin
      if (opened_here[b]) begin
        open_d[b] = 1'b1;
        row_d[b]  = head.row;
      end
      if (pre_all || (pre && here[b])) open_d[b] = 1'b0;
    end
    if (completes && head_all_q) uniform_d = 1'b1;
    if (pre || pre_all) uniform_d = 1'b0;
  end

  assign arrives_open = open_q[arrives_bank];
  assign arrives_hit  = row_q[arrives_bank] == arrives.row &&
                        (arrives_all ? uniform_q : arrives_open);

  // ACTs go from group to group, then to the next bank of each; ACT_ALLs to the other half.
  index_t acts, next;

  assign acts = {bank_q[INDEX_BITS-1:0], bank_q[BANK_BITS-1:INDEX_BITS]} + index_t'(1);
  assign next = single_q ? {acts[GROUP_BITS-1:0], acts[BANK_BITS-1:GROUP_BITS]} :
                           {half_q && !bank_q[BANK_BITS-1], bank_q[BANK_BITS-2:0]};

  always_comb begin
    head_all_d   = head_all_q;
    head_rd_d    = head_rd_q;
    head_wr_d    = head_wr_q;
    head_close_d = head_close_q;
    bank_d       = bank_q;
    bank_open_d  = (bank_open_q || act) && !pre && !pre_all;
    hit_d        = (hit_q || completes) && !pre_all;
    if (opened && head_all_q) bank_d = next;
    if (pre_all && head_all_q) bank_d = '0;
    if (advance) begin
      head_all_d   = arrives_valid && arrives_all;
      head_rd_d    = arrives_valid && arrives.kind == ArrayRd;
      head_wr_d    = arrives_valid && arrives.kind == ArrayWr;
      head_close_d = arrives_valid && arrives.kind == ArrayCloseAll;
      bank_d       = arrives_bank;
      bank_open_d  = arrives_open && !pre_all;
      hit_d        = arrives_valid && arrives_hit && !pre_all;
    end
  end

  // Timings of banks and of bank groups. A request that hits has its column command next, and else an
  // ACT before any other of those that a PRE waits for.
  logic [BANK_COUNT-1:0]  pre_over;
  logic [BANK_GROUPS-1:0] column_over, read_over, group_here;
  logic [7:0]             to_pre;

  assign to_pre = !hit_q ? timing_q.ras : head_wr_q ? timing_q.wr_to_pre : timing_q.rtp;

  for (genvar b = 0; b < BANK_COUNT; b++) begin : gen_bank
    timer #(.KEEP(1)) u_pre (
      .clk_i, .rst_ni,
      .start_i  (opened_here[b] || rd_all || ((rd || wr) && here[b])),
      .clocks_i (to_pre),
      .over_o   (pre_over[b])
    );
  end

  for (genvar g = 0; g < BANK_GROUPS; g++) begin : gen_group
    assign group_here[g] = bank_q[BANK_BITS-1:INDEX_BITS] == GROUP_BITS'(g);

    timer u_column (
      .clk_i, .rst_ni,
      .start_i  (rd_all || ((rd || wr) && group_here[g])),
      .clocks_i (timing_q.ccd_l),
      .over_o   (column_over[g])
    );
    timer u_read (
      .clk_i, .rst_ni,
      .start_i  (wr && group_here[g]),
      .clocks_i (timing_q.wr_to_rd_l),
      .over_o   (read_over[g])
    );
  end

  // Timings of the rank.
  logic stop;
  logic any_read_over, data_over, write_over, result_over, shared_over, row_over;
  logic refreshing, refreshing_d, refreshing_q;

  timer u_any_read (
    .clk_i, .rst_ni, .start_i(wr), .clocks_i(timing_q.wr_to_rd_s), .over_o(any_read_over)
  );
  timer u_data (
    .clk_i, .rst_ni,
    .start_i  (rd || wr || rd_result || wr_shared),
    .clocks_i (timing_q.ccd_s),
    .over_o   (data_over)
  );
  timer u_write (
    .clk_i, .rst_ni, .start_i(rd || rd_result), .clocks_i(timing_q.rd_to_wr), .over_o(write_over)
  );
  timer u_result (
    .clk_i, .rst_ni, .start_i(rd_result || wr_shared), .clocks_i(timing_q.ccd_result), .over_o(result_over)
  );
  // From the second slot to the first as many cycles are a slot too few.
  timer #(.WIDTH(9)) u_shared (
    .clk_i, .rst_ni,
    .start_i  (wr_shared),
    .clocks_i ({1'b0, timing_q.shared_to_rd} + 9'(APART && turns_q)),
    .over_o   (shared_over)
  );
  // tRP and tRFC: no bank is open to be closed while the rank refreshes. Where array commands are
  // stopped, a REF comes if all banks are closed, and a PREA if not.
  timer #(.WIDTH(16)) u_row (
    .clk_i, .rst_ni,
    .start_i  (pre || pre_all || refresh),
    .clocks_i (stop && !any_open ? timing_q.rfc : {8'd0, timing_q.rp}),
    .over_o   (row_over)
  );

  assign refreshing   = refreshing_q && !row_over;
  assign refreshing_d = refreshing || refresh;

  // The window of four ACTs: a timer for each, used in turn.
  logic [3:0] faw_over;
  logic [1:0] fourth_d, fourth_q;

  for (genvar i = 0; i < 4; i++) begin : gen_faw
    timer u_faw (
      .clk_i, .rst_ni,
      .start_i  (act_all || (act && fourth_q == 2'(i))),
      .clocks_i (timing_q.faw),
      .over_o   (faw_over[i])
    );
  end

  assign fourth_d = fourth_q + 2'(act);

  // Times from the last ACT: tRCD and tRRD, which are several. One count, of the next cycle, goes
  // through them all; it has no end, as each time is over but once.
  localparam int unsigned RCD     = 0;
  localparam int unsigned RCD_WR  = 1;
  localparam int unsigned RCD_MAC = 2;
  localparam int unsigned RRD_S   = 3;
  localparam int unsigned RRD_L   = 4;

  logic [4:0][7:0] from_act;
  logic [4:0]      act_over_d, act_over_q;
  logic [7:0]      since_act_d, since_act_q;

  assign from_act[RCD]     = timing_q.rcd;
  assign from_act[RCD_WR]  = timing_q.rcd_wr;
  assign from_act[RCD_MAC] = timing_q.rcd_mac;
  assign from_act[RRD_S]   = timing_q.rrd_s;
  assign from_act[RRD_L]   = timing_q.rrd_l;

  always_comb begin
    since_act_d = opened ? 8'd2 : since_act_q + 8'd1;
    for (int unsigned i = 0; i < 5; i++) begin
      act_over_d[i] = act_over_q[i] || since_act_q == from_act[i];
      if (opened) act_over_d[i] = from_act[i][7:1] == '0;
    end
  end

  // Refresh stops the array commands. RD_RESULTs in the queue go before the REF, if not too many have:
  // those of two chunks, eight, which bit 3 of the count says.
  logic       may_refresh, held;
  logic [1:0] reads_d, reads_q;
  logic [3:0] let_by_d, let_by_q;

  assign stop        = configured_q &&
                       (force_i || (refresh_i && !(hit_q || opening || head_close_q)));
  assign may_refresh = stop && !any_open && row_over;
  assign reads_d     = reads_q + 2'(bus_push && !bus_i.write) - 2'(rd_result);
  assign let_by_d    = may_refresh ? let_by_q + 4'(rd_result) : '0;
  assign held        = reads_q != '0 && !let_by_q[3];

  // WR_SHAREDs that go before an all-bank read whose row is open, where it has to wait for the last of them: eight.
  logic [3:0] writes_d, writes_q;

  assign writes_d = turns_q && !stop && head_all_q && hit_q && !rd_all ? writes_q + 4'(wr_shared) : '0;

  // Whether an RD or WR whose row is open may have its command, but for the data bus.
  logic column_here, rd_ready, wr_ready;

  assign column_here = (column_over & group_here) != '0;
  assign rd_ready    = !stop && hit_q && head_rd_q && act_over_q[RCD] && column_here &&
                       (read_over & group_here) != '0 && any_read_over;
  assign wr_ready    = !stop && hit_q && head_wr_q && act_over_q[RCD_WR] && column_here;

  // The bus command that may go: it yields to an RD or WR where the bus port was the last to use the
  // data bus. bus_first: it goes before any array command; RD and WR do not wait for the data bus then.
  logic bus_free, bus_legal, bus_first, passed_over_d, passed_over_q, bus_was_last_d, bus_was_last_q;

  assign bus_free  = bus_waiting && !refreshing && data_over && result_over &&
                     (burst.write ? write_over && !writes_q[3] : shared_over);
  assign bus_legal = bus_free && !(bus_was_last_q && (rd_ready || wr_ready));
  assign bus_first = !APART && bus_free && passed_over_q;

  // Of bursts of the second slot the times for RD and WR, in the first, are over a cycle later.
  logic data_rests_d, data_rests_q, write_rests_d, write_rests_q, bus_data_over, bus_write_over;

  assign data_rests_d   = data_over && !bus_pop;
  assign write_rests_d  = write_over && !bus_pop;
  assign bus_data_over  = !APART || data_rests_q;
  assign bus_write_over = !APART || write_rests_q || !bus_was_last_q;

  // The array command that may go, in order of what the request needs. Those of the data bus stand
  // apart: no bus command is legal beside them.
  logic data_turn, all_over, act_legal, closes_all, opens_all, opens;
  logic may_rd_all, may_set, may_act, may_act_all, may_pre, may_pre_all, may_ref, array_legal;

  assign data_turn  = (bus_was_last_q ? bus_data_over : !bus_waiting) && data_over;
  assign all_over   = &pre_over;
  assign act_legal  = row_over && faw_over[fourth_q] && act_over_q[opening ? RRD_S : RRD_L];
  assign closes_all = head_all_q && !hit_q && any_open && !opening;
  assign opens_all  = head_all_q && !hit_q && (!any_open || opening);
  assign opens      = (head_rd_q || head_wr_q) && !bank_open_q;

  assign may_rd_all  = !stop && head_all_q && hit_q && known_q && act_over_q[RCD_MAC] && &column_over &&
                       &read_over && shared_over;
  assign may_set     = !stop && head_all_q && hit_q && !known_q;
  assign may_act     = !stop && (opens || (opens_all && single_q)) && act_legal;
  assign may_act_all = !stop && opens_all && !single_q && row_over && &faw_over;
  assign may_pre     = !stop && (head_rd_q || head_wr_q) && !hit_q && bank_open_q &&
                       (pre_over & here) != '0;
  assign may_pre_all = all_over && (stop ? any_open && (APART || !(bus_free && !burst.write)) :
                                    closes_all || (head_close_q && !refreshing));
  assign may_ref     = may_refresh && !held;
  assign array_legal = may_rd_all || may_set || may_act || may_act_all || may_pre || may_pre_all || may_ref;

  // One of them goes; from two slots both, but for what comes beside a REF.
  logic bus_goes;

  assign bus_goes      = bus_legal && (APART ? !may_ref : passed_over_q || !array_legal);
  assign passed_over_d = !APART && bus_legal && !passed_over_q && array_legal;

  assign rd        = rd_ready && data_turn;
  assign wr        = wr_ready && data_turn && write_over && bus_write_over;
  assign rd_all    = may_rd_all && !bus_first;
  assign set_word  = may_set && !bus_first;
  assign act       = may_act && !bus_first;
  assign act_all   = may_act_all && !bus_first;
  assign pre       = may_pre && !bus_first;
  assign pre_all   = may_pre_all && !bus_first;
  assign refresh   = may_ref && !bus_first;
  assign rd_result = bus_goes && !burst.write;
  assign wr_shared = bus_goes && burst.write;

  assign array_pop = rd || wr || rd_all || (pre_all && head_close_q);
  assign bus_pop   = bus_goes;

  always_comb begin
    bus_was_last_d = bus_was_last_q;
    if (rd || wr) bus_was_last_d = 1'b0;
    if (bus_goes) bus_was_last_d = 1'b1;
  end

  // Outputs, and lost cycles.
  output_t      output_d, output_q;
  pin_command_e command, bus_command;
  logic [7:0]   column, bus_column;
  pins_t        bus_pins;
  logic         at_port, lost_refresh;

  assign at_port      = !waiting && array_valid_i && array_i.kind == ArrayReadAll;
  assign lost_refresh = (head_all_q || at_port) && (stop || refreshing);

  always_comb begin
    unique case (1'b1)
      rd_result: bus_command = PinRdResult;
      wr_shared: bus_command = PinWrShared;
      default:   bus_command = PinNone;
    endcase
  end

  always_comb begin
    unique case (1'b1)
      act:      command = PinAct;
      act_all:  command = PinActAll;
      pre:      command = PinPre;
      pre_all:  command = PinPreAll;
      rd:       command = PinRd;
      wr:       command = PinWr;
      rd_all:   command = PinRdAll;
      set_word: command = PinSetWord;
      refresh:  command = PinRef;
      default:  command = APART ? PinNone : bus_command;
    endcase
  end

  assign bus_column = bus_goes ? burst.address : '0;

  always_comb begin
    column = APART ? '0 : bus_column;
    if (rd || wr || rd_all) column = head.column;
    if (set_word) column = head.mac.word;
  end

  // An RD_ALL has no bank: it says what the PUs do.
  bank_t     bank;
  read_all_t what;

  assign what = '{
    accumulate: head.mac.accumulate, first: head.mac.first, last: head.mac.last, back: !goes_on_q
  };

  always_comb begin
    bank = opened || pre || rd || wr ? bank_t'(bank_q) : '0;
    if (rd_all && !APART) bank = bank_t'(what);
  end

  always_comb begin
    bus_pins = '0;
    if (APART) begin
      bus_pins.command = bus_command;
      bus_pins.column  = bus_column;
    end
  end

  assign output_d = '{
    pins:            '{
      command: command,
      bank:    bank,
      row:     opened ? head.row : '0,
      column:  column
    },
    bus_pins:        bus_pins,
    mac:             rd_all ? head.mac : '0,
    transfer:        bus_goes ? burst : '0,
    array_issued:    array_pop,
    bus_issued:      bus_pop,
    refresh_issued:  refresh,
    lost_row_switch: head_all_q && !lost_refresh && !(hit_q && act_over_q[RCD_MAC]),
    lost_refresh:    lost_refresh
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q         <= '0;
      uniform_q      <= 1'b0;
      head_all_q     <= 1'b0;
      head_rd_q      <= 1'b0;
      head_wr_q      <= 1'b0;
      head_close_q   <= 1'b0;
      hit_q          <= 1'b0;
      refreshing_q   <= 1'b0;
      fourth_q       <= '0;
      act_over_q     <= '1;
      passed_over_q  <= 1'b0;
      bus_was_last_q <= 1'b0;
      reads_q        <= '0;
      let_by_q       <= '0;
      writes_q       <= '0;
      behind_q       <= '0;
      set_q          <= '0;
      output_q       <= '0;
    end else begin
      open_q         <= open_d;
      uniform_q      <= uniform_d;
      head_all_q     <= head_all_d;
      head_rd_q      <= head_rd_d;
      head_wr_q      <= head_wr_d;
      head_close_q   <= head_close_d;
      hit_q          <= hit_d;
      refreshing_q   <= refreshing_d;
      fourth_q       <= fourth_d;
      act_over_q     <= act_over_d;
      passed_over_q  <= passed_over_d;
      bus_was_last_q <= bus_was_last_d;
      reads_q        <= reads_d;
      let_by_q       <= let_by_d;
      writes_q       <= writes_d;
      behind_q       <= behind_d;
      set_q          <= set_d;
      output_q       <= output_d;
    end
  end

  // Without a reset: what says nothing unless a register above says that it does.
  always_ff @(posedge clk_i) begin
    row_q         <= row_d;
    bank_q        <= bank_d;
    bank_open_q   <= bank_open_d;
    goes_on_q     <= goes_on_d;
    known_q       <= known_d;
    since_act_q   <= since_act_d;
    data_rests_q  <= data_rests_d;
    write_rests_q <= write_rests_d;
  end

  assign pins_o            = output_q.pins;
  assign bus_pins_o        = output_q.bus_pins;
  assign mac_o             = output_q.mac;
  assign transfer_o        = output_q.transfer;
  assign array_issued_o    = output_q.array_issued;
  assign bus_issued_o      = output_q.bus_issued;
  assign refresh_issued_o  = output_q.refresh_issued;
  assign lost_row_switch_o = output_q.lost_row_switch;
  assign lost_refresh_o    = output_q.lost_refresh;

  if (SLOTS != 1 && SLOTS != 2) $fatal(1, "SLOTS = %0d: expected 1 or 2", SLOTS);
  if (BANK_COUNT > 16) $fatal(1, "BANK_COUNT = %0d: expected 16 or less", BANK_COUNT);
  if (BANK_GROUPS < 4 || BANK_GROUPS != 1 << $clog2(BANK_GROUPS))
    $fatal(1, "BANK_GROUPS = %0d: expected a power of two, 4 or more", BANK_GROUPS);
  if (BANKS_PER_GROUP < 2 || BANKS_PER_GROUP != 1 << $clog2(BANKS_PER_GROUP))
    $fatal(1, "BANKS_PER_GROUP = %0d: expected a power of two, 2 or more", BANKS_PER_GROUP);

endmodule
