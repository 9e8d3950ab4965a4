// SPDX-License-Identifier: MIT
//! What those who watch the chips' pins are told, kept so that they can be told the same again of later tCK.

use crate::bursts::WriteRun;
use crate::pins::{BusDriver, PinWatch};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_ports::U;
use std::ops::Range;

/// Those who watch, and the tape of what they are told, where that is kept.
#[derive(Default)]
pub struct Teller {
    pub watch: Option<Box<dyn PinWatch>>,
    tape: Option<Tape>,
}

impl Teller {
    /// Keeps what they are told from here on, or would be; returns what was kept before.
    pub fn keep(&mut self, tape: Option<Tape>) -> Option<Tape> {
        std::mem::replace(&mut self.tape, tape)
    }

    /// Whether they take a run of writes as a whole.
    pub fn takes(&mut self, run: &WriteRun) -> bool {
        self.watch.as_mut().is_none_or(|watch| watch.takes(run))
    }

    /// A command is on the pins.
    pub fn command(&mut self, at_tck: u64, pins: Pins) {
        if let Some(watch) = &mut self.watch {
            watch.command(at_tck, pins);
        }
        self.kept(Told::Command { at_tck, pins });
    }

    /// All-bank RDs at equal distances.
    pub fn reads(&mut self, from_tck: u64, every_tck: u64, reads: &[Pins]) {
        if let Some(watch) = &mut self.watch {
            watch.reads(from_tck, every_tck, reads);
        }
        if let Some(tape) = &mut self.tape {
            tape.push_reads(from_tck, every_tck, reads);
        }
    }

    /// Data were on the bus from one tCK until before another; they are told of it in this one.
    pub fn data(&mut self, at_tck: u64, (from_tck, until_tck): (u64, u64), driver: BusDriver) {
        if let Some(watch) = &mut self.watch {
            watch.data(from_tck, until_tck, driver);
        }
        self.kept(Told::Data { at_tck, from_tck, until_tck, driver });
    }

    /// A run of writes that they take, whose data are on the chips' bus from a tCK on, and on that of a host.
    pub fn writes(&mut self, run: &WriteRun, [host_tck, chips_tck]: [u64; 2]) {
        if let Some(watch) = &mut self.watch {
            watch.writes(run, host_tck, chips_tck);
        }
        self.kept(Told::Writes { run: *run, host_tck, chips_tck });
    }

    /// Tells them again of something that was kept, with these of its all-bank RDs.
    pub fn again(&mut self, told: &Told, reads: &[Pins]) {
        let Some(watch) = &mut self.watch else { return };
        match *told {
            Told::Command { at_tck, pins } => watch.command(at_tck, pins),
            Told::Reads { from_tck, every_tck, .. } => watch.reads(from_tck, every_tck, reads),
            Told::Data { from_tck, until_tck, driver, .. } => {
                watch.data(from_tck, until_tck, driver);
            }
            Told::Writes { ref run, host_tck, chips_tck } => {
                watch.writes(run, host_tck, chips_tck);
            }
        }
    }

    fn kept(&mut self, told: Told) {
        if let Some(tape) = &mut self.tape {
            tape.told.push(told);
        }
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub told: Vec<Told>,
    reads: Vec<Pins>,
}

/// Something that they were told.
#[derive(Clone, Debug)]
pub enum Told {
    /// A command.
    Command { at_tck: u64, pins: Pins },
    /// All-bank RDs at equal distances: which.
    Reads { from_tck: u64, every_tck: u64, which: Range<usize> },
    /// Data, of which they were told in this tCK.
    Data { at_tck: u64, from_tck: u64, until_tck: u64, driver: BusDriver },
    /// A run of writes, and from when on its data are on the buses of host and chips.
    Writes { run: WriteRun, host_tck: u64, chips_tck: u64 },
}

impl Tape {
    /// Nothing, with the same room.
    pub fn cleared(mut self) -> Self {
        self.told.clear();
        self.reads.clear();
        self
    }

    /// All-bank RDs.
    pub fn push_reads(&mut self, from_tck: u64, every_tck: u64, reads: &[Pins]) {
        let first = self.reads.len();
        self.reads.extend_from_slice(reads);
        self.told.push(Told::Reads { from_tck, every_tck, which: first..self.reads.len() });
    }

    /// Whether another has the same so many tCK later, of rows that are so many behind, be it told one by one or not; of data, that
    /// they were on the bus.
    pub fn is_later(&self, other: &Self, tck: u64, rows: u16) -> bool {
        self.commands(tck, rows).eq(other.commands(0, 0)) && self.data(tck).eq(other.data(0))
    }

