// SPDX-License-Identifier: MIT
//! The context: weights out of the score buffer, straight to the shared buffers, against V.

use super::{CHUNK, Run, rows};
use crate::bank_pus::SHARED_WORDS;
use crate::drain::Drain;
use crate::mapping::{self, HeadLayout};
use crate::rank::{
    AllBankRead, ArrayRequest, BusRequest, Lanes, RankError, Requests, Shared, Sum, SumFormat,
    Weigh,
};
use crate::{Burst, LANES, Results};
use std::collections::VecDeque;
use std::ops::Range;

/// Columns that are summed up in the bank PUs before results leave: of one row, for one head, of
/// one part of V; or all of them, where there are no others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    head: usize,
    part: usize,
    /// The columns, each of four tokens.
    quads: Range<usize>,
    /// Number of the first column's word of weights. The parts use the same.
    first_word: usize,
}

fn segments(quads: Range<usize>, columns: usize, heads: usize, parts: usize) -> Vec<Segment> {
    if heads * parts == 1 {
        return vec![Segment { head: 0, part: 0, quads, first_word: 0 }];
    }
    let mut segments = Vec::new();
    let mut first_word = 0;
    for quads in rows(quads, columns) {
        for head in 0..heads {
            let of_part = |part| Segment { head, part, quads: quads.clone(), first_word };
            segments.extend((0..parts).map(of_part));
            first_word += quads.len();
        }
    }
    segments
}

impl Segment {
    /// The reads, each with the number of its word, and whether no other needs it.
    fn reads<'a>(
        &'a self,
        layout: &'a HeadLayout,
        opens: bool,
    ) -> impl Iterator<Item = (usize, bool, AllBankRead)> + 'a {
        let Range { start, end } = self.quads;
        self.quads.clone().map(move |quad| {
            let (row, column) = layout.v_column(quad, self.part);
            let word = self.first_word + quad - start;
            let read = AllBankRead {
                row,
                column,
                shared: word % SHARED_WORDS,
                accumulate: true,
                first: quad == start,
                last: quad + 1 == end,
                opens: opens && quad == start,
            };
            (word, self.part + 1 == layout.parts(), read)
        })
    }

    /// Whether its sums are complete.
    fn completes(&self, layout: &HeadLayout) -> bool {
        self.quads.end == layout.quads()
    }

    /// What asks for its results.
    fn results(&self, layout: &HeadLayout, sums: SumFormat) -> Vec<BusRequest> {
        // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
        let groups = match sums {
            SumFormat::Binary16 => 4,
            SumFormat::Binary32 => 2,
        };
        let of_sum = |sum: usize| {
            (0..layout.groups()).step_by(groups).map(move |from_group| {
                let lanes = Lanes {
                    head: self.head,
                    first: from_group == 0,
                    last: from_group + groups == layout.groups(),
                    place: (self.head * layout.parts() + self.part) * CHUNK + sum,
                    goes_on: self.quads.start > 0,
                    complete: self.completes(layout),
                };
                let (bank, lane) = (sum / LANES, sum % LANES);
                let results = Results::Context { bank, lane, from_group };
                BusRequest::Results { results, sum: Sum::Lanes(lanes) }
            })
        };
        (0..layout.bursts_of_part(self.part) * LANES).flat_map(of_sum).collect()
    }

    /// Elements of the context that it completes.
    fn elements(&self, layout: &HeadLayout) -> usize {
        if self.completes(layout) { layout.bursts_of_part(self.part) * mapping::BURST } else { 0 }
    }
}

/// Makes words of weights.
struct Words {
    /// How many weights the next words have, in their order.
    lengths: VecDeque<usize>,
    weights: [u16; LANES],
    count: usize,
    /// Words that wait for the data bus.
    ready: VecDeque<Burst>,
    /// Words that have gone to it.
    sent: usize,
}

impl Words {
    fn new(lengths: VecDeque<usize>) -> Self {
        let ready = VecDeque::with_capacity(SHARED_WORDS);
        Self { lengths, weights: [0; LANES], count: 0, ready, sent: 0 }
    }

    fn push(&mut self, weight: u16) {
        self.weights[self.count] = weight;
        self.count += 1;
        if self.lengths.front() == Some(&self.count) {
            self.lengths.pop_front();
            self.ready.push_back(mapping::word_of(std::mem::take(&mut self.weights)));
            self.count = 0;
        }
    }

