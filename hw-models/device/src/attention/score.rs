// SPDX-License-Identifier: MIT
//! The scores: K against Q, through the adder unit and the softmax unit into the score buffer.

use super::{CHUNK, Pass, Run, rows};
use crate::drain::{Drain, Pace};
use crate::mapping;
use crate::rank::{
    AllBankRead, ArrayRequest, BusRequest, RankError, Requests, Scores, Shared, Sum,
};
use crate::softmax::HEADS;
use crate::{LANES, Results};
use std::ops::Range;

/// A chunk as it is scored for a head.
#[derive(Clone, Copy)]
struct HeadChunk {
    head: usize,
    chunk: usize,
}

impl Run<'_> {
    /// Scores of all heads for a range of tokens that begins with a chunk.
    pub(super) fn score(&mut self, tokens: Range<usize>, pass: Pass) -> Result<(), RankError> {
        let Self { layout, queries, block, .. } = *self;
        let (heads, bursts) = (queries.len(), layout.bursts());
        let chunks = tokens.start / CHUNK..tokens.end.div_ceil(CHUNK);
        let head_chunks = || {
            rows(chunks.clone(), layout.chunks_per_row()).flat_map(|row| {
                (0..heads)
                    .flat_map(move |head| row.clone().map(move |chunk| HeadChunk { head, chunk }))
            })
        };

        let mut fills = (0..heads * bursts)
            .map(|word| {
                let beats = mapping::beats_of(&queries[word / bursts], word % bursts);
                BusRequest::Write { word, data: Shared::Host(beats) }
            })
            .peekable();
        let mut reads = head_chunks()
            .flat_map(|of| (0..bursts).map(move |burst| (of, burst)))
            .map(|(HeadChunk { head, chunk }, burst)| {
                let (row, column) = layout.k_column(chunk, burst);
                AllBankRead {
                    row,
                    column,
                    shared: head * bursts + burst,
                    accumulate: false,
                    first: burst == 0,
                    last: burst == bursts - 1,
                    opens: (head, chunk, burst) == (0, chunks.start, 0),
                }
            })
            .peekable();
        let results = |HeadChunk { head, chunk }: HeadChunk| {
            (0..layout.groups()).map(move |group| {
                let token = chunk * CHUNK + group * LANES;
                let place = Some(head * block + token % block);
                let scores = Scores {
                    head: if pass == Pass::First { head } else { HEADS - 1 },
                    first: chunk == 0 || pass == Pass::Again,
                    tokens: layout.context.saturating_sub(token),
                    place: place.filter(|_| pass == Pass::Again || token < block),
                };
                BusRequest::Results { results: Results::Scores { group }, sum: Sum::Tree(scores) }
            })
        };
        let mut drain = Drain::new(head_chunks().map(results), 0);
        let mut owners = head_chunks().flat_map(|HeadChunk { head, chunk }| {
            (0..CHUNK).map(move |n| (head, chunk * CHUNK + n < layout.context))
        });

        let mut pace = Pace::new(self.rank.config(), bursts);
        let mut written = 0;
        let mut to_scale = heads * chunks.len() * CHUNK;
        while to_scale > 0 {
            let now = self.rank.tck();
            // A head waits for its own query alone.
            let may_read = |read: &&AllBankRead| {
                written >= (read.shared / bursts + 1) * bursts && pace.allows(now)
            };
            let requests = Requests {
                array: reads.peek().filter(may_read).copied().map(ArrayRequest::Read),
                bus: fills.peek().copied().or_else(|| drain.request(now)),
                ..Default::default()
            };
            let events = self.rank.step(&requests)?;
            if events.array_taken {
                reads.next();
                pace.taken();
            }
            if events.bus_taken && fills.next().is_none() {
                drain.taken();
            }
            if events.read {
                pace.issued(now);
            }
            written += usize::from(events.written);
            to_scale -= usize::from(events.scaled);
            drain.see(now, &events);
            if let Some(score) = events.score
                && let Some((head, true)) = owners.next()
                && pass == Pass::First
            {
                self.result.scores[head].push(score);
            }
        }
        Ok(())
    }
}
