// SPDX-License-Identifier: MIT
//! The rank PU's controller: makes DRAM commands of the requests of two ports and keeps every
//! timing.
//!
//! Twin of `rtl/rank/rank_controller.sv`; this header is the contract of both.
//!
//! A clock is one tCK. The *array port* asks for what touches the banks: `READ_ALL`, `RD`, `WR` and
//! `CLOSE_ALL`. The *bus port* asks for bursts between the data bus and the chips' shared buffers
//! (`WR_SHARED`) or result registers (`RD_RESULT`). Each is served in the order of its requests;
//! the two share the command bus, and `RD` and `WR` share the data bus with the bus port.
//!
//! ```text
//! clock          0          1          2          3
//! array_valid_i  1                        accepted, as array_ready_o is 1
//! queue          empty      request    empty      chosen in clock 1
//! command_o                            RD_ALL     none       the pins are registers
//! array_issued_o                       1
//! ```
//!
//! A port's queue has two entries, so that requests follow without a gap however short tCCD is.
//! `array_ready_o` and `bus_ready_o` say whether there is room, which registers know.
//! `array_ready_o` is also 0 where `refresh_i` or `force_i` is set and the array queue is empty:
//! what was accepted then would open a row between two REFs, and take the rank's idleness from the
//! refresh manager, on which its wish may rest.
//!
//! # Configuration
//!
//! Timings are latched in the first clock after reset; in that clock nothing is accepted or chosen,
//! and afterwards the ports are not looked at. 0 counts as 1, as a command takes a clock. The
//! timings are those of a DRAM, that is `rrd_s` <= `rrd_l` <= `faw` and 2 <= `rfc`; nothing else is
//! assumed. (The refresh manager knows of a REF a clock after it is on the pins. With a register
//! more on the way to it or back, 3 <= `rfc`.)
//!
//! # Commands
//!
//! | `command_o` | | `bank_o` | `row_o` | `column_o` |
//! | --- | --- | --- | --- | --- |
//! | 0 | none | 0 | 0 | 0 |
//! | 1 | ACT | bank | row | 0 |
//! | 2 | ACT_ALL | 0 | row | 0 |
//! | 3 | PRE | bank | 0 | 0 |
//! | 4 | PREA | 0 | 0 | 0 |
//! | 5, 6 | RD, WR | bank | 0 | column |
//! | 7 | RD_ALL | 0 | 0 | column |
//! | 8, 9 | RD_RESULT, WR_SHARED | 0 | 0 | `bus_address_i` |
//! | 10 | REF | 0 | 0 | 0 |
//!
//! Bank *b* is in bank group *b* / 4. With `staggered_i`, a row for `READ_ALL` is opened by sixteen
//! ACTs, bank 0 of each group, then bank 1 of each group and so on; else by one ACT_ALL.
//!
//! # Rows
//!
//! Rows stay open until another one is wanted. `RD` and `WR` close and open their bank alone.
//! `READ_ALL` finds its row open if an earlier `READ_ALL` opened it and nothing was closed since;
//! otherwise it closes all banks, if one is open, and opens them all. (Banks that single ACTs left
//! open at the right row could stay open, at the cost of sixteen comparators; streams do not mix.)
//! `CLOSE_ALL` always shows a PREA, even if nothing is open, with `array_issued_o`; where a refresh
//! wants one too it is the same.
//!
//! # Refresh
//!
//! `force_i` stops the array commands at once. `refresh_i` stops them where that does no harm:
//! where the array queue is empty, or its head wants a row that is not open and has not begun to
//! open it. A `CLOSE_ALL` goes first. While they are stopped, PREA closes what is open and REF
//! follows after tRP, for as long as the level is held; the bus port goes on until the REF and
//! waits for tRFC. REFs follow each other if the level is still set tRFC later. The levels are
//! looked at in every clock and nothing of them is remembered.
//!
//! A REF that nothing else is in the way of lets RD_RESULTs go first, while there is one in the queue:
//! results that wait for tRFC could meet those of the next sum. It lets eight pass, the results of two
//! chunks, so that reads without end do not postpone it for ever. (Of results that are not asked for yet
//! it does not know: in the rank they are in the queue 19 tCK after the RD_ALL of the next sum, which
//! tRTP + tRP is not below in DDR4.)
//!
//! # Timings
//!
//! | before | waits for |
//! | --- | --- |
//! | any | tRFC after REF |
//! | ACT | tRP after the last PRE or PREA; tRRD_L after the last ACT, tRRD_S within a staggered opening; tFAW after the fourth last |
//! | ACT_ALL | tRP; tFAW after the last ACT or ACT_ALL, as it takes the place of four |
//! | PRE, PREA | per bank: max(tRAS, tRC - tRP) after ACT, tRTP after RD and RD_ALL, `wr_to_pre` after WR |
//! | REF | tRP; up to eight RD_RESULTs |
//! | RD, WR | tRCD, tRCD_WR after the last ACT; tCCD_L after RD, WR, RD_ALL in the group, tCCD_S after RD, WR, RD_RESULT, WR_SHARED |
//! | RD | `wr_to_rd_s` after WR, `wr_to_rd_l` in the group |
//! | WR, WR_SHARED | `rd_to_wr` after RD, RD_RESULT: the data bus turns round |
//! | RD_ALL | tRCD_MAC after the last ACT; tCCD_L after RD, WR, RD_ALL; `wr_to_rd_l` after WR |
//! | RD_RESULT, WR_SHARED | tCCD_S after RD, WR, RD_RESULT, WR_SHARED |
//!
//! tRC needs no count of its own: a bank stays open for tRC - tRP at least, where that is more than
//! tRAS, so that the next ACT comes no later for it. tRP, tRCD and tRRD are counted for the rank,
//! as the array port is served in order: a request's PRE, ACT and column command follow each other.
//! Within a staggered opening groups alternate, so that the last ACT of the same group is the
//! fourth last, and tFAW covers tRRD_L.
//!
//! # Priority
//!
//! *Command bus.* Where an array command and a bus command may both go, the array command goes, and
//! the bus command in the next clock before any other. Array commands that do not move data are at
//! least two clocks apart in any DRAM, so that RD_ALL is never late for the bus port; bus commands
//! are late by a clock, once, and then fall between the RD_ALLs.
//!
//! *Data bus.* While both wait, RD or WR and bus commands take turns: a bus command stands back if the
//! last to use the data bus was one, and the array's head is an RD or WR that waits for nothing
//! else; an RD or WR stands back if the last was one, and a bus request waits. Else a stream of
//! reads on one port could keep a write on the other waiting for the turnaround for ever.
//!
//! # Lost clocks
//!
//! Like the pins, `lost_row_switch_o` and `lost_refresh_o` are registers and tell of the choice a
//! clock before. They are set where a `READ_ALL` is the next array request and could not be chosen:
//!
//! * `lost_refresh_o`: it was at the head of the queue, or at the port with the queue empty, while
//!   array commands were stopped for a refresh or tRFC ran: from the stop to the end of tRFC.
//! * `lost_row_switch_o`: otherwise, it was at the head and its row was not open for tRCD_MAC: so
//!   also the reopening after a REF, but not the closing before it.
//!
//! A `READ_ALL` that waits for tCCD_L, tWTR_L or the command bus sets neither.
//!
//! `idle_o`: both queues are empty. A request leaves its queue in the clock before its command is
//! on the pins.

