// SPDX-License-Identifier: MIT
//! Judge of `rank_controller`: what is on the pins beside what was asked for, cycle by cycle.

use super::configuration::{Times, configuration};
use super::{BANK_GROUPS, BANKS, BANKS_PER_GROUP, QUEUE, WRITES_FIRST};
use crate::bench::OracleError;
use pimlico_dpa::types::{ArrayKind, ArrayRequest, BusRequest, Mac, PinCommand, Pins};
use pimlico_golden::pins::{Driver, Pin, PinChecker};
use pimlico_ports::U;
use pimlico_units::rank::{RankControllerIn, RankControllerOut};
use std::collections::VecDeque;

pub type Verdict<T> = Result<T, OracleError>;

/// An array request that waits, and when it was accepted.
struct Array {
    request: ArrayRequest,
    accepted: u64,
}

/// A bus request that waits.
struct Bus {
    request: BusRequest,
    accepted: u64,
}

/// What the pins show, and what stands beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shown {
    pins: Pins,
    mac: Mac,
    transfer: BusRequest,
    array_issued: bool,
    bus_issued: bool,
    refresh_issued: bool,
}

/// When something was on the pins last, if ever.
#[derive(Default)]
struct Last {
    act: Option<u64>,
    column: Option<u64>,
    write: Option<u64>,
    data: Option<u64>,
    read_data: Option<u64>,
    refresh: Option<u64>,
    /// A PRE or PREA.
    closed: Option<u64>,
    /// A SET_WORD.
    set: Option<u64>,
    array: Option<u64>,
    bus: Option<u64>,
    /// RD_RESULT or WR_SHARED, and a WR_SHARED.
    burst: Option<u64>,
    word: Option<u64>,
    /// The last to use the data bus was the bus port.
    data_by_bus: bool,
    /// The last cycle whose choice the array port's commands had no part in.
    stopped: Option<u64>,
    /// The last cycle with an RD or WR at the head, which the bus port shares the data bus with.
    shared: Option<u64>,
    /// The last RD_ALL that a WR_SHARED may have waited for.
    freed: Option<u64>,
    /// The last cycle with an all-bank read at the head whose row was open.
    reads: Option<u64>,
}

fn bank_of(request: &ArrayRequest) -> usize {
    request.bank.get() as usize
}

pub struct Judge {
    times: Times,
    /// Commands in a cycle.
    slots: usize,
    checker: PinChecker,
    pub clock: u64,
    array: VecDeque<Array>,
    bus: VecDeque<Bus>,
    rows: [Option<u16>; BANKS],
    /// The row that a `READ_ALL` opened in all banks, if none was closed since.
    uniform: Option<u16>,
    /// Banks of the opening that is under way.
    opened: usize,
    last: Last,
    /// RD_RESULTs since a REF could have come.
    let_by: usize,
    /// WR_SHAREDs since the last RD_ALL.
    words: usize,
    /// The word of the shared buffers that was set, and the one behind that of the last RD_ALL.
    word_set: u8,
    word_next: u8,
    pub commands: u64,
}

impl Judge {
    pub fn new(first: &RankControllerIn, slots: usize) -> Self {
        let (times, rules) = configuration(first, slots);
        Self {
            times,
            slots,
            checker: PinChecker::new(rules),
            clock: 0,
            array: VecDeque::new(),
            bus: VecDeque::new(),
            rows: [None; BANKS],
            uniform: None,
            opened: 0,
            last: Last::default(),
            let_by: 0,
            words: 0,
            word_set: 0,
            word_next: 0,
            commands: 0,
        }
    }

    fn error<T>(&self, port: &'static str, got: u32, expected: u32, what: String) -> Verdict<T> {
        Err(OracleError { cycle: self.clock, port, got, expected, what })
    }

    fn flag(&self, port: &'static str, got: bool, expected: bool) -> Verdict<()> {
        if got == expected {
            return Ok(());
        }
        self.error(port, got.into(), expected.into(), "wrong flag".to_owned())
    }

