// SPDX-License-Identifier: MIT
//! The host of a host port: messages, operands, hand-overs of the pins, and rows of its own in between.

use super::judge::{BURST, Owner, Port, ROW, command};
use super::results::PLACES;
use crate::random::Random;
use pimlico_dpa::types::{Beat, Burst, DramPins, PinCommand, Pins};
use pimlico_ports::U;
use std::collections::VecDeque;

/// The windows, by the bank of their group.
const MAILBOX: usize = 0;
const OPERANDS: usize = 1;
const STATUS: usize = 2;
const RESULTS: usize = 3;

/// tCK that the host waits for something to happen.
const PATIENCE: u64 = 100;
/// The same, for the end of a run.
const RUN: u64 = 1500;
/// Bursts of results behind the newest that no run under way overwrites while they are read.
const SAFE: u64 = 32;

/// What the host does next.
enum Step {
    /// A WR of a window.
    Write {
        bank: usize,
        words: Burst,
    },
    /// An RD of a window.
    Read {
        bank: usize,
        column: usize,
    },
    /// An RD of a burst of results.
    Result,
    /// An ACT of another row.
    Open {
        bank: usize,
        row: usize,
    },
    /// A WR or RD wherever it goes.
    Access {
        writes: bool,
        bank: usize,
        column: usize,
    },
    Close(usize),
    /// An MRS with any opcode.
    Mode(usize),
    PreAll,
    Refresh,
    /// Pins without a meaning to a host, or without one at all.
    Code,
    Wait(u64),
    /// Until a START waits, a run is under way, or the last has ended; or for so many tCK.
    UntilWaits(u64),
    UntilRun(u64),
    UntilEnd(u64),
}

/// Plays the host.
pub(super) struct Host {
    random: Random,
    cl: u64,
    cwl: u64,
    /// Seeds of what is to do, the next first.
    actions: VecDeque<u64>,
    steps: VecDeque<Step>,
    /// A step in one of so many tCK.
    pace: u64,
    /// What the pins have no use for is not 0.
    dirty: bool,
    rows: [Option<u16>; 16],
    /// The tCK from which on the next WR, the next RD and the next data may come.
    next_write: u64,
    next_read: u64,
    next_data: u64,
    /// What the host drives, from a tCK on.
    data: VecDeque<(u64, Burst)>,
    /// From when on the chips answer a RD.
    answers: VecDeque<u64>,
    /// The module drives the bus where it is not asked.
    drives: bool,
}

impl Host {
    pub fn new(seed: u64, actions: &[u64], (cl, cwl): (u8, u8)) -> Self {
        let mut random = Random(seed);
        let pace = [1, 1, 1, 2, 5][random.below(5) as usize];
        let (dirty, drives) = (random.one_in(2), random.one_in(3));
        Self {
            random,
            cl: cl.into(),
            cwl: cwl.into(),
            actions: actions.iter().copied().collect(),
            steps: VecDeque::new(),
            pace,
            dirty,
            rows: [None; 16],
            next_write: 0,
            next_read: 0,
            next_data: 0,
            data: VecDeque::new(),
            answers: VecDeque::new(),
            drives,
        }
    }