    fn request(&self) -> Option<BusRequest> {
        let data = Shared::RankPu(*self.ready.front()?);
        Some(BusRequest::Write { word: self.sent % SHARED_WORDS, data })
    }

    fn taken(&mut self) {
        self.ready.pop_front();
        self.sent += 1;
    }
}

impl Run<'_> {
    /// Context of all heads over a block of tokens whose scores are in the buffer.
    pub(super) fn context(&mut self, tokens: Range<usize>) -> Result<(), RankError> {
        let Self { layout, block, .. } = *self;
        let (heads, groups) = (self.queries.len(), layout.groups());
        let quads = tokens.start / groups..tokens.end.div_ceil(groups);
        let segments = segments(quads, layout.columns(), heads, layout.parts());
        let sums = self.rank.options().sums;

        // The columns of every word, in the order of the words.
        let columns = || {
            let firsts = segments.iter().filter(|segment| segment.part == 0);
            firsts.flat_map(|segment| segment.quads.clone().map(|quad| (segment.head, quad)))
        };
        let tokens_of = |quad: usize| quad * groups..tokens.end.min((quad + 1) * groups);
        let mut weighs = columns()
            .enumerate()
            .flat_map(|(word, (head, quad))| tokens_of(quad).map(move |token| (word, head, token)))
            .peekable();
        let mut owners = columns().flat_map(|(head, quad)| tokens_of(quad).map(move |_| head));
        let mut words = Words::new(columns().map(|(_, quad)| tokens_of(quad).len()).collect());

        let mut reads = segments
            .iter()
            .enumerate()
            .flat_map(|(n, segment)| segment.reads(layout, n == 0).map(move |read| (n, read)))
            .peekable();
        let mut releases = segments.iter().flat_map(|s| s.reads(layout, false)).map(|read| read.1);
        // A partial sum comes to the adder unit a tCK before the burst: leave room for it.
        let gap_tck = self.rank.config().timing.burst_tck + 1;
        let mut drain = Drain::new(segments.iter().map(|s| s.results(layout, sums)), gap_tck);
        let mut elements = segments
            .iter()
            .flat_map(|segment| std::iter::repeat_n(segment.head, segment.elements(layout)))
            .peekable();

        let (mut written, mut released) = (0, 0);
        while drain.done() < segments.len() || elements.peek().is_some() {
            let now = self.rank.tck();
            let may_read = |(segment, (word, _, read)): &&(usize, (usize, bool, AllBankRead))| {
                // Its results take the place of those of the segment before.
                *word < written && (!read.last || drain.done() == *segment)
            };
            let requests = Requests {
                array: reads.peek().filter(may_read).map(|(_, read)| ArrayRequest::Read(read.2)),
                bus: drain.request(now).or_else(|| words.request()),
                // A word is written again when all that need it have been read.
                weigh: weighs
                    .peek()
                    .filter(|(word, ..)| *word < released + SHARED_WORDS)
                    .map(|&(_, head, token)| Weigh { place: head * block + token % block, head }),
                ..Default::default()
            };
            let events = self.rank.step(&requests)?;
            if events.array_taken {
                reads.next();
            }
            if events.bus_taken {
                match requests.bus {
                    Some(BusRequest::Results { .. }) => drain.taken(),
                    _ => words.taken(),
                }
            }
            if events.weigh_taken {
                weighs.next();
            }
            if let Some(weight) = events.weight {
                let head = owners.next().expect("a weight for each that was asked for");
                self.result.weights[head].push(weight);
                words.push(weight);
            }
            if events.read && releases.next() == Some(true) {
                released += 1;
            }
            written += usize::from(events.written);
            drain.see(now, &events);
            if let Some(element) = events.context {
                let head = elements.next().expect("an element for each that was summed up");
                self.result.context[head].push(element);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sum_stays_in_the_banks_and_others_take_turns_in_a_row() {
        let whole = Segment { head: 0, part: 0, quads: 0..300, first_word: 0 };
        assert_eq!(segments(0..300, 128, 1, 1), [whole]);
        let segment = |head, part, quads, first_word| Segment { head, part, quads, first_word };
        assert_eq!(
            segments(0..200, 128, 2, 2),
            [
                segment(0, 0, 0..128, 0),
                segment(0, 1, 0..128, 0),
                segment(1, 0, 0..128, 128),
                segment(1, 1, 0..128, 128),
                segment(0, 0, 128..200, 256),
                segment(0, 1, 128..200, 256),
                segment(1, 0, 128..200, 328),
                segment(1, 1, 128..200, 328),
            ]
        );
    }
}
