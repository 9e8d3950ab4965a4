// SPDX-License-Identifier: MIT
// The rank PU's controller: makes DRAM commands of the requests of two ports and keeps every
// timing.
//
// A clock is one tCK. The array port asks for what touches the banks: READ_ALL, RD, WR and
// CLOSE_ALL. The bus port asks for bursts between the data bus and the chips' shared buffers
// (WR_SHARED) or result registers (RD_RESULT). Each is served in the order of its requests; the two
// share the command bus, and RD and WR share the data bus with the bus port.
//
//   clock          0          1          2          3
//   array_valid_i  1                        accepted, as array_ready_o is 1
//   queue          empty      request    empty      chosen in clock 1
//   command_o                            RD_ALL     none       the pins are registers
//   array_issued_o                       1
//
// A port's queue has two entries, so that requests follow without a gap however short tCCD is.
// array_ready_o and bus_ready_o say whether there is room, which registers know. array_ready_o is
// also 0 where refresh_i or force_i is set and the array queue is empty: what was accepted then
// would open a row between two REFs, and take the rank's idleness from the refresh manager, on
// which its wish may rest.
//
// Configuration. Timings are latched in the first clock after reset; in that clock nothing is
// accepted or chosen, and afterwards the ports are not looked at. 0 counts as 1, as a command takes
// a clock. The timings are those of a DRAM, that is rrd_s <= rrd_l <= faw and 2 <= rfc; nothing
// else is assumed. (The refresh manager knows of a REF a clock after it is on the pins. With a
// register more on the way to it or back, 3 <= rfc.)
//
//   command_o                    bank_o   row_o   column_o
//    0      none                 0        0       0
//    1      ACT                  bank     row     0
//    2      ACT_ALL              0        row     0
//    3      PRE                  bank     0       0
//    4      PREA                 0        0       0
//    5, 6   RD, WR               bank     0       column
//    7      RD_ALL               0        0       column
//    8, 9   RD_RESULT, WR_SHARED 0        0       bus_address_i
//   10      REF                  0        0       0
//
// Bank b is in bank group b / BANKS_PER_GROUP. With staggered_i, a row for READ_ALL is opened by
// one ACT for each bank, bank 0 of each group, then bank 1 of each group and so on; else by one
// ACT_ALL.
//
// Rows stay open until another one is wanted. RD and WR close and open their bank alone. READ_ALL
// finds its row open if an earlier READ_ALL opened it and nothing was closed since; otherwise it
// closes all banks, if one is open, and opens them all. (Banks that single ACTs left open at the
// right row could stay open, at the cost of a comparator for each; streams do not mix.) CLOSE_ALL
// always shows a PREA, even if nothing is open, with array_issued_o; where a refresh wants one too
// it is the same.
//
// Refresh. force_i stops the array commands at once. refresh_i stops them where that does no harm:
// where the array queue is empty, or its head wants a row that is not open and has not begun to
// open it. A CLOSE_ALL goes first. While they are stopped, PREA closes what is open and REF follows
// after tRP, for as long as the level is held; the bus port goes on until the REF and waits for
// tRFC. REFs follow each other if the level is still set tRFC later. The levels are looked at in
// every clock and nothing of them is remembered.
//
// A REF that nothing else is in the way of lets RD_RESULTs go first, while there is one in the queue:
// results that wait for tRFC could meet those of the next sum. It lets eight pass, the results of two
// chunks, so that reads without end do not postpone it for ever. (Of results that are not asked for yet
// it does not know: in the rank they are in the queue 19 tCK after the RD_ALL of the next sum, which
// tRTP + tRP is not below in DDR4.)
//
//   before                 waits for
//   any                    tRFC after REF
//   ACT                    tRP after the last PRE or PREA; tRRD_L after the last ACT, tRRD_S within
//                          a staggered opening; tFAW after the fourth last
//   ACT_ALL                tRP; tFAW after the last ACT or ACT_ALL, as it takes the place of four
//   PRE, PREA              per bank: max(tRAS, tRC - tRP) after ACT, tRTP after RD and RD_ALL,
//                          wr_to_pre after WR
//   REF                    tRP; up to eight RD_RESULTs
//   RD, WR                 tRCD, tRCD_WR after the last ACT; tCCD_L after RD, WR, RD_ALL in the
//                          group; tCCD_S after RD, WR, RD_RESULT, WR_SHARED
//   RD                     wr_to_rd_s after WR, wr_to_rd_l in the group
//   WR, WR_SHARED          rd_to_wr after RD, RD_RESULT: the data bus turns round
//   RD_ALL                 tRCD_MAC after the last ACT; tCCD_L after RD, WR, RD_ALL; wr_to_rd_l
//                          after WR
//   RD_RESULT, WR_SHARED   tCCD_S after RD, WR, RD_RESULT, WR_SHARED
//
// tRC needs no count of its own: a bank stays open for tRC - tRP at least, where that is more than
// tRAS, so that the next ACT comes no later for it. tRP, tRCD and tRRD are counted for the rank, as
// the array port is served in order: a request's PRE, ACT and column command follow each other.
// Within a staggered opening groups alternate, so that the last ACT of the same group is the fourth
// last, and tFAW covers tRRD_L.
//
// Priority on the command bus. Where an array command and a bus command may both go, the array
// command goes, and the bus command in the next clock before any other. Array commands that do not
// move data are at least two clocks apart in any DRAM, so that RD_ALL is never late for the bus
// port; bus commands are late by a clock, once, and then fall between the RD_ALLs.
//
// Priority on the data bus. While both wait, RD or WR and bus commands take turns: a bus command
// stands back if the last to use the data bus was one, and the array's head is an RD or WR that
// waits for nothing else; an RD or WR stands back if the last was one, and a bus request waits.
// Else a stream of reads on one port could keep a write on the other waiting for the turnaround for
// ever.
//
// Lost clocks. Like the pins, lost_row_switch_o and lost_refresh_o are registers and tell of the
// choice a clock before. They are set where a READ_ALL is the next array request and could not be
// chosen:
//
//   lost_refresh_o      it was at the head of the queue, or at the port with the queue empty, while
//                       array commands were stopped for a refresh or tRFC ran: from the stop to the
//                       end of tRFC.
//   lost_row_switch_o   otherwise, it was at the head and its row was not open for tRCD_MAC: so
//                       also the reopening after a REF, but not the closing before it.
//
// A READ_ALL that waits for tCCD_L, tWTR_L or the command bus sets neither.
//
// idle_o: both queues are empty. A request leaves its queue in the clock before its command is on
// the pins.