    /// Judges a cycle. `before` is the input under which its pins were chosen, a cycle ago.
    pub fn judge(
        &mut self,
        before: &RankControllerIn,
        input: &RankControllerIn,
        output: &RankControllerOut,
    ) -> Verdict<()> {
        let command = output.pins_o.command;
        // What was in the queues when the pins were chosen.
        let chosen_from = |accepted: u64| accepted + 2 <= self.clock;
        let head = self.array.front().filter(|waits| chosen_from(waits.accepted));
        let head = head.map(|waits| waits.request);
        let burst = self.bus.front().filter(|waits| chosen_from(waits.accepted));
        let burst = burst.map(|waits| waits.request);
        let hit = head.is_some_and(|head| match head.kind {
            ArrayKind::ReadAll => self.uniform == Some(head.row),
            ArrayKind::Rd | ArrayKind::Wr => self.rows[bank_of(&head)] == Some(head.row),
            ArrayKind::CloseAll => false,
        });
        let opening = self.opened > 0;
        let harmless = head.is_none_or(|head| head.kind != ArrayKind::CloseAll && !hit && !opening);
        let configured = self.clock >= 2;
        let stop = configured && (before.force_i || before.refresh_i && harmless);
        let refreshing = self.last.refresh.is_some_and(|at| self.clock < at + self.times.rfc);

        let at_head = head.is_some_and(|head| head.kind == ArrayKind::ReadAll);
        let at_port =
            head.is_none() && before.array_valid_i && before.array_i.kind == ArrayKind::ReadAll;
        let lost_refresh = configured && (at_head || at_port) && (stop || refreshing);
        let opened = hit && self.last.act.is_some_and(|at| self.clock >= at + self.times.rcd_mac);
        self.flag("lost_refresh_o", output.lost_refresh_o, lost_refresh)?;
        let lost_row_switch = at_head && !lost_refresh && !opened;
        self.flag("lost_row_switch_o", output.lost_row_switch_o, lost_row_switch)?;

        // What one slot shows, or two: the second those of the bus port.
        let shown = Shown {
            pins: output.pins_o,
            mac: output.mac_o,
            transfer: output.transfer_o,
            array_issued: output.array_issued_o,
            bus_issued: output.bus_issued_o,
            refresh_issued: output.refresh_issued_o,
        };
        let (shown, bus_shown) = self.apart(shown, output.bus_pins_o);
        let wanted = self.wanted(command, head, burst.filter(|_| self.slots == 1), hit, stop);
        self.agree("pins_o", &shown, wanted)?;
        let bus_command = bus_shown.pins.command;
        let wanted = match bus_command {
            PinCommand::None => Some(Shown::default()),
            PinCommand::RdResult | PinCommand::WrShared if self.slots == 2 => {
                self.wanted(bus_command, None, burst, false, false)
            }
            _ => None,
        };
        self.agree("bus_pins_o", &bus_shown, wanted)?;
        let in_turn = hit
            && !stop
            && head.is_some_and(|head| head.kind != ArrayKind::ReadAll)
            && self.waits_for_data_alone();
        if in_turn && output.bus_issued_o && self.last.data_by_bus {
            let what = "two bus commands, and an RD or WR waits for the data bus alone".to_owned();
            return self.error("bus_issued_o", 1, 0, what);
        }
        if stop || refreshing {
            self.last.stopped = Some(self.clock);
        }
        if head.is_some_and(|head| matches!(head.kind, ArrayKind::Rd | ArrayKind::Wr)) {
            self.last.shared = Some(self.clock);
        }
        if at_head && hit {
            self.last.reads = Some(self.clock);
        }
        self.check_array_in_time(command, &shown)?;
        self.check_refresh([command, bus_command], stop)?;
        if self.slots == 1 {
            self.check_bus_in_time(&shown)?;
            self.obey(command, &shown, 0)?;
        } else {
            self.obey(command, &shown, 0)?;
            self.check_bus_in_time(&bus_shown)?;
            self.obey(bus_command, &bus_shown, 1)?;
        }

        let (array, bus) = (self.array.len(), self.bus.len());
        self.flag("idle_o", output.idle_o, array == 0 && bus == 0)?;
        let held_off = array == 0 && (input.refresh_i || input.force_i);
        let array_ready = self.clock > 0 && array < QUEUE && !held_off;
        self.flag("array_ready_o", output.array_ready_o, array_ready)?;
        self.flag("bus_ready_o", output.bus_ready_o, self.clock > 0 && bus < QUEUE)?;
        if input.array_valid_i && array_ready {
            self.array.push_back(Array { request: input.array_i, accepted: self.clock });
        }
        if input.bus_valid_i && output.bus_ready_o {
            self.bus.push_back(Bus { request: input.bus_i, accepted: self.clock });
        }
        Ok(())
    }

