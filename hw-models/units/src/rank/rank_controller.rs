// SPDX-License-Identifier: MIT
//! Rank controller of the rank PU: makes DRAM commands of the requests of two ports, keeps all timings.

use pimlico_dpa::types::{
    ArrayKind, ArrayRequest, BusRequest, Mac, PinCommand, Pins, ReadAll, Timing,
};
use pimlico_ports::{
    Model, U, Unit, pack, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A rank controller.
    unit RankController: "rank_controller" {
        inputs RankControllerIn {
            /// Timings of the DRAM, in cycles; sampled in the first cycle after reset.
            timing_i: Timing,
            /// There is an array request.
            array_valid_i: bool => all_but_one_in(8),
            /// The array request.
            array_i: ArrayRequest,
            /// There is a bus request.
            bus_valid_i: bool => all_but_one_in(8),
            /// The bus request.
            bus_i: BusRequest,
            /// A REF is requested, where it costs no bandwidth.
            refresh_i: bool => one_in(128),
            /// A REF is requested now.
            force_i: bool => one_in(256),
        }
        outputs RankControllerOut {
            /// The array request is accepted, if there is one.
            array_ready_o: bool,
            /// The bus request is accepted, if there is one.
            bus_ready_o: bool,
            /// The command pins; `SLOTS` = 2: in the first slot of the cycle.
            pins_o: Pins,
            /// `SLOTS` = 2: the command pins in the second slot, for the bus port; no command with `SLOTS` = 1.
            bus_pins_o: Pins,
            /// What the bank PUs do with the column of an RD_ALL on the pins; 0 without one.
            mac_o: Mac,
            /// The bus request of an RD_RESULT or WR_SHARED on the pins; 0 without one.
            transfer_o: BusRequest,
            /// The pins show the command of the oldest array request: RD_ALL, RD, WR, or a PREA.
            array_issued_o: bool,
            /// The pins show the command of the oldest bus request.
            bus_issued_o: bool,
            /// The pins show a REF.
            refresh_issued_o: bool,
            /// An all-bank read could not be chosen for its row.
            lost_row_switch_o: bool,
            /// An all-bank read could not be chosen for a refresh.
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
/// RD_RESULTs that may issue ahead of a REF: those of two chunks.
const READS_FIRST: u32 = 8;
/// WR_SHAREDs that may issue ahead of an RD_ALL that waits for the last of them.
const WRITES_FIRST: u32 = 8;

fn bank_of(request: ArrayRequest) -> usize {
    request.bank.get() as usize
}

/// At most two requests, the oldest first.
#[derive(Clone, Copy, Default, PartialEq)]
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

/// Per bank or bank group, the cycle from which something may be done; kept apart from what touches
/// all of them at once, so that this does not have to visit each.
#[derive(Clone, Copy, PartialEq)]
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

    /// What is delayed in all of them is so many cycles later.
    fn shift_all(&mut self, cycles: u64) {
        self.all += cycles;
        self.latest = self.latest.max(self.all);
    }

    fn one(&self, i: usize) -> u64 {
        self.one[i].max(self.all)
    }
}

/// What is put on the pins next, and the request whose command it is.
#[derive(Clone, Copy, Default)]
struct Choice {
    pins: Pins,
    mac: Mac,
    transfer: BusRequest,
}

impl Choice {
    fn new(command: PinCommand) -> Self {
        Self { pins: Pins { command, ..Pins::default() }, ..Self::default() }
    }
}

/// The first cycle. Later than any timing, so that nothing seems to have happened just before.
const START: u64 = 1 << 8;

/// The cycle model of a rank controller with one command in a cycle, or two. Where the RTL counts down, it
/// keeps the cycle from which a command is legal.
///
#[doc = contract!("rank/rank_controller")]
#[derive(Clone, PartialEq)]
pub struct RankController<const SLOTS: usize = 1> {
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
    /// ACTs or ACT_ALLs of the opening that is under way.
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
    /// RD_RESULT and WR_SHARED after either.
    result_from: u64,
    /// RD_ALL and RD_RESULT after a WR_SHARED.
    shared_from: u64,
    /// With two slots, RD and WR after a burst of the second, and WR.
    bus_data_from: u64,
    bus_write_from: u64,
    /// The last to use the data bus was the bus port.
    bus_was_last: bool,
    /// A bus command had to yield to an array command in the cycle before.
    passed_over: bool,
    /// RD_RESULTs that have gone first since a REF could have come.
    let_by: u32,
    /// WR_SHAREDs that have gone first since an all-bank read found its row open.
    writes: u32,
    /// The word of the shared buffers that was set, and the one that the next RD_ALL reads.
    word_set: u8,
    word_next: u8,
    /// The outputs that are registers.
    pins: RankControllerOut,
}

impl<const SLOTS: usize> Unit for RankController<SLOTS> {
    const MODULE: &'static str = "rank_controller";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("BANK_GROUPS", BANK_GROUPS as i64),
        ("BANKS_PER_GROUP", BANKS_PER_GROUP as i64),
        ("SLOTS", SLOTS as i64),
    ];
    type In = RankControllerIn;
    type Out = RankControllerOut;
    type Probe = RankControllerProbe;

    fn variant() -> String {
        if SLOTS == 1 { String::new() } else { format!("slots{SLOTS}") }
    }
}

impl<const SLOTS: usize> RankController<SLOTS> {
    /// The ports do not share a slot.
    const APART: bool = SLOTS == 2;

    /// Cycles from the acceptance of a request to its command on the pins, where nothing delays it.
    pub const LATENCY: u64 = 2;

    fn is_open(&self, bank: usize) -> bool {
        self.open >> bank & 1 != 0
    }

    /// Whether a request finds its row open.
    fn hits(&self, request: ArrayRequest) -> bool {
        match request.kind {
            ArrayKind::ReadAll => self.uniform && self.rows[0] == request.row,
            ArrayKind::Rd | ArrayKind::Wr => {
                let bank = bank_of(request);
                self.is_open(bank) && self.rows[bank] == request.row
            }
            ArrayKind::CloseAll => false,
        }
    }

    fn since_act(&self) -> u64 {
        self.now - self.act_at
    }

    /// Whether a request whose row is open may have its command, but for the data bus.
    fn column_ready(&self, request: ArrayRequest) -> bool {
        let group = bank_of(request) / BANKS_PER_GROUP;
        let Timing { rcd, rcd_wr, rcd_mac, .. } = self.timing;
        let [rcd, rcd_wr, rcd_mac] = [rcd, rcd_wr, rcd_mac].map(u64::from);
        match request.kind {
            ArrayKind::ReadAll => {
                self.since_act() >= rcd_mac
                    && self.now >= self.column_from.latest
                    && self.now >= self.read_from.latest
                    && self.now >= self.shared_from
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

    /// Whether a REF yields to the bus port.
    fn holds_refresh(&self) -> bool {
        self.let_by < READS_FIRST && self.bus.iter().any(|request| !request.write)
    }

    fn data_ready(&self, write: bool) -> bool {
        self.now >= self.data_from && (!write || self.now >= self.write_from)
    }

    /// The same for RD and WR, if the port of the data bus has it now.
    fn column_data_ready(&self, write: bool) -> bool {
        let in_turn = if self.bus_was_last {
            let late =
                self.now >= self.bus_data_from && (!write || self.now >= self.bus_write_from);
            !Self::APART || late
        } else {
            self.bus.len == 0
        };
        in_turn && self.data_ready(write)
    }

    /// The array command that may go; `reads` says whether an RD_RESULT may.
    fn choose_array(
        &self,
        head: Option<ArrayRequest>,
        hit: bool,
        stop: bool,
        reads: bool,
    ) -> Option<Choice> {
        let closed = self.open == 0;
        let pre_all =
            || (self.now >= self.pre_from.latest).then(|| Choice::new(PinCommand::PreAll));
        if stop {
            if !closed {
                return if reads && !Self::APART { None } else { pre_all() };
            }
            let may_refresh = self.may_refresh(stop) && !self.holds_refresh();
            return may_refresh.then(|| Choice::new(PinCommand::Ref));
        }
        let head = head?;
        let ArrayRequest { kind, row, column, .. } = head;
        let bank = bank_of(head);
        let on_pins = |command, bank: usize, row, column| Choice {
            pins: Pins { command, bank: U::new(bank as u64), row, column },
            ..Choice::default()
        };
        if hit {
            let word = head.mac.word;
            let back = word != self.word_next;
            if kind == ArrayKind::ReadAll && !Self::APART && back && word != self.word_set {
                return Some(on_pins(PinCommand::SetWord, 0, 0, word));
            }
            let (ready, command) = match kind {
                ArrayKind::ReadAll => (true, PinCommand::RdAll),
                kind => {
                    let write = kind == ArrayKind::Wr;
                    let command = if write { PinCommand::Wr } else { PinCommand::Rd };
                    (self.column_data_ready(write), command)
                }
            };
            let legal = ready && self.column_ready(head);
            return legal.then(|| match kind {
                ArrayKind::ReadAll => {
                    let Mac { accumulate, first, last, .. } = head.mac;
                    let what = ReadAll { accumulate, first, last, back };
                    let bits = if Self::APART { 0 } else { pack(&what) as usize };
                    Choice { mac: head.mac, ..on_pins(command, bits, 0, column) }
                }
                _ => on_pins(command, bank, 0, column),
            });
        }
        let act = |bank, rrd| {
            let legal = self.now >= self.row_from
                && self.since_act() >= u64::from(rrd)
                && self.now >= self.faw_from[0];
            legal.then(|| on_pins(PinCommand::Act, bank, row, 0))
        };
        let Timing { rrd_s, rrd_l, .. } = self.timing;
        match kind {
            ArrayKind::CloseAll if self.now < self.refreshed_from => None,
            ArrayKind::CloseAll => pre_all(),
            ArrayKind::ReadAll if !closed && self.opened == 0 => pre_all(),
            ArrayKind::ReadAll if self.timing.opens_one_by_one() => {
                let bank = self.opened % BANK_GROUPS * BANKS_PER_GROUP + self.opened / BANK_GROUPS;
                act(bank, if self.opened == 0 { rrd_l } else { rrd_s })
            }
            ArrayKind::ReadAll => (self.now >= self.row_from && self.now >= self.faw_from[3])
                .then(|| on_pins(PinCommand::ActAll, self.opened * BANKS / 2, row, 0)),
            _ if self.is_open(bank) => {
                (self.now >= self.pre_from.one(bank)).then(|| on_pins(PinCommand::Pre, bank, 0, 0))
            }
            _ => act(bank, rrd_l),
        }
    }

    /// The bus command that may go, unless `yields`.
    fn choose_bus(&self, yields: bool) -> Option<Choice> {
        let request = self.bus.head()?;
        let BusRequest { write, address, .. } = request;
        let in_turn = match write {
            true => self.writes < WRITES_FIRST,
            false => self.now >= self.shared_from,
        };
        let is_free = in_turn && self.now >= self.result_from;
        let legal = !yields && self.now >= self.refreshed_from && self.data_ready(write) && is_free;
        let command = if write { PinCommand::WrShared } else { PinCommand::RdResult };
        let pins = Pins { command, column: address, ..Pins::default() };
        legal.then(|| Choice { pins, transfer: request, ..Choice::default() })
    }

    /// What a command forbids for how long.
    fn obey(&mut self, choice: &Choice) {
        let Pins { command, bank, row, column } = choice.pins;
        let (bank, now) = (bank.get() as usize, self.now);
        let group = bank / BANKS_PER_GROUP;
        let after = |tck: u8| now + u64::from(tck);
        let t = self.timing;
        match command {
            PinCommand::None => {}
            PinCommand::Act => {
                self.open |= 1 << bank;
                self.rows[bank] = row;
                self.act_at = now;
                self.pre_from.delay_one(bank, after(t.ras));
                self.faw_from.rotate_left(1);
                self.faw_from[3] = after(t.faw);
                let of_all = self.array.head().is_some_and(|r| r.kind == ArrayKind::ReadAll);
                if of_all {
                    self.opened = (self.opened + 1) % BANKS;
                    self.uniform = self.opened == 0;
                }
            }
            PinCommand::ActAll => {
                let opens = choice.pins.opens(t.faw_banks.get());
                self.open |= opens;
                for bank in (0..BANKS).filter(|bank| opens >> bank & 1 != 0) {
                    self.rows[bank] = row;
                    self.pre_from.delay_one(bank, after(t.ras));
                }
                self.uniform = self.open == ALL_BANKS;
                self.opened = usize::from(!self.uniform);
                self.act_at = now;
                self.faw_from = [after(t.faw); 4];
            }
            PinCommand::Pre => {
                self.open &= !(1 << bank);
                self.uniform = false;
                self.row_from = after(t.rp);
            }
            PinCommand::PreAll => {
                self.open = 0;
                self.uniform = false;
                self.opened = 0;
                self.row_from = after(t.rp);
            }
            PinCommand::Rd => {
                self.column_from.delay_one(group, after(t.ccd_l));
                self.data_from = after(t.ccd_s);
                self.write_from = after(t.rd_to_wr);
                self.pre_from.delay_one(bank, after(t.rtp));
                self.bus_was_last = false;
            }
            PinCommand::Wr => {
                self.column_from.delay_one(group, after(t.ccd_l));
                self.read_from.delay_one(group, after(t.wr_to_rd_l));
                self.any_read_from = after(t.wr_to_rd_s);
                self.data_from = after(t.ccd_s);
                self.pre_from.delay_one(bank, after(t.wr_to_pre));
                self.bus_was_last = false;
            }
            PinCommand::SetWord => {
                (self.word_set, self.word_next) = (column, column);
            }
            PinCommand::RdAll => {
                self.word_next = choice.mac.word.wrapping_add(1);
                self.column_from.delay_all(after(t.ccd_l));
                self.pre_from.delay_all(after(t.rtp));
            }
            PinCommand::RdResult => {
                self.data_from = after(t.ccd_s);
                self.result_from = after(t.ccd_result);
                self.write_from = after(t.rd_to_wr);
                self.bus_data_from = after(t.ccd_s.max(1)) + 1;
                self.bus_write_from = after(t.rd_to_wr.max(1)) + 1;
                self.bus_was_last = true;
            }
            PinCommand::WrShared => {
                self.data_from = after(t.ccd_s);
                self.result_from = after(t.ccd_result);
                let later = Self::APART && t.shared_to_rd > 0;
                self.shared_from = after(t.shared_to_rd) + u64::from(later);
                self.bus_data_from = after(t.ccd_s.max(1)) + 1;
                self.bus_was_last = true;
            }
            PinCommand::Mrs => unreachable!("the host's alone"),
            PinCommand::Ref => {
                self.row_from = now + u64::from(t.rfc);
                self.refreshed_from = now + u64::from(t.rfc);
            }
        }
    }

    /// The registered outputs of the next cycle. The queues lose what is chosen.
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
        let bus = self.choose_bus(yields);
        let reads = bus.as_ref().is_some_and(|choice| choice.pins.command == PinCommand::RdResult);
        let array = self.choose_array(head, hit, stop, reads);
        let of_array =
            |command| array.as_ref().is_some_and(|choice| choice.pins.command == command);
        let bus_goes = bus.is_some()
            && if Self::APART {
                !of_array(PinCommand::Ref)
            } else {
                array.is_none() || self.passed_over
            };
        self.passed_over = !Self::APART && bus.is_some() && !bus_goes;
        let nothing = Choice::default();
        let bus = bus.as_ref().filter(|_| bus_goes).unwrap_or(&nothing);
        let array = array.as_ref().filter(|_| Self::APART || !bus_goes).unwrap_or(&nothing);
        let command = array.pins.command;

        let at_head = head.is_some_and(|head| head.kind == ArrayKind::ReadAll);
        let at_port =
            head.is_none() && input.array_valid_i && input.array_i.kind == ArrayKind::ReadAll;
        let lost_refresh_o = (at_head || at_port) && (stop || refreshing);
        let row_ready = hit && self.since_act() >= self.timing.rcd_mac.into();
        let lost_row_switch_o = at_head && !lost_refresh_o && !row_ready;

        let reads = u32::from(bus.pins.command == PinCommand::RdResult);
        self.let_by = if self.may_refresh(stop) { self.let_by + reads } else { 0 };
        self.writes = match self.timing.shared_to_rd > 0 && !stop && hit && at_head {
            true if command == PinCommand::RdAll => 0,
            true => self.writes + u32::from(bus.pins.command == PinCommand::WrShared),
            false => 0,
        };
        self.obey(array);
        self.obey(bus);
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
        let in_one = if bus_goes { bus } else { array }.pins;
        let [pins_o, bus_pins_o] =
            if Self::APART { [array.pins, bus.pins] } else { [in_one, Pins::default()] };
        RankControllerOut {
            pins_o,
            bus_pins_o,
            mac_o: array.mac,
            transfer_o: bus.transfer,
            array_issued_o,
            bus_issued_o: bus_goes,
            refresh_issued_o: command == PinCommand::Ref,
            lost_row_switch_o,
            lost_refresh_o,
            ..RankControllerOut::default()
        }
    }
}

impl<const SLOTS: usize> Model for RankController<SLOTS> {
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
            result_from: 0,
            shared_from: 0,
            bus_data_from: 0,
            bus_write_from: 0,
            bus_was_last: false,
            passed_over: false,
            let_by: 0,
            writes: 0,
            word_set: 0,
            word_next: 0,
            pins: RankControllerOut::default(),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        RankControllerProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let empty = self.array.len == 0;
        let for_refresh = empty && (input.refresh_i || input.force_i);
        RankControllerOut {
            array_ready_o: self.configured && self.array.has_room() && !for_refresh,
            bus_ready_o: self.configured && self.bus.has_room(),
            idle_o: empty && self.bus.len == 0,
            ..self.pins
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        if self.configured {
            self.pins = self.choose(input);
        } else {
            // The time from ACT to PRE is so long that tRC is over when tRP is.
            let timing = input.timing_i;
            let ras = timing.ras.max(timing.rc.saturating_sub(timing.rp));
            self.timing = Timing { ras, ..timing };
            self.configured = true;
        }
        if input.array_valid_i && output.array_ready_o {
            self.array.push(input.array_i);
        }
        if input.bus_valid_i && output.bus_ready_o {
            self.bus.push(input.bus_i);
        }
        self.now += 1;
        output
    }
}

mod laps;
mod runs;
mod slots;

#[cfg(test)]
mod tests;
