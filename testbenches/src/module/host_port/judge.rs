// SPDX-License-Identifier: MIT
//! What a host port is to do, tCK by tCK, written from its contract: bursts in a queue, elements in a list,
//! and the number of the tCK in which each thing is due.

use super::queue::{Burst, Message, Queue};
use super::results::{Stream, lanes};
use pimlico_dpa::types::{
    Burst as Words, DramPins, Fault, Load, LoadKind, PinCommand, Pins, RunEnd, Start, Status,
    Timing,
};
use pimlico_ports::{Enumerated, U};
use pimlico_units::module::{HostPortIn, HostPortOut};
use std::collections::VecDeque;

/// The row that is a window.
pub(in crate::module) const ROW: u16 = 65535;
/// tCK of a burst on the data bus.
pub(in crate::module) const BURST: u64 = 4;
/// `operands_o` where more are to come.
const MORE: u64 = 127;

/// Who owns the chips' pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::module) enum Owner {
    Host,
    Left,
    Run,
}

/// A window, by the bank of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::module) enum Window {
    Mailbox,
    Operands,
    Status,
    Results,
}

impl Window {
    const ALL: [Self; 4] = [Self::Mailbox, Self::Operands, Self::Status, Self::Results];

    pub fn of_bank(bank: usize) -> Self {
        Self::ALL[bank % 4]
    }
}

/// What happens in a tCK, for the plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::module) enum Event {
    /// A PREA, and whether a START waits.
    PreAll { owner: Owner, waits: bool },
    /// A command closes an open window.
    Closes(PinCommand),
    /// A WR or RD of a window.
    Window { window: Window, writes: bool, bank: usize, owner: Owner },
    /// A WR or RD of a bank without an open window.
    NoWindow,
    /// A burst enters the queue, in which there are so many with it.
    Enters { message: Message, owner: Owner, queued: usize },
    /// A burst finds no room.
    Lost(Message),
    /// The burst at the head leaves; of a LOAD kind, number of data words, and whether their addresses wrap.
    Leaves { message: Message, owner: Owner, load: Option<(LoadKind, usize, bool)> },
    /// The message at the head waits.
    Waits { message: Message, owner: Owner },
    /// A START waits for tRP alone.
    Precharging,
    /// A START is executed.
    Starts { behind_a_run: bool, operands: u64, waiting: usize },
    /// The unit rests while bursts with so many elements are unfinished: they are asked for.
    Asks([usize; 2]),
    /// It rests, and tRFC is not over.
    Refreshing { this_tck: bool },
    /// A run ends, with so many operands to come.
    Ends { operands: u64 },
    /// A burst is written, whole or not.
    Written { stream: usize, whole: bool },
    /// Two bursts are written.
    BothWritten,
    /// A burst of results is read, so many bursts behind the newest.
    Result { stream: usize, age: u64, upper: bool },
    /// The status is read.
    Status { words: [u64; 3] },
}

/// A read of a window that is on its way.
struct Read {
    window: Window,
    bank: usize,
    column: usize,
    /// tCK in which it is answered.
    at: u64,
}

/// What the unit puts out in a beat.
pub(in crate::module) struct Expected {
    pub out: HostPortOut,
    /// The beat on the data bus is unspecified.
    pub dq_open: bool,
}

/// A host port.
pub(in crate::module) struct Port {
    gear: u64,
    /// The present tCK.
    pub tck: u64,
    pub owner: Owner,
    /// Banks whose window is open.
    pub open: [bool; 16],
    /// Bursts of the host that are on their way, and the first tCK of their data.
    arrivals: VecDeque<(u64, Burst)>,
    reads: VecDeque<Read>,
    /// What windows drive: the first tCK, and the data if they are specified.
    driven: VecDeque<(u64, Option<Words>)>,
    pub queue: Queue,
    /// The present cycle of the core: a burst is at the head; it is a START that is executed.
    at_head: bool,
    starting: bool,
    /// Data words of the LOAD at the head that are written.
    written: usize,
    /// tCK of the PREA that gave the pins away.
    given: Option<u64>,
    refreshed: Option<u64>,
    taken: u64,
    lost: bool,
    refused: bool,
    runs: u64,
    operands: u64,
    scale: u16,
    overflow: bool,
    fault: Fault,
    status: [Status; 16],
    end: RunEnd,
    /// Elements of the last cycle, by stream and lane.
    packing: [Vec<Option<u16>>; 2],
    /// Unfinished bursts are written in this tCK.
    asked: bool,
    pub streams: [Stream; 2],
    /// The last burst of results that was read is unspecified.
    pub unspecified: bool,
    pub events: Vec<Event>,
}