    /// What the slots show: with one of them, nothing in the second.
    fn apart(&self, shown: Shown, bus_pins: Pins) -> (Shown, Shown) {
        if self.slots == 1 {
            return (shown, Shown { pins: bus_pins, ..Shown::default() });
        }
        let Shown { transfer, bus_issued, .. } = shown;
        let bus = Shown { pins: bus_pins, transfer, bus_issued, ..Shown::default() };
        (Shown { transfer: BusRequest::default(), bus_issued: false, ..shown }, bus)
    }

    fn agree(&self, port: &'static str, shown: &Shown, wanted: Option<Shown>) -> Verdict<()> {
        if wanted.as_ref() == Some(shown) {
            return Ok(());
        }
        let command = shown.pins.command;
        let what = match wanted {
            None => format!("nobody asked for {command:?} with {shown:?}"),
            Some(wanted) => format!("{command:?} with {shown:?} instead of {wanted:?}"),
        };
        self.error(port, command as u32, 0, what)
    }

    /// What the pins must show with a command, if it is one that somebody asked for.
    fn wanted(
        &self,
        command: PinCommand,
        head: Option<ArrayRequest>,
        burst: Option<BusRequest>,
        hit: bool,
        stop: bool,
    ) -> Option<Shown> {
        let any_open = self.rows.iter().any(Option::is_some);
        let none = Pins { command, ..Pins::default() };
        let only = |pins: Pins| Shown { pins, ..Shown::default() };
        let of_head = |kind| head.filter(|head| head.kind == kind && !stop);
        let column = |kind| {
            let ArrayRequest { bank, column, mac, .. } = of_head(kind).filter(|_| hit)?;
            let (bank, mac) = match kind {
                // With two slots, what the PUs do goes another way.
                ArrayKind::ReadAll if self.slots == 2 => (U::new(0), mac),
                ArrayKind::ReadAll if !self.is_known(mac.word) => return None,
                ArrayKind::ReadAll => (self.said(&mac), mac),
                _ => (bank, Mac::default()),
            };
            let pins = Pins { bank, column, ..none };
            Some(Shown { pins, mac, array_issued: true, ..Shown::default() })
        };
        let bus = |write| {
            let transfer = burst.filter(|burst| burst.write == write)?;
            let pins = Pins { column: transfer.address, ..none };
            Some(Shown { pins, transfer, bus_issued: true, ..Shown::default() })
        };
        match command {
            PinCommand::None => Some(only(none)),
            PinCommand::Act => {
                let head = head.filter(|_| !stop && !hit)?;
                let bank = match head.kind {
                    ArrayKind::CloseAll => return None,
                    ArrayKind::ReadAll if self.times.faw_banks > 4 => return None,
                    ArrayKind::ReadAll if any_open && self.opened == 0 => return None,
                    ArrayKind::ReadAll => {
                        let (index, group) = (self.opened / BANK_GROUPS, self.opened % BANK_GROUPS);
                        U::new((group * BANKS_PER_GROUP + index) as u64)
                    }
                    _ => head.bank,
                };
                Some(only(Pins { bank, row: head.row, ..none }))
            }
            PinCommand::ActAll => {
                let head = of_head(ArrayKind::ReadAll).filter(|_| self.times.faw_banks > 4)?;
                let bank = U::new(self.opened as u64);
                Some(only(Pins { bank, row: head.row, ..none }))
            }
            PinCommand::Pre => {
                let head = of_head(ArrayKind::Rd).or(of_head(ArrayKind::Wr))?;
                let other = self.rows[bank_of(&head)].is_some_and(|row| row != head.row);
                other.then_some(only(Pins { bank: head.bank, ..none }))
            }
            PinCommand::PreAll => {
                let array_issued = head.is_some_and(|head| head.kind == ArrayKind::CloseAll);
                let for_row = of_head(ArrayKind::ReadAll).is_some() && !hit && self.opened == 0;
                let asked = any_open && (stop || for_row) || array_issued && !stop;
                asked.then_some(Shown { array_issued, ..only(none) })
            }
            PinCommand::Rd => column(ArrayKind::Rd),
            PinCommand::Wr => column(ArrayKind::Wr),
            PinCommand::RdAll => column(ArrayKind::ReadAll),
            PinCommand::RdResult => bus(false),
            PinCommand::WrShared => bus(true),
            PinCommand::Mrs => None,
            PinCommand::SetWord => {
                let head = of_head(ArrayKind::ReadAll).filter(|_| hit && self.slots == 1)?;
                let column = head.mac.word;
                (!self.is_known(column)).then_some(only(Pins { column, ..none }))
            }
            PinCommand::Ref => {
                let in_turn = self.let_by >= 8 || !self.reads_wait();
                let due = stop && !any_open && in_turn;
                due.then_some(Shown { refresh_issued: true, ..only(none) })
            }
        }
    }