use pimlico_dpa::types::{ArrayKind, PinCommand};
use pimlico_ports::{
    Enumerated, Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A rank controller.
    unit RankController: "rank_controller" {
        inputs RankControllerIn {
            /// tCCD_S. This and what follows to `staggered_i` is latched in the first clock.
            ccd_s_i: u8,
            /// tCCD_L.
            ccd_l_i: u8,
            /// tRRD_S.
            rrd_s_i: u8,
            /// tRRD_L.
            rrd_l_i: u8,
            /// tRCD of RD.
            rcd_i: u8,
            /// tRCD of WR.
            rcd_wr_i: u8,
            /// tRCD of RD_ALL.
            rcd_mac_i: u8,
            /// tRAS.
            ras_i: u8,
            /// tRP.
            rp_i: u8,
            /// tRTP.
            rtp_i: u8,
            /// From RD to WR: CL + BL + turnaround - CWL.
            rd_to_wr_i: u8,
            /// From WR to RD of another bank group: CWL + BL + tWTR_S.
            wr_to_rd_s_i: u8,
            /// From WR to RD of the same bank group: CWL + BL + tWTR_L.
            wr_to_rd_l_i: u8,
            /// From WR to PRE: CWL + BL + tWR.
            wr_to_pre_i: u8,
            /// tFAW.
            faw_i: u8,
            /// tRC.
            rc_i: u8,
            /// tRFC.
            rfc_i: u16,
            /// 1: a row for `READ_ALL` is opened bank by bank; 0: by one ACT_ALL.
            staggered_i: bool,
            /// An array request.
            array_valid_i: bool => all_but_one_in(8),
            /// 0: `READ_ALL`; 1: `RD`; 2: `WR`; 3: `CLOSE_ALL`.
            array_kind_i: U<2>,
            /// Bank of `RD` and `WR`.
            array_bank_i: U<4>,
            /// Row of all but `CLOSE_ALL`.
            array_row_i: u16,
            /// Column of all but `CLOSE_ALL`.
            array_column_i: u8,
            /// A bus request.
            bus_valid_i: bool => all_but_one_in(8),
            /// 1: `WR_SHARED`; 0: `RD_RESULT`.
            bus_write_i: bool,
            /// What the bus request is for; it appears at `column_o`.
            bus_address_i: u8,
            /// A REF is wanted, where it does no harm.
            refresh_i: bool => one_in(128),
            /// A REF is wanted now.
            force_i: bool => one_in(256),
        }
        outputs RankControllerOut {
            /// The array request is accepted if there is one.
            array_ready_o: bool,
            /// The bus request is accepted if there is one.
            bus_ready_o: bool,
            /// Command on the pins.
            command_o: U<4>,
            /// Its bank.
            bank_o: U<4>,
            /// Its row.
            row_o: u16,
            /// Its column or bus address.
            column_o: u8,
            /// The pins show the command of the oldest array request: RD_ALL, RD, WR, or a PREA.
            array_issued_o: bool,
            /// The pins show the command of the oldest bus request.
            bus_issued_o: bool,
            /// The pins show a REF.
            refresh_issued_o: bool,
            /// A `READ_ALL` could not be chosen for its row.
            lost_row_switch_o: bool,
            /// A `READ_ALL` could not be chosen for a refresh.
            lost_refresh_o: bool,
            /// Nothing is queued.
            idle_o: bool,
        }
        probes RankControllerProbe {}
    }
}

