// SPDX-License-Identifier: MIT
//! What is known of the laps of a rank: see `laps`.

use super::course::{Begin, Course, Due, Event, Logs};
use pimlico_units::lap::{Loop, Survey, Timer};
use pimlico_units::module::HostPortOut;

/// A mark: the state, and what has happened since the mark before.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub survey: Survey,
    /// The tCK, the row that is open, and its column that was read last.
    pub tck: u64,
    pub row: u16,
    pub column: usize,
    pub logs: Logs,
}

/// Laps that are ahead of a mark, one kind after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The turn at the mark.
    pub turn: u64,
    pub segments: Vec<Segment>,
}

/// Laps of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of the kind, where there is a REF in them.
    pub refreshed: Option<usize>,
    pub laps: u64,
}

/// Segments of which is known at once that they are ahead, at the most.
const MOST_SEGMENTS: usize = 4096;

/// Kinds of laps with a REF, at the most.
const MOST_KINDS: usize = 32;

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
    /// The lap that was found last.
    pub found: Option<Lap>,
    /// Room for a mark.
    spare: Mark,
    /// What the host's port was shown since the last mark.
    pub shown: Vec<Event>,
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
    }

    /// A run starts.
    pub fn start(&mut self) {
        self.spoil();
        (self.row, self.found) = (None, None);
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

    /// It begins anew, at this mark, with what was recorded.
    pub fn end_record(&mut self, end: &Mark, gear: u64) {
        if let (Some(begin), Some(lap)) = (self.recorded.take(), &mut self.found) {
            lap.sample(&begin, end, gear);
            self.spare = begin;
        }
    }

    /// At a mark at which no lap is known: the lap of the last three marks is known from here on.
    pub fn find(&mut self, mark: Mark, gear: u64) {
        let [last, first] = &self.marks;
        if let (Some(first), Some(middle)) = (first, last)
            && let Some(lap) = Lap::of([first, middle, &mark], gear)
        {
            self.found = Some(lap);
        }
        self.marks.swap(0, 1);
        self.spare = self.marks[0].replace(mark).unwrap_or_default();
    }
}

/// A lap that was found: what each of its kind does.
///
/// It is a *turn*. Turns are numbered, from the one that was found on; a lap with a REF in it has some.
#[derive(Debug)]
pub struct Lap {
    still: Vec<u64>,
    /// The column that was read last where it begins.
    column: usize,
    /// How far a turn moves rows, and entries of the Va2Pa table.
    pub rows: u16,
    entries: u16,
    /// The loop whose repetitions it is made of: which of what moves are its number and what is left of it, and what a turn takes of
    /// both.
    number: usize,
    rest: usize,
    numbers: u64,
    taken: u64,
    /// Of turn 1: its number, and the row that is open where it begins.
    first: u64,
    row: u16,
    /// What a turn does without a REF, and some turns with one: by when that is due.
    plain: Course,
    refreshed: Vec<Course>,
    /// Laps with a REF that were seen once.
    samples: Vec<Course>,
}

/// Where a mark stands.
#[derive(Clone, Copy)]
struct Stand {
    turn: u64,
    /// What the loop has left, and cycles that are left until a REF is due.
    rest: u64,
    left: u64,
}