    /// Whether the chips read a word next, or can go back to it.
    fn is_known(&self, word: u8) -> bool {
        [self.word_set, self.word_next].contains(&word)
    }

    /// What an RD_ALL says in place of a bank: accumulate, first, last, back.
    fn said(&self, mac: &Mac) -> U<4> {
        let back = mac.word != self.word_next;
        let bits = [mac.accumulate, mac.first, mac.last, back];
        U::new(bits.into_iter().fold(0, |bits, bit| bits << 1 | u64::from(bit)))
    }

    /// Whether enough time has gone since the last array command for any RD or WR in an open row, when
    /// the pins were chosen.
    fn waits_for_data_alone(&self) -> bool {
        let Self { times, last, clock, .. } = self;
        let gone = |since: Option<u64>, wait: u64| since.is_none_or(|at| *clock >= at + wait);
        gone(last.act, times.rcd)
            && gone(last.column, times.ccd_l)
            && gone(last.write, times.wr_to_rd_s.max(times.wr_to_rd_l))
    }

    /// No array request waits longer than it has to.
    fn check_array_in_time(&self, command: PinCommand, shown: &Shown) -> Verdict<()> {
        let Self { times, last, clock, slots, .. } = self;
        let after = |at: Option<u64>, wait: u64| at.map_or(0, |at| at + wait);
        if let Some(head) = self.array.front() {
            // When its turn came.
            let turn = after(last.array, 1).max(head.accepted + 2).max(after(last.stopped, 1));
            if !shown.array_issued && *clock > turn + times.array_bound {
                let Array { request, accepted } = head;
                let what = format!("{:?} accepted at {accepted} waits for ever", request.kind);
                return self.error("array_issued_o", 0, 1, what);
            }
            // One cycle more where a bus command may go first.
            let latest = turn
                .max(after(last.act, times.rcd_mac))
                .max(after(last.column, times.ccd_l))
                .max(after(last.write, times.wr_to_rd_l))
                .max(after(last.word, times.shared_to_rd))
                + u64::from(*slots == 1);
            if command == PinCommand::SetWord && *clock > turn.max(after(last.act, 1)) + 1 {
                let what = "SET_WORD is late".to_owned();
                return self.error("pins_o", command as u32, 0, what);
            }
            let latest = latest.max(after(last.set, 1) + u64::from(*slots == 1));
            if command == PinCommand::RdAll && *clock > latest {
                let what = format!("RD_ALL is late, it could come at {latest}");
                return self.error("array_issued_o", 1, 0, what);
            }
        }
        Ok(())
    }