impl Port {
    pub fn new(gear: usize) -> Self {
        Self {
            gear: gear as u64,
            tck: 0,
            owner: Owner::Host,
            open: [false; 16],
            arrivals: VecDeque::new(),
            reads: VecDeque::new(),
            driven: VecDeque::new(),
            queue: Queue::default(),
            at_head: false,
            starting: false,
            written: 0,
            given: None,
            refreshed: None,
            taken: 0,
            lost: false,
            refused: false,
            runs: 0,
            operands: 0,
            scale: 0,
            overflow: false,
            fault: Fault::None,
            status: [Status::NotStarted; 16],
            end: RunEnd::default(),
            packing: Default::default(),
            asked: false,
            streams: Default::default(),
            unspecified: false,
            events: Vec::new(),
        }
    }

    /// The present tCK is the first of a cycle of the core.
    pub fn begins_cycle(&self) -> bool {
        self.tck.is_multiple_of(self.gear)
    }

    pub fn ends_cycle(&self) -> bool {
        (self.tck + 1).is_multiple_of(self.gear)
    }

    /// A START waits in this tCK.
    pub fn waits(&self) -> bool {
        self.queue.starts(self.tck) > 0
    }

    pub fn has_ended(&self) -> bool {
        self.owner == Owner::Left && !self.waits()
    }

    /// Operands that the run has not taken yet, 127 if more.
    pub fn operands(&self) -> u64 {
        self.operands.min(MORE)
    }

    /// The burst that is the operand in this cycle.
    pub fn operand(&self) -> Option<&Burst> {
        let head = self.head().filter(|_| self.owner == Owner::Run);
        head.filter(|head| head.message() == Message::Operand)
    }

    fn head(&self) -> Option<&Burst> {
        self.queue.head().filter(|_| self.at_head)
    }

    /// The outputs under `input`.
    pub fn expected(&self, input: &HostPortIn, second: bool) -> Expected {
        let mut out = HostPortOut {
            memory_o: self.owner != Owner::Run,
            owns_o: self.owner == Owner::Host,
            scale_o: self.scale,
            operands_o: U::new(self.operands()),
            host_dq_valid_o: input.module_dq_valid_i,
            host_dq_o: input.module_dq_i,
            ..HostPortOut::default()
        };
        if self.owner == Owner::Host {
            out.pins_o = of_chips(command(&input.host_pins_i), &input.timing_i);
        }
        let mut dq_open = false;
        if let Some((from, words)) = self.driven.front().filter(|(from, _)| *from <= self.tck) {
            let beat = 2 * (self.tck - from) as usize + usize::from(second);
            out.host_dq_valid_o = true;
            out.host_dq_o = words.map_or(0, |words| words[beat]);
            dq_open = words.is_none();
        }
        if let Some(load) = self.load() {
            (out.load_valid_o, out.load_o) = (true, load);
        }
        if let Some(head) = self.head().filter(|_| self.starting) {
            let [word, ..] = head.words;
            let (request, address) = (U::new(word >> 16 & 0xF), U::new(word >> 32 & 0x3FFF));
            (out.start_valid_o, out.start_o) = (true, Start { request, address });
        }
        if let Some(operand) = self.operand() {
            (out.operand_valid_o, out.operand_o) = (true, operand.words);
        }
        Expected { out, dq_open }
    }

    /// Runs that have ended.
    pub fn runs_ended(&self) -> u64 {
        self.runs
    }

    /// How the program of the last run ended.
    pub fn last_end(&self) -> RunEnd {
        self.end
    }

    /// What the LOAD at the head writes in this cycle.
    fn load(&self) -> Option<Load> {
        let head = self.head().filter(|_| self.owner != Owner::Run)?;
        let (kind, count) = head.load()?;
        let address = (head.words[0] >> 16) as u16;
        let data = *head.words[1..=count].get(self.written)?;
        Some(Load { kind, address: address.wrapping_add(self.written as u16), data })
    }

