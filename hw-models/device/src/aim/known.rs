// SPDX-License-Identifier: MIT
//! What a module does that hangs on no data, and what is known of it. What is made of that is the module's: see `spans`.
//!
//! ```text
//!   state ──span──▶ state ──span──▶ state        the first, and each of which nothing is known, is stepped
//!     └─ equal, but for ──┴─ known: the state is moved on, and what was on the pins is told of later tCK
//!        what has moved
//! ```
//!
//! A *span* is what is done between two places in the work: while a row is written, while a row is read, while a chunk of scores
//! goes through the softmax unit. Where there are no data, that hangs on the state in which it begins and on what is taken of the
//! work that is ahead. While a row is written nothing is computed, so that it does so with data as well: these are in the arrays at
//! once. The state is [surveyed](pimlico_units::lap) before and behind a span that is stepped. If it is the same but
//! for what has moved, the span is *known*: where it begins so again, with the same work ahead, all that moves is moved on by as
//! much, and those who watch the pins are told what they were told.
//!
//! REFs are apart from that, as the time until one is due is hardly the same twice. A span in which none becomes due, or is forced
//! as the next is due soon, is known for all times that are longer than it. Others are known for all times between the shortest and
//! the longest that were seen, if they were the same at both: what is sooner in one than in another is before or behind the same
//! commands.

use super::control::Refreshing;
use super::layout::WriteShape;
use super::place::WorkShape;
use super::units::SLOTS;
use crate::tape::{Tape, Told};
use pimlico_units::lap::Survey;
use std::ops::RangeInclusive;

/// Spans of a kind that are known, at the most.
const MOST: usize = 256;

/// What a module knows.
#[derive(Default)]
pub struct Known {
    /// Of rows that are written: which banks and columns.
    pub writes: KnownSpans<WriteShape>,
    /// Of rows that are read: columns, words and sums.
    pub reads: KnownSpans<WorkShape>,
    /// Of whole chunks of scores.
    pub chunks: KnownSpans<()>,
}

impl Known {
    /// Spans of a kind that were passed, since the reset.
    pub fn passed(&self, kind: SpanKind) -> u64 {
        match kind {
            SpanKind::Writes => self.writes.passed,
            SpanKind::Reads => self.reads.passed,
            SpanKind::Chunks => self.chunks.passed,
        }
    }
}

/// What is done in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A row of the banks is written.
    Writes,
    /// Rows of all banks are read: one, or up to four where the state is the same only behind several.
    Reads,
    /// A chunk of scores goes through the softmax unit.
    Chunks,
}

/// What is known of spans of a kind, which take this of the work that is ahead.
pub struct KnownSpans<A> {
    spans: Vec<Span<A>>,
    /// Spans that were passed, since the reset.
    pub passed: u64,
}

/// Where a span begins.
#[derive(Clone)]
pub struct SpanBegin {
    pub row: u16,
    pub tck: u64,
    pub survey: Survey,
    /// REFs, and cycles until one is due.
    pub refreshing: Refreshing,
    pub left: u64,
}

impl SpanBegin {
    /// Whether the state is that of another, but for what moves.
    pub fn stands_as(&self, other: &Self) -> bool {
        self.survey.still == other.survey.still
    }
}

/// A span that was stepped.
pub struct Span<A> {
    /// What it takes of the work that is ahead.
    pub ahead: A,
    begin: SpanBegin,
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

impl<A: PartialEq> Span<A> {
    /// What was stepped between two places at which the state is the same but for what moves.
    pub fn between(begin: SpanBegin, end: &SpanBegin, ahead: A, tape: Tape) -> Self {
        let [before, behind] = [&begin.survey, &end.survey];
        let tck = end.tck - begin.tck;
        // No REF is due in it, nor forced.
        let first = tck / SLOTS as u64 + Refreshing::MARGIN + 1;
        let left = if begin.left < first { begin.left..=begin.left } else { first..=u64::MAX };
        let by = behind.moving.iter().zip(&before.moving);
        let by = by.map(|(behind, before)| behind.wrapping_sub(*before)).collect();
        let left_by = end.left.wrapping_sub(begin.left);
        let refreshing = end.refreshing.clone();
        Self { ahead, begin, left, tck, by, left_by, refreshing, tape }
    }