const BANK_GROUPS: usize = 4;
const BANKS_PER_GROUP: usize = 4;
const BANKS: usize = BANK_GROUPS * BANKS_PER_GROUP;
const ALL_BANKS: u16 = u16::MAX;
/// RD_RESULTs that a REF lets pass: those of two chunks.
const READS_FIRST: u32 = 8;

fn kind_of(input: &RankControllerIn) -> ArrayKind {
    ArrayKind::from_code(input.array_kind_i.get()).unwrap_or_default()
}

#[derive(Clone, Copy, Default)]
struct ArrayRequest {
    kind: ArrayKind,
    bank: usize,
    row: u16,
    column: u8,
}

#[derive(Clone, Copy, Default)]
struct BusRequest {
    write: bool,
    address: u8,
}

/// At most two requests, the oldest first.
#[derive(Clone, Copy, Default)]
struct Queue<T> {
    entries: [T; 2],
    len: usize,
}

impl<T: Copy> Queue<T> {
    fn head(&self) -> Option<T> {
        (self.len > 0).then_some(self.entries[0])
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries[..self.len].iter()
    }

    fn has_room(&self) -> bool {
        self.len < self.entries.len()
    }

    fn pop(&mut self) {
        self.entries[0] = self.entries[1];
        self.len -= 1;
    }

    /// Only while there is room.
    fn push(&mut self, request: T) {
        self.entries[self.len & 1] = request;
        self.len += 1;
    }
}

/// The latched configuration, in tCK.
#[derive(Clone, Copy, Default)]
struct Timing {
    ccd_s: u64,
    ccd_l: u64,
    rrd_s: u64,
    rrd_l: u64,
    rcd: u64,
    rcd_wr: u64,
    rcd_mac: u64,
    /// From ACT to PRE: tRAS, or so long that tRC is over when tRP is.
    open: u64,
    rp: u64,
    rtp: u64,
    rd_to_wr: u64,
    wr_to_rd_s: u64,
    wr_to_rd_l: u64,
    wr_to_pre: u64,
    faw: u64,
    rfc: u64,
    staggered: bool,
}

impl Timing {
    fn of(input: &RankControllerIn) -> Self {
        Self {
            ccd_s: input.ccd_s_i.into(),
            ccd_l: input.ccd_l_i.into(),
            rrd_s: input.rrd_s_i.into(),
            rrd_l: input.rrd_l_i.into(),
            rcd: input.rcd_i.into(),
            rcd_wr: input.rcd_wr_i.into(),
            rcd_mac: input.rcd_mac_i.into(),
            open: input.ras_i.max(input.rc_i.saturating_sub(input.rp_i)).into(),
            rp: input.rp_i.into(),
            rtp: input.rtp_i.into(),
            rd_to_wr: input.rd_to_wr_i.into(),
            wr_to_rd_s: input.wr_to_rd_s_i.into(),
            wr_to_rd_l: input.wr_to_rd_l_i.into(),
            wr_to_pre: input.wr_to_pre_i.into(),
            faw: input.faw_i.into(),
            rfc: input.rfc_i.into(),
            staggered: input.staggered_i,
        }
    }
}

/// Per bank or bank group, the clock from which something may be done; kept apart from what touches
/// all of them at once, so that this does not have to visit each.
#[derive(Clone, Copy)]
struct Earliest<const N: usize> {
    one: [u64; N],
    all: u64,
    /// The latest of them all.
    latest: u64,
}

