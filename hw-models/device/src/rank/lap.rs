// SPDX-License-Identifier: MIT
//! What is known of the laps of a rank: see `laps`.

use super::front::Doings;
use super::laps::Play;
use crate::sizes::{LANES, SCORE_BUFFER};
use crate::tape::Tape;
use pimlico_dpa::types::{Dispatch, Opcode, RankResults, ResultAddress, SumKind};
use pimlico_ports::U;
use pimlico_units::lap::Survey;
use pimlico_units::module::HostPortOut;

/// A mark: the state, and what has happened since the mark before.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub survey: Survey,
    /// The tCK, the row that is open, and its column that was read last.
    pub tck: u64,
    pub row: u16,
    pub column: usize,
    pub doings: Doings,
    pub tape: Tape,
    /// Results that were shown to the host's port, and when.
    pub results: Vec<(u64, RankResults)>,
}

/// Laps that are ahead of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// So many are between the mark at which their kind was found and this one.
    pub since: u64,
    /// So many can be gone through at once.
    pub laps: u64,
}

/// Laps of a rank.
#[derive(Debug, Default)]
pub struct Laps {
    /// They are looked for.
    pub wanted: bool,
    /// Those that were gone through at once.
    pub passed: u64,
    /// The row of the last mark.
    row: Option<usize>,
    /// The lap that is known does not begin at that mark, and may begin later in the row.
    later: bool,
    /// The last two marks, the last one first, if nothing but laps can be between them.
    marks: [Option<Mark>; 2],
    /// The lap that was found last.
    pub found: Option<Lap>,
    /// Room for a mark.
    spare: Mark,
    /// Results that were shown to the host's port since the last mark, and when.
    results: Vec<(u64, RankResults)>,
    /// What the host's port asks for since the last mark.
    pub asked: HostPortOut,
    /// What is played is left after so many tCK.
    pub longest_tck: Option<u64>,
    /// What is played.
    pub play: Option<Box<Play>>,
}

impl Laps {
    /// Whether a mark is to be set where this row is open: the first in it.
    pub fn marks(&mut self, row: Option<usize>) -> bool {
        row.is_some() && std::mem::replace(&mut self.row, row) != row
    }

    /// The column behind which the lap that is known begins, if it may in this row.
    pub fn later_at(&self) -> Option<usize> {
        self.found.as_ref().filter(|_| self.later).map(|lap| lap.end.column)
    }

    /// Behind that column: the laps that are ahead, as [`at`](Self::at) a mark.
    pub fn later(
        &mut self,
        mark: Mark,
        gear: u64,
        row_of: impl Fn(u16) -> Option<u16>,
    ) -> Option<Ahead> {
        self.later = false;
        let ahead = self.found.as_ref().and_then(|lap| lap.ahead(&mark, gear, row_of));
        self.spare = mark;
        ahead
    }

    /// Room for a mark.
    pub fn room(&mut self) -> Mark {
        std::mem::take(&mut self.spare)
    }

    /// Whether something is kept for the next mark.
    pub fn keeps(&self) -> bool {
        self.marks[0].is_some()
    }

    /// Results are shown to the host's port in this tCK.
    pub fn show(&mut self, tck: u64, results: Option<&RankResults>) {
        if self.keeps() {
            self.results.extend(results.map(|results| (tck, *results)));
        }
    }

    /// So many of this kind were played, and this row is open.
    pub fn played(&mut self, lap: Lap, laps: u64, row: Option<usize>) {
        self.passed += laps;
        (self.row, self.found) = (row, Some(lap));
        self.spoil();
    }

    /// Something happens that is in no lap.
    pub fn spoil(&mut self) {
        self.marks = [None, None];
        self.results.clear();
    }

    /// A run starts.
    pub fn start(&mut self) {
        self.spoil();
        (self.row, self.found, self.play) = (None, None, None);
    }

    /// At a mark: the laps that are ahead of it, as far as the rows of the Va2Pa table that `row_of` gives go. A cycle of the
    /// core has so many tCK.
    pub fn at(
        &mut self,
        mut mark: Mark,
        gear: u64,
        row_of: impl Fn(u16) -> Option<u16>,
    ) -> Option<Ahead> {
        mark.results.clear();
        std::mem::swap(&mut mark.results, &mut self.results);
        let ahead = |lap: &Lap| lap.ahead(&mark, gear, &row_of);
        let known = self.found.as_ref().and_then(ahead);
        let [last, first] = &self.marks;
        if let (None, Some(first), Some(middle)) = (known, first, last)
            && let Some(lap) = Lap::of([first, middle, &mark], gear)
        {
            self.found = Some(lap);
        }
        let ahead = known.or_else(|| self.found.as_ref().and_then(ahead));
        self.later = ahead.is_none();
        self.marks.swap(0, 1);
        self.spare = self.marks[0].replace(mark).unwrap_or_default();
        ahead
    }
}