    /// What is told of the pins in a number of such spans, one behind the other, the first of which begins so.
    pub fn told(&self, begin: &SpanBegin, number: u64) -> impl Iterator<Item = Told> + Clone {
        let tck = begin.tck.wrapping_sub(self.begin.tck);
        let rows = begin.row.wrapping_sub(self.begin.row);
        let later = tck.wrapping_add(number * self.tck);
        self.tape.told.iter().map(move |told| told.later(later, rows))
    }

    /// REFs behind so many of them that begin so, and cycles until one is due.
    pub fn refreshing(&self, begin: &SpanBegin, count: u64) -> (Refreshing, u64) {
        let left_by = self.left_by.wrapping_mul(count);
        (self.refreshing.clone(), begin.left.wrapping_add(left_by))
    }

    /// How many of them may follow each other from a place on, as REFs have it.
    pub fn most(&self, begin: &SpanBegin) -> u64 {
        let cycles = self.tck / SLOTS as u64;
        match *self.left.end() == u64::MAX && self.refreshing == begin.refreshing {
            true if begin.left == u64::MAX => u64::MAX,
            true => (begin.left - self.left.start()) / cycles + 1,
            false => 1,
        }
    }

    /// Whether a span that begins so is this one, if it has the same work ahead.
    fn is_begun(&self, begin: &SpanBegin) -> bool {
        self.left.contains(&begin.left) && self.is_like(begin)
    }

    /// The same, whenever a REF is due.
    fn is_like(&self, begin: &SpanBegin) -> bool {
        self.begin.refreshing == begin.refreshing && self.begin.stands_as(begin)
    }

    /// Whether another that begins as this does the same, but for what moves.
    fn does(&self, other: &Self) -> bool {
        let SpanBegin { tck, row, .. } = self.begin;
        let (tck, rows) = (other.begin.tck.wrapping_sub(tck), other.begin.row.wrapping_sub(row));
        (self.tck, self.left_by, &self.by) == (other.tck, other.left_by, &other.by)
            && self.refreshing == other.refreshing
            && self.tape.is_later(&other.tape, tck, rows)
    }
}

impl<A> Default for KnownSpans<A> {
    fn default() -> Self {
        Self { spans: Vec::new(), passed: 0 }
    }
}

impl<A: PartialEq> KnownSpans<A> {
    /// What is known of a span that begins so, and has this ahead.
    pub fn span(&self, begin: &SpanBegin, is_ahead: impl Fn(&A) -> bool) -> Option<&Span<A>> {
        self.spans.iter().find(|span| span.is_begun(begin) && is_ahead(&span.ahead))
    }

    /// A span was stepped. If it was known, it is known for more times of a REF from here on, if it was no other at one of them.
    pub fn see(&mut self, span: Span<A>) {
        let is_like =
            |known: &&mut Span<A>| known.ahead == span.ahead && known.is_like(&span.begin);
        let mut alike: Vec<_> = self.spans.iter_mut().filter(is_like).collect();
        let Some(same) = alike.iter().position(|known| known.does(&span)) else {
            if self.spans.len() < MOST {
                self.spans.push(span);
            }
            return;
        };
        let same = alike.swap_remove(same);
        let left =
            *same.left.start().min(span.left.start())..=*same.left.end().max(span.left.end());
        let is_other = |known: &&mut Span<A>| {
            known.left.start() <= left.end() && left.start() <= known.left.end()
        };
        if !alike.iter().any(is_other) {
            same.left = left;
        }
    }
}
