// SPDX-License-Identifier: MIT
//! What those who watch the chips' pins were told, kept so that they can be told the same again of later tCK.

use crate::pins::BusDriver;
use pimlico_dpa::types::{PinCommand, Pins};
use std::ops::Range;

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

    /// Whether another has the same so many tCK later, of rows that are so many behind; of data, that they were on the bus.
    pub fn is_later(&self, other: &Self, tck: u64, rows: u16) -> bool {
        self.each(tck, rows).eq(other.each(0, 0))
    }

    /// Each command and each burst, so much later: their tCK, the end of a burst, and what it is.
    fn each(&self, tck: u64, rows: u16) -> impl Iterator<Item = (u64, u64, One)> {
        self.told.iter().flat_map(move |told| {
            let told = told.later(tck, rows);
            let one = match told {
                Told::Command { at_tck, pins } => Some((at_tck, 0, One::Command(pins))),
                Told::Data { from_tck, until_tck, driver, .. } => {
                    Some((from_tck, until_tck, One::Data(driver)))
                }
                Told::Reads { .. } => None,
            };
            let (from_tck, every_tck) = match told {
                Told::Reads { from_tck, every_tck, .. } => (from_tck, every_tck),
                _ => (0, 0),
            };
            let reads = (0..).zip(self.reads(&told));
            let reads =
                reads.map(move |(n, pins)| (from_tck + n * every_tck, 0, One::Command(*pins)));
            one.into_iter().chain(reads)
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
            Told::Command { .. } | Told::Data { .. } => &[],
        }
    }
}

/// A command or a burst.
#[derive(PartialEq)]
enum One {
    Command(Pins),
    Data(BusDriver),
}

impl Told {
    /// When they were told.
    pub fn at_tck(&self) -> u64 {
        match *self {
            Self::Command { at_tck, .. } | Self::Data { at_tck, .. } => at_tck,
            Self::Reads { from_tck, .. } => from_tck,
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
            Self::Command { .. } | Self::Data { .. } => true,
        }
    }
}