impl<const N: usize> Earliest<N> {
    const NOW: Self = Self { one: [0; N], all: 0, latest: 0 };

    fn delay_one(&mut self, i: usize, from: u64) {
        self.one[i] = self.one[i].max(from);
        self.latest = self.latest.max(from);
    }

    fn delay_all(&mut self, from: u64) {
        self.all = self.all.max(from);
        self.latest = self.latest.max(from);
    }

    fn one(&self, i: usize) -> u64 {
        self.one[i].max(self.all)
    }
}

/// What is put on the pins next.
#[derive(Clone, Copy)]
struct Choice {
    command: PinCommand,
    bank: usize,
    row: u16,
    column: u8,
}

impl Choice {
    fn new(command: PinCommand) -> Self {
        Self { command, bank: 0, row: 0, column: 0 }
    }
}

/// The first clock. Later than any timing, so that nothing seems to have happened just before.
const START: u64 = 1 << 8;

/// The model of a rank controller.
///
/// Where the RTL counts down, this writes down the clock from which a command is legal.
#[derive(Clone)]
pub struct RankController {
    now: u64,
    configured: bool,
    timing: Timing,
    array: Queue<ArrayRequest>,
    bus: Queue<BusRequest>,
    /// A bit for each open bank.
    open: u16,
    rows: [u16; BANKS],
    /// All banks are open at `rows[0]`.
    uniform: bool,
    /// ACTs of the staggered opening that is under way.
    opened: usize,
    /// When the last ACT was.
    act_at: u64,
    /// From when the next, second next ... ACT may come for tFAW.
    faw_from: [u64; 4],
    /// ACT and REF.
    row_from: u64,
    /// Anything.
    refreshed_from: u64,
    /// PRE, by bank.
    pre_from: Earliest<BANKS>,
    /// RD and WR, by bank group.
    column_from: Earliest<BANK_GROUPS>,
    /// RD after a WR in the group.
    read_from: Earliest<BANK_GROUPS>,
    /// RD after a WR in any group.
    any_read_from: u64,
    /// Whatever uses the data bus.
    data_from: u64,
    /// Whatever writes to the data bus.
    write_from: u64,
    /// The last to use the data bus was the bus port.
    bus_was_last: bool,
    /// A bus command had to stand back for an array command in the clock before.
    passed_over: bool,
    /// RD_RESULTs that have gone first since a REF could have come.
    let_by: u32,
    /// The outputs that are registers.
    pins: RankControllerOut,
}

impl Unit for RankController {
    const MODULE: &'static str = "rank_controller";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("BANK_GROUPS", BANK_GROUPS as i64), ("BANKS_PER_GROUP", BANKS_PER_GROUP as i64)];
    type In = RankControllerIn;
    type Out = RankControllerOut;
    type Probe = RankControllerProbe;
}

impl RankController {
    /// Clocks from the acceptance of a request to its command on the pins, where nothing delays it.
    pub const LATENCY: u64 = 2;

    fn is_open(&self, bank: usize) -> bool {
        self.open >> bank & 1 != 0
    }

    /// Whether a request finds its row open.
    fn hits(&self, request: ArrayRequest) -> bool {
        match request.kind {
            ArrayKind::ReadAll => self.uniform && self.rows[0] == request.row,
            ArrayKind::Rd | ArrayKind::Wr => {
                self.is_open(request.bank) && self.rows[request.bank] == request.row
            }
            ArrayKind::CloseAll => false,
        }
    }

    fn since_act(&self) -> u64 {
        self.now - self.act_at
    }

    /// Whether a request whose row is open may have its command, but for the data bus.
    fn column_ready(&self, request: ArrayRequest) -> bool {
        let group = request.bank / BANKS_PER_GROUP;
        let Timing { rcd, rcd_wr, rcd_mac, .. } = self.timing;
        match request.kind {
            ArrayKind::ReadAll => {
                self.since_act() >= rcd_mac
                    && self.now >= self.column_from.latest
                    && self.now >= self.read_from.latest
            }
            ArrayKind::Rd => {
                self.since_act() >= rcd
                    && self.now >= self.column_from.one(group)
                    && self.now >= self.read_from.one(group)
                    && self.now >= self.any_read_from
            }
            ArrayKind::Wr => self.since_act() >= rcd_wr && self.now >= self.column_from.one(group),
            ArrayKind::CloseAll => false,
        }
    }

    /// Whether nothing but the bus port is in the way of a REF.
    fn may_refresh(&self, stop: bool) -> bool {
        stop && self.open == 0 && self.now >= self.row_from
    }

    /// Whether a REF lets the bus port go first.
    fn holds_refresh(&self) -> bool {
        self.let_by < READS_FIRST && self.bus.iter().any(|request| !request.write)
    }

