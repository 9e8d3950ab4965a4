// SPDX-License-Identifier: MIT
//! Spans of a module: those that are known are passed, and what is seen of others is known from there on. See `known`.

use super::known::{Known, KnownSpans, Span, SpanBegin, SpanKind};
use super::layout::{RowWrites, WriteShape};
use super::module::Module;
use super::place::{WorkPlace, WorkShape};
use super::queues::Queues;
use super::requests::Requests;
use crate::tape::{Tape, Told};
use pimlico_units::lap::{Survey, Walk};

/// Work that is made of spans. A mark is set where one begins.
pub(super) trait Spans {
    const KIND: SpanKind;
    /// Marks behind the one that is kept at which the state may be another: a span may be more than from one to the next.
    const MORE_MARKS: usize = 0;
    /// What a span takes of the work that is ahead where it begins.
    type Ahead: PartialEq;
    /// A place in the work.
    type Place: Copy;

    /// What is known of them.
    fn known(known: &mut Known) -> &mut KnownSpans<Self::Ahead>;
    /// Whether spans may begin in a state of the module.
    fn may_begin(&self, module: &Module) -> bool;
    /// Where it is.
    fn place(&self) -> Self::Place;
    /// The row that comes.
    fn row(&self) -> usize;
    /// What was taken from a place on until here, or looked at.
    fn since(&self, place: Self::Place) -> Self::Ahead;
    /// Whether that is ahead.
    fn is_ahead(&self, ahead: &Self::Ahead) -> bool;
    /// How many spans with the same ahead are, one behind the other.
    fn most(&self, module: &Module) -> u64;
    /// Goes over all of it, for [laps](pimlico_units::lap).
    fn walk(&mut self, walk: &mut Walk<'_>, now: u64);
    /// Spans are passed: all is about to be moved on.
    fn passes(&self, _: &mut Module) {}
    /// Spans were passed: all was moved on.
    fn passed(&mut self, _: &mut Module) {}
}

/// A mark at which a span begins that is stepped, and whose pins are kept.
pub(super) struct KeptMark<P> {
    begin: SpanBegin,
    place: P,
    /// Marks behind it.
    marks: usize,
}

impl Module {
    /// A mark in some work. If spans begin there that are known, they are passed; what comes then is to be stepped, and is kept, if
    /// there is something that it may be known by.
    pub(super) fn mark<S: Spans>(
        &mut self,
        spans: &mut S,
        kept: Option<KeptMark<S::Place>>,
    ) -> Option<KeptMark<S::Place>> {
        let tape = self.teller.keep(None).unwrap_or_default();
        let mut begin = self.begun(spans)?;
        let mut going_on = None;
        match kept {
            Some(kept) if kept.begin.stands_as(&begin) => {
                let ahead = spans.since(kept.place);
                S::known(&mut self.known).see(Span::between(kept.begin, &begin, ahead, tape));
            }
            Some(kept) if kept.marks < S::MORE_MARKS => {
                going_on = Some((KeptMark { marks: kept.marks + 1, ..kept }, tape));
            }
            _ => {}
        }
        let mut has_passed = false;
        while self.pass(spans, &mut begin) {
            has_passed = true;
        }
        if has_passed {
            going_on = None;
            begin = self.begun(spans)?;
        }
        let place = spans.place();
        let new = || (KeptMark { begin, place, marks: 0 }, Tape::default());
        let (kept, tape) = going_on.unwrap_or_else(new);
        self.teller.keep(Some(tape));
        Some(kept)
    }

    /// No span is kept.
    pub(super) fn leave_spans(&mut self) {
        self.teller.keep(None);
    }

    /// Where a span begins, if one may.
    fn begun<S: Spans>(&mut self, spans: &mut S) -> Option<SpanBegin> {
        if !self.has_spans(S::KIND) || !spans.may_begin(self) {
            return None;
        }
        let (refreshing, left) = self.control.refreshing()?;
        let (row, tck) = (spans.row() as u16, self.tck);
        let mut survey = Survey::default();
        let mut walk = Walk::survey(&mut survey, row, 0);
        self.walk(&mut walk, S::KIND);
        spans.walk(&mut walk, tck);
        let begin = SpanBegin { row, tck, survey, refreshing, left };
        (!begin.survey.refused).then_some(begin)
    }

