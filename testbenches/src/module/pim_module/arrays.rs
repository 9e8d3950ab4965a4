// SPDX-License-Identifier: MIT
//! What is around a module: cell arrays with the rows that are open in them, and what the DRAM's timings
//! allow a host.

use crate::due::pop_due;
use crate::random::Random;
use pimlico_dpa::types::{
    BANKS, Bank, CellWrite, Cells, Column, Columns, PinCommand, Pins, Row, Timing,
};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// From an MRS to the next, and to any other command.
const MRD: u64 = 8;
const MOD: u64 = 24;

/// The cell arrays of a rank. What was never written is random, of moderate size.
pub(in crate::module) struct Arrays {
    seed: u64,
    /// Banks that an ACT_ALL opens.
    faw_banks: usize,
    open: [Option<Row>; BANKS],
    written: HashMap<(usize, Row, Column), Cells>,
    /// Columns of RD_ALLs on their way, and when they are at the PUs.
    columns: VecDeque<(u64, Columns)>,
}

impl Arrays {
    pub fn new(seed: u64, faw_banks: usize) -> Self {
        Self {
            seed,
            faw_banks,
            open: [None; BANKS],
            written: HashMap::new(),
            columns: VecDeque::new(),
        }
    }

    /// What the chips get in this tCK: what an RD on the pins reads, and an RD_ALL RL_MAC before.
    pub fn columns(&mut self, pins: &Pins, now: u64, rl_mac: u8) -> Columns {
        let read = self.read(pins);
        if pins.command == PinCommand::RdAll {
            self.columns.push_back((now + u64::from(rl_mac), read));
        }
        match pop_due(&mut self.columns, |(from, _)| *from == now) {
            Some((_, arrived)) => arrived,
            None if pins.command == PinCommand::RdAll => Columns::default(),
            None => read,
        }
    }

    /// What the command on the pins reads.
    fn read(&self, pins: &Pins) -> Columns {
        let mut columns = Columns::default();
        let asked = bank(pins);
        for (bank, cells) in columns.iter_mut().enumerate() {
            let reads = match pins.command {
                PinCommand::RdAll => true,
                PinCommand::Rd => bank == asked,
                _ => false,
            };
            if let Some(row) = self.open[bank].filter(|_| reads) {
                *cells = self.cells(bank, row, pins.column);
            }
        }
        columns
    }

    fn cells(&self, bank: usize, row: Row, column: Column) -> Cells {
        self.written.get(&(bank, row, column)).copied().unwrap_or_else(|| {
            let place = (bank as u64) << 32 | u64::from(row) << 8 | u64::from(column);
            let mut random = Random(self.seed ^ place << 16);
            std::array::from_fn(|_| moderate_word(&mut random))
        })
    }

    /// The end of a tCK with a command on the pins.
    pub fn command(&mut self, pins: &Pins) {
        match pins.command {
            PinCommand::Act => self.open[bank(pins)] = Some(pins.row),
            PinCommand::ActAll => self.open[opened(pins, self.faw_banks)].fill(Some(pins.row)),
            PinCommand::Pre => self.open[bank(pins)] = None,
            PinCommand::PreAll => self.open = [None; BANKS],
            _ => {}
        }
    }

    pub fn write(&mut self, write: &CellWrite) {
        let bank = write.bank.get() as usize;
        if let Some(row) = self.open[bank] {
            self.written.insert((bank, row, write.column), write.data);
        }
    }
}

/// The banks that an ACT_ALL opens.
fn opened(pins: &Pins, faw_banks: usize) -> Range<usize> {
    bank(pins)..bank(pins) + faw_banks
}

fn bank(pins: &Pins) -> usize {
    pins.bank.get() as usize
}

/// Four numbers between 2^-6 and 2 of either sign; some of them any number.
pub(in crate::module) fn moderate_word(random: &mut Random) -> u64 {
    let draw = random.next();
    let wild = random.below(64);
    let numbers = (0..4).map(|n| {
        let bits = draw >> (16 * n) & 0xFFFF;
        let exponent = 9 + (bits >> 10 & 7).min(6);
        let moderate = bits & 0x83FF | exponent << 10;
        let number =
            if wild == n { [0, 0x8000, 0x0001, 0x3C00][(bits & 3) as usize] } else { moderate };
        number << (16 * n)
    });
    numbers.sum()
}

/// What the timings of the DRAM allow a host that looks at the pins all the time.
pub(in crate::module) struct Gates {
    timing: Timing,
    pub now: u64,
    pub open: [Option<Row>; BANKS],
    acts: [Option<u64>; BANKS],
    pres: [Option<u64>; BANKS],
    reads: [Option<u64>; BANKS],
    writes: [Option<u64>; BANKS],
    /// Read data or results on the bus are asked for.
    results: Option<u64>,
    refresh: Option<u64>,
    mrs: Option<u64>,
    last: Option<u64>,
    /// The last four activations.
    window: VecDeque<u64>,
    /// REFs that were on the pins.
    pub refreshes: u64,
}