    fn data_ready(&self, write: bool) -> bool {
        self.now >= self.data_from && (!write || self.now >= self.write_from)
    }

    /// The array command that may go.
    fn choose_array(&self, head: Option<ArrayRequest>, hit: bool, stop: bool) -> Option<Choice> {
        let closed = self.open == 0;
        let pre_all =
            || (self.now >= self.pre_from.latest).then(|| Choice::new(PinCommand::PreAll));
        if stop {
            if !closed {
                return pre_all();
            }
            let may_refresh = self.may_refresh(stop) && !self.holds_refresh();
            return may_refresh.then(|| Choice::new(PinCommand::Ref));
        }
        let head = head?;
        let ArrayRequest { kind, bank, row, column } = head;
        if hit {
            let (ready, command) = match kind {
                ArrayKind::ReadAll => (true, PinCommand::RdAll),
                kind => {
                    let write = kind == ArrayKind::Wr;
                    let turn = self.bus_was_last || self.bus.len == 0;
                    let command = if write { PinCommand::Wr } else { PinCommand::Rd };
                    (turn && self.data_ready(write), command)
                }
            };
            let bank = if kind == ArrayKind::ReadAll { 0 } else { bank };
            return (ready && self.column_ready(head)).then_some(Choice {
                bank,
                column,
                ..Choice::new(command)
            });
        }
        let act = |bank, rrd| {
            let legal = self.now >= self.row_from
                && self.since_act() >= rrd
                && self.now >= self.faw_from[0];
            legal.then_some(Choice { bank, row, ..Choice::new(PinCommand::Act) })
        };
        let Timing { rrd_s, rrd_l, staggered, .. } = self.timing;
        match kind {
            ArrayKind::CloseAll if self.now < self.refreshed_from => None,
            ArrayKind::CloseAll => pre_all(),
            ArrayKind::ReadAll if !closed && self.opened == 0 => pre_all(),
            ArrayKind::ReadAll if staggered => {
                let bank = self.opened % BANK_GROUPS * BANKS_PER_GROUP + self.opened / BANK_GROUPS;
                act(bank, if self.opened == 0 { rrd_l } else { rrd_s })
            }
            ArrayKind::ReadAll => (self.now >= self.row_from && self.now >= self.faw_from[3])
                .then_some(Choice { row, ..Choice::new(PinCommand::ActAll) }),
            _ if self.is_open(bank) => (self.now >= self.pre_from.one(bank))
                .then_some(Choice { bank, ..Choice::new(PinCommand::Pre) }),
            _ => act(bank, rrd_l),
        }
    }

    /// The bus command that may go, unless `yields`.
    fn choose_bus(&self, yields: bool) -> Option<Choice> {
        let BusRequest { write, address } = self.bus.head()?;
        let legal = !yields && self.now >= self.refreshed_from && self.data_ready(write);
        let command = if write { PinCommand::WrShared } else { PinCommand::RdResult };
        legal.then_some(Choice { column: address, ..Choice::new(command) })
    }

    /// What a command forbids for how long.
    fn obey(&mut self, choice: &Choice) {
        let Choice { command, bank, row, .. } = *choice;
        let (t, now, group) = (self.timing, self.now, bank / BANKS_PER_GROUP);
        match command {
            PinCommand::None => {}
            PinCommand::Act => {
                self.open |= 1 << bank;
                self.rows[bank] = row;
                self.act_at = now;
                self.pre_from.delay_one(bank, now + t.open);
                self.faw_from.rotate_left(1);
                self.faw_from[3] = now + t.faw;
                let of_all = self.array.head().is_some_and(|r| r.kind == ArrayKind::ReadAll);
                if of_all {
                    self.opened = (self.opened + 1) % BANKS;
                    self.uniform = self.opened == 0;
                }
            }
            PinCommand::ActAll => {
                self.open = ALL_BANKS;
                self.rows = [row; BANKS];
                self.uniform = true;
                self.act_at = now;
                self.pre_from.delay_all(now + t.open);
                self.faw_from = [now + t.faw; 4];
            }
            PinCommand::Pre => {
                self.open &= !(1 << bank);
                self.uniform = false;
                self.row_from = now + t.rp;
            }
            PinCommand::PreAll => {
                self.open = 0;
                self.uniform = false;
                self.opened = 0;
                self.row_from = now + t.rp;
            }
            PinCommand::Rd => {
                self.column_from.delay_one(group, now + t.ccd_l);
                self.data_from = now + t.ccd_s;
                self.write_from = now + t.rd_to_wr;
                self.pre_from.delay_one(bank, now + t.rtp);
                self.bus_was_last = false;
            }
            PinCommand::Wr => {
                self.column_from.delay_one(group, now + t.ccd_l);
                self.read_from.delay_one(group, now + t.wr_to_rd_l);
                self.any_read_from = now + t.wr_to_rd_s;
                self.data_from = now + t.ccd_s;
                self.pre_from.delay_one(bank, now + t.wr_to_pre);
                self.bus_was_last = false;
            }
            PinCommand::RdAll => {
                self.column_from.delay_all(now + t.ccd_l);
                self.pre_from.delay_all(now + t.rtp);
            }
            PinCommand::RdResult => {
                self.data_from = now + t.ccd_s;
                self.write_from = now + t.rd_to_wr;
                self.bus_was_last = true;
            }
            PinCommand::WrShared => {
                self.data_from = now + t.ccd_s;
                self.bus_was_last = true;
            }
            PinCommand::Ref => {
                self.row_from = now + t.rfc;
                self.refreshed_from = now + t.rfc;
            }
        }
    }