    /// Each command, so much later.
    fn commands(&self, tck: u64, rows: u16) -> impl Iterator<Item = (u64, Pins)> {
        self.told.iter().flat_map(move |told| {
            let told = told.later(tck, rows);
            let one = match told {
                Told::Command { at_tck, pins } => Some((at_tck, pins)),
                _ => None,
            };
            let (from_tck, every_tck) = match told {
                Told::Reads { from_tck, every_tck, .. } => (from_tck, every_tck),
                _ => (0, 0),
            };
            let reads = (0..).zip(self.reads(&told));
            let reads = reads.map(move |(n, pins)| (from_tck + n * every_tck, *pins));
            let writes = told.writes().into_iter().flat_map(|(run, _)| {
                (0..).zip(run.places()).map(move |(number, (bank, column))| {
                    let (bank, column) = (U::new(bank as u64), column as u8);
                    (run.tck(number), Pins { command: PinCommand::Wr, bank, row: 0, column })
                })
            });
            one.into_iter().chain(reads).chain(writes)
        })
    }

    /// Each burst, so much later.
    fn data(&self, tck: u64) -> impl Iterator<Item = (u64, u64, BusDriver)> {
        self.told.iter().flat_map(move |told| {
            let told = told.later(tck, 0);
            let one = match told {
                Told::Data { from_tck, until_tck, driver, .. } => {
                    Some((from_tck, until_tck, driver))
                }
                _ => None,
            };
            // They follow each other without a pause.
            let writes = told.writes().into_iter().flat_map(|(run, data_tck)| {
                let from_tck = (0..run.count).map(move |number| data_tck + number * run.every_tck);
                from_tck.map(move |tck| (tck, tck + run.every_tck, BusDriver::BufferChip))
            });
            one.into_iter().chain(writes)
        })
    }

    /// When there were REFs.
    pub fn refs(&self) -> impl Iterator<Item = u64> {
        self.told.iter().filter_map(|told| match told {
            Told::Command { at_tck, pins } if pins.command == PinCommand::Ref => Some(*at_tck),
            _ => None,
        })
    }

    /// Those of something that they were told.
    pub fn reads(&self, told: &Told) -> &[Pins] {
        match told {
            Told::Reads { which, .. } => &self.reads[which.clone()],
            Told::Command { .. } | Told::Data { .. } | Told::Writes { .. } => &[],
        }
    }
}

impl Told {
    /// A run of writes, if it is one, and from when on its data are on the chips' bus.
    fn writes(&self) -> Option<(WriteRun, u64)> {
        match *self {
            Self::Writes { run, chips_tck, .. } => Some((run, chips_tck)),
            _ => None,
        }
    }

    /// When they were told.
    pub fn at_tck(&self) -> u64 {
        match *self {
            Self::Command { at_tck, .. } | Self::Data { at_tck, .. } => at_tck,
            Self::Reads { from_tck, .. } => from_tck,
            Self::Writes { run, .. } => run.from_tck,
        }
    }

    /// The same so many tCK later, of rows that are so many behind. Both wrap: it may be sooner.
    pub fn later(&self, tck: u64, rows: u16) -> Self {
        match *self {
            Self::Command { at_tck, pins } => {
                let has_row = matches!(pins.command, PinCommand::Act | PinCommand::ActAll);
                let row = if has_row { pins.row.wrapping_add(rows) } else { pins.row };
                Self::Command { at_tck: at_tck.wrapping_add(tck), pins: Pins { row, ..pins } }
            }
            Self::Reads { from_tck, every_tck, ref which } => Self::Reads {
                from_tck: from_tck.wrapping_add(tck),
                every_tck,
                which: which.clone(),
            },
            Self::Data { at_tck, from_tck, until_tck, driver } => Self::Data {
                at_tck: at_tck.wrapping_add(tck),
                from_tck: from_tck.wrapping_add(tck),
                until_tck: until_tck.wrapping_add(tck),
                driver,
            },
            Self::Writes { run, host_tck, chips_tck } => Self::Writes {
                run: WriteRun {
                    from_tck: run.from_tck.wrapping_add(tck),
                    row: (run.row as u16).wrapping_add(rows).into(),
                    ..run
                },
                host_tck: host_tck.wrapping_add(tck),
                chips_tck: chips_tck.wrapping_add(tck),
            },
        }
    }

    /// The same without its first all-bank RDs.
    pub fn without(self, count: usize) -> Self {
        match self {
            Self::Reads { from_tck, every_tck, which } => Self::Reads {
                from_tck: from_tck + count as u64 * every_tck,
                every_tck,
                which: which.start + count..which.end,
            },
            told => told,
        }
    }

    /// What of it was told before a tCK, and how many all-bank RDs that is, but one at least.
    pub fn before(self, tck: u64) -> (Self, usize) {
        match self {
            Self::Reads { from_tck, every_tck, which } => {
                let before = tck.saturating_sub(from_tck).div_ceil(every_tck).max(1);
                let count = which.len().min(before.try_into().unwrap_or(usize::MAX));
                let which = which.start..which.start + count;
                (Self::Reads { from_tck, every_tck, which }, count)
            }
            told => (told, 0),
        }
    }

    /// Whether nothing of it is left.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Reads { which, .. } => which.is_empty(),
            Self::Command { .. } | Self::Data { .. } | Self::Writes { .. } => true,
        }
    }
}
