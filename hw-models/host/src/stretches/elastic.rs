// SPDX-License-Identifier: MIT
//! A stretch whose long runs of WRs may be longer or shorter.
//!
//! ```text
//!   REF ─▶ rows are opened ─▶ WR WR ... WR ─▶ the next strip's rows ─▶ WR WR ... WR ─▶ PREA ─▶ REF
//!                             └─ first ──┘                             └─ last ───┘
//!                         to the end of the strip           until the next REF is due
//! ```
//!
//! Behind a long run the controller stands as behind any other that ends at the same bank: what was before the run binds nothing
//! any more. So a stretch that begins some columns further on in its strip has the same commands, those behind the first run as much
//! sooner as that is shorter; and the last run goes on until the next REF is due, whenever that is.

use super::Key;
use crate::memory_controller::LOOK_AHEAD;
use crate::strips::Regular;
use pimlico_device::{BURST_TCK, WriteStretch};
use pimlico_dpa::types::PinCommand;
use std::sync::Arc;

/// WRs at [`BURST_TCK`] that were one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The first of them, counted from the REF before.
    pub from_tck: u64,
    pub count: u64,
    /// WRs between that REF and the first of them.
    pub before: u64,
}

impl Run {
    /// The most WRs that it may have, in the strip in which it begins: behind it come those that the controller looks ahead.
    fn room(&self, writes: &Regular) -> u64 {
        let place = (writes.left + self.before) % writes.count();
        writes.count().saturating_sub(place + LOOK_AHEAD as u64)
    }

    /// WRs that it has, if it ends where a REF is due.
    fn until(&self, due_tck: u64) -> u64 {
        due_tck.saturating_sub(self.from_tck).div_ceil(BURST_TCK)
    }
}

/// One that was recorded.
#[derive(Debug)]
pub(super) struct Elastic {
    key: Key,
    /// The run in which the first strip ends, or the REF becomes due; and that in which it does, if that is another.
    first: Run,
    last: Option<Run>,
    /// WRs of a long run, at least.
    long: u64,
    stretch: Arc<WriteStretch>,
}

impl Elastic {
    /// A stretch with these runs, if the REF behind it becomes due in the last of them, and the banks can be closed but later.
    pub fn of(key: Key, runs: &[Run], long: u64, stretch: &Arc<WriteStretch>) -> Option<Self> {
        let (last, before) = runs.split_last()?;
        let first = runs[0];
        let is_elastic = key.writes.left + first.before < key.writes.count()
            && before.iter().all(|run| run.count == run.room(&key.writes))
            && last.count == last.until(key.due_tck)
            && first.count.min(last.count) >= long;
        let last = (!before.is_empty()).then_some(*last);
        is_elastic.then(|| Self { key, first, last, long, stretch: stretch.clone() })
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.stretch.number
    }

    /// The stretch of another key that differs in no more than whole columns that have left, and when the REF is due.
    pub fn stretched(&self, key: &Key) -> Option<WriteStretch> {
        let Self { first, last, long, .. } = self;
        if key.writes.left + first.before >= key.writes.count() {
            return None;
        }
        let room = first.room(&key.writes);
        let to = |run: &Run, count: u64| (run.from_tck, count as i64 - run.count as i64);
        let (runs, ends) = match last {
            None => (vec![to(first, first.until(key.due_tck))], (first.until(key.due_tck), room)),
            Some(last) => {
                let by = room as i64 - first.count as i64;
                let from_tck = last.from_tck.checked_add_signed(by * BURST_TCK as i64)?;
                let count = Run { from_tck, ..*last }.until(key.due_tck);
                (vec![to(first, room), to(last, count)], (count, last.room(&self.key.writes)))
            }
        };
        let is_so = room >= *long && (*long..=ends.1).contains(&ends.0);
        is_so.then(|| self.with(&runs))
    }

    /// With runs, which begin in these tCK as it was recorded, by so many WRs longer.
    fn with(&self, runs: &[(u64, i64)]) -> WriteStretch {
        let mut stretch = WriteStretch::clone(&self.stretch);
        let longer = |tck: u64, by: i64| tck.saturating_add_signed(by * BURST_TCK as i64);
        let mut all = 0;
        for (from_tck, count) in &mut stretch.writes {
            let of_all = *from_tck..*from_tck + *count * BURST_TCK;
            *from_tck = longer(*from_tck, all);
            for (_, by) in runs.iter().filter(|(from_tck, _)| of_all.contains(from_tck)) {
                *count = count.saturating_add_signed(*by);
                all += by;
            }
        }
        let writes = &mut stretch.commands[PinCommand::Wr as usize];
        *writes = writes.saturating_add_signed(all);
        stretch.tck = longer(stretch.tck, all);
        stretch
    }
}
