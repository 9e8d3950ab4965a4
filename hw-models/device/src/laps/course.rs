// SPDX-License-Identifier: MIT
//! What is done in a lap: what is played of it, and on what it hangs.

use crate::dispatch::Made;
use crate::options::Gear;
use crate::sizes::{LANES, SCORE_BUFFER};
use crate::tape::{Tape, Told};
use pimlico_dpa::types::{Dispatch, Opcode, RankResults, ResultAddress, SumKind};
use pimlico_units::lap::Clearing;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the dispatcher does.
#[derive(Clone, Debug, Default)]
pub struct Doings {
    /// Commands that were taken.
    pub dispatched: Vec<Dispatch>,
    /// Entries of the Va2Pa table that were read, and what they are: one of several that are the same one after the other.
    pub read: Vec<(u16, u16)>,
    /// It was more than is kept.
    pub overflow: bool,
}

impl Doings {
    /// None, with the same room.
    pub fn cleared(mut self) -> Self {
        self.dispatched.clear();
        self.read.clear();
        Self { overflow: false, ..self }
    }
}

/// What has happened since a mark.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    pub doings: Doings,
    pub tape: Tape,
    pub shown: Vec<Event>,
    pub inner: Vec<Inner>,
}

impl Logs {
    /// Nothing, with the same room.
    pub fn cleared(self) -> Self {
        let Self { doings, tape, mut shown, mut inner } = self;
        shown.clear();
        inner.clear();
        Self { doings: doings.cleared(), tape: tape.cleared(), shown, inner }
    }

    /// By how much entries of the Va2Pa table have moved, all of them by the same, if the rows that they are have moved so.
    pub fn entries_moved(&self, behind: &Self, rows: u16) -> Option<u16> {
        let [before, behind] = [&self.doings.read, &behind.doings.read];
        let moved = before.first().zip(behind.first());
        let entries = moved.map(|((at, _), (moved_at, _))| moved_at.wrapping_sub(*at))?;
        are_moved(before, behind, [rows, entries]).then_some(entries)
    }
}

/// What the host's port is shown in a cycle of the core beside the status.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at_tck: u64,
    /// A REF is on the pins.
    pub refreshes: bool,
    pub results: Option<RankResults>,
}

/// Scores or weights of a head that are made within the rank, one behind the other: how many they are, not which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    are_weights: bool,
    head: usize,
    count: u64,
}

impl Inner {
    /// What is made, if it is such.
    pub fn of(made: Made) -> Option<Self> {
        let (are_weights, head, count) = match made {
            Made::Score { head, .. } => (false, head, 1),
            Made::Weight { head, .. } => (true, head, 1),
            Made::Scores { head, count } => (false, head, count as u64),
            Made::Weights { head, count } => (true, head, count as u64),
            Made::Context { .. } | Made::Output(_) => return None,
        };
        Some(Self { are_weights, head, count })
    }

    /// In so many laps.
    pub fn in_laps(self, laps: u64) -> Self {
        Self { count: laps * self.count, ..self }
    }

    /// All of them.
    pub fn made(self) -> Made {
        let (head, count) = (self.head, self.count as usize);
        if self.are_weights { Made::Weights { head, count } } else { Made::Scores { head, count } }
    }

    /// Others come behind those before.
    pub fn come(self, before: &mut Vec<Self>) {
        match before.last_mut() {
            Some(last) if (last.are_weights, last.head) == (self.are_weights, self.head) => {
                last.count += self.count;
            }
            _ => before.push(self),
        }
    }
}

/// Where a lap begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    pub tck: u64,
    pub turn: u64,
}

/// For which REFs a lap is what it is.
#[derive(Clone, Debug)]
pub struct Due {
    /// Cycles that are left until it is due, where the lap begins.
    pub left: RangeInclusive<u64>,
    /// REFs that are owed there.
    pub owed: RangeInclusive<u64>,
    /// Cycles from one that is due to the next.
    pub period: u64,
}

/// Numbers of courses, whosever they are.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// What is done in a lap of some turns.
#[derive(Clone, Debug)]
pub struct Course {
    /// No other has it.
    pub number: u64,
    /// Where it began when it was recorded.
    pub begin: Begin,
    pub tck: u64,
    pub turns: u64,
    /// By how much everything moves.
    pub by: Vec<u64>,
    /// The REF that becomes due in it, if one does.
    pub due: Option<Due>,
    /// What is owed behind it is not alike what is owed before: another lap goes on there.
    pub leaves: bool,
    logs: Logs,
    /// Rows and entries that were so many before the run in which the lap is known now.
    shift: [u16; 2],
    /// The turn before which it has to begin, so that all places are in the score buffer.
    pub fits: u64,
}

