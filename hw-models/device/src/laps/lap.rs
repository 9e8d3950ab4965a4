// SPDX-License-Identifier: MIT
//! Laps of a rank: where they begin, and which are ahead.

use super::course::{Begin, Course, Due, Logs};
use pimlico_units::lap::{Clearing, Loop, Survey, Timer};

/// A mark: the state, and what has happened since the mark before.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub survey: Survey,
    /// The tCK, the row that is open, its column that was read last, and the entry of the Va2Pa table that was.
    pub tck: u64,
    pub row: u16,
    pub column: usize,
    pub entry: u16,
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

/// A lap that was found: what each of its kind does.
///
/// It is a *turn*. Turns are numbered by the loop, from the one that was found on; a lap with a REF in it has some.
#[derive(Clone, Debug)]
pub struct Lap {
    still: Vec<u64>,
    owing: Vec<u64>,
    /// The column that was read last where it begins.
    pub(super) column: usize,
    /// How far a turn moves rows, and entries of the Va2Pa table.
    pub rows: u16,
    entries: u16,
    /// The loop whose repetitions it is made of: which of what moves are its number and what is left of it, and what a turn takes of
    /// both.
    number: usize,
    rest: usize,
    numbers: u64,
    taken: u64,
    /// The numbers of the other loops, and what they have left.
    around: Vec<u64>,
    /// Of the first turn: its number, and in the run in which it is known where it begins, the row that is open there and the entry
    /// of the Va2Pa table that was read last.
    first: u64,
    is_placed: bool,
    row: u16,
    entry: u16,
    /// What a turn does without a REF, and some turns with one: by when that is due.
    plain: Course,
    refreshed: Vec<Course>,
    /// Laps with a REF that were seen once.
    samples: Vec<Course>,
    /// Something of it was found in this run.
    pub(super) is_new: bool,
}

/// The turn that was found. In another run there may be some before it.
const FIRST_TURN: u64 = 1 << u32::BITS;

/// Where a mark stands.
#[derive(Clone, Copy)]
pub(super) struct Stand {
    turn: u64,
    /// What the loop has left, cycles that are left until a REF is due, and REFs that are owed.
    rest: u64,
    left: u64,
    owed: u64,
}

impl Lap {
    /// The lap of three marks, if what is between the last two is what is between the first two, but for what moves.
    pub(super) fn of(marks: [&Mark; 3], gear: u64) -> Option<Self> {
        let [first, middle, last] = marks;
        let survey = &last.survey;
        let state = |mark: &Mark| {
            (&mark.survey.still, &mark.survey.owing) == (&survey.still, &survey.owing)
        };
        let is_same =
            |mark: &Mark| !mark.survey.refused && mark.survey.clearing.is_none() && state(mark);
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
        let before = Course::new(begin(first, FIRST_TURN - 1), tck, 1, by.clone(), before, None)?;
        let behind = Course::new(begin(middle, FIRST_TURN), tck, 1, by, behind, None)?;
        let plain = before.like(&behind, [rows, entries])?;
        Some(Self {
            still: survey.still.clone(),
            owing: survey.owing.clone(),
            column: last.column,
            rows,
            entries,
            number: of.number,
            rest: of.rest,
            numbers,
            taken,
            around: around(&middle.survey, of.number),
            first: number(middle.survey.moving[of.number]),
            is_placed: true,
            row: middle.row,
            entry: middle.entry,
            plain,
            refreshed: Vec::new(),
            samples: Vec::new(),
            is_new: true,
        })
    }

    /// What turns do, or those of a kind with a REF.
    pub fn course(&self, refreshed: Option<usize>) -> &Course {
        refreshed.and_then(|kind| self.refreshed.get(kind)).unwrap_or(&self.plain)
    }

    /// The same, for another run.
    pub fn released(&self) -> Self {
        Self { is_placed: false, is_new: false, ..self.clone() }
    }

    /// Whether what is known of another is known of this.
    pub fn is_same(&self, other: &Self) -> bool {
        let of = |lap: &Self| (lap.rows, lap.entries, lap.number, lap.numbers, lap.plain.tck);
        of(self) == of(other) && (&self.still, &self.owing) == (&other.still, &other.owing)
    }

