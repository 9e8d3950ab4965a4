// SPDX-License-Identifier: MIT
//! The marks of a run, and the laps that are found at them.

use super::course::{Event, Inner};
use super::known::{KnownLaps, MOST_LAPS};
use super::lap::{Ahead, Lap, Mark};
use pimlico_units::module::HostPortOut;

/// Marks in a lap with a REF, at the most.
const MOST_MISSED: usize = 3;

/// Laps of a rank.
#[derive(Debug, Default)]
pub struct Laps {
    /// They are looked for.
    pub wanted: bool,
    /// Turns that were gone through at once.
    pub passed: u64,
    /// The row of the last mark.
    row: Option<usize>,
    /// The lap that is known does not begin at that mark, and may begin later in the row.
    pub later: bool,
    /// The last two marks, the last one first, if nothing but laps can be between them.
    marks: [Option<Mark>; 2],
    /// A mark at which the lap that is known begins; what is behind it may be a lap with a REF.
    recorded: Option<Mark>,
    /// Marks since then at which it does not begin.
    missed: usize,
    /// The lap that was played or found last, and others.
    pub found: Option<Lap>,
    others: Vec<Lap>,
    /// Those of all runs.
    pub known: KnownLaps,
    /// Room for a mark.
    spare: Mark,
    /// What the host's port was shown since the last mark.
    pub shown: Vec<Event>,
    /// What was made within the rank since then.
    pub inner: Vec<Inner>,
    /// What the host's port asks for since the last mark.
    pub asked: HostPortOut,
    /// What is played is left after so many tCK.
    pub longest_tck: Option<u64>,
}

impl Laps {
    /// A mark is to be set where it may be set next.
    pub fn mark_next(&mut self) {
        self.row = None;
    }

    /// Whether a mark is to be set where this row is open: the first in it.
    pub fn marks(&mut self, row: Option<usize>) -> bool {
        row.is_some() && std::mem::replace(&mut self.row, row) != row
    }

    /// The column behind which the lap that is known begins, if it may in this row.
    pub fn later_at(&self) -> Option<usize> {
        self.found.as_ref().filter(|_| self.later).map(|lap| lap.column)
    }

    /// Room for a mark.
    pub fn room(&mut self) -> Mark {
        std::mem::take(&mut self.spare)
    }

    /// A mark is of no further use.
    pub fn forget(&mut self, mark: Mark) {
        self.spare = mark;
    }

    /// Whether something is kept for the next mark.
    pub fn keeps(&self) -> bool {
        self.marks[0].is_some() || self.records()
    }

    /// Whether a lap with a REF may go on.
    pub fn records(&self) -> bool {
        self.recorded.is_some()
    }

    /// So many turns of this kind were played; a mark is set next where another row than this is open.
    pub fn played(&mut self, lap: Lap, turns: u64, row: Option<usize>) {
        self.passed += turns;
        (self.row, self.found) = (row, Some(lap));
        self.spoil();
    }

    /// Something happens that is in no lap.
    pub fn spoil(&mut self) {
        (self.marks, self.recorded) = ([None, None], None);
        self.shown.clear();
        self.inner.clear();
    }

    /// A run starts.
    pub fn start(&mut self) {
        self.spoil();
        self.share();
        self.row = None;
        if self.wanted {
            self.others = self.known.all();
        }
    }

    /// What was found is for all who share it.
    fn share(&mut self) {
        let laps = self.found.take().into_iter().chain(self.others.drain(..));
        laps.filter(|lap| lap.is_new).for_each(|lap| self.known.keep(lap));
    }

    /// Where another lap than the last one begins at a mark, it takes its place.
    pub fn change(&mut self, mark: &Mark) {
        if self.found.as_ref().is_some_and(|lap| lap.stand(mark).is_some()) {
            return;
        }
        let begins = |lap: &mut Lap| lap.begin(mark);
        let Some(other) = self.others.iter_mut().position(begins) else { return };
        self.recorded = None;
        let other = self.others.swap_remove(other);
        self.others.extend(self.found.replace(other));
    }

    /// The laps that are ahead of a mark, if it is one at which the lap that is known begins: as far as the rows of the Va2Pa table
    /// that `row_of` gives go. A cycle of the core has so many tCK.
    pub fn ahead(
        &self,
        mark: &Mark,
        gear: u64,
        row_of: &impl Fn(u16) -> Option<u16>,
    ) -> Option<Ahead> {
        self.found.as_ref().and_then(|lap| lap.ahead(mark, gear, row_of))
    }

    /// What is behind this mark is recorded, until the lap that is known begins anew.
    pub fn record(&mut self, mark: Mark) {
        (self.recorded, self.missed) = (Some(mark), 0);
    }

    /// It does not begin at a mark. Where that is so for long, what was recorded is of no use.
    pub fn miss(&mut self) {
        self.missed += 1;
        if self.missed > MOST_MISSED {
            self.recorded = None;
        }
    }

    /// Whether a lap that goes on ends at this mark, behind which another begins, as what is owed is not alike.
    pub fn leaves(&self, mark: &Mark) -> bool {
        self.records() && self.found.as_ref().is_some_and(|lap| lap.leaves(mark))
    }

    /// It begins anew, at this mark, with what was recorded, or leaves it.
    pub fn end_record(&mut self, end: &Mark, gear: u64) {
        if let (Some(begin), Some(lap)) = (self.recorded.take(), &mut self.found) {
            lap.is_new |= lap.sample(&begin, end, gear);
            self.spare = begin;
        }
    }

    /// At a mark at which no lap is known: the lap of the last three marks is known from here on.
    pub fn find(&mut self, mark: Mark, gear: u64) {
        let [last, first] = &self.marks;
        if let (Some(first), Some(middle)) = (first, last)
            && let Some(lap) = Lap::of([first, middle, &mark], gear)
        {
            if self.others.len() == MOST_LAPS {
                self.others.remove(0);
            }
            self.others.extend(self.found.replace(lap));
        }
        self.marks.swap(0, 1);
        self.spare = self.marks[0].replace(mark).unwrap_or_default();
    }
}

impl Drop for Laps {
    fn drop(&mut self) {
        self.share();
    }
}