module rank_controller #(
  /// Bank groups, a power of two, 4 or more for tRRD_L within tFAW.
  parameter  int unsigned BANK_GROUPS     = 4,
  /// Banks in a group, a power of two.
  parameter  int unsigned BANKS_PER_GROUP = 4,
  localparam int unsigned BANKS           = BANK_GROUPS * BANKS_PER_GROUP,
  localparam int unsigned BANK_BITS       = $clog2(BANKS)
) (
  /// Clock: tCK.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// tCCD_S. This and what follows to staggered_i is latched in the first clock.
  input  logic [7:0]           ccd_s_i,
  /// tCCD_L.
  input  logic [7:0]           ccd_l_i,
  /// tRRD_S.
  input  logic [7:0]           rrd_s_i,
  /// tRRD_L.
  input  logic [7:0]           rrd_l_i,
  /// tRCD of RD.
  input  logic [7:0]           rcd_i,
  /// tRCD of WR.
  input  logic [7:0]           rcd_wr_i,
  /// tRCD of RD_ALL.
  input  logic [7:0]           rcd_mac_i,
  /// tRAS.
  input  logic [7:0]           ras_i,
  /// tRP.
  input  logic [7:0]           rp_i,
  /// tRTP.
  input  logic [7:0]           rtp_i,
  /// From RD to WR: CL + BL + turnaround - CWL.
  input  logic [7:0]           rd_to_wr_i,
  /// From WR to RD of another bank group: CWL + BL + tWTR_S.
  input  logic [7:0]           wr_to_rd_s_i,
  /// From WR to RD of the same bank group: CWL + BL + tWTR_L.
  input  logic [7:0]           wr_to_rd_l_i,
  /// From WR to PRE: CWL + BL + tWR.
  input  logic [7:0]           wr_to_pre_i,
  /// tFAW.
  input  logic [7:0]           faw_i,
  /// tRC.
  input  logic [7:0]           rc_i,
  /// tRFC.
  input  logic [15:0]          rfc_i,
  /// 1: a row for READ_ALL is opened bank by bank; 0: by one ACT_ALL.
  input  logic                 staggered_i,
  /// An array request.
  input  logic                 array_valid_i,
  /// 0: READ_ALL; 1: RD; 2: WR; 3: CLOSE_ALL.
  input  logic [1:0]           array_kind_i,
  /// Bank of RD and WR.
  input  logic [BANK_BITS-1:0] array_bank_i,
  /// Row of all but CLOSE_ALL.
  input  logic [15:0]          array_row_i,
  /// Column of all but CLOSE_ALL.
  input  logic [7:0]           array_column_i,
  /// A bus request.
  input  logic                 bus_valid_i,
  /// 1: WR_SHARED; 0: RD_RESULT.
  input  logic                 bus_write_i,
  /// What the bus request is for; it appears at column_o.
  input  logic [7:0]           bus_address_i,
  /// A REF is wanted, where it does no harm.
  input  logic                 refresh_i,
  /// A REF is wanted now.
  input  logic                 force_i,
  /// The array request is accepted if there is one.
  output logic                 array_ready_o,
  /// The bus request is accepted if there is one.
  output logic                 bus_ready_o,
  /// Command on the pins.
  output logic [3:0]           command_o,
  /// Its bank.
  output logic [BANK_BITS-1:0] bank_o,
  /// Its row.
  output logic [15:0]          row_o,
  /// Its column or bus address.
  output logic [7:0]           column_o,
  /// The pins show the command of the oldest array request: RD_ALL, RD, WR, or a PREA.
  output logic                 array_issued_o,
  /// The pins show the command of the oldest bus request.
  output logic                 bus_issued_o,
  /// The pins show a REF.
  output logic                 refresh_issued_o,
  /// A READ_ALL could not be chosen for its row.
  output logic                 lost_row_switch_o,
  /// A READ_ALL could not be chosen for a refresh.
  output logic                 lost_refresh_o,
  /// Nothing is queued.
  output logic                 idle_o
);

  localparam int unsigned GROUP_BITS = $clog2(BANK_GROUPS);
  localparam int unsigned INDEX_BITS = $clog2(BANKS_PER_GROUP);

  // RD_RESULTs that a REF lets pass: those of two chunks.
  localparam logic [3:0] READS_FIRST = 4'd8;

  typedef logic [BANK_BITS-1:0] bank_t;

  typedef enum logic [1:0] {
    ReadAll  = 2'd0,
    Rd       = 2'd1,
    Wr       = 2'd2,
    CloseAll = 2'd3
  } kind_e;

  typedef enum logic [3:0] {
    PinNone     = 4'd0,
    PinAct      = 4'd1,
    PinActAll   = 4'd2,
    PinPre      = 4'd3,
    PinPreAll   = 4'd4,
    PinRd       = 4'd5,
    PinWr       = 4'd6,
    PinRdAll    = 4'd7,
    PinRdResult = 4'd8,
    PinWrShared = 4'd9,
    PinRef      = 4'd10
  } command_e;

  typedef struct packed {
    logic [1:0]  kind;
    bank_t       bank;
    logic [15:0] row;
    logic [7:0]  column;
  } request_t;

  typedef struct packed {
    logic       write;
    logic [7:0] address;
  } burst_t;

  // The outputs that are registers.
  typedef struct packed {
    command_e    command;
    bank_t       bank;
    logic [15:0] row;
    logic [7:0]  column;
    logic        array_issued;
    logic        bus_issued;
    logic        refresh_issued;
    logic        lost_row_switch;
    logic        lost_refresh;
  } pins_t;

  typedef struct packed {
    logic [7:0]  ccd_s;
    logic [7:0]  ccd_l;
    logic [7:0]  rrd_s;
    logic [7:0]  rrd_l;
    logic [7:0]  rcd;
    logic [7:0]  rcd_wr;
    logic [7:0]  rcd_mac;
    logic [7:0]  open;  // from ACT to PRE: tRAS, or so long that tRC is over when tRP is
    logic [7:0]  rp;
    logic [7:0]  rtp;
    logic [7:0]  rd_to_wr;
    logic [7:0]  wr_to_rd_s;
    logic [7:0]  wr_to_rd_l;
    logic [7:0]  wr_to_pre;
    logic [7:0]  faw;
    logic [15:0] rfc;
    logic        staggered;
  } timing_t;

  // Configuration.
  logic       configured_q;
  timing_t    timing_d, timing_q;
  logic [7:0] rc_less_rp;

  assign rc_less_rp = rc_i > rp_i ? rc_i - rp_i : '0;
  assign timing_d   = configured_q ? timing_q : '{
    ccd_s:      ccd_s_i,
    ccd_l:      ccd_l_i,
    rrd_s:      rrd_s_i,
    rrd_l:      rrd_l_i,
    rcd:        rcd_i,
    rcd_wr:     rcd_wr_i,
    rcd_mac:    rcd_mac_i,
    open:       rc_less_rp > ras_i ? rc_less_rp : ras_i,
    rp:         rp_i,
    rtp:        rtp_i,
    rd_to_wr:   rd_to_wr_i,
    wr_to_rd_s: wr_to_rd_s_i,
    wr_to_rd_l: wr_to_rd_l_i,
    wr_to_pre:  wr_to_pre_i,
    faw:        faw_i,
    rfc:        rfc_i,
    staggered:  staggered_i
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      timing_q     <= '0;
    end else begin
      configured_q <= 1'b1;
      timing_q     <= timing_d;
    end
  end

  // Queues.
  logic     array_room, array_pop, waiting;
  logic     bus_room, bus_pop, bus_waiting;
  request_t head;
  burst_t   burst;

  assign array_ready_o = configured_q && array_room && (waiting || !(refresh_i || force_i));
  assign bus_ready_o   = configured_q && bus_room;
  assign idle_o        = !waiting && !bus_waiting;

  skid_buffer #(.WIDTH($bits(request_t))) u_array (
    .clk_i, .rst_ni,
    .push_i  (array_valid_i && array_ready_o),
    .data_i  ({array_kind_i, array_bank_i, array_row_i, array_column_i}),
    .ready_o (array_room),
    .pop_i   (array_pop),
    .valid_o (waiting),
    .data_o  (head)
  );
  skid_buffer #(.WIDTH($bits(burst_t))) u_bus (
    .clk_i, .rst_ni,
    .push_i  (bus_valid_i && bus_ready_o),
    .data_i  ({bus_write_i, bus_address_i}),
    .ready_o (bus_room),
    .pop_i   (bus_pop),
    .valid_o (bus_waiting),
    .data_o  (burst)
  );

  // What is chosen in this clock, of what may go.
  command_e array_command, bus_command, command;
  bank_t    bank;
  logic     bus_legal, bus_goes, array_goes;
  logic     passed_over_d, passed_over_q;

  // What is chosen, by effect.
  logic act, act_all, pre, pre_all, rd, wr, rd_all, rd_result, wr_shared, refresh;

  assign act       = command == PinAct;
  assign act_all   = command == PinActAll;
  assign pre       = command == PinPre;
  assign pre_all   = command == PinPreAll;
  assign rd        = command == PinRd;
  assign wr        = command == PinWr;
  assign rd_all    = command == PinRdAll;
  assign rd_result = command == PinRdResult;
  assign wr_shared = command == PinWrShared;
  assign refresh   = command == PinRef;

  // Rows. uniform_q: all banks are open at the row of bank 0. opened_q: ACTs of the staggered
  // opening that is under way.
  logic [BANKS-1:0]       open_d, open_q;
  logic [BANKS-1:0][15:0] row_d, row_q;
  logic                   uniform_d, uniform_q;
  bank_t                  opened_d, opened_q;
  logic                   last_of_all, opening, hit;

  assign opening     = opened_q != '0;
  assign last_of_all = opened_q == bank_t'(BANKS - 1);

  always_comb begin
    open_d    = open_q;
    row_d     = row_q;
    uniform_d = uniform_q;
    opened_d  = opened_q;
    if (act) begin
      open_d[bank] = 1'b1;
      row_d[bank]  = head.row;
      if (head.kind == ReadAll) begin
        opened_d  = opened_q + bank_t'(1);
        uniform_d = last_of_all;
      end
    end
    if (act_all) begin
      open_d    = '1;
      row_d     = {BANKS{head.row}};
      uniform_d = 1'b1;
    end
    if (pre || pre_all) uniform_d = 1'b0;
    if (pre) open_d[bank] = 1'b0;
    if (pre_all) begin
      open_d   = '0;
      opened_d = '0;
    end
  end

  always_comb begin
    unique case (head.kind)
      ReadAll: hit = waiting && uniform_q && row_q[0] == head.row;
      Rd, Wr:  hit = waiting && open_q[head.bank] && row_q[head.bank] == head.row;
      default: hit = 1'b0;
    endcase
  end

  // Timings of banks and of bank groups.
  logic [BANKS-1:0]       pre_over;
  logic [BANK_GROUPS-1:0] column_over, read_over;
  logic [GROUP_BITS-1:0]  group;

  assign group = bank[BANK_BITS-1:INDEX_BITS];

  for (genvar b = 0; b < BANKS; b++) begin : gen_bank
    logic       here, act_here, rd_here, wr_here;
    logic [7:0] clocks;

    assign here     = bank == bank_t'(b);
    assign act_here = act_all || (act && here);
    assign rd_here  = rd_all || (rd && here);
    assign wr_here  = wr && here;

    always_comb begin
      unique case (1'b1)
        act_here: clocks = timing_q.open;
        wr_here:  clocks = timing_q.wr_to_pre;
        default:  clocks = timing_q.rtp;
      endcase
    end

    timer #(.KEEP(1)) u_pre (
      .clk_i, .rst_ni,
      .start_i  (act_here || rd_here || wr_here),
      .clocks_i (clocks),
      .over_o   (pre_over[b])
    );
  end

  for (genvar g = 0; g < BANK_GROUPS; g++) begin : gen_group
    logic here;

    assign here = group == GROUP_BITS'(g);

    timer u_column (
      .clk_i, .rst_ni,
      .start_i  (rd_all || ((rd || wr) && here)),
      .clocks_i (timing_q.ccd_l),
      .over_o   (column_over[g])
    );
    timer u_read (
      .clk_i, .rst_ni,
      .start_i  (wr && here),
      .clocks_i (timing_q.wr_to_rd_l),
      .over_o   (read_over[g])
    );
  end

  // Timings of the rank.
  logic any_read_over, data_over, write_over, row_over;
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
  // tRP and tRFC: no bank is open to be closed while the rank refreshes.
  timer #(.WIDTH(16)) u_row (
    .clk_i, .rst_ni,
    .start_i  (pre || pre_all || refresh),
    .clocks_i (refresh ? timing_q.rfc : {8'd0, timing_q.rp}),
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

  // Clocks since the last ACT: tRCD and tRRD, which are several.
  logic [7:0] since_act_d, since_act_q;

  always_comb begin
    since_act_d = since_act_q;
    if (act || act_all)            since_act_d = 8'd1;
    else if (since_act_q != 8'hFF) since_act_d = since_act_q + 8'd1;
  end

  // Refresh stops the array commands. RD_RESULTs in the queue go before the REF, if not too many have.
  logic       stop, may_refresh, held;
  logic [1:0] reads_d, reads_q;
  logic [3:0] let_by_d, let_by_q;

  assign stop        = force_i ||
                       (refresh_i && !(waiting && (hit || opening || head.kind == CloseAll)));
  assign may_refresh = stop && open_q == '0 && row_over;
  assign reads_d     = reads_q + 2'(bus_valid_i && bus_ready_o && !bus_write_i) - 2'(rd_result);
  assign let_by_d    = may_refresh ? let_by_q + 4'(rd_result) : '0;
  assign held        = reads_q != '0 && let_by_q != READS_FIRST;

  // Whether a request whose row is open may have its command, but for the data bus.
  logic [GROUP_BITS-1:0] head_group;
  logic [7:0]            rcd;
  logic                  rcd_over, column_ready;

  assign head_group = head.bank[BANK_BITS-1:INDEX_BITS];

  always_comb begin
    unique case (head.kind)
      Rd: begin
        rcd          = timing_q.rcd;
        column_ready = column_over[head_group] && read_over[head_group] && any_read_over;
      end
      Wr: begin
        rcd          = timing_q.rcd_wr;
        column_ready = column_over[head_group];
      end
      default: begin
        rcd          = timing_q.rcd_mac;
        column_ready = &column_over && &read_over;
      end
    endcase
  end

  assign rcd_over = since_act_q >= rcd;

  // The array command that may go. Its bank is that of the request but in a staggered opening.
  bank_t act_bank;
  logic  act_legal, array_turn, of_data, data_legal, bus_was_last_d, bus_was_last_q;

  assign act_bank   = head.kind == ReadAll ?
                      {opened_q[GROUP_BITS-1:0], opened_q[BANK_BITS-1:GROUP_BITS]} : head.bank;
  assign act_legal  = row_over && faw_over[fourth_q] &&
                      since_act_q >= (opening ? timing_q.rrd_s : timing_q.rrd_l);
  assign of_data    = head.kind == Rd || head.kind == Wr;
  assign array_turn = bus_was_last_q || !bus_waiting;
  assign data_legal = array_turn && data_over && (write_over || head.kind == Rd);

  always_comb begin
    array_command = PinNone;
    if (stop) begin
      if (open_q != '0) array_command = &pre_over ? PinPreAll : PinNone;
      else              array_command = may_refresh && !held ? PinRef : PinNone;
    end else if (hit) begin
      if (rcd_over && column_ready) begin
        unique case (head.kind)
          Rd:      array_command = data_legal ? PinRd : PinNone;
          Wr:      array_command = data_legal ? PinWr : PinNone;
          default: array_command = PinRdAll;
        endcase
      end
    end else if (waiting) begin
      unique case (head.kind)
        CloseAll: begin
          if (&pre_over && !refreshing) array_command = PinPreAll;
        end
        ReadAll: begin
          if (open_q != '0 && !opening) array_command = &pre_over ? PinPreAll : PinNone;
          else if (timing_q.staggered)  array_command = act_legal ? PinAct : PinNone;
          else if (row_over && &faw_over) array_command = PinActAll;
        end
        default: begin
          if (open_q[head.bank]) array_command = pre_over[head.bank] ? PinPre : PinNone;
          else if (act_legal)    array_command = PinAct;
        end
      endcase
    end
  end

  // The bus command that may go.
  logic bus_yields;

  assign bus_yields  = bus_was_last_q && !stop && of_data && hit && rcd_over && column_ready;
  assign bus_command = burst.write ? PinWrShared : PinRdResult;
  assign bus_legal   = bus_waiting && !bus_yields && !refreshing && data_over &&
                       (write_over || !burst.write);

  // One of them goes.
  assign bus_goes      = bus_legal && (array_command == PinNone || passed_over_q);
  assign array_goes    = configured_q && !bus_goes;
  assign passed_over_d = bus_legal && !bus_goes;

  always_comb begin
    command = PinNone;
    if (bus_goes)        command = bus_command;
    else if (array_goes) command = array_command;
  end

  assign bank      = act ? act_bank : head.bank;
  assign array_pop = rd || wr || rd_all || (pre_all && waiting && head.kind == CloseAll);
  assign bus_pop   = bus_goes;

  always_comb begin
    bus_was_last_d = bus_was_last_q;
    if (rd || wr) bus_was_last_d = 1'b0;
    if (bus_goes) bus_was_last_d = 1'b1;
  end

  // Pins and lost clocks.
  pins_t      pins_d, pins_q;
  logic [7:0] column;
  logic       at_head, at_port, lost_refresh;

  assign at_head      = waiting && head.kind == ReadAll;
  assign at_port      = !waiting && array_valid_i && array_kind_i == ReadAll;
  assign lost_refresh = configured_q && (at_head || at_port) && (stop || refreshing);

  always_comb begin
    column = '0;
    if (rd || wr || rd_all) column = head.column;
    if (bus_goes)           column = burst.address;
  end

  assign pins_d = '{
    command:         command,
    bank:            act || pre || rd || wr ? bank : '0,
    row:             act || act_all ? head.row : '0,
    column:          column,
    array_issued:    array_pop,
    bus_issued:      bus_pop,
    refresh_issued:  refresh,
    lost_row_switch: at_head && !lost_refresh && !(hit && rcd_over),
    lost_refresh:    lost_refresh
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q         <= '0;
      row_q          <= '0;
      uniform_q      <= 1'b0;
      opened_q       <= '0;
      refreshing_q   <= 1'b0;
      fourth_q       <= '0;
      since_act_q    <= '1;
      passed_over_q  <= 1'b0;
      bus_was_last_q <= 1'b0;
      reads_q        <= '0;
      let_by_q       <= '0;
      pins_q         <= '0;
    end else begin
      open_q         <= open_d;
      row_q          <= row_d;
      uniform_q      <= uniform_d;
      opened_q       <= opened_d;
      refreshing_q   <= refreshing_d;
      fourth_q       <= fourth_d;
      since_act_q    <= since_act_d;
      passed_over_q  <= passed_over_d;
      bus_was_last_q <= bus_was_last_d;
      reads_q        <= reads_d;
      let_by_q       <= let_by_d;
      pins_q         <= pins_d;
    end
  end

  assign command_o         = pins_q.command;
  assign bank_o            = pins_q.bank;
  assign row_o             = pins_q.row;
  assign column_o          = pins_q.column;
  assign array_issued_o    = pins_q.array_issued;
  assign bus_issued_o      = pins_q.bus_issued;
  assign refresh_issued_o  = pins_q.refresh_issued;
  assign lost_row_switch_o = pins_q.lost_row_switch;
  assign lost_refresh_o    = pins_q.lost_refresh;

endmodule
