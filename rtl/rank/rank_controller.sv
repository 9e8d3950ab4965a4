// SPDX-License-Identifier: MIT
// Rank controller: makes DRAM commands of array and bus requests, keeps all timings. Contract: rank_controller.md.

module rank_controller import pimlico_pkg::*; #(
  /// Bank groups, a power of two, 4 or more for tRRD_L within tFAW.
  parameter  int unsigned BANK_GROUPS     = 4,
  /// Banks in a group, a power of two; at most 16 banks in all.
  parameter  int unsigned BANKS_PER_GROUP = 4,
  localparam int unsigned BANK_COUNT      = BANK_GROUPS * BANKS_PER_GROUP,
  localparam int unsigned BANK_BITS       = $clog2(BANK_COUNT)
) (
  /// Clock: one edge per tCK.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// Timings of the DRAM; sampled in the first cycle after reset.
  input  timing_t        timing_i,
  /// A row is opened by one ACT for each bank; sampled in the first cycle after reset.
  input  logic           staggered_i,
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
  /// The command pins.
  output pins_t          pins_o,
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

  // RD_RESULTs that may issue ahead of a REF: those of two chunks.
  localparam logic [3:0] READS_FIRST = 4'd8;

  typedef logic [BANK_BITS-1:0] index_t;

  // The outputs that are registers.
  typedef struct packed {
    pins_t        pins;
    mac_t         mac;
    bus_request_t transfer;
    logic         array_issued;
    logic         bus_issued;
    logic         refresh_issued;
    logic         lost_row_switch;
    logic         lost_refresh;
  } output_t;

  // Configuration. The time from ACT to PRE is so long that tRC is over when tRP is.
  logic       configured_q, staggered_d, staggered_q, unused_timing;
  timing_t    timing_d, timing_q;
  logic [7:0] rc_less_rp;

  assign rc_less_rp = timing_i.rc > timing_i.rp ? timing_i.rc - timing_i.rp : '0;

  always_comb begin
    timing_d    = timing_q;
    staggered_d = staggered_q;
    if (!configured_q) begin
      timing_d    = timing_i;
      staggered_d = staggered_i;
      if (rc_less_rp > timing_i.ras) timing_d.ras = rc_less_rp;
    end
  end

  assign unused_timing = &{1'b0, timing_q.rc, timing_q.cl, timing_q.cwl, timing_q.refi};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      timing_q     <= '0;
      staggered_q  <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      timing_q     <= timing_d;
      staggered_q  <= staggered_d;
    end
  end

  // Queues.
  logic           array_room, array_pop, waiting;
  logic           bus_room, bus_pop, bus_waiting, unused_bank;
  array_request_t head;
  bus_request_t   burst;
  index_t         head_bank;

  assign array_ready_o = configured_q && array_room && (waiting || !(refresh_i || force_i));
  assign bus_ready_o   = configured_q && bus_room;
  assign idle_o        = !waiting && !bus_waiting;

  skid_buffer #(.WIDTH($bits(array_request_t))) u_array (
    .clk_i, .rst_ni,
    .push_i  (array_valid_i && array_ready_o),
    .data_i  (array_i),
    .ready_o (array_room),
    .pop_i   (array_pop),
    .valid_o (waiting),
    .data_o  (head)
  );
  skid_buffer #(.WIDTH($bits(bus_request_t))) u_bus (
    .clk_i, .rst_ni,
    .push_i  (bus_valid_i && bus_ready_o),
    .data_i  (bus_i),
    .ready_o (bus_room),
    .pop_i   (bus_pop),
    .valid_o (bus_waiting),
    .data_o  (burst)
  );

  assign head_bank   = index_t'(head.bank);
  assign unused_bank = &{1'b0, head.bank};

  // What is chosen in this cycle, of what may go.
  pin_command_e array_command, bus_command, command;
  index_t       bank;
  logic         bus_legal, bus_reads, bus_goes, array_goes;
  logic         passed_over_d, passed_over_q;

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
  logic [BANK_COUNT-1:0] open_d, open_q;
  row_t [BANK_COUNT-1:0] row_d, row_q;
  logic                  uniform_d, uniform_q;
  index_t                opened_d, opened_q;
  logic                  last_of_all, opening, hit;

  assign opening     = opened_q != '0;
  assign last_of_all = opened_q == index_t'(BANK_COUNT - 1);

  always_comb begin
    open_d    = open_q;
    row_d     = row_q;
    uniform_d = uniform_q;
    opened_d  = opened_q;
    if (act) begin
      open_d[bank] = 1'b1;
      row_d[bank]  = head.row;
      if (head.kind == ArrayReadAll) begin
        opened_d  = opened_q + index_t'(1);
        uniform_d = last_of_all;
      end
    end
    if (act_all) begin
      open_d    = '1;
      row_d     = {BANK_COUNT{head.row}};
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
      ArrayReadAll:     hit = waiting && uniform_q && row_q[0] == head.row;
      ArrayRd, ArrayWr: hit = waiting && open_q[head_bank] && row_q[head_bank] == head.row;
      default:          hit = 1'b0;
    endcase
  end

  // Timings of banks and of bank groups.
  logic [BANK_COUNT-1:0]  pre_over;
  logic [BANK_GROUPS-1:0] column_over, read_over;
  logic [GROUP_BITS-1:0]  group;

  assign group = bank[BANK_BITS-1:INDEX_BITS];

  for (genvar b = 0; b < BANK_COUNT; b++) begin : gen_bank
    logic       here, act_here, rd_here, wr_here;
    logic [7:0] clocks;

    assign here     = bank == index_t'(b);
    assign act_here = act_all || (act && here);
    assign rd_here  = rd_all || (rd && here);
    assign wr_here  = wr && here;

    always_comb begin
      unique case (1'b1)
        act_here: clocks = timing_q.ras;
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

  // Cycles since the last ACT: tRCD and tRRD, which are several.
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
                       (refresh_i && !(waiting && (hit || opening || head.kind == ArrayCloseAll)));
  assign may_refresh = stop && open_q == '0 && row_over;
  assign reads_d     = reads_q + 2'(bus_valid_i && bus_ready_o && !bus_i.write) - 2'(rd_result);
  assign let_by_d    = may_refresh ? let_by_q + 4'(rd_result) : '0;
  assign held        = reads_q != '0 && let_by_q != READS_FIRST;

  // Whether a request whose row is open may have its command, but for the data bus.
  logic [GROUP_BITS-1:0] head_group;
  logic [7:0]            rcd;
  logic                  rcd_over, column_ready;

  assign head_group = head_bank[BANK_BITS-1:INDEX_BITS];

  always_comb begin
    unique case (head.kind)
      ArrayRd: begin
        rcd          = timing_q.rcd;
        column_ready = column_over[head_group] && read_over[head_group] && any_read_over;
      end
      ArrayWr: begin
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
  index_t act_bank;
  logic   act_legal, array_turn, of_data, data_legal, bus_was_last_d, bus_was_last_q;

  assign act_bank   = head.kind == ArrayReadAll ?
                      {opened_q[GROUP_BITS-1:0], opened_q[BANK_BITS-1:GROUP_BITS]} : head_bank;
  assign act_legal  = row_over && faw_over[fourth_q] &&
                      since_act_q >= (opening ? timing_q.rrd_s : timing_q.rrd_l);
  assign of_data    = head.kind == ArrayRd || head.kind == ArrayWr;
  assign array_turn = bus_was_last_q || !bus_waiting;
  assign data_legal = array_turn && data_over && (write_over || head.kind == ArrayRd);

  always_comb begin
    array_command = PinNone;
    if (stop) begin
      if (open_q != '0) array_command = &pre_over && !bus_reads ? PinPreAll : PinNone;
      else              array_command = may_refresh && !held ? PinRef : PinNone;
    end else if (hit) begin
      if (rcd_over && column_ready) begin
        unique case (head.kind)
          ArrayRd: array_command = data_legal ? PinRd : PinNone;
          ArrayWr: array_command = data_legal ? PinWr : PinNone;
          default: array_command = PinRdAll;
        endcase
      end
    end else if (waiting) begin
      unique case (head.kind)
        ArrayCloseAll: begin
          if (&pre_over && !refreshing) array_command = PinPreAll;
        end
        ArrayReadAll: begin
          if (open_q != '0 && !opening) array_command = &pre_over ? PinPreAll : PinNone;
          else if (staggered_q)           array_command = act_legal ? PinAct : PinNone;
          else if (row_over && &faw_over) array_command = PinActAll;
        end
        default: begin
          if (open_q[head_bank]) array_command = pre_over[head_bank] ? PinPre : PinNone;
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
  assign bus_reads   = bus_legal && !burst.write;

  // One of them goes.
  assign bus_goes      = bus_legal && (array_command == PinNone || passed_over_q);
  assign array_goes    = configured_q && !bus_goes;
  assign passed_over_d = bus_legal && !bus_goes;

  always_comb begin
    command = PinNone;
    if (bus_goes)        command = bus_command;
    else if (array_goes) command = array_command;
  end

  assign bank      = act ? act_bank : head_bank;
  assign array_pop = rd || wr || rd_all || (pre_all && waiting && head.kind == ArrayCloseAll);
  assign bus_pop   = bus_goes;

  always_comb begin
    bus_was_last_d = bus_was_last_q;
    if (rd || wr) bus_was_last_d = 1'b0;
    if (bus_goes) bus_was_last_d = 1'b1;
  end

  // Outputs, and lost cycles.
  output_t    output_d, output_q;
  logic [7:0] column;
  logic       at_head, at_port, lost_refresh;

  assign at_head      = waiting && head.kind == ArrayReadAll;
  assign at_port      = !waiting && array_valid_i && array_i.kind == ArrayReadAll;
  assign lost_refresh = configured_q && (at_head || at_port) && (stop || refreshing);

  always_comb begin
    column = '0;
    if (rd || wr || rd_all) column = head.column;
    if (bus_goes)           column = burst.address;
  end

  assign output_d = '{
    pins:            '{
      command: command,
      bank:    act || pre || rd || wr ? bank_t'(bank) : '0,
      row:     act || act_all ? head.row : '0,
      column:  column
    },
    mac:             rd_all ? head.mac : '0,
    transfer:        bus_goes ? burst : '0,
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
      output_q       <= '0;
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
      output_q       <= output_d;
    end
  end

  assign pins_o            = output_q.pins;
  assign mac_o             = output_q.mac;
  assign transfer_o        = output_q.transfer;
  assign array_issued_o    = output_q.array_issued;
  assign bus_issued_o      = output_q.bus_issued;
  assign refresh_issued_o  = output_q.refresh_issued;
  assign lost_row_switch_o = output_q.lost_row_switch;
  assign lost_refresh_o    = output_q.lost_refresh;

  if (BANK_COUNT > 16) $fatal(1, "BANK_COUNT = %0d: expected 16 or less", BANK_COUNT);
  if (BANK_GROUPS < 4 || BANK_GROUPS != 1 << $clog2(BANK_GROUPS))
    $fatal(1, "BANK_GROUPS = %0d: expected a power of two, 4 or more", BANK_GROUPS);
  if (BANKS_PER_GROUP < 2 || BANKS_PER_GROUP != 1 << $clog2(BANKS_PER_GROUP))
    $fatal(1, "BANKS_PER_GROUP = %0d: expected a power of two, 2 or more", BANKS_PER_GROUP);

endmodule