impl Course {
    /// Something that was recorded once, if nothing is in it but what comes again and again.
    pub fn new(
        begin: Begin,
        tck: u64,
        turns: u64,
        by: Vec<u64>,
        logs: &Logs,
        due: Option<Due>,
    ) -> Option<Self> {
        let is_whole = !logs.doings.overflow && logs.doings.dispatched.iter().all(is_of_lap);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let (logs, shift, leaves, fits) = (logs.clone(), [0; 2], false, 0);
        is_whole.then_some(Self { number, begin, tck, turns, by, due, leaves, logs, shift, fits })
    }

    /// Whether it is the same where some words are not cleared: it looks up none of these, and has cycles without a command to clear
    /// them.
    pub fn clears(&self, &Clearing { cleared, words }: &Clearing) -> bool {
        let dispatched = &self.logs.doings.dispatched;
        let mut looked_up =
            dispatched.iter().filter(|of| of.kind.has_shared_word()).map(|of| of.word);
        let cycles = self.tck as usize / Gear::Four.tck();
        looked_up.all(|word| usize::from(word) < cleared)
            && words - cleared + dispatched.len() <= cycles
    }

    /// In another run its rows and entries are so many further on.
    pub fn shift(&mut self, by: [u16; 2]) {
        self.shift = [0, 1].map(|of| self.shift[of].wrapping_add(by[of]));
    }

    /// By how much rows and entries have moved from where they were recorded until a turn, of which each moves them by these.
    fn moved(&self, turn: u64, moved: [u16; 2]) -> [u16; 2] {
        let turns = turn.wrapping_sub(self.begin.turn) as u16;
        [0, 1].map(|of| moved[of].wrapping_mul(turns).wrapping_add(self.shift[of]))
    }

    /// Whether the REF in it may be due when that in another may.
    pub fn is_due_between(&self, other: &Self) -> bool {
        let meet = |one: &RangeInclusive<u64>, other: &RangeInclusive<u64>| {
            one.start() <= other.end() && other.start() <= one.end()
        };
        let both = self.due.as_ref().zip(other.due.as_ref());
        both.is_some_and(|(one, other)| {
            meet(&one.left, &other.left) && meet(&one.owed, &other.owed)
        })
    }

    /// REFs that are owed behind it and were not before.
    pub fn more_owed(&self) -> u64 {
        self.due.as_ref().map_or(0, |_| 1 - self.refreshes() as u64)
    }

    /// REFs in it.
    pub fn refreshes(&self) -> usize {
        self.logs.shown.iter().filter(|event| event.refreshes).count()
    }

    /// What the host's port is shown.
    pub fn shown(&self) -> &[Event] {
        &self.logs.shown
    }

    /// What is made within the rank.
    pub fn inner(&self) -> &[Inner] {
        &self.logs.inner
    }

    /// What those who watch the pins are told.
    pub fn tape(&self) -> &Tape {
        &self.logs.tape
    }

    /// Entries of the Va2Pa table that are read where it begins with a turn, and the rows that they have to be. A turn moves both by
    /// these.
    pub fn reads(&self, turn: u64, moved: [u16; 2]) -> impl Iterator<Item = (u16, u16)> {
        let [rows, entries] = self.moved(turn, moved);
        let read = self.logs.doings.read.iter();
        read.map(move |(at, row)| (at.wrapping_add(entries), row.wrapping_add(rows)))
    }

    /// The lap that is both of these, the other of which was seen later, of another turn: if they are the same, but for what a turn
    /// moves.
    pub fn like(&self, later: &Self, moved: [u16; 2]) -> Option<Self> {
        let turns = later.begin.turn.wrapping_sub(self.begin.turn) as i64;
        let tck = later.begin.tck.wrapping_sub(self.begin.tck);
        let [moved, before] = [self.moved(later.begin.turn, moved), later.shift];
        let moved = [0, 1].map(|of| moved[of].wrapping_sub(before[of]));
        let is_same = (self.tck, self.turns, &self.by) == (later.tck, later.turns, &later.by)
            && are_moved(&self.logs.doings.read, &later.logs.doings.read, moved)
            && self.logs.tape.is_later(&later.logs.tape, tck, moved[0])
            && are_shown_later(&self.logs.shown, &later.logs.shown, tck)
            && self.logs.inner == later.logs.inner;
        if !is_same {
            return None;
        }
        let [before, behind] = [&self.logs, &later.logs].map(|logs| &logs.doings.dispatched);
        let fits = fits(before, behind, moved[0], turns)?;
        let due = match (&self.due, &later.due) {
            (Some(one), Some(other)) if one.owed == other.owed => {
                let left = *one.left.start().min(other.left.start())
                    ..=*one.left.end().max(other.left.end());
                Some(Due { left, ..other.clone() })
            }
            (None, None) => None,
            _ => return None,
        };
        let fits = later.begin.turn.saturating_add(fits).saturating_add(1);
        Some(Self { number: self.number, due, fits, ..later.clone() })
    }