impl Gates {
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            now: 0,
            open: [None; BANKS],
            acts: [None; BANKS],
            pres: [None; BANKS],
            reads: [None; BANKS],
            writes: [None; BANKS],
            results: None,
            refresh: None,
            mrs: None,
            last: None,
            window: VecDeque::new(),
            refreshes: 0,
        }
    }

    fn since(&self, event: Option<u64>, tck: impl Into<u64>) -> bool {
        let tck: u64 = tck.into();
        event.is_none_or(|event| self.now - event >= tck.max(1))
    }

    /// The end of a tCK with a command on the pins, or none.
    pub fn tick(&mut self, pins: &Pins) {
        let bank = bank(pins);
        let now = Some(self.now);
        let activations = match pins.command {
            PinCommand::Act => 1,
            PinCommand::ActAll => 4,
            _ => 0,
        };
        self.window.extend((0..activations).map(|_| self.now));
        self.window.drain(..self.window.len().saturating_sub(4));
        match pins.command {
            PinCommand::Act => (self.acts[bank], self.open[bank]) = (now, Some(pins.row)),
            PinCommand::ActAll => {
                let opened = opened(pins, self.timing.faw_banks.get() as usize);
                self.acts[opened.clone()].fill(now);
                self.open[opened].fill(Some(pins.row));
            }
            PinCommand::Pre => (self.pres[bank], self.open[bank]) = (now, None),
            PinCommand::PreAll => (self.pres, self.open) = ([now; BANKS], [None; BANKS]),
            PinCommand::Rd => self.reads[bank] = now,
            PinCommand::Wr => self.writes[bank] = now,
            PinCommand::RdAll => self.reads = [now; BANKS],
            PinCommand::RdResult | PinCommand::WrShared => self.results = now,
            PinCommand::Ref => {
                self.refresh = now;
                self.refreshes += 1;
            }
            PinCommand::Mrs => self.mrs = now,
            PinCommand::None | PinCommand::SetWord => {}
        }
        if pins.command != PinCommand::None {
            self.last = now;
        }
        self.now += 1;
    }

    /// REFs that are due and have not come.
    pub fn owed(&self) -> u64 {
        let refi = self.timing.refi.get();
        self.now.checked_div(refi).map_or(0, |due| due.saturating_sub(self.refreshes))
    }

    /// Whether whoever knows nothing of the commands so far may give any.
    pub fn is_quiet(&self) -> bool {
        let timing = &self.timing;
        let longest = timing.rc.max(timing.faw).max(timing.rp).max(timing.cl + 6);
        self.open == [None; BANKS]
            && self.since(self.last, longest)
            && self.since(self.refresh, timing.rfc)
            && self.since(self.mrs, MOD)
    }

    /// Whether a command of a host may be given now.
    pub fn allow(&self, pins: &Pins) -> bool {
        let timing = &self.timing;
        let to = bank(pins);
        let is_open = self.open[to].is_some();
        let since_mrs = if pins.command == PinCommand::Mrs { MRD } else { MOD };
        self.since(self.refresh, timing.rfc)
            && self.since(self.mrs, since_mrs)
            && match pins.command {
                PinCommand::None => true,
                PinCommand::Act => {
                    let full = self.window.len() == 4;
                    let fourth = self.window.front().copied().filter(|_| full);
                    let others = (0..BANKS).filter(|other| *other != to).all(|other| {
                        let gap = if other / 4 == to / 4 { timing.rrd_l } else { timing.rrd_s };
                        self.since(self.acts[other], gap)
                    });
                    !is_open
                        && self.since(self.pres[to], timing.rp)
                        && self.since(self.acts[to], timing.rc)
                        && self.since(fourth, timing.faw)
                        && others
                }
                PinCommand::Pre => self.may_close(to),
                PinCommand::PreAll => (0..BANKS).all(|bank| self.may_close(bank)),
                PinCommand::Rd => {
                    is_open
                        && self.since(self.acts[to], timing.rcd)
                        && self.may_move(to, |other, same| {
                            let gap = if same { timing.wr_to_rd_l } else { timing.wr_to_rd_s };
                            self.since(self.writes[other], gap)
                        })
                }
                PinCommand::Wr => {
                    is_open
                        && self.since(self.acts[to], timing.rcd_wr)
                        && self
                            .may_move(to, |other, _| self.since(self.reads[other], timing.rd_to_wr))
                }
                PinCommand::Ref | PinCommand::Mrs => {
                    self.open == [None; BANKS]
                        && self.pres.iter().all(|pre| self.since(*pre, timing.rp))
                }
                _ => false,
            }
    }

    fn may_close(&self, bank: usize) -> bool {
        self.since(self.acts[bank], self.timing.ras)
            && self.since(self.reads[bank], self.timing.rtp)
            && self.since(self.writes[bank], self.timing.wr_to_pre)
    }

    /// Whether a bank may take a column command, by those before it and by `turns` of each bank.
    fn may_move(&self, to: usize, turns: impl Fn(usize, bool) -> bool) -> bool {
        (0..BANKS).all(|other| {
            let same = other / 4 == to / 4;
            let gap = if same { self.timing.ccd_l } else { self.timing.ccd_s };
            self.since(self.reads[other], gap)
                && self.since(self.writes[other], gap)
                && turns(other, same)
        }) && self.since(self.results, self.timing.ccd_s)
    }
}

