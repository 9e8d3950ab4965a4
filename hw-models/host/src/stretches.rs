// SPDX-License-Identifier: MIT
//! What a host does from one REF to the next, kept so that it need not be found again, command by command, where it does
//! the same.
//!
//! ```text
//!   REF ──tRFC──▶ ACT, WR, PRE, ... ──▶ PREA ──▶ REF ──tRFC──▶ ...
//!    │                                            │
//!    key: what is written next, time to the REF that is due
//! ```
//!
//! At a REF all banks are closed and no data are on their way. Where no earlier command binds one behind it either
//! ([`MemoryController::is_fresh`]), and writes go on as they have begun ([`Writing::regular`]), all until the next REF
//! follows from the key: a stretch that was recorded command by command is what each other of its key is.
//!
//! When the REF is due decides no more than which command is the last before the banks are closed. So a stretch is also that of
//! a REF that is due sooner, but behind the same command, if the banks could not be closed at once. And where the WRs before are
//! a long run, they may be more or fewer: see [`elastic`].
//!
//! [`MemoryController::is_fresh`]: crate::memory_controller::MemoryController::is_fresh
//! [`Writing::regular`]: crate::strips::Writing::regular

mod elastic;

use crate::strips::Regular;
use elastic::{Elastic, Run};
use pimlico_device::{BURST_TCK, WriteRun, WriteStretch};
use pimlico_dpa::types::{PinCommand, Pins};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a stretch follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// What is written.
    pub writes: Regular,
    /// tCK from the REF until the next is due.
    pub due_tck: u64,
}

/// The stretches that were recorded so far, by hosts that are alike.
#[derive(Clone, Debug, Default)]
pub struct KnownStretches(Arc<Mutex<Known>>);

impl KnownStretches {
    /// The stretch of a key, if it is known.
    pub(crate) fn of(&self, key: &Key) -> Option<Arc<WriteStretch>> {
        self.known().of(key)
    }

    /// One has ended with a REF in this tCK. Returns its number.
    pub(crate) fn keep(&self, recording: Recording, ref_tck: u64) -> u64 {
        self.known().keep(recording, ref_tck)
    }

    /// What is kept is whole whenever a thread may end.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same.
#[derive(Debug, Default)]
struct Known {
    /// For what is written, each with when the next REF is due.
    of: HashMap<Regular, Vec<Due>>,
    /// Those with long runs, by what is written of a column.
    elastic: HashMap<Regular, Vec<Elastic>>,
}

/// When the next REF may be due, and the stretch until then.
type Due = (RangeInclusive<u64>, Arc<WriteStretch>);

/// Numbers of stretches, whosever they are.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Known {
    fn of(&self, key: &Key) -> Option<Arc<WriteStretch>> {
        let mut known = self.of.get(&key.writes).into_iter().flatten();
        let known = known.find(|(due_tck, _)| due_tck.contains(&key.due_tck));
        let mut elastic = self.elastic.get(&key.writes.of_column()).into_iter().flatten();
        let stretched = || elastic.find_map(|elastic| elastic.stretched(key)).map(Arc::new);
        known.map(|(_, stretch)| stretch.clone()).or_else(stretched)
    }

    fn keep(&mut self, recording: Recording, ref_tck: u64) -> u64 {
        let Recording { key, long, .. } = recording;
        let (due_tck, waits) = (recording.due_tck(), recording.waits());
        let (stretch, runs) = recording.end(ref_tck);
        let number = stretch.number;
        let stretch = Arc::new(stretch);
        let elastic = self.elastic.entry(key.writes.of_column()).or_default();
        if waits && elastic.iter().all(|elastic| elastic.number() != number) {
            elastic.extend(Elastic::of(key, &runs, long, &stretch));
        }
        let known = self.of.entry(key.writes).or_default();
        let is_same = |other: &WriteStretch| WriteStretch { number, ..other.clone() } == *stretch;
        match known.iter_mut().find(|(_, other)| is_same(other)) {
            // The last command is the same.
            Some((due, _)) => {
                *due = *due.start().min(due_tck.start())..=*due.end().max(due_tck.end());
            }
            None => known.push((due_tck, stretch)),
        }
        number
    }
}

/// A stretch that is recorded as it is done.
#[derive(Debug)]
pub(crate) struct Recording {
    /// What it follows from.
    pub key: Key,
    from_tck: u64,
    /// When the last command was before the REF was due, and the first when it was, counted from the REF before.
    last_tck: u64,
    closes_tck: Option<u64>,
    runs: Vec<Run>,
    /// WRs of a long run, at least.
    long: u64,
    stretch: WriteStretch,
}

impl Recording {
    /// One that begins behind a REF. It has the number of the one that is known, if there is one. So many WRs one after the other
    /// are long enough that nothing before them binds what comes behind them.
    pub fn new(key: Key, long: u64, known: Option<&WriteStretch>, from_tck: u64) -> Self {
        let new = || NUMBERS.fetch_add(1, Ordering::Relaxed);
        let number = known.map_or_else(new, |stretch| stretch.number);
        let (commands, writes) = Default::default();
        let long_tck = (long - 1) * BURST_TCK;
        let stretch = WriteStretch { number, long_tck, tck: 0, commands, writes };
        let (last_tck, closes_tck, runs) = (0, None, Vec::new());
        Self { key, from_tck, last_tck, closes_tck, runs, long, stretch }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.stretch.number
    }

    /// When the REF behind it may be due, for all of it to be the same.
    fn due_tck(&self) -> RangeInclusive<u64> {
        let due_tck = self.key.due_tck;
        if self.waits() { self.last_tck + 1..=due_tck } else { due_tck..=due_tck }
    }

    /// The banks could not be closed when the REF was due.
    fn waits(&self) -> bool {
        self.closes_tck.is_some_and(|closes_tck| closes_tck > self.key.due_tck)
    }

    /// A command.
    pub fn command(&mut self, at_tck: u64, pins: Pins) {
        self.stretch.commands[pins.command as usize] += 1;
        let tck = at_tck - self.from_tck;
        if tck < self.key.due_tck {
            self.last_tck = tck;
        } else {
            self.closes_tck.get_or_insert(tck);
        }
        if pins.command == PinCommand::Wr {
            self.write(at_tck, 1);
        }
    }

    /// A run of WRs at [`BURST_TCK`].
    pub fn run(&mut self, run: &WriteRun) {
        let before = self.stretch.count();
        let (from_tck, count) = (run.from_tck - self.from_tck, run.count);
        self.runs.push(Run { from_tck, count, before });
        self.stretch.commands[PinCommand::Wr as usize] += count;
        self.last_tck = run.last_tck() - self.from_tck;
        self.write(run.from_tck, run.count);
    }

    fn write(&mut self, at_tck: u64, count: u64) {
        let from_tck = at_tck - self.from_tck;
        match self.stretch.writes.last_mut() {
            Some((first, all)) if *first + *all * BURST_TCK == from_tck => *all += count,
            _ => self.stretch.writes.push((from_tck, count)),
        }
    }

    /// The REF behind it. Returns all of it, and the WRs that were one step.
    fn end(self, at_tck: u64) -> (WriteStretch, Vec<Run>) {
        (WriteStretch { tck: at_tck - self.from_tck, ..self.stretch }, self.runs)
    }
}