    /// Kinds with a REF that are known.
    pub fn kinds(&self) -> usize {
        self.refreshed.len() + self.samples.len()
    }

    /// Whether a turn begins at a mark. In another run than before, rows and entries go on from there.
    pub(super) fn begin(&mut self, mark: &Mark) -> bool {
        let Some(turn) = self.turn(mark) else { return false };
        if !self.is_placed {
            let turns = turn.wrapping_sub(FIRST_TURN) as u16;
            let moved = |first: u16, by: u16, now: u16| {
                now.wrapping_sub(first.wrapping_add(by.wrapping_mul(turns)))
            };
            let by =
                [moved(self.row, self.rows, mark.row), moved(self.entry, self.entries, mark.entry)];
            let refreshed = self.refreshed.iter_mut().chain(&mut self.samples);
            refreshed.chain([&mut self.plain]).for_each(|course| course.shift(by));
            self.row = self.row.wrapping_add(by[0]);
            self.entry = self.entry.wrapping_add(by[1]);
            self.is_placed = true;
        }
        self.stand(mark).is_some()
    }

    /// The turn that begins at a mark, if one does, wherever its row is.
    fn turn(&self, mark: &Mark) -> Option<u64> {
        self.turn_but_for_owed(mark).filter(|_| mark.survey.owing == self.owing)
    }

    /// The same, whatever is owed.
    fn turn_but_for_owed(&self, mark: &Mark) -> Option<u64> {
        let now = &mark.survey;
        let is_there =
            !now.refused && now.still == self.still && around(now, self.number) == self.around;
        let mut courses = self.refreshed.iter().chain([&self.plain]);
        let clears = |of: &Clearing| courses.all(|course| course.clears(of));
        if !is_there || !now.clearing.as_ref().is_none_or(clears) {
            return None;
        }
        let numbers = number(now.moving[self.number].wrapping_sub(self.first << u32::BITS));
        let (numbers, of_turn) = (i64::from(numbers as i32), self.numbers as i64);
        let turns = (numbers % of_turn == 0).then_some(numbers / of_turn)?;
        Some(FIRST_TURN.wrapping_add_signed(turns))
    }

    /// Where a mark stands, if it is one at which a turn begins.
    pub(super) fn stand(&self, mark: &Mark) -> Option<Stand> {
        self.stand_of(mark, self.turn(mark)?)
    }

    /// The same, whatever is owed.
    fn stand_but_for_owed(&self, mark: &Mark) -> Option<Stand> {
        self.stand_of(mark, self.turn_but_for_owed(mark)?)
    }

    /// Whether a turn would begin at a mark, and does not, as what is owed is not alike.
    pub(super) fn leaves(&self, mark: &Mark) -> bool {
        self.stand_but_for_owed(mark).is_some() && mark.survey.owing != self.owing
    }

    /// Where a mark stands at which a turn begins, if its row is that of the turn.
    fn stand_of(&self, mark: &Mark, turn: u64) -> Option<Stand> {
        if !self.is_placed {
            return None;
        }
        let turns = turn.wrapping_sub(FIRST_TURN) as u16;
        let is_turn = mark.row.wrapping_sub(self.row) == self.rows.wrapping_mul(turns);
        let now = &mark.survey;
        let timer = now.timers.first();
        let left = timer.map_or(u64::MAX, |timer| number(now.moving[timer.left]));
        let owed = timer.map_or(0, |timer| timer.owed);
        is_turn.then(|| Stand { turn, rest: number(now.moving[self.rest]), left, owed })
    }