    /// What those who watch are told of next, where so much of it was told, in a lap that begins so.
    pub fn told(&self, begin: Begin, rows: u16, told: usize, reads: usize) -> Option<Told> {
        let told = self.logs.tape.told.get(told)?;
        let [rows, _] = self.moved(begin.turn, [rows, 0]);
        let later = told.later(begin.tck.wrapping_sub(self.begin.tck), rows);
        Some(later.without(reads))
    }
}

/// Whether entries of the Va2Pa table, and the rows that they are, have moved by these.
fn are_moved(before: &[(u16, u16)], behind: &[(u16, u16)], [rows, entries]: [u16; 2]) -> bool {
    let moved = |&(at, row): &(u16, u16)| (at.wrapping_add(entries), row.wrapping_add(rows));
    before.iter().map(moved).eq(behind.iter().copied())
}

/// Whether the port is shown the same so many tCK later; of results, that there are some in the same lanes.
fn are_shown_later(before: &[Event], behind: &[Event], tck: u64) -> bool {
    let seen = |event: &Event| {
        let lanes = event.results.map(|of| (of.context_valid, of.output_valid));
        (event.at_tck, event.refreshes, lanes)
    };
    let later = |event: &Event| seen(&Event { at_tck: event.at_tck.wrapping_add(tck), ..*event });
    before.iter().map(later).eq(behind.iter().map(seen))
}

/// For how many turns more all places are in the score buffer, if the commands of two laps are the same so many turns later,
/// but for rows and places.
fn fits(before: &[Dispatch], behind: &[Dispatch], rows: u16, turns: i64) -> Option<u64> {
    let mut fits = u64::MAX;
    if before.len() != behind.len() || turns == 0 {
        return None;
    }
    for (before, behind) in before.iter().zip(behind) {
        let moved = Dispatch { row: behind.row, place: behind.place, ..*before };
        let has_row = behind.kind.has_row();
        let by = behind.place.get() as i64 - before.place.get() as i64;
        let of_turn = by / turns;
        let row = if has_row { before.row.wrapping_add(rows) } else { before.row };
        if moved != *behind || row != behind.row || by % turns != 0 {
            return None;
        }
        let (place, last) = (behind.place.get(), (SCORE_BUFFER - LANES) as u64);
        if of_turn != 0 {
            let room = if of_turn < 0 { place } else { last.checked_sub(place)? };
            fits = fits.min(room / of_turn.unsigned_abs());
        }
    }
    Some(fits)
}

/// Not what begins or ends a head: operands of the host, FINISH, and complete sums of the context.
fn is_of_lap(dispatch: &Dispatch) -> bool {
    let completes = |of: SumKind| of == SumKind::Context && dispatch.last;
    match dispatch.kind {
        Opcode::RdResult => !completes(ResultAddress::of_bits(dispatch.word).sum_kind()),
        Opcode::Weigh | Opcode::WrWeights => true,
        kind => kind.has_row(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use pimlico_ports::U;

    /// A MAC of a row, and an RD_RESULT of the outputs of a place.
    pub fn dispatched(row: u16, place: u64) -> Vec<Dispatch> {
        let mac = Dispatch { kind: Opcode::MacScore, row, column: 7, ..Dispatch::default() };
        let word = ResultAddress::outputs(2).bits();
        let result =
            Dispatch { kind: Opcode::RdResult, place: U::new(place), word, ..Dispatch::default() };
        vec![mac, result]
    }

    #[test]
    fn places_stay_in_the_score_buffer() {
        let room = |before: u64, behind: u64, turns: i64| {
            fits(&dispatched(1, before), &dispatched(2, behind), 1, turns)
        };
        let last = (SCORE_BUFFER - LANES) as u64;
        assert_eq!(room(last - 48, last - 32, 1), Some(2));
        assert_eq!(room(last - 47, last - 31, 1), Some(1));
        assert_eq!(room(last - 16, last, 1), Some(0));
        assert_eq!(room(last - 96, last - 48, 3), Some(3));
        assert_eq!(room(40, 24, 1), Some(1));
        assert_eq!(room(24, 24, 1), Some(u64::MAX));
        assert_eq!(room(last + 9, last + 9, 1), Some(u64::MAX), "none is kept");
        assert_eq!(room(last - 15, last + 1, 1), None, "it is not there");
        assert_eq!(room(0, 16, 3), None, "no turn moves it so");
        assert_eq!(room(last - 16, last - 32, -1), Some(2), "the one behind is of an earlier run");
        assert_eq!(room(16, 16, 0), None, "of the same turn: nothing is known");
    }
}