    /// The registered outputs of the next clock. The queues lose what is chosen.
    fn choose(&mut self, input: &RankControllerIn) -> RankControllerOut {
        let head = self.array.head();
        let hit = head.is_some_and(|head| self.hits(head));
        let harmless = match head {
            None => true,
            Some(head) => head.kind != ArrayKind::CloseAll && !hit && self.opened == 0,
        };
        let stop = input.force_i || input.refresh_i && harmless;
        let refreshing = self.now < self.refreshed_from;

        let of_data = |r: ArrayRequest| matches!(r.kind, ArrayKind::Rd | ArrayKind::Wr);
        let yields = self.bus_was_last
            && !stop
            && head.is_some_and(|head| of_data(head) && hit && self.column_ready(head));
        let array = self.choose_array(head, hit, stop);
        let bus = self.choose_bus(yields);
        let bus_goes = bus.is_some() && (array.is_none() || self.passed_over);
        self.passed_over = bus.is_some() && !bus_goes;
        let choice = if bus_goes { bus } else { array };
        let choice = choice.unwrap_or(Choice::new(PinCommand::None));
        let Choice { command, bank, row, column } = choice;

        let at_head = head.is_some_and(|head| head.kind == ArrayKind::ReadAll);
        let at_port = head.is_none() && input.array_valid_i && kind_of(input) == ArrayKind::ReadAll;
        let lost_refresh_o = (at_head || at_port) && (stop || refreshing);
        let row_ready = hit && self.since_act() >= self.timing.rcd_mac;
        let lost_row_switch_o = at_head && !lost_refresh_o && !row_ready;

        let reads = u32::from(command == PinCommand::RdResult);
        self.let_by = if self.may_refresh(stop) { self.let_by + reads } else { 0 };
        self.obey(&choice);
        let array_issued_o = match command {
            PinCommand::RdAll | PinCommand::Rd | PinCommand::Wr => true,
            PinCommand::PreAll => head.is_some_and(|head| head.kind == ArrayKind::CloseAll),
            _ => false,
        };
        if array_issued_o {
            self.array.pop();
        }
        if bus_goes {
            self.bus.pop();
        }
        RankControllerOut {
            command_o: U::new(command.code()),
            bank_o: U::new(bank as u64),
            row_o: row,
            column_o: column,
            array_issued_o,
            bus_issued_o: bus_goes,
            refresh_issued_o: command == PinCommand::Ref,
            lost_row_switch_o,
            lost_refresh_o,
            ..RankControllerOut::default()
        }
    }
}