    /// Goes through the present tCK, of which `first` and `second` are the beats.
    pub fn step(&mut self, first: &HostPortIn, second: &HostPortIn) {
        self.events.clear();
        // What this tCK shows is taken first.
        self.answer();
        let waits = self.waits();
        let queued = self.queue.len();
        let asked = std::mem::take(&mut self.asked);
        self.command(first, waits);
        self.arrive(first, second, queued);
        self.pack();
        if first.refresh_i {
            self.refreshed = Some(self.tck);
        }
        if self.ends_cycle() {
            self.end_cycle(second, asked);
        }
        self.tck += 1;
        self.driven.retain(|(from, _)| from + BURST > self.tck);
        if self.begins_cycle() {
            self.begin_cycle(first);
        }
    }

    /// The host's command: windows, and the pins' owner.
    fn command(&mut self, input: &HostPortIn, waits: bool) {
        let pins = command(&input.host_pins_i);
        let bank = pins.bank();
        match pins.command {
            PinCommand::Act => {
                self.close(bank..bank + 1, pins.command, pins.row != ROW);
                self.open[bank] = pins.row == ROW;
            }
            PinCommand::Pre => self.close(bank..bank + 1, pins.command, true),
            PinCommand::PreAll => {
                self.close(0..16, pins.command, true);
                self.events.push(Event::PreAll { owner: self.owner, waits });
                match self.owner {
                    Owner::Host if waits => {
                        self.owner = Owner::Left;
                        self.given = Some(self.tck);
                    }
                    Owner::Left if !waits => self.owner = Owner::Host,
                    _ => {}
                }
            }
            PinCommand::Rd | PinCommand::Wr if !self.open[bank] => {
                self.events.push(Event::NoWindow);
            }
            PinCommand::Rd | PinCommand::Wr => self.access(input, &pins),
            _ => {}
        }
    }

    fn close(&mut self, banks: std::ops::Range<usize>, by: PinCommand, closes: bool) {
        for bank in banks {
            if closes && self.open[bank] {
                self.open[bank] = false;
                self.events.push(Event::Closes(by));
            }
        }
    }

    /// A WR or RD of a window.
    fn access(&mut self, input: &HostPortIn, pins: &Pins) {
        let (cl, cwl) = (u64::from(input.timing_i.cl), u64::from(input.timing_i.cwl));
        let (bank, column) = (pins.bank(), pins.column());
        let window = Window::of_bank(bank);
        let writes = pins.command == PinCommand::Wr;
        self.events.push(Event::Window { window, writes, bank, owner: self.owner });
        if !writes {
            self.reads.push_back(Read { window, bank, column, at: self.tck + cl - 1 });
        } else if matches!(window, Window::Mailbox | Window::Operands) {
            let burst = Burst::new(window == Window::Operands);
            self.arrivals.push_back((self.tck + cwl - 1, burst));
        }
    }

    /// The read that is due in this tCK, of what is there in it.
    fn answer(&mut self) {
        if self.reads.front().is_none_or(|read| read.at != self.tck) {
            return;
        }
        let Some(Read { window, bank, column, .. }) = self.reads.pop_front() else { return };
        let words = match window {
            Window::Mailbox | Window::Operands => Some([0; 8]),
            Window::Status => {
                let words = self.status();
                self.events.push(Event::Status { words: [words[0], words[1], words[2]] });
                Some(words)
            }
            Window::Results => {
                let (stream, place) = (bank / 8, column % 32 * 2 + bank / 4 % 2);
                let of = &self.streams[stream];
                if let Some(age) = of.age(place) {
                    self.events.push(Event::Result { stream, age, upper: column >= 32 });
                }
                self.unspecified |= of.at(place).is_none();
                of.at(place)
            }
        };
        self.driven.push_back((self.tck + 2, words));
    }

    /// The status in this tCK.
    fn status(&self) -> Words {
        let modulo = |count: u64| count % 65536;
        let flags = [self.waits(), self.has_ended(), self.lost, self.refused, self.overflow];
        let flags = (2..).zip(flags).fold(0, |all, (bit, flag)| all | u64::from(flag) << bit);
        let [contexts, outputs] = [0, 1].map(|stream| modulo(self.streams[stream].count));
        let RunEnd { status, address, layer } = self.end;
        let end = status.code() << 12 | address.get() << 16 | u64::from(layer) << 32;
        let requests = (0..).zip(self.status);
        let mut words = [0; 8];
        words[0] = self.owner as u64 | flags | self.fault.code() << 8 | end;
        words[1] = modulo(self.taken) | contexts << 16 | outputs << 32 | modulo(self.runs) << 48;
        words[2] = requests.fold(0, |all, (n, status)| all | status.code() << (4 * n));
        words
    }