/// Random accesses of a host to the chips as its memory, until all banks are closed again.
pub(in crate::module) struct Traffic {
    random: Random,
    /// Commands that are left.
    accesses: u64,
    /// MRS that come before them.
    mrs: VecDeque<Pins>,
    /// Beats that the host is going to drive, by their number: two to a tCK.
    beats: VecDeque<(u64, u64)>,
}

/// A tCK of a host in memory mode.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::module) struct HostTck {
    pub pins: Pins,
    /// What it drives in the two beats.
    pub driven: [Option<u64>; 2],
}

impl Traffic {
    pub fn new(mut random: Random) -> Self {
        let accesses = 1 + random.below(40);
        // Some of the mode registers are set anew, which changes nothing in the chips.
        let modes = if random.one_in(4) { random.below(4) } else { 0 };
        let mrs = (0..modes)
            .map(|_| Pins::mrs(random.below(7) as usize, random.below(1 << 14) as usize))
            .collect();
        Self { accesses, mrs, random, beats: VecDeque::new() }
    }

    /// The key, now and then the second time, and nothing else.
    pub fn key(mut random: Random) -> Self {
        let begun = &Pins::PIM_KEY[..random.below(4) as usize];
        let other = Pins::mrs(random.below(7) as usize, random.below(1 << 14) as usize);
        let wrong = begun.iter().copied().chain([other]).filter(|_| random.0.is_multiple_of(4));
        let mrs = wrong.chain(Pins::PIM_KEY).collect();
        Self { accesses: 0, mrs, random, beats: VecDeque::new() }
    }

    /// Whether all is done, and all banks are closed.
    pub fn is_over(&self, gates: &Gates) -> bool {
        self.accesses == 0 && self.mrs.is_empty() && self.beats.is_empty() && gates.is_quiet()
    }

    /// The next tCK; None if all is over.
    pub fn drive(&mut self, gates: &Gates) -> Option<HostTck> {
        if self.is_over(gates) {
            return None;
        }
        let pins = self.command(gates);
        if !matches!(pins.command, PinCommand::None | PinCommand::Mrs) {
            self.accesses = self.accesses.saturating_sub(1);
        }
        if pins.command == PinCommand::Wr {
            // Re-layout takes a tCK.
            let first = 2 * (gates.now + u64::from(gates.timing.cwl) - 1);
            let random = &mut self.random;
            self.beats.extend((first..first + 8).map(|beat| (beat, random.next())));
        }
        let driven = [0, 1].map(|half| {
            let due = self.beats.front().filter(|(beat, _)| *beat == 2 * gates.now + half);
            due.copied().map(|(_, data)| {
                self.beats.pop_front();
                data
            })
        });
        Some(HostTck { pins, driven })
    }

    /// A command that is allowed, or none.
    fn command(&mut self, gates: &Gates) -> Pins {
        let random = &mut self.random;
        if let Some(mrs) = self.mrs.front().copied() {
            let waits = random.one_in(8) || !gates.allow(&mrs);
            return if waits { Pins::default() } else { self.mrs.pop_front().unwrap_or_default() };
        }
        let closes = Pins { command: PinCommand::PreAll, ..Pins::default() };
        let bank = random.below(BANKS as u64);
        let busy = gates.open[bank as usize].is_some();
        let any = |command, row: u64, column: u64| Pins {
            command,
            bank: Bank::new(bank),
            row: row as u16,
            column: column as u8,
        };
        let wish = match random.below(8) {
            _ if self.accesses == 0 => {
                if gates.open == [None; BANKS] {
                    Pins::default()
                } else {
                    closes
                }
            }
            _ if gates.owed() > 0 && gates.open == [None; BANKS] => any(PinCommand::Ref, 0, 0),
            _ if gates.owed() > 4 => closes,
            0 => closes,
            1 if busy => any(PinCommand::Pre, 0, 0),
            2..5 if busy => any(PinCommand::Rd, 0, random.below(4)),
            _ if busy => any(PinCommand::Wr, 0, random.below(4)),
            _ => any(PinCommand::Act, random.below(3), 0),
        };
        let wish = match wish.command {
            PinCommand::Ref | PinCommand::PreAll => Pins { bank: Bank::default(), ..wish },
            _ => wish,
        };
        if random.one_in(8) || !gates.allow(&wish) { Pins::default() } else { wish }
    }
}
