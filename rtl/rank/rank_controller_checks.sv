// SPDX-License-Identifier: MIT
// Checker of rank_controller: the DRAM's rules on the command pins. Each timing is a gate between the last
// command of a kind and this one, as in JESD79-4 and golden::pins, with the time of those that came last; the
// controller's own timers are not looked at. With two slots all is counted in slots.

`include "prim/assert.svh"

`ifndef SYNTHESIS

module rank_controller_checks import pimlico_pkg::*; #(
  /// Bank groups.
  parameter int unsigned BANK_GROUPS     = 4,
  /// Banks in a group.
  parameter int unsigned BANKS_PER_GROUP = 4,
  /// Commands in a cycle.
  parameter int unsigned SLOTS           = 1
) (
  input logic    clk_i,
  input logic    rst_ni,
  input timing_t timing_i,
  input pins_t   pins_o,
  input pins_t   bus_pins_o,
  input logic    array_issued_o,
  input logic    bus_issued_o,
  input logic    refresh_issued_o
);

  localparam int unsigned BANK_COUNT = BANK_GROUPS * BANKS_PER_GROUP;
  localparam int unsigned BANK_BITS  = $clog2(BANK_COUNT);
  localparam int unsigned GROUP_BITS = $clog2(BANK_GROUPS);
  localparam int unsigned INDEX_BITS = $clog2(BANKS_PER_GROUP);

  typedef logic [47:0] tck_t;

  // The time at which the first command may come, long after all of those that did not come.
  localparam tck_t BEGIN = 48'd1 << 32;

  // When the last command came that did this to a bank, to a bank of a group, to any.
  typedef struct packed {
    tck_t activated;
    tck_t precharged;
    tck_t read;
    tck_t written;
    tck_t column;      // read or written
  } last_t;

  last_t [BANK_COUNT-1:0]           bank_d, bank_q;
  last_t [BANK_GROUPS-1:0]          group_d, group_q;
  last_t [1:0]                      half_d, half_q;           // a bank of the lower or upper half
  last_t                            any_d, any_q;
  logic  [BANK_COUNT-1:0]           open_d, open_q;
  row_t  [BANK_COUNT-1:0]           row_d, row_q;
  tck_t  [3:0]                      window_d, window_q;       // the four last ACTs, the newest first
  tck_t                             data_d, data_q;           // a burst on the data bus
  tck_t                             from_chips_d, from_chips_q;
  tck_t                             moved_d, moved_q;         // a burst to or from the PUs' buffers
  tck_t                             shared_d, shared_q;       // a burst to the shared buffers
  tck_t                             refreshed_d, refreshed_q;
  tck_t                             now_q, bus_now;
  timing_t                          timing_d, timing_q;
  logic                             configured_q, unused;

  assign timing_d = configured_q ? timing_q : timing_i;

  // What is on the pins.
  logic [BANK_BITS-1:0]  bank;
  logic [GROUP_BITS-1:0] group;
  logic                  activates, precharges, reads, writes, all, half, to_chips, from_chips;
  logic [BANK_COUNT-1:0] these;                          // banks that it is for
  logic                  bus, bus_to_chips, bus_from_chips;  // in the second slot
  tck_t                  data, last_from_chips, moved, shared;  // of the first slot and before

  assign bank       = pins_o.bank[BANK_BITS-1:0];
  assign group      = bank[BANK_BITS-1:INDEX_BITS];
  assign half       = pins_o.command == PinActAll && !timing_q.faw_banks[4];
  assign all        = pins_o.command inside {PinActAll, PinPreAll, PinRdAll} && !half;
  assign activates  = pins_o.command inside {PinAct, PinActAll};
  assign precharges = pins_o.command inside {PinPre, PinPreAll};
  assign reads      = pins_o.command inside {PinRd, PinRdAll};
  assign writes     = pins_o.command == PinWr;
  assign to_chips   = pins_o.command inside {PinWr, PinWrShared};
  assign from_chips = pins_o.command inside {PinRd, PinRdResult};

  assign bus_now         = now_q + 48'd1;
  assign bus_to_chips    = bus_pins_o.command == PinWrShared;
  assign bus_from_chips  = bus_pins_o.command == PinRdResult;
  assign bus             = bus_to_chips || bus_from_chips;
  assign data            = to_chips || from_chips ? now_q : data_q;
  assign last_from_chips = from_chips ? now_q : from_chips_q;
  assign moved           = pins_o.command inside {PinRdResult, PinWrShared} ? now_q : moved_q;
  assign shared          = pins_o.command == PinWrShared ? now_q : shared_q;

  // Rules that are broken.
  typedef struct packed {
    logic rcd, rcd_wr, rcd_mac, ras, rp, rc, rrd_s, rrd_l, faw;
    logic ccd_s, ccd_l, ccd_result, wtr_s, wtr_l, wtr_shared, rtw, wr, rtp, rfc, open;
  } broken_t;

  broken_t broken;
  last_t   here, there;  // of what the command is for: its bank, half or all; its group, half or all
  logic    same_row;

  assign here  = all ? any_q : half ? half_q[bank[BANK_BITS-1]] : bank_q[bank];
  assign there = all ? any_q : half ? half_q[bank[BANK_BITS-1]] : group_q[group];

  for (genvar b = 0; b < BANK_COUNT; b++) begin : gen_these
    assign these[b] = all || (half ? bank[BANK_BITS-1] == (b >= BANK_COUNT / 2) : bank == BANK_BITS'(b));
  end

  assign unused = &{1'b0, timing_q.cl, timing_q.cwl, timing_q.refi, pins_o.column, bus_pins_o, here, there};

  always_comb begin
    same_row = &open_q;
    for (int unsigned b = 1; b < BANK_COUNT; b++) same_row &= row_q[b] == row_q[0];
  end

  function automatic logic early(tck_t now, tck_t last, logic [15:0] delay);
    return now - last < SLOTS * tck_t'(delay);
  endfunction

  function automatic logic turned_early(tck_t now, tck_t last);
    return early(now, last, 16'(timing_q.shared_to_rd));
  endfunction

  always_comb begin
    broken = '0;
    if (pins_o.command != PinNone) broken.rfc = early(now_q, refreshed_q, timing_q.rfc);
    if (activates) begin
      broken.rp    = early(now_q, here.precharged, 16'(timing_q.rp));
      broken.rc    = early(now_q, here.activated, 16'(timing_q.rc));
      broken.rrd_s = early(now_q, any_q.activated, 16'(timing_q.rrd_s));
      broken.rrd_l = early(now_q, there.activated, 16'(timing_q.rrd_l));
      broken.faw   = early(now_q, all || half ? window_q[0] : window_q[3], 16'(timing_q.faw));
      broken.open  = (open_q & these) != '0;
    end
    if (precharges) begin
      broken.ras = early(now_q, here.activated, 16'(timing_q.ras));
      broken.rtp = early(now_q, here.read, 16'(timing_q.rtp));
      broken.wr  = early(now_q, here.written, 16'(timing_q.wr_to_pre));
    end
    if (reads || writes) begin
      broken.ccd_l = early(now_q, there.column, 16'(timing_q.ccd_l));
      broken.open  = all ? !same_row : !open_q[bank];
    end
    if (reads) broken.wtr_l = early(now_q, there.written, 16'(timing_q.wr_to_rd_l));
    if (to_chips || from_chips) broken.ccd_s = early(now_q, data_q, 16'(timing_q.ccd_s));
    if (to_chips) broken.rtw = early(now_q, from_chips_q, 16'(timing_q.rd_to_wr));
    case (pins_o.command)
      PinRd: begin
        broken.rcd   = early(now_q, here.activated, 16'(timing_q.rcd));
        broken.wtr_s = early(now_q, any_q.written, 16'(timing_q.wr_to_rd_s));
      end
      PinWr:    broken.rcd_wr  = early(now_q, here.activated, 16'(timing_q.rcd_wr));
      PinRdAll: begin
        broken.rcd_mac    = early(now_q, any_q.activated, 16'(timing_q.rcd_mac));
        broken.wtr_shared = turned_early(now_q, shared_q);
      end
      PinRdResult: begin
        broken.ccd_result = early(now_q, moved_q, 16'(timing_q.ccd_result));
        broken.wtr_shared = turned_early(now_q, shared_q);
      end
      PinWrShared: broken.ccd_result = early(now_q, moved_q, 16'(timing_q.ccd_result));
      PinRef: begin
        broken.rp   = early(now_q, any_q.precharged, 16'(timing_q.rp));
        broken.open = open_q != '0;
      end
      default: ;
    endcase
    if (bus) begin
      broken.rfc   |= pins_o.command == PinRef || early(bus_now, refreshed_q, timing_q.rfc);
      broken.ccd_s |= early(bus_now, data, 16'(timing_q.ccd_s));
      broken.ccd_result |= early(bus_now, moved, 16'(timing_q.ccd_result));
    end
    if (bus_from_chips) broken.wtr_shared |= turned_early(bus_now, shared);
    if (bus_to_chips) broken.rtw |= early(bus_now, last_from_chips, 16'(timing_q.rd_to_wr));
  end

  // What the command leaves behind.
  function automatic last_t after(last_t last, tck_t now, logic act, logic pre, logic read, logic write);
    after = last;
    if (act) after.activated = now;
    if (pre) after.precharged = now;
    if (read) after.read = now;
    if (write) after.written = now;
    if (read || write) after.column = now;
  endfunction

  always_comb begin
    bank_d       = bank_q;
    group_d      = group_q;
    half_d       = half_q;
    any_d        = after(any_q, now_q, activates, precharges, reads, writes);
    open_d       = open_q;
    row_d        = row_q;
    window_d     = window_q;
    data_d       = bus ? bus_now : data;
    from_chips_d = bus_from_chips ? bus_now : last_from_chips;
    moved_d      = bus ? bus_now : moved;
    shared_d     = bus_to_chips ? bus_now : shared;
    refreshed_d  = pins_o.command == PinRef ? now_q : refreshed_q;
    if (activates || precharges || reads || writes) begin
      for (int unsigned b = 0; b < BANK_COUNT; b++) begin
        if (these[b]) begin
          bank_d[b] = after(bank_q[b], now_q, activates, precharges, reads, writes);
          if (activates) row_d[b] = pins_o.row;
          open_d[b] = (open_q[b] || activates) && !precharges;
        end
      end
      for (int unsigned g = 0; g < BANK_GROUPS; g++) begin
        if (|these[g*BANKS_PER_GROUP+:BANKS_PER_GROUP]) begin
          group_d[g] = after(group_q[g], now_q, activates, precharges, reads, writes);
        end
      end
      for (int unsigned h = 0; h < 2; h++) begin
        if (|these[h*BANK_COUNT/2+:BANK_COUNT/2]) begin
          half_d[h] = after(half_q[h], now_q, activates, precharges, reads, writes);
        end
      end
    end
    if (activates) window_d = all || half ? {4{now_q}} : {window_q[2:0], now_q};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bank_q       <= '0;
      group_q      <= '0;
      half_q       <= '0;
      any_q        <= '0;
      open_q       <= '0;
      row_q        <= '0;
      window_q     <= '0;
      data_q       <= '0;
      from_chips_q <= '0;
      moved_q      <= '0;
      shared_q     <= '0;
      refreshed_q  <= '0;
      now_q        <= BEGIN;
      timing_q     <= '0;
      configured_q <= 1'b0;
    end else begin
      bank_q       <= bank_d;
      group_q      <= group_d;
      half_q       <= half_d;
      any_q        <= any_d;
      open_q       <= open_d;
      row_q        <= row_d;
      window_q     <= window_d;
      data_q       <= data_d;
      from_chips_q <= from_chips_d;
      moved_q      <= moved_d;
      shared_q     <= shared_d;
      refreshed_q  <= refreshed_d;
      now_q        <= now_q + 48'(SLOTS);
      timing_q     <= timing_d;
      configured_q <= 1'b1;
    end
  end

  `ASSERT(assert_rcd, !broken.rcd)
  `ASSERT(assert_rcd_wr, !broken.rcd_wr)
  `ASSERT(assert_rcd_mac, !broken.rcd_mac)
  `ASSERT(assert_ras, !broken.ras)
  `ASSERT(assert_rp, !broken.rp)
  `ASSERT(assert_rc, !broken.rc)
  `ASSERT(assert_rrd_s, !broken.rrd_s)
  `ASSERT(assert_rrd_l, !broken.rrd_l)
  `ASSERT(assert_faw, !broken.faw)
  `ASSERT(assert_ccd_s, !broken.ccd_s)
  `ASSERT(assert_ccd_l, !broken.ccd_l)
  `ASSERT(assert_ccd_result, !broken.ccd_result)
  `ASSERT(assert_wtr_s, !broken.wtr_s)
  `ASSERT(assert_wtr_l, !broken.wtr_l)
  `ASSERT(assert_wtr_shared, !broken.wtr_shared)
  `ASSERT(assert_rtw, !broken.rtw)
  `ASSERT(assert_wr, !broken.wr)
  `ASSERT(assert_rtp, !broken.rtp)
  `ASSERT(assert_rfc, !broken.rfc)
  // ACT and REF find the bank closed, RD and WR open, RD_ALL all of them at one row.
  `ASSERT(assert_open, !broken.open)
  // A chip that opens four banks in a window has no ACT_ALL; one that opens half has two.
  `ASSERT(assert_act_all, pins_o.command != PinActAll ||
                          (timing_q.faw_banks[4] ? pins_o.bank == '0 :
                           timing_q.faw_banks[3] && pins_o.bank inside {4'd0, 4'd8}))
  // A command belongs to one request, or to a refresh. The bus port has a slot of its own, or none.
  `ASSERT(assert_one_request, $onehot0({array_issued_o, bus_issued_o && SLOTS == 1, refresh_issued_o}))
  `ASSERT(assert_bus, bus_issued_o == (bus || pins_o.command inside {PinRdResult, PinWrShared}))
  `ASSERT(assert_slot, SLOTS == 1 ? bus_pins_o == '0 : !(pins_o.command inside {PinRdResult, PinWrShared}))
  `ASSERT(assert_bus_pins, bus || bus_pins_o == '0)
  `ASSERT(assert_refresh, refresh_issued_o == (pins_o.command == PinRef))

endmodule

bind rank_controller rank_controller_checks #(
  .BANK_GROUPS(BANK_GROUPS), .BANKS_PER_GROUP(BANKS_PER_GROUP), .SLOTS(SLOTS)
) u_checks (.*);

`endif