    /// The host's data: a burst is written to the queue in the tCK behind its last beat.
    fn arrive(&mut self, first: &HostPortIn, second: &HostPortIn, queued: usize) {
        for (from, burst) in &mut self.arrivals {
            if (*from..*from + BURST).contains(&self.tck) {
                let beat = 2 * (self.tck - *from) as usize;
                burst.words[beat] = first.host_dq_i;
                burst.words[beat + 1] = second.host_dq_i;
            }
        }
        if self.arrivals.front().is_none_or(|(from, _)| from + BURST != self.tck) {
            return;
        }
        let Some((_, burst)) = self.arrivals.pop_front() else { return };
        let message = burst.message();
        if queued == Queue::ROOM {
            self.lost = true;
            self.taken += 1;
            self.events.push(Event::Lost(message));
        } else {
            self.queue.push(burst, self.tck + 1);
            self.events.push(Event::Enters { message, owner: self.owner, queued: queued + 1 });
        }
    }

    /// A lane of the last cycle of the core in each tCK.
    fn pack(&mut self) {
        let lane = (self.tck % self.gear) as usize;
        let mut count = 0;
        for (stream, of) in self.streams.iter_mut().enumerate() {
            if let Some(whole) = of.write() {
                self.events.push(Event::Written { stream, whole });
                count += 1;
            }
            if let Some(element) = self.packing[stream].get(lane).copied().flatten() {
                of.push(element);
            }
        }
        if count == 2 {
            self.events.push(Event::BothWritten);
        }
    }

    /// The end of a cycle of the core, with the inputs of its last beat.
    fn end_cycle(&mut self, input: &HostPortIn, asked: bool) {
        let owner = self.owner;
        let results = [lanes(input, self.gear, 0), lanes(input, self.gear, 1)];
        if input.end_valid_i {
            self.end = input.end_i;
        }
        if self.starting {
            self.start();
        } else {
            self.advance(owner, input);
        }
        if owner == Owner::Run {
            let none = |lanes: &[Vec<Option<u16>>; 2]| lanes.iter().flatten().all(Option::is_none);
            let rests = input.over_i && input.settled_i && none(&results) && none(&self.packing);
            if rests && !asked {
                self.rest(input);
            }
        }
        (self.overflow, self.fault) = (input.overflow_i, input.fault_i);
        self.status = input.status_i;
        self.packing = results;
    }

    /// The START at the head is executed.
    fn start(&mut self) {
        let waiting = self.queue.starts(self.tck);
        let Some(burst) = self.queue.pop() else { return };
        let [first, second, ..] = burst.words;
        self.taken += 1;
        self.operands = second & 0xFFFF_FFFF;
        self.scale = (first >> 48) as u16;
        self.end = RunEnd::default();
        self.owner = Owner::Run;
        let behind_a_run = self.given.is_none();
        self.given = None;
        self.events.push(Event::Starts { behind_a_run, operands: self.operands, waiting });
    }

    /// The burst at the head, if it is no START that is executed.
    fn advance(&mut self, owner: Owner, input: &HostPortIn) {
        let Some(head) = self.head() else { return };
        let (message, load) = (head.message(), head.load());
        let runs = owner == Owner::Run;
        let leaves = match message {
            Message::Operand if runs => input.operand_taken_i,
            Message::Operand | Message::Refused => true,
            Message::Load => !runs && self.written + 1 >= load.map_or(0, |(_, count)| count),
            Message::Start => false,
        };
        if leaves {
            let wraps = |count: usize| (head.words[0] >> 16 & 0xFFFF) + count as u64 > 0x1_0000;
            let load = load.map(|(kind, count)| (kind, count, wraps(count)));
            self.queue.pop();
            self.taken += 1;
            self.written = 0;
            self.refused |= message == Message::Refused;
            if runs && message == Message::Operand {
                self.operands = self.operands.saturating_sub(1);
            }
            self.events.push(Event::Leaves { message, owner, load });
        } else if message == Message::Load && !runs {
            self.written += 1;
        } else {
            self.events.push(Event::Waits { message, owner });
        }
    }