    /// Spans that begin so are passed, if they are known and those who watch take what they have. Behind them others begin.
    fn pass<S: Spans>(&mut self, spans: &mut S, begin: &mut SpanBegin) -> bool {
        let most = spans.most(self);
        let Self { known, teller, control, .. } = self;
        let known = S::known(known);
        let Some(span) = known.span(begin, |ahead| spans.is_ahead(ahead)) else { return false };
        let count = span.most(begin).min(most);
        let takes = |told: Told| match told {
            Told::Writes { run, .. } => teller.takes(&run),
            _ => true,
        };
        if count == 0 || !span.told(begin, 0).all(takes) {
            return false;
        }
        // There are no all-bank RDs at equal distances.
        let told = (0..count).flat_map(|number| span.told(begin, number));
        told.for_each(|told| teller.again(&told, &[]));
        let (refreshing, left) = span.refreshing(begin, count);
        control.set_refreshing(refreshing.clone(), left);
        let by = span.by.clone();
        known.passed += count;
        spans.passes(self);
        let mut walk = Walk::on(&by, count);
        self.walk(&mut walk, S::KIND);
        spans.walk(&mut walk, self.tck);
        spans.passed(self);
        (begin.row, begin.tck) = (spans.row() as u16, self.tck);
        (begin.refreshing, begin.left) = (refreshing, left);
        true
    }
}

/// The writes of a row, which are a span.
pub(super) struct WriteSpans<'a, 'w> {
    writes: &'a RowWrites<'w>,
    /// They were passed.
    pub(super) are_done: bool,
}

impl<'a, 'w> WriteSpans<'a, 'w> {
    pub(super) fn new(writes: &'a RowWrites<'w>) -> Self {
        Self { writes, are_done: false }
    }
}

impl Spans for WriteSpans<'_, '_> {
    const KIND: SpanKind = SpanKind::Writes;
    type Ahead = WriteShape;
    /// Those of the row before.
    type Place = WriteShape;

    fn known(known: &mut Known) -> &mut KnownSpans<WriteShape> {
        &mut known.writes
    }

    fn may_begin(&self, module: &Module) -> bool {
        !self.are_done && module.rests()
    }

    fn place(&self) -> WriteShape {
        self.writes.shape()
    }

    fn row(&self) -> usize {
        self.writes.row()
    }

    fn since(&self, before: WriteShape) -> WriteShape {
        before
    }

    fn is_ahead(&self, ahead: &WriteShape) -> bool {
        *ahead == self.writes.shape()
    }

    fn most(&self, _: &Module) -> u64 {
        u64::from(!self.are_done)
    }

    fn walk(&mut self, _: &mut Walk<'_>, _: u64) {}

    fn passes(&self, module: &mut Module) {
        module.land_under_way();
    }

    fn passed(&mut self, module: &mut Module) {
        module.land_row(self.writes);
        self.are_done = true;
    }
}

/// Rows that are read for a phase of a program.
pub(super) struct ReadSpans<'q, 'a> {
    pub queues: &'q mut Queues<'a>,
    pub requests: &'q mut Requests,
}

impl Spans for ReadSpans<'_, '_> {
    const KIND: SpanKind = SpanKind::Reads;
    const MORE_MARKS: usize = 3;
    type Ahead = WorkShape;
    type Place = WorkPlace;

    fn known(known: &mut Known) -> &mut KnownSpans<WorkShape> {
        &mut known.reads
    }

    fn may_begin(&self, module: &Module) -> bool {
        module.weighing.is_none() && self.queues.begins_row().is_some()
    }

    fn place(&self) -> WorkPlace {
        self.queues.place()
    }

    fn row(&self) -> usize {
        self.queues.row()
    }

    fn since(&self, place: WorkPlace) -> WorkShape {
        self.queues.since(place)
    }

    fn is_ahead(&self, ahead: &WorkShape) -> bool {
        self.queues.has_ahead(ahead)
    }

    fn most(&self, _: &Module) -> u64 {
        1
    }

    fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let Requests { array, bus, softmax: _, head_end } = &*self.requests;
        walk.still(array.is_some());
        walk.still(bus.is_some());
        walk.still(*head_end);
        self.queues.walk(walk, now);
    }

    fn passed(&mut self, _: &mut Module) {
        let Self { queues, requests } = self;
        queues.ask_again(requests);
    }
}

/// Whole chunks of scores that go through the softmax unit.
pub(super) struct ChunkSpans;

impl Spans for ChunkSpans {
    const KIND: SpanKind = SpanKind::Chunks;
    type Ahead = ();
    type Place = ();

    fn known(known: &mut Known) -> &mut KnownSpans<()> {
        &mut known.chunks
    }

    fn may_begin(&self, module: &Module) -> bool {
        self.most(module) > 0
    }

    fn place(&self) {}

    fn row(&self) -> usize {
        0
    }

    fn since(&self, (): ()) {}

    fn is_ahead(&self, (): &()) -> bool {
        true
    }

    fn most(&self, module: &Module) -> u64 {
        module.weighing.as_ref().map_or(0, |weighing| weighing.chunks_ahead() as u64)
    }

    fn walk(&mut self, _: &mut Walk<'_>, _: u64) {}
}