/// A lap that was found: what each of its kind does.
#[derive(Debug)]
pub struct Lap {
    /// The mark at the end of the one that it was found in.
    end: Mark,
    /// By how much everything moves.
    pub by: Vec<u64>,
    /// tCK that it takes; how far it moves rows, and entries of the Va2Pa table.
    pub tck: u64,
    pub rows: u16,
    entries: u16,
    /// The loop whose repetitions it is made of: which of what moves are its number and what is left of it, and what a lap takes of
    /// both.
    number: usize,
    rest: usize,
    numbers: u64,
    taken: u64,
    /// Laps behind the end for which all places are in the score buffer.
    fits: u64,
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
        let counts_down = |at: &usize| number(by[*at]) + tck / gear == 1 << u32::BITS;
        if !survey.timers.iter().all(counts_down) {
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
        let [before, behind] = [middle, last].map(|mark| &mark.doings);
        if before.overflow || behind.overflow {
            return None;
        }
        let since = |mark: &Mark| {
            let results = mark.results.iter();
            results.map(|(at_tck, results)| (mark.tck - at_tck, shown_lanes(results))).collect()
        };
        let results: [Vec<_>; 2] = [middle, last].map(since);
        if results[0] != results[1] {
            return None;
        }
        let entries = entries_moved(&before.read, &behind.read, rows)?;
        let fits = fits(&before.dispatched, &behind.dispatched, rows)?;
        let (number, rest) = (of.number, of.rest);
        let end = last.clone();
        Some(Self { end, by, tck, rows, entries, number, rest, numbers, taken, fits })
    }

    /// Laps of its kind that are ahead of a mark, if they begin there: as many as the loop has repetitions before its last, as go
    /// by before a timer is over, and as have their places in the score buffer and their rows in the Va2Pa table.
    fn ahead(&self, mark: &Mark, gear: u64, row_of: impl Fn(u16) -> Option<u16>) -> Option<Ahead> {
        let (now, end) = (&mark.survey, &self.end.survey);
        if now.refused || now.still != end.still {
            return None;
        }
        let numbers = number(now.moving[self.number].wrapping_sub(end.moving[self.number]));
        let since = numbers / self.numbers;
        let rows = mark.row.wrapping_sub(self.end.row);
        if !numbers.is_multiple_of(self.numbers) || rows != self.rows.wrapping_mul(since as u16) {
            return None;
        }
        let of_loop = number(now.moving[self.rest]).saturating_sub(1) / self.taken;
        let of_timer = |at: &usize| number(now.moving[*at]).saturating_sub(1) / (self.tck / gear);
        let of_timers = now.timers.iter().map(of_timer).min().unwrap_or(u64::MAX);
        let most = of_loop.min(of_timers).min(self.fits.saturating_sub(since));
        let reads = |laps: &u64| self.reads(since + laps).all(|(at, row)| row_of(at) == Some(row));
        let laps = (1..=most).take_while(reads).count() as u64;
        Some(Ahead { since, laps })
    }

    /// Entries of the Va2Pa table that are read so many laps behind the end, and the rows that they have to be.
    fn reads(&self, laps: u64) -> impl Iterator<Item = (u16, u16)> {
        let [entries, rows] = [self.entries, self.rows].map(|by| by.wrapping_mul(laps as u16));
        let read = self.end.doings.read.iter();
        read.map(move |(at, row)| (at.wrapping_add(entries), row.wrapping_add(rows)))
    }

    /// Results that were shown to the host's port in it, and when.
    pub fn results(&self) -> &[(u64, RankResults)] {
        &self.end.results
    }

    /// What those who watch the pins were told in it, and the tCK of its end.
    pub fn tape(&self) -> (&Tape, u64) {
        (&self.end.tape, self.end.tck)
    }
}

/// Lanes in which results are, whatever they are.
fn shown_lanes(results: &RankResults) -> [U<4>; 2] {
    [results.context_valid, results.output_valid]
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

/// By how much entries of the Va2Pa table have moved, all of them by the same, if the rows that they are have moved so.
fn entries_moved(before: &[(u16, u16)], behind: &[(u16, u16)], rows: u16) -> Option<u16> {
    let mut moved = before.iter().zip(behind).map(|((at, row), (moved_at, moved_row))| {
        (moved_at.wrapping_sub(*at), moved_row.wrapping_sub(*row) == rows)
    });
    let (entries, true) = moved.next()? else { return None };
    let is_same = before.len() == behind.len() && moved.all(|moved| moved == (entries, true));
    is_same.then_some(entries)
}

/// For how many laps more all places are in the score buffer, if the commands of two laps are the same MACs and RD_RESULTs of
/// outputs, but for rows and places.
fn fits(before: &[Dispatch], behind: &[Dispatch], rows: u16) -> Option<u64> {
    let mut fits = u64::MAX;
    if before.len() != behind.len() {
        return None;
    }
    for (before, behind) in before.iter().zip(behind) {
        let moved = Dispatch { row: behind.row, place: behind.place, ..*before };
        let is_mac = matches!(behind.kind, Opcode::MacScore | Opcode::MacContext);
        let by = behind.place.get() as i64 - before.place.get() as i64;
        let has_moved = match is_mac {
            true => by == 0 && behind.row.wrapping_sub(before.row) == rows,
            false => behind.row == before.row && is_of_outputs(behind),
        };
        if moved != *behind || !has_moved {
            return None;
        }
        let (place, last) = (behind.place.get(), (SCORE_BUFFER - LANES) as u64);
        let room = if by < 0 { place } else { last.checked_sub(place)? };
        fits = fits.min(room.checked_div(by.unsigned_abs()).unwrap_or(u64::MAX));
    }
    Some(fits)
}

fn is_of_outputs(dispatch: &Dispatch) -> bool {
    let kind = ResultAddress::of_bits(dispatch.word).sum_kind();
    dispatch.kind == Opcode::RdResult && kind == SumKind::Outputs
}

#[cfg(test)]
mod tests;