    /// No bus request waits longer than it has to.
    fn check_bus_in_time(&self, shown: &Shown) -> Verdict<()> {
        let Self { times, last, clock, slots, .. } = self;
        let after = |at: Option<u64>, wait: u64| at.map_or(0, |at| at + wait);
        if let Some(burst) = self.bus.front() {
            let turn =
                after(last.bus, 1).max(burst.accepted + 2).max(after(last.refresh, times.rfc));
            let turnaround =
                if burst.request.write { after(last.read_data, times.rd_to_wr) } else { 0 };
            let passed_over = u64::from(*slots == 1);
            let turned = if burst.request.write { 0 } else { after(last.word, times.shared_to_rd) };
            let between = after(last.data, times.ccd_s).max(after(last.burst, times.ccd_result));
            let freed = if burst.request.write { after(last.freed, 1) } else { 0 };
            let turn = turn.max(freed);
            let alone = turn.max(between).max(turnaround).max(turned) + passed_over;
            let shared = alone.max(turn + times.bus_bound);
            let ninth = burst.request.write && times.shared_to_rd > 0 && self.words >= WRITES_FIRST;
            let behind_read = ninth && last.reads.is_some_and(|at| at >= turn);
            // With RD and WR beside it, it may have to give way to one.
            let latest = if last.shared.is_some_and(|at| at >= turn) { shared } else { alone };
            let latest = if behind_read { latest.max(turn + times.read_bound) } else { latest };
            if *clock > latest || *clock == latest && !shown.bus_issued {
                let what = format!("bus request accepted at {} is late", burst.accepted);
                return self.error("bus_issued_o", shown.bus_issued.into(), 1, what);
            }
        }
        Ok(())
    }

    /// Whether an RD_RESULT was in the queue when the pins were chosen.
    fn reads_wait(&self) -> bool {
        self.bus.iter().any(|burst| !burst.request.write && burst.accepted + 2 <= self.clock)
    }

    /// A REF comes as soon as it may, behind the reads of results that it lets pass.
    fn check_refresh(&mut self, commands: [PinCommand; 2], stop: bool) -> Verdict<()> {
        let Self { times, last, clock, .. } = self;
        let over = |at: Option<u64>, wait: u64| at.is_none_or(|at| *clock >= at + wait);
        let closed = self.rows.iter().all(Option::is_none);
        let may_refresh =
            stop && closed && over(last.closed, times.rp) && over(last.refresh, times.rfc);
        if !may_refresh {
            self.let_by = 0;
            return Ok(());
        }
        let due = self.let_by >= 8 || !self.reads_wait();
        // A bus command that stood back for the PREA goes first even so.
        if due && commands[0] == PinCommand::None {
            let what = "nothing is in the way of a REF".to_owned();
            return self.error("pins_o", 0, PinCommand::Ref as u32, what);
        }
        self.let_by += usize::from(commands.contains(&PinCommand::RdResult));
        Ok(())
    }

