// SPDX-License-Identifier: MIT
//! Rows that are written without data: what is known of them. What is made of that is the module's: see `rows`.
//!
//! ```text
//!   state ──row──▶ state ──row──▶ state        the first of a matrix, and each of which nothing is known, is stepped
//!     └─ equal, but for ─┴─ known: the state is moved on, and what was on the pins is told of later tCK
//!        what has moved
//! ```
//!
//! Where there are no data, what is done while a row is written hangs on the state in which that begins and on which banks and
//! columns are written. The state is [surveyed](pimlico_units::lap) before and behind a row that is stepped. If it is the same but
//! for what has moved, the row is *known*: where it begins so again, all that moves is moved on by as much, and those who watch
//! the pins are told what they were told.
//!
//! REFs are apart from that, as the time until one is due is hardly the same twice. A row in which none becomes due, or is forced as
//! the next is due soon, is known for all times that are longer than it. Others are known for all times between the shortest and the
//! longest that were seen, if they were the same at both: what is sooner in one than in another is before or behind the same commands.

use super::control::Refreshing;
use super::layout::WriteShape;
use super::units::SLOTS;
use crate::tape::{Tape, Told};
use pimlico_units::lap::Survey;
use std::ops::RangeInclusive;

/// Rows that are known, at the most.
const MOST: usize = 256;

/// What is known of rows.
#[derive(Default)]
pub struct KnownRows {
    rows: Vec<KnownRow>,
    /// Rows that were passed, since the reset.
    pub passed: u64,
}

/// Where the writes of a row begin.
pub struct RowBegin {
    pub shape: WriteShape,
    pub row: u16,
    pub tck: u64,
    pub survey: Survey,
    /// REFs, and cycles until one is due.
    pub refreshing: Refreshing,
    pub left: u64,
}

/// A row that was written.
pub struct KnownRow {
    begin: RowBegin,
    /// Cycles until a REF is due at its begin, for which it is what it is.
    left: RangeInclusive<u64>,
    tck: u64,
    /// By how much everything moves, and cycles until a REF is due.
    pub by: Vec<u64>,
    left_by: u64,
    /// REFs behind it.
    refreshing: Refreshing,
    tape: Tape,
}

impl KnownRow {
    /// What was stepped between where writes of a row begin and where those of the next do, if that is the same but for what moves.
    pub fn between(begin: RowBegin, end: &RowBegin, tape: Tape) -> Option<Self> {
        let [before, behind] = [&begin.survey, &end.survey];
        if before.still != behind.still {
            return None;
        }
        let tck = end.tck - begin.tck;
        let cycles = tck / SLOTS as u64;
        // No REF is due in it, nor forced.
        let first = cycles + Refreshing::MARGIN + 1;
        let left = if begin.left < first { begin.left..=begin.left } else { first..=u64::MAX };
        let by = behind.moving.iter().zip(&before.moving);
        let by = by.map(|(behind, before)| behind.wrapping_sub(*before)).collect();
        let left_by = end.left.wrapping_sub(begin.left);
        let refreshing = end.refreshing.clone();
        Some(Self { begin, left, tck, by, left_by, refreshing, tape })
    }

    /// What is told of the pins where it begins so.
    pub fn told(&self, begin: &RowBegin) -> impl Iterator<Item = Told> + Clone {
        let tck = begin.tck.wrapping_sub(self.begin.tck);
        let rows = begin.row.wrapping_sub(self.begin.row);
        self.tape.told.iter().map(move |told| told.later(tck, rows))
    }

    /// REFs behind it where it begins so, and cycles until one is due.
    pub fn refreshing(&self, begin: &RowBegin) -> (Refreshing, u64) {
        (self.refreshing.clone(), begin.left.wrapping_add(self.left_by))
    }

    /// Whether the writes of a row that begins so are those of this one.
    fn is_begun(&self, begin: &RowBegin) -> bool {
        self.left.contains(&begin.left) && self.is_like(begin)
    }

    /// The same, whenever a REF is due.
    fn is_like(&self, begin: &RowBegin) -> bool {
        self.begin.shape == begin.shape
            && self.begin.refreshing == begin.refreshing
            && self.begin.survey.still == begin.survey.still
    }

    /// Whether another that begins as this does the same, but for what moves.
    fn does(&self, other: &Self) -> bool {
        let RowBegin { tck, row, .. } = self.begin;
        let (tck, rows) = (other.begin.tck.wrapping_sub(tck), other.begin.row.wrapping_sub(row));
        (self.tck, self.left_by, &self.by) == (other.tck, other.left_by, &other.by)
            && self.refreshing == other.refreshing
            && self.tape.is_later(&other.tape, tck, rows)
    }
}

impl KnownRows {
    /// What is known of a row that begins so.
    pub fn row(&self, begin: &RowBegin) -> Option<&KnownRow> {
        self.rows.iter().find(|row| row.is_begun(begin))
    }

    /// A row was stepped. If it was known, it is known for more times of a REF from here on, if it was no other at one of them.
    pub fn see(&mut self, row: KnownRow) {
        let is_like = |known: &&mut KnownRow| known.is_like(&row.begin);
        let mut alike: Vec<_> = self.rows.iter_mut().filter(is_like).collect();
        let Some(same) = alike.iter().position(|known| known.does(&row)) else {
            if self.rows.len() < MOST {
                self.rows.push(row);
            }
            return;
        };
        let same = alike.swap_remove(same);
        let left = *same.left.start().min(row.left.start())..=*same.left.end().max(row.left.end());
        let is_other = |known: &&mut KnownRow| {
            known.left.start() <= left.end() && left.start() <= known.left.end()
        };
        if !alike.iter().any(is_other) {
            same.left = left;
        }
    }
}