    /// The unit rests: what is unfinished is asked for, or the run ends.
    fn rest(&mut self, input: &HostPortIn) {
        let unfinished = [0, 1].map(|stream| self.streams[stream].unfinished());
        let refresh_ends = self.refreshed.map(|at| at + u64::from(input.timing_i.rfc) + 1);
        if unfinished != [0; 2] {
            self.streams.iter_mut().for_each(Stream::ask);
            self.asked = true;
            self.events.push(Event::Asks(unfinished));
        } else if refresh_ends.is_some_and(|ends| self.tck < ends) {
            let this_tck = self.refreshed == Some(self.tck);
            self.events.push(Event::Refreshing { this_tck });
        } else {
            self.owner = Owner::Left;
            self.runs += 1;
            self.events.push(Event::Ends { operands: self.operands });
        }
    }

    /// The burst at the head of the cycle that begins.
    fn begin_cycle(&mut self, input: &HostPortIn) {
        let last = self.tck - 1;
        self.at_head = self.queue.head().is_some_and(|head| head.from <= last);
        let ready = |given: u64| self.tck > given + u64::from(input.timing_i.rp);
        let is_start = self.head().is_some_and(|head| head.message() == Message::Start);
        let waits = is_start && self.owner == Owner::Left;
        self.starting = waits && self.given.is_none_or(ready);
        if waits && !self.starting {
            self.events.push(Event::Precharging);
        }
    }
}

/// The host's command on the pins. What JEDEC leaves to the host is not looked at.
pub(in crate::module) fn command(pins: &DramPins) -> Pins {
    let bank = (pins.bg.get() << 2 | pins.ba.get()) as usize;
    let a = pins.a.get() as usize;
    let is_high = |bit: usize| a >> bit & 1 != 0;
    let is_burst = is_high(12) && !is_high(10) && a & 7 == 0;
    let column = a >> 3 & 0x7F;
    match (pins.cs_n, pins.act_n, [pins.ras_n, pins.cas_n, pins.we_n]) {
        (true, ..) => Pins::NONE,
        (_, false, [false, a15, a14]) => {
            Pins::act(bank, usize::from(a15) << 15 | usize::from(a14) << 14 | a)
        }
        (_, true, [false, true, false]) if is_high(10) => Pins::PRE_ALL,
        (_, true, [false, true, false]) => Pins::pre(bank),
        (_, true, [false, false, true]) => Pins::REF,
        (_, true, [false, false, false]) if bank < 8 => Pins::mrs(bank, a),
        (_, true, [true, false, true]) if is_burst => Pins::rd(bank, column),
        (_, true, [true, false, false]) if is_burst => Pins::wr(bank, column),
        _ => Pins::NONE,
    }
}

/// The host's command as chips with these timings get it: `levels` are their registers from A13 down to A0, - where the
/// level is the host's.
fn of_chips(pins: Pins, timing: &Timing) -> Pins {
    if pins.command != PinCommand::Mrs {
        return pins;
    }
    // The codes of CL and CWL stand where JESD79-4's tables of MR0 and MR2 have these latencies.
    let code = |table: &[u8], tck| table.iter().position(|it| *it == tck).unwrap_or(0);
    let cl_table = [
        9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 23, 17, 19, 21, 25, 26, 27, 28, 29, 30, 31,
        32,
    ];
    let cl = code(&cl_table, timing.cl);
    let cwl = code(&[9, 10, 11, 12, 14, 16, 18, 20], timing.cwl);
    let levels = match pins.bank() {
        0 => "-c-----ccc-c00",
        1 => "---------00---",
        2 => "-0------www---",
        3 => "-----000-000--",
        4 => "-----000------",
        5 => "-000-------000",
        _ => "--------------",
    };
    // The lowest bit of a code is the one that comes last.
    let (mut cl, mut cwl) = (cl, cwl);
    let row = levels.chars().rev().enumerate().map(|(bit, level)| {
        let of = |code: &mut usize| std::mem::replace(code, *code >> 1) & 1;
        let high = match level {
            '-' => pins.row() >> bit & 1,
            'c' => of(&mut cl),
            'w' => of(&mut cwl),
            _ => 0,
        };
        high << bit
    });
    Pins::mrs(pins.bank(), row.sum())
}