impl Lap {
    /// The lap of three marks, if what is between the last two is what is between the first two, but for what moves.
    fn of(marks: [&Mark; 3], gear: u64) -> Option<Self> {
        let [first, middle, last] = marks;
        let survey = &last.survey;
        let is_same = |mark: &Mark| !mark.survey.refused && mark.survey.still == survey.still;
        if !marks.into_iter().all(is_same) {
            return None;
        }
        let (tck, rows, by) = difference(middle, last);
        if difference(first, middle) != (tck, rows, by.clone()) {
            return None;
        }
        let is_steady = |timer: &Timer| number(by[timer.left]) + tck / gear == 1 << u32::BITS;
        if !survey.timers.iter().all(is_steady) {
            return None;
        }
        // One loop goes on by some repetitions; those around it stand, and those in it stand where they stood.
        let mut moving = survey.loops.iter().filter(|of| by[of.number] != 0 || by[of.rest] != 0);
        let (Some(of), None) = (moving.next(), moving.next()) else { return None };
        let numbers = number(by[of.number]);
        let taken = numbers * of.step;
        if taken == 0 || number(by[of.rest]) + taken != 1 << u32::BITS {
            return None;
        }
        let [before, behind] = [middle, last].map(|mark| &mark.logs);
        let entries = before.entries_moved(behind, rows)?;
        let begin = |mark: &Mark, turn| Begin { tck: mark.tck, turn };
        let before = Course::new(begin(first, 0), tck, 1, by.clone(), before, None)?;
        let behind = Course::new(begin(middle, 1), tck, 1, by, behind, None)?;
        let plain = before.like(&behind, [rows, entries])?;
        Some(Self {
            still: survey.still.clone(),
            column: last.column,
            rows,
            entries,
            number: of.number,
            rest: of.rest,
            numbers,
            taken,
            first: number(middle.survey.moving[of.number]),
            row: middle.row,
            plain,
            refreshed: Vec::new(),
            samples: Vec::new(),
        })
    }

    /// What turns do, or those of a kind with a REF.
    pub fn course(&self, refreshed: Option<usize>) -> &Course {
        refreshed.and_then(|kind| self.refreshed.get(kind)).unwrap_or(&self.plain)
    }

    /// Where a mark stands, if it is one at which a turn begins.
    fn stand(&self, mark: &Mark) -> Option<Stand> {
        let now = &mark.survey;
        if now.refused || now.still != self.still {
            return None;
        }
        let numbers = number(now.moving[self.number].wrapping_sub(self.first << u32::BITS));
        let turn = 1 + numbers / self.numbers;
        let rows = mark.row.wrapping_sub(self.row);
        let is_turn = numbers.is_multiple_of(self.numbers)
            && rows == self.rows.wrapping_mul((turn - 1) as u16);
        let left = now.timers.first().map_or(u64::MAX, |timer| number(now.moving[timer.left]));
        is_turn.then(|| Stand { turn, rest: number(now.moving[self.rest]), left })
    }

    /// Laps that are ahead of a mark, if they begin there: as many as the loop has repetitions before its last, as go by before a
    /// timer is over that is over in none that is known, and as have their places in the score buffer and their rows in the Va2Pa
    /// table.
    fn ahead(&self, mark: &Mark, gear: u64, row_of: &impl Fn(u16) -> Option<u16>) -> Option<Ahead> {
        let mut stand = self.stand(mark)?;
        let (turn, mut segments) = (stand.turn, Vec::new());
        let reads = |course: &Course, turn| {
            let mut reads = course.reads(turn, [self.rows, self.entries]);
            reads.all(|(at, row)| row_of(at) == Some(row))
        };
        while segments.len() < MOST_SEGMENTS {
            let of_loop = stand.rest.saturating_sub(1) / self.taken;
            let of_timer = stand.left.saturating_sub(1) / (self.plain.tck / gear);
            let most = of_loop.min(of_timer).min(self.plain.fits.saturating_sub(stand.turn));
            let is_there = |laps: &u64| reads(&self.plain, stand.turn + laps);
            let laps = (0..most).take_while(is_there).count() as u64;
            segments.extend((laps > 0).then_some(Segment { refreshed: None, laps }));
            stand = self.behind(stand, &self.plain, laps, gear);
            let of_loop = stand.rest.saturating_sub(1) / self.taken;
            let owed = mark.survey.timers.first().map(|timer| timer.owed);
            let is_due = |due: &Due| due.left.contains(&stand.left) && owed == Some(due.owed);
            let of_kind = |course: &Course| course.due.as_ref().is_some_and(is_due);
            let Some(kind) = self.refreshed.iter().position(of_kind) else { break };
            let course = &self.refreshed[kind];
            if course.turns > of_loop || stand.turn >= course.fits || !reads(course, stand.turn) {
                break;
            }
            segments.push(Segment { refreshed: Some(kind), laps: 1 });
            stand = self.behind(stand, course, 1, gear);
        }
        Some(Ahead { turn, segments })
    }