impl Model for RankController {
    fn new() -> Self {
        Self {
            now: START,
            configured: false,
            timing: Timing::default(),
            array: Queue::default(),
            bus: Queue::default(),
            open: 0,
            rows: [0; BANKS],
            uniform: false,
            opened: 0,
            act_at: 0,
            faw_from: [0; 4],
            row_from: 0,
            refreshed_from: 0,
            pre_from: Earliest::NOW,
            column_from: Earliest::NOW,
            read_from: Earliest::NOW,
            any_read_from: 0,
            data_from: 0,
            write_from: 0,
            bus_was_last: false,
            passed_over: false,
            let_by: 0,
            pins: RankControllerOut::default(),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        RankControllerProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let empty = self.array.len == 0;
        let for_refresh = empty && (input.refresh_i || input.force_i);
        let output = RankControllerOut {
            array_ready_o: self.configured && self.array.has_room() && !for_refresh,
            bus_ready_o: self.configured && self.bus.has_room(),
            idle_o: empty && self.bus.len == 0,
            ..self.pins
        };
        if self.configured {
            self.pins = self.choose(input);
        } else {
            self.timing = Timing::of(input);
            self.configured = true;
        }
        if input.array_valid_i && output.array_ready_o {
            self.array.push(ArrayRequest {
                kind: kind_of(input),
                bank: input.array_bank_i.get() as usize,
                row: input.array_row_i,
                column: input.array_column_i,
            });
        }
        if input.bus_valid_i && output.bus_ready_o {
            self.bus.push(BusRequest { write: input.bus_write_i, address: input.bus_address_i });
        }
        self.now += 1;
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The controller with what its ports have still to ask, and what the pins have shown.
    struct Bench {
        unit: RankController,
        input: RankControllerIn,
        array: VecDeque<RankControllerIn>,
        clock: u64,
        /// Clock and command.
        pins: Vec<(u64, PinCommand)>,
        lost: [u64; 2],
    }

    /// DDR4-3200.
    fn ddr4(staggered_i: bool) -> Bench {
        let input = RankControllerIn {
            ccd_s_i: 4,
            ccd_l_i: 8,
            rrd_s_i: 4,
            rrd_l_i: 8,
            rcd_i: 22,
            rcd_wr_i: 22,
            rcd_mac_i: 22,
            ras_i: 52,
            rp_i: 22,
            rtp_i: 12,
            rd_to_wr_i: 12,
            wr_to_rd_s_i: 24,
            wr_to_rd_l_i: 32,
            wr_to_pre_i: 44,
            faw_i: 34,
            rc_i: 74,
            rfc_i: 560,
            staggered_i,
            ..Default::default()
        };
        let unit = RankController::new();
        let (array, pins) = (VecDeque::new(), Vec::new());
        let mut bench = Bench { unit, input, array, clock: 0, pins, lost: [0; 2] };
        bench.step();
        bench
    }

    impl Bench {
        fn ask(&mut self, kind: ArrayKind, bank: u64, row: u16, column: u8) {
            self.array.push_back(RankControllerIn {
                array_kind_i: U::new(kind.code()),
                array_bank_i: U::new(bank),
                array_row_i: row,
                array_column_i: column,
                ..Default::default()
            });
        }

        fn step(&mut self) -> RankControllerOut {
            let mut input = self.input;
            if let Some(request) = self.array.front() {
                input.array_valid_i = true;
                input.array_kind_i = request.array_kind_i;
                input.array_bank_i = request.array_bank_i;
                input.array_row_i = request.array_row_i;
                input.array_column_i = request.array_column_i;
            }
            let output = self.unit.step(&input);
            if input.array_valid_i && output.array_ready_o {
                self.array.pop_front();
            }
            match PinCommand::from_code(output.command_o.get()).expect("a code of a command") {
                PinCommand::None => {}
                command => self.pins.push((self.clock, command)),
            }
            self.lost[0] += u64::from(output.lost_row_switch_o);
            self.lost[1] += u64::from(output.lost_refresh_o);
            self.clock += 1;
            output
        }

        fn run(&mut self, clocks: u64) {
            for _ in 0..clocks {
                self.step();
            }
        }

        /// When a command was on the pins.
        fn times(&self, command: PinCommand) -> Vec<u64> {
            let of_command = self.pins.iter().filter(|(_, c)| *c == command);
            of_command.map(|(clock, _)| *clock).collect()
        }
    }

    #[test]
    fn an_open_row_is_read_in_every_slot_beside_a_full_bus() {
        for bus_write_i in [false, true] {
            let mut bench = ddr4(false);
            (0..128).for_each(|column| bench.ask(ArrayKind::ReadAll, 0, 7, column));
            (bench.input.bus_valid_i, bench.input.bus_write_i) = (true, bus_write_i);
            bench.run(1200);
            let reads = bench.times(PinCommand::RdAll);
            assert_eq!((reads.len(), reads[127] - reads[0]), (128, 127 * 8));
            // Accepted in clock 1; ACT_ALL on the pins in clock 3.
            assert_eq!((bench.times(PinCommand::ActAll), reads[0]), (vec![3], 25));
            assert_eq!(bench.lost, [22, 0]);
            let bursts = [PinCommand::RdResult, PinCommand::WrShared][usize::from(bus_write_i)];
            let bursts = bench.times(bursts);
            assert!(bursts.len() >= 1200 / 4 - 2);
            let late = bursts.windows(2).filter(|pair| pair[1] - pair[0] != 4).count();
            assert!(late <= 2, "once for the ACT_ALL, once for the RD_ALLs");
        }
    }

    #[test]
    fn a_row_switch_costs_no_more_than_its_timings() {
        for (refresh, expected, lost) in
            [(false, 12 + 22 + 22, [55, 0]), (true, 12 + 22 + 560 + 22, [22, 593])]
        {
            let mut bench = ddr4(false);
            (0..8).for_each(|column| bench.ask(ArrayKind::ReadAll, 0, 1, column));
            bench.ask(ArrayKind::ReadAll, 0, 2, 0);
            while !bench.step().array_issued_o {}
            // In the middle of a row, where it has to wait for the row's end.
            bench.input.refresh_i = refresh;
            for _ in 0..1300 {
                bench.input.refresh_i &= !bench.step().refresh_issued_o;
            }
            let reads = bench.times(PinCommand::RdAll);
            assert_eq!((reads.len(), reads[7] - reads[0]), (9, 7 * 8));
            assert_eq!(reads[8] - reads[7], expected);
            assert_eq!(bench.lost, [22 + lost[0], lost[1]]);
            assert_eq!(bench.times(PinCommand::Ref).len(), usize::from(refresh));
        }
    }

    #[test]
    fn a_staggered_opening_keeps_the_window_of_four() {
        let mut bench = ddr4(true);
        bench.ask(ArrayKind::ReadAll, 0, 1, 0);
        bench.run(300);
        let acts = bench.times(PinCommand::Act);
        let expected: Vec<u64> = (0..16).map(|i| acts[0] + i / 4 * 34 + i % 4 * 4).collect();
        assert_eq!(acts, expected);
        assert_eq!(bench.times(PinCommand::RdAll), [acts[15] + 22]);
    }

    #[test]
    fn a_forced_refresh_stops_the_stream_at_once() {
        let mut bench = ddr4(false);
        (0..128).for_each(|column| bench.ask(ArrayKind::ReadAll, 0, 1, column));
        bench.run(200);
        let stopped = bench.clock;
        bench.input.force_i = true;
        while !bench.step().refresh_issued_o {}
        bench.input.force_i = false;
        bench.run(1500);
        let reads = bench.times(PinCommand::RdAll);
        let before = reads.iter().rfind(|&&clock| clock <= stopped).expect("the stream runs");
        let refreshed = bench.times(PinCommand::Ref);
        assert_eq!(refreshed, [before + 12 + 22]);
        let after = reads.iter().find(|&&clock| clock > stopped).expect("and goes on");
        assert_eq!(after - refreshed[0], 560 + 22);
        assert_eq!(reads.len(), 128);
    }

    #[test]
    fn a_ref_lets_the_results_of_two_chunks_go_first() {
        use PinCommand::{RdResult, Ref};
        // Three reads, and reads without end.
        for (reads, expected) in [(3, 3), (u64::MAX, 8)] {
            let mut bench = ddr4(false);
            bench.input.bus_valid_i = true;
            let mut accepted = 0;
            while bench.times(Ref).is_empty() {
                bench.input.bus_valid_i = accepted < reads;
                bench.input.refresh_i = accepted > 0;
                accepted += u64::from(bench.step().bus_ready_o && bench.input.bus_valid_i);
                assert!(bench.clock < 100, "it comes");
            }
            let refreshed = bench.times(Ref)[0];
            let before = bench.times(RdResult);
            assert_eq!(before.len(), expected, "{before:?}");
            assert!(refreshed > before[expected - 1]);
            bench.run(700);
            let next = bench.times(RdResult).get(expected).copied();
            assert_eq!(next, (reads > 3).then_some(refreshed + 560));
        }
        // Writes have no results that could be lost.
        let mut bench = ddr4(false);
        (bench.input.bus_valid_i, bench.input.bus_write_i) = (true, true);
        bench.run(50);
        bench.input.refresh_i = true;
        let asked = bench.clock;
        while !bench.step().refresh_issued_o {}
        assert!(bench.clock <= asked + 3, "{} tCK", bench.clock - asked);
    }

    #[test]
    fn refs_follow_each_other_before_anything_is_accepted() {
        let mut bench = ddr4(false);
        bench.input.refresh_i = true;
        bench.ask(ArrayKind::ReadAll, 0, 1, 0);
        bench.run(2 * 560 + 100);
        bench.input.refresh_i = false;
        bench.run(1000);
        let refs = bench.times(PinCommand::Ref);
        assert_eq!(refs, [refs[0], refs[0] + 560, refs[0] + 1120]);
        assert_eq!(bench.times(PinCommand::ActAll), [refs[2] + 560]);
    }

    #[test]
    fn the_ports_take_turns_on_the_data_bus() {
        // Reads from one port and writes from the other: each waits for the other's turnaround.
        use PinCommand::{Rd, RdResult, Wr, WrShared};
        for (kind, column, burst) in [(ArrayKind::Rd, Rd, WrShared), (ArrayKind::Wr, Wr, RdResult)]
        {
            let bus_write_i = burst == WrShared;
            let mut bench = ddr4(false);
            (0..20).for_each(|i| bench.ask(kind, i % 4 * 4, 1, 0));
            (bench.input.bus_valid_i, bench.input.bus_write_i) = (true, bus_write_i);
            bench.run(1000);
            assert_eq!(bench.times(column).len(), 20);
            assert!(bench.times(burst).len() > 100);
        }
    }
}