    /// Takes note of the command in a slot, and has `golden` check it.
    fn obey(&mut self, command: PinCommand, shown: &Shown, slot: u64) -> Verdict<()> {
        let Pins { bank, row, column, .. } = shown.pins;
        let (bank, column) = (bank.get() as usize, usize::from(column));
        let clock = Some(self.clock);
        let pin = match command {
            PinCommand::None => return Ok(()),
            PinCommand::Act => Pin::Act { bank, row: row.into() },
            PinCommand::ActAll => Pin::ActAll { bank, row: row.into() },
            PinCommand::Pre => Pin::Pre { bank },
            PinCommand::PreAll => Pin::PreAll,
            PinCommand::Rd => Pin::Rd { bank, column },
            PinCommand::Wr => Pin::Wr { bank, column },
            PinCommand::RdAll => Pin::RdAll { column },
            PinCommand::RdResult => Pin::RdResult { bank: column % BANKS },
            PinCommand::WrShared => Pin::WrShared { word: column },
            PinCommand::Ref => Pin::Ref,
            PinCommand::SetWord => Pin::SetWord { word: column },
            PinCommand::Mrs => Pin::Mrs { register: bank, opcode: row.into() },
        };
        let slots = self.slots as u64;
        let at = slots * self.clock + slot;
        let mut found = self.checker.command(at, pin);
        let driver = match command {
            PinCommand::Rd | PinCommand::RdResult => {
                Some((Driver::Dram, slots * self.times.rd_to_wr - 1))
            }
            PinCommand::Wr | PinCommand::WrShared => Some((Driver::Controller, 0)),
            _ => None,
        };
        if let Some((driver, latency)) = driver {
            let from = at + latency;
            found.extend(self.checker.data(from, from + 1, driver));
            self.last.data = clock;
            self.last.data_by_bus = shown.bus_issued;
            if driver == Driver::Dram {
                self.last.read_data = clock;
            }
        }
        if let Some(violation) = found.first() {
            return self.error("pins_o", command as u32, 0, violation.to_string());
        }
        self.commands += 1;
        if matches!(command, PinCommand::RdResult | PinCommand::WrShared) {
            self.last.burst = clock;
        }
        if command == PinCommand::WrShared {
            self.last.word = clock;
            self.words += 1;
        }

        let head = self.array.front();
        let of_all = head.is_some_and(|head| head.request.kind == ArrayKind::ReadAll);
        match command {
            PinCommand::Act => {
                self.rows[bank] = Some(row);
                self.last.act = clock;
                self.opened = if of_all { (self.opened + 1) % BANKS } else { 0 };
                if of_all && self.opened == 0 {
                    self.uniform = Some(row);
                }
            }
            PinCommand::ActAll => {
                self.rows[bank..bank + self.times.faw_banks].fill(Some(row));
                self.last.act = clock;
                self.opened = (self.opened + self.times.faw_banks) % BANKS;
                self.uniform = (self.opened == 0).then_some(row);
            }
            PinCommand::Pre => {
                (self.rows[bank], self.uniform) = (None, None);
                self.last.closed = clock;
            }
            PinCommand::PreAll => {
                self.last.closed = clock;
                self.rows = [None; BANKS];
                (self.uniform, self.opened) = (None, 0);
            }
            PinCommand::RdAll => {
                self.last.column = clock;
                self.last.freed = if self.words >= WRITES_FIRST { clock } else { self.last.freed };
                self.words = 0;
                self.word_next = shown.mac.word.wrapping_add(1);
            }
            PinCommand::SetWord => {
                self.last.set = clock;
                (self.word_set, self.word_next) = (column as u8, column as u8);
            }
            PinCommand::Rd => self.last.column = clock,
            PinCommand::Wr => (self.last.column, self.last.write) = (clock, clock),
            PinCommand::Ref => self.last.refresh = clock,
            PinCommand::None | PinCommand::RdResult | PinCommand::WrShared | PinCommand::Mrs => {}
        }
        if shown.array_issued {
            self.last.array = clock;
            self.array.pop_front();
        }
        if shown.bus_issued {
            self.last.bus = clock;
            self.bus.pop_front();
        }
        Ok(())
    }
}