    /// Behind so many laps of a kind.
    fn behind(
        &self,
        Stand { turn, rest, left }: Stand,
        of: &Course,
        laps: u64,
        gear: u64,
    ) -> Stand {
        let (turns, cycles) = (laps * of.turns, laps * of.tck / gear);
        let again = of.due.as_ref().map_or(0, |due| due.period);
        let left = if left == u64::MAX { left } else { left + again - cycles };
        Stand { turn: turn + turns, rest: rest - turns * self.taken, left }
    }

    /// From one mark at which a turn begins to another, with what has happened between them: if that is a lap with a REF, it is
    /// known once it was seen twice, for REFs that become due between the soonest and the latest that were seen, if it was no
    /// other for one between these.
    fn sample(&mut self, begin: &Mark, end: &Mark, gear: u64) {
        let Some(course) = self.refresh_between(begin, end, gear) else { return };
        let moved = [self.rows, self.entries];
        let like = |before: &Course| before.like(&course, moved);
        let all = self.refreshed.iter().chain(&self.samples).enumerate();
        let found = all.clone().find_map(|(n, before)| Some((n, like(before)?)));
        let Some((n, both)) = found else {
            if self.samples.len() == MOST_KINDS {
                self.samples.remove(0);
            }
            return self.samples.push(course);
        };
        if all.clone().any(|(other, course)| other != n && course.is_due_between(&both)) {
            return;
        }
        match n.checked_sub(self.refreshed.len()) {
            None => self.refreshed[n] = both,
            Some(sample) if self.refreshed.len() < MOST_KINDS => {
                self.samples.remove(sample);
                self.refreshed.push(both);
            }
            Some(_) => {}
        }
    }

    /// The lap with a REF between them, if there is one.
    fn refresh_between(&self, begin: &Mark, end: &Mark, gear: u64) -> Option<Course> {
        let [from, to] = [self.stand(begin)?, self.stand(end)?];
        let turns = to.turn.checked_sub(from.turn).filter(|turns| *turns > 0)?;
        let (tck, _, by) = difference(begin, end);
        let is_other = |of: &&Loop| of.number != self.number;
        let mut others = end.survey.loops.iter().filter(is_other);
        if from.rest != to.rest + turns * self.taken
            || others.any(|of| by[of.number] != 0 || by[of.rest] != 0)
        {
            return None;
        }
        let [before, behind] = [begin, end].map(|mark| mark.survey.timers.first());
        let (before, behind) = (before?, behind?);
        let period = u64::from(before.period);
        let is_due_once = to.left + tck / gear == from.left + period && before.owed == behind.owed;
        let due = Due { left: from.left..=from.left, owed: before.owed, period };
        let begin = Begin { tck: begin.tck, turn: from.turn };
        let course = Course::new(begin, tck, turns, by, &end.logs, Some(due))?;
        (is_due_once && course.refreshes() == 1).then_some(course)
    }
}

/// A number of 32 bits, or a difference of two, as it stands in a survey.
fn number(moving: u64) -> u64 {
    moving >> u32::BITS
}

/// tCK and rows from one mark to the next, and by how much everything has moved.
fn difference(before: &Mark, behind: &Mark) -> (u64, u16, Vec<u64>) {
    let moving = behind.survey.moving.iter().zip(&before.survey.moving);
    let by = moving.map(|(behind, before)| behind.wrapping_sub(*before)).collect();
    (behind.tck - before.tck, behind.row.wrapping_sub(before.row), by)
}

#[cfg(test)]
mod tests;