    /// There is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.actions.is_empty() && self.steps.is_empty()
    }

    /// The pins of the present tCK.
    pub fn pins(&mut self, port: &Port) -> DramPins {
        if self.steps.is_empty()
            && let Some(action) = self.actions.pop_front()
        {
            self.random = Random(action);
            self.plan(port);
        }
        let pauses = !self.random.one_in(self.pace);
        let pins = if pauses { Pins::NONE } else { self.step(port) };
        let pins = match pins {
            Pins { command: PinCommand::SetWord, .. } => self.code(),
            pins => self.soiled(pins.encode()),
        };
        self.follow(port, &command(&pins));
        pins
    }

    /// A beat of the host's data bus: what the host writes, and otherwise anything.
    pub fn beat(&mut self, tck: u64, second: bool) -> Beat {
        self.data.retain(|(from, _)| from + BURST > tck);
        match self.data.front().filter(|(from, _)| *from <= tck) {
            Some((from, words)) => words[2 * (tck - from) as usize + usize::from(second)],
            None => self.random.next(),
        }
    }

    /// The beat that the module drives.
    pub fn module_beat(&mut self, tck: u64) -> Option<Beat> {
        self.answers.retain(|from| from + BURST > tck);
        let answers = self.answers.front().is_some_and(|from| *from <= tck);
        let drives = answers || self.drives && self.random.one_in(16);
        drives.then(|| self.random.next())
    }

    /// Takes the next step, if its time has come. SET_WORD stands for a code without a meaning.
    fn step(&mut self, port: &Port) -> Pins {
        let Some(step) = self.steps.pop_front() else { return Pins::NONE };
        let (pins, again) = match step {
            Step::Write { bank, words } => match self.window(bank, true, port) {
                Some(pins) => (pins, Some(Step::Write { bank, words })),
                None => {
                    self.data.push_back((port.tck + self.cwl - 1, words));
                    (Pins::wr(bank, self.random.below(128) as usize), None)
                }
            },
            Step::Read { bank, column } => match self.window(bank, false, port) {
                Some(pins) => (pins, Some(Step::Read { bank, column })),
                None => (Pins::rd(bank, column), None),
            },
            Step::Result => {
                let read = self.result(port);
                if let Some((bank, column)) = read {
                    self.steps.push_front(Step::Read { bank, column });
                }
                (Pins::NONE, None)
            }
            Step::Open { bank, row } => (Pins::act(bank, row), None),
            Step::Access { writes, bank, column } => {
                // The bursts of a window have steps of their own.
                if port.open[bank] {
                    (Pins::NONE, None)
                } else if !self.is_free(writes, port.tck) {
                    (Pins::NONE, Some(step))
                } else if writes {
                    (Pins::wr(bank, column), None)
                } else {
                    (Pins::rd(bank, column), None)
                }
            }
            Step::Close(bank) => (Pins::pre(bank), None),
            Step::Mode(register) => {
                (Pins::mrs(register, self.random.next() as usize & 0x3FFF), None)
            }
            Step::PreAll => (Pins::PRE_ALL, None),
            Step::Refresh => (Pins::REF, None),
            Step::Code => (Pins { command: PinCommand::SetWord, ..Pins::NONE }, None),
            Step::Wait(tck) => (Pins::NONE, (tck > 1).then(|| Step::Wait(tck - 1))),
            Step::UntilWaits(tck) => {
                (Pins::NONE, (tck > 0 && !port.waits()).then(|| Step::UntilWaits(tck - 1)))
            }
            Step::UntilRun(tck) => {
                let waits = tck > 0 && port.owner != Owner::Run;
                (Pins::NONE, waits.then(|| Step::UntilRun(tck - 1)))
            }
            Step::UntilEnd(tck) => {
                let waits = tck > 0 && !port.has_ended();
                (Pins::NONE, waits.then(|| Step::UntilEnd(tck - 1)))
            }
        };
        let meanwhile = matches!(again, Some(Step::UntilEnd(_))) && self.random.one_in(12);
        if let Some(again) = again {
            self.steps.push_front(again);
        }
        if meanwhile {
            self.look(port);
        }
        pins
    }

    /// What has to come before a burst of a window: its ACT, or some time.
    fn window(&mut self, bank: usize, writes: bool, port: &Port) -> Option<Pins> {
        if self.rows[bank] != Some(ROW) {
            return Some(Pins::act(bank, ROW.into()));
        }
        (!self.is_free(writes, port.tck)).then_some(Pins::NONE)
    }

    fn is_free(&self, writes: bool, tck: u64) -> bool {
        if writes {
            tck >= self.next_write && tck + self.cwl > self.next_data
        } else {
            tck >= self.next_read && tck + self.cl + 1 >= self.next_data
        }
    }

    /// Remembers what a command takes.
    fn follow(&mut self, port: &Port, pins: &Pins) {
        let (tck, bank) = (port.tck, pins.bank());
        match pins.command {
            PinCommand::Act => self.rows[bank] = Some(pins.row),
            PinCommand::Pre => self.rows[bank] = None,
            PinCommand::PreAll => self.rows = [None; 16],
            PinCommand::Wr => {
                self.next_write = tck + BURST;
                self.next_data = tck + self.cwl - 1 + BURST;
            }
            PinCommand::Rd => {
                self.next_read = tck + BURST;
                self.next_data = tck + self.cl + 1 + BURST;
                if port.owner == Owner::Host {
                    self.answers.push_back(tck + self.cl + 1);
                }
            }
            _ => {}
        }
    }

    /// Bank and column of a burst of results that is there, and will be when it is read.
    fn result(&mut self, port: &Port) -> Option<(usize, usize)> {
        let stream = self.random.below(2);
        let count = port.streams[stream as usize].count;
        let most = if port.owner == Owner::Run { SAFE } else { PLACES };
        let there = count.min(most);
        let behind = match self.random.below(4) {
            _ if there == 0 => return None,
            0 => 0,
            1 => there - 1,
            2 if there == PLACES => there - 1,
            _ => self.random.below(there),
        };
        let place = (count - 1 - behind) % PLACES;
        let column = place / 2 + 32 * self.random.below(4);
        let group = 2 * stream + place % 2;
        Some((4 * group as usize + RESULTS, column as usize))
    }

    /// The levels that a host may choose are chosen.
    fn soiled(&mut self, pins: DramPins) -> DramPins {
        let any = self.random.next();
        let free = match command(&pins).command {
            _ if !self.dirty => return pins,
            PinCommand::Rd | PinCommand::Wr => 1 << 13 | 1 << 11,
            PinCommand::Pre => 0x3FFF & !(1 << 10),
            PinCommand::PreAll | PinCommand::Ref => 0x3FFF & !(1 << 10),
            PinCommand::None => 0x3FFF,
            _ => 0,
        };
        let mut pins = DramPins { a: U::new(pins.a.get() ^ any & free), ..pins };
        if matches!(command(&pins).command, PinCommand::PreAll | PinCommand::Ref) {
            (pins.bg, pins.ba) = (U::new(any >> 14 & 3), U::new(any >> 16 & 3));
        } else if pins.cs_n {
            [pins.act_n, pins.ras_n, pins.cas_n, pins.we_n] =
                [14, 15, 16, 17].map(|bit| any >> bit & 1 != 0);
        }
        pins
    }

    /// A code that is none of a host's, mostly close to one that is.
    fn code(&mut self) -> DramPins {
        let any = self.random.next();
        let bank = any as usize % 16;
        let near = match self.random.below(4) {
            0 => Pins::act(bank, ROW.into()),
            1 => Pins::act_all(bank, ROW.into()),
            2 => Pins::rd(bank, any as usize >> 4 & 0x7F),
            _ => Pins::wr(bank, any as usize >> 4 & 0x7F),
        };
        let near = near.encode();
        let a = near.a.get() ^ 1 << self.random.below(14);
        let code = match self.random.below(3) {
            0 => DramPins { a: U::new(a), ..near },
            1 => DramPins { ras_n: true, ..near },
            _ => DramPins {
                cs_n: false,
                act_n: true,
                ras_n: any >> 8 & 1 != 0,
                cas_n: any >> 9 & 1 != 0,
                we_n: any >> 10 & 1 != 0,
                a: U::new(any >> 20 & 0x3FFF),
                ..near
            },
        };
        match command(&code).command {
            PinCommand::None => code,
            _ => DramPins { cs_n: true, ..code },
        }
    }

    /// Plans an action.
    fn plan(&mut self, port: &Port) {
        if port.has_ended() && self.random.one_in(2) {
            self.steps.push_back(Step::PreAll);
        }
        if port.streams.iter().any(|stream| stream.count >= PLACES) {
            // A burst that the next one replaces can still be read.
            self.steps.extend([Step::Result, Step::Result]);
        }
        match self.random.below(16) {
            0..7 => self.job(port),
            7 if port.owner == Owner::Host => self.flood(),
            7..9 => self.own_rows(port),
            9 => self.steps.push_back(Step::PreAll),
            10 => {
                for _ in 0..self.random.below(6) {
                    self.load();
                }
            }
            11 => self.read_all(),
            12 => self.mistakes(),
            13 => {
                for _ in 0..1 + self.random.below(8) {
                    self.operand();
                }
            }
            14 => {
                for _ in 0..8 {
                    self.steps.push_back(Step::Result);
                }
            }
            _ => {
                let tck = 1 + self.random.below(60);
                self.steps.push_back(Step::Wait(tck));
            }
        }
    }

    /// Programs, STARTs with their operands, and both hand-overs.
    fn job(&mut self, port: &Port) {
        for _ in 0..self.random.below(4) {
            self.load();
        }
        let runs = 1 + self.random.below(8).saturating_sub(4);
        let last = runs - 1;
        for run in 0..runs {
            let operands = match self.random.below(8) {
                0 => 0,
                1 => self.random.below(12),
                _ => 1 + self.random.below(4),
            };
            let announced = match self.random.below(12) {
                0 => operands + 1,
                1 => self.random.below(1 << 32),
                2 => 126 + self.random.below(3),
                3 => operands.saturating_sub(1),
                _ => operands,
            };
            self.start(announced);
            // The pins are given away as soon as a START waits, or when everything is written.
            let gives = run == 0 && self.random.one_in(2) || run == last;
            if gives {
                self.give(port);
            }
            for _ in 0..operands {
                self.operand();
            }
            if self.random.one_in(4) {
                self.load();
            }
        }
        self.steps.push_back(Step::UntilEnd(RUN));
        if !self.random.one_in(3) {
            self.steps.push_back(Step::PreAll);
            for _ in 0..self.random.below(6) {
                self.steps.push_back(Step::Result);
            }
        }
    }

    /// The PREA that gives the pins away; where it comes too early, a second.
    fn give(&mut self, port: &Port) {
        let early = self.random.one_in(3);
        if early {
            // In the tCK from which on the START waits, or close to it.
            let tck = self.cwl + BURST - 2 + self.random.below(4);
            self.steps.extend([Step::Wait(tck), Step::PreAll]);
        }
        if !early || self.random.one_in(2) {
            self.steps.push_back(Step::UntilWaits(PATIENCE));
        }
        if port.owner == Owner::Host || self.random.one_in(4) {
            self.steps.push_back(Step::PreAll);
        }
    }

    /// More bursts than the queue has room for: a START is at its head, and the pins are the host's.
    fn flood(&mut self) {
        self.start(130);
        let bursts = 120 + self.random.below(30);
        for burst in 0..bursts {
            match self.random.below(if burst < 126 { 24 } else { 6 }) {
                0 => self.load(),
                1 => {
                    let announced = self.random.below(4);
                    self.start(announced);
                }
                2 if burst > 100 => self.refused(),
                _ => self.operand(),
            }
        }
        self.steps.extend([Step::UntilWaits(PATIENCE), Step::PreAll, Step::UntilRun(PATIENCE)]);
        for _ in 0..20 + self.random.below(60) {
            self.operand();
        }
        self.steps.push_back(Step::UntilEnd(RUN));
    }

    /// Rows that are no windows.
    fn own_rows(&mut self, port: &Port) {
        for _ in 0..4 + self.random.below(16) {
            let any = self.random.next() as usize;
            let (bank, column) = (any % 16, any >> 4 & 0x7F);
            let row = if any >> 11 & 3 == 0 { ROW.into() } else { any >> 16 & 0xFFFF };
            self.steps.push_back(match self.random.below(8) {
                0..3 => Step::Open { bank, row },
                3..6 => Step::Access { writes: any >> 13 & 1 != 0, bank, column },
                6 if port.owner == Owner::Host => Step::Refresh,
                // MR0 and MR2, whose codes the bus is timed by.
                6 => Step::Mode(2 * (bank & 1)),
                _ if any >> 14 & 1 != 0 => Step::Mode(bank % 8),
                _ => Step::Close(bank),
            });
        }
    }

    /// RDs of each window.
    fn read_all(&mut self) {
        for _ in 0..8 {
            let any = self.random.next() as usize;
            self.steps.push_back(match any % 16 {
                bank if bank % 4 == RESULTS => Step::Result,
                bank => Step::Read { bank, column: any >> 4 & 0x7F },
            });
        }
    }

    /// What a host should not do: codes, messages and WRs without a meaning.
    fn mistakes(&mut self) {
        for _ in 0..8 {
            match self.random.below(5) {
                0 => self.refused(),
                1 | 2 => {
                    let bank = STATUS + self.random.below(2) as usize;
                    self.write(bank, [self.random.0; 8]);
                }
                _ => self.steps.push_back(Step::Code),
            }
        }
    }

    /// What a host does in a run: mostly it reads.
    fn look(&mut self, port: &Port) {
        match self.random.below(12) {
            0 if port.owner == Owner::Run => self.steps.push_front(Step::PreAll),
            1 => self.steps.push_front(Step::Code),
            2..6 => self.steps.push_front(Step::Result),
            6 => {
                let bank = 4 * self.random.below(4) as usize;
                let kind = [0, 1, 3][self.random.below(3) as usize];
                let words = self.message(kind);
                self.steps.push_front(Step::Write { bank, words });
            }
            7 if self.random.one_in(4) => {
                let register = self.random.below(8) as usize;
                self.steps.push_front(Step::Mode(register));
            }
            7 => {
                let any = self.random.next() as usize;
                let (bank, row) = (any % 16, any >> 4 & 0xFFFF);
                let access = Step::Access { writes: any >> 20 & 1 != 0, bank, column: 0 };
                self.steps.push_front(access);
                self.steps.push_front(Step::Open { bank, row });
            }
            8 => {
                let any = self.random.next() as usize;
                let (bank, writes) = (any % 16, any >> 4 & 1 != 0);
                self.steps.push_front(match bank % 4 {
                    STATUS | RESULTS if writes => Step::Write { bank, words: [self.random.0; 8] },
                    RESULTS => Step::Result,
                    _ => Step::Read { bank, column: any >> 5 & 0x7F },
                });
            }
            _ => {
                let bank = 4 * self.random.below(4) as usize + STATUS;
                self.steps.push_front(Step::Read { bank, column: 0 });
            }
        }
    }

    fn load(&mut self) {
        let words = self.message(1);
        self.write(MAILBOX, words);
    }

    fn start(&mut self, operands: u64) {
        let mut words = self.message(2);
        words[1] = words[1] >> 32 << 32 | operands & 0xFFFF_FFFF;
        self.write(MAILBOX, words);
    }

    fn refused(&mut self) {
        let kind = 3 * self.random.below(2);
        let words = self.message(kind);
        self.write(MAILBOX, words);
    }

    fn operand(&mut self) {
        let words = std::array::from_fn(|_| self.random.next());
        self.write(OPERANDS, words);
    }

    /// A message of a kind; all else in it is anything, but for the kind of a LOAD.
    fn message(&mut self, kind: u64) -> Burst {
        let mut words: Burst = std::array::from_fn(|_| self.random.next());
        words[0] = words[0] & !0x73 | self.random.below(6) << 4 | kind;
        if self.random.one_in(8) {
            words[0] |= 0xFFFC << 16; // addresses that wrap
        }
        words
    }

    fn write(&mut self, window: usize, words: Burst) {
        let bank = 4 * self.random.below(4) as usize + window;
        self.steps.push_back(Step::Write { bank, words });
    }
}