    /// Laps that are ahead of a mark, if they begin there: as many as the loop has repetitions before its last, as go by before a
    /// timer is over that is over in none that is known, and as have their places in the score buffer and their rows in the Va2Pa
    /// table.
    pub(super) fn ahead(
        &self,
        mark: &Mark,
        gear: u64,
        row_of: &impl Fn(u16) -> Option<u16>,
    ) -> Option<Ahead> {
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
            let is_due =
                |due: &Due| due.left.contains(&stand.left) && due.owed.contains(&stand.owed);
            let of_kind = |course: &Course| course.due.as_ref().is_some_and(is_due);
            let Some(kind) = self.refreshed.iter().position(of_kind) else { break };
            let course = &self.refreshed[kind];
            if course.turns > of_loop || stand.turn >= course.fits || !reads(course, stand.turn) {
                break;
            }
            segments.push(Segment { refreshed: Some(kind), laps: 1 });
            if course.leaves {
                break;
            }
            stand = self.behind(stand, course, 1, gear);
        }
        Some(Ahead { turn, segments })
    }

    /// Behind so many laps of a kind.
    fn behind(
        &self,
        Stand { turn, rest, left, owed }: Stand,
        of: &Course,
        laps: u64,
        gear: u64,
    ) -> Stand {
        let (turns, cycles) = (laps * of.turns, laps * of.tck / gear);
        let again = of.due.as_ref().map_or(0, |due| due.period);
        let left = if left == u64::MAX { left } else { left + again - cycles };
        let (rest, owed) = (rest - turns * self.taken, owed + of.more_owed());
        Stand { turn: turn + turns, rest, left, owed }
    }

    /// From one mark at which a turn begins to another, with what has happened between them: if that is a lap with a REF, it is
    /// known once it was seen twice, for REFs that become due between the soonest and the latest that were seen, if it was no
    /// other for one between these. Returns whether it is one.
    pub(super) fn sample(&mut self, begin: &Mark, end: &Mark, gear: u64) -> bool {
        let Some(course) = self.refresh_between(begin, end, gear) else { return false };
        let moved = [self.rows, self.entries];
        let like = |before: &Course| before.like(&course, moved);
        let all = self.refreshed.iter().chain(&self.samples).enumerate();
        let found = all.clone().find_map(|(n, before)| Some((n, like(before)?)));
        let Some((n, both)) = found else {
            if self.samples.len() == MOST_KINDS {
                self.samples.remove(0);
            }
            self.samples.push(course);
            return true;
        };
        if all.clone().any(|(other, course)| other != n && course.is_due_between(&both)) {
            return false;
        }
        match n.checked_sub(self.refreshed.len()) {
            None => self.refreshed[n] = both,
            Some(sample) if self.refreshed.len() < MOST_KINDS => {
                self.samples.remove(sample);
                self.refreshed.push(both);
            }
            Some(_) => {}
        }
        true
    }

    /// The lap with a REF between them, if there is one.
    fn refresh_between(&self, begin: &Mark, end: &Mark, gear: u64) -> Option<Course> {
        let (from, to) = (self.stand(begin)?, self.stand_but_for_owed(end)?);
        let leaves = end.survey.owing != self.owing;
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
        let is_due_once = to.left + tck / gear == from.left + period;
        // Where one more is owed, that is so for all that are alike behind it as well.
        let owed = match behind.owed == before.owed || leaves {
            true => before.owed..=before.owed,
            false => 1..=before.alike.saturating_sub(1),
        };
        let due = Due { left: from.left..=from.left, owed, period };
        let begin = Begin { tck: begin.tck, turn: from.turn };
        let mut course = Course::new(begin, tck, turns, by, &end.logs, Some(due))?;
        course.leaves = leaves;
        let refreshes = course.refreshes() as u64;
        let is_owed = refreshes <= 1 && behind.owed + refreshes == before.owed + 1;
        (is_due_once && is_owed).then_some(course)
    }
}

/// A number of 32 bits, or a difference of two, as it stands in a survey.
fn number(moving: u64) -> u64 {
    moving >> u32::BITS
}

/// The numbers of all loops but one, and what they have left.
fn around(survey: &Survey, but: usize) -> Vec<u64> {
    let others = survey.loops.iter().filter(|of| of.number != but);
    others.flat_map(|of| [of.number, of.rest]).map(|of| number(survey.moving[of])).collect()
}

/// tCK and rows from one mark to the next, and by how much everything has moved.
fn difference(before: &Mark, behind: &Mark) -> (u64, u16, Vec<u64>) {
    let moving = behind.survey.moving.iter().zip(&before.survey.moving);
    let by = moving.map(|(behind, before)| behind.wrapping_sub(*before)).collect();
    (behind.tck - before.tck, behind.row.wrapping_sub(before.row), by)
}

#[cfg(test)]
mod tests;
