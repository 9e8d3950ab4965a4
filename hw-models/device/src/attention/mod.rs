// SPDX-License-Identifier: MIT
//! What the rank is asked for to compute the attention of the query heads that share one K and V, as
//! one pipeline.
//!
//! A schedule knows the order of requests and what each waits for, and no timing: the rank controller
//! has that. What a request waits for is the data that it works on.
//!
//! ```text
//! score     WR_SHARED Q ──▶ RD_ALL chunk 0, chunk 1, ...              b columns each
//!                               └─▶ RD_RESULT chunk 0 ──▶ adder unit ──▶ softmax unit, score buffer
//! finish                                                  reciprocal of each head's sum
//! context   score buffer ──▶ softmax unit ──▶ WR_SHARED weights ──▶ RD_ALL column 0, 1, ...
//!                                                four tokens each      └─▶ RD_RESULT ──▶ adder unit
//! ```
//!
//! # Why there is no bubble
//!
//! Of the tCK that the banks take for a chunk of 16 tokens, each unit behind them must need no more. A
//! slot is tCCD_L = 8 tCK, a vector has *b* = d_h / 32 bursts:
//!
//! | in score, a chunk | tCK | d_h = 128 | 64 | 32 |
//! | --- | --- | --- | --- | --- |
//! | banks: b RD_ALL | 8 b | 32 | 16 | 8 |
//! | data bus: 4 RD_RESULT, tCCD_S each | 16 | 16 | 16 | 16 |
//! | adder unit: a sum over the chips in a tCK | 16 | 16 | 16 | 16 |
//! | softmax unit: a score in a tCK | 16 | 16 | 16 | 16 |
//! | command bus: b + 4 commands | b + 4 | 8 | 6 | 5 |
//!
//! | in context, four columns | tCK |
//! | --- | --- |
//! | banks: 4 RD_ALL | 32 |
//! | softmax unit: a weight in a tCK | 16 |
//! | data bus: 4 WR_SHARED, tCCD_S each | 16 |
//! | command bus: 8 commands | 8 |
//!
//! From d_h = 33 on nothing takes longer than the banks. Up to d_h = 32 a chunk takes two slots, one of
//! them a bubble. What the banks wait for at the beginning of score and of context is *fill*.
//!
//! # Query heads that share K and V
//!
//! A row that is open serves all of them: in score the row's chunks are read once for each head, in
//! context its columns. The bank PUs have accumulators for one head, so the sums of a row leave after
//! each head, and the adder unit goes on from the partial sums of the rows before. So it is with the
//! two parts of a long V vector. With one head and one part the sums stay in the banks to the end.
//!
//! # Contexts beyond the score buffer
//!
//! The buffer is shared out among the heads. What does not fit takes further passes: the first computes
//! maximum and sum of all scores and keeps the first block; for each block that follows the scores
//! are computed again, under the number of a head that is not in use, and used.

mod context;
mod score;

use crate::Statistics;
use crate::mapping::{self, HeadLayout};
use crate::rank::{Rank, RankError, Requests};
use crate::softmax::{HEADS, SCORE_BUFFER};
use std::ops::Range;

/// Tokens of a chunk: one in each logic bank.
const CHUNK: usize = 16;

/// What the device made of the heads that share K and V.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Of each head, each token's score before scaling.
    pub scores: Vec<Vec<u16>>,
    /// Of each head, each token's weight: normalised, or the exponential.
    pub weights: Vec<Vec<u16>>,
    /// Of each head the context.
    pub context: Vec<Vec<u16>>,
    /// What it cost.
    pub statistics: Statistics,
}

/// How the score buffer is shared out among heads that are computed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreBufferUse {
    /// Tokens of each head that it holds in a pass.
    pub block: usize,
    /// Passes over the tokens.
    pub passes: usize,
    /// The most scores that it holds in one of them.
    pub scores: usize,
}

/// How the score buffer is shared out among so many heads in a context of so many tokens.
///
/// # Panics
///
/// If there is no head.
pub fn score_buffer_use(heads: usize, context: usize) -> ScoreBufferUse {
    let block = (SCORE_BUFFER / heads) & !(CHUNK - 1);
    let scores = heads * context.next_multiple_of(CHUNK).min(block);
    ScoreBufferUse { block, passes: context.div_ceil(block), scores }
}

/// Query heads that [`attention`] takes at once, in a context of so many tokens: as many as one pass has
/// room for.
pub fn heads_at_once(context: usize) -> usize {
    let in_one_pass = |heads: &usize| score_buffer_use(*heads, context).passes <= 1;
    // Where scores are computed again, one head's number must be free.
    (1..=HEADS).rev().find(in_one_pass).unwrap_or(HEADS - 1)
}

/// Computes the attention of query heads that share K and V, all at once. Ends with all banks closed
/// and no REF owed.
///
/// # Panics
///
/// If there is no query, or there are more than [`heads_at_once`] in one pass or more than one
/// less than [`HEADS`] in several.
pub fn attention(
    rank: &mut Rank,
    layout: &HeadLayout,
    queries: &[Vec<u16>],
    scale: u16,
) -> Result<Attention, RankError> {
    let heads = queries.len();
    assert!((1..=HEADS).contains(&heads), "{heads} query heads");
    let ScoreBufferUse { block, passes, .. } = score_buffer_use(heads, layout.context);
    assert!(heads < HEADS || passes == 1, "no head's number is free to compute scores again");

    rank.set_scale(scale);
    rank.begin();
    let room = || vec![Vec::with_capacity(layout.context); heads];
    let context = vec![Vec::with_capacity(layout.bursts() * mapping::BURST); heads];
    let statistics = Statistics::default();
    let result = Attention { scores: room(), weights: room(), context, statistics };
    let mut run = Run { rank, layout, queries, block, result };
    run.score(0..layout.context, Pass::First)?;
    run.finish()?;
    for pass in 0..passes {
        let tokens = pass * block..layout.context.min((pass + 1) * block);
        if pass > 0 {
            run.score(tokens.clone(), Pass::Again)?;
        }
        run.context(tokens)?;
    }
    run.end()
}

/// What scores are computed for.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    /// For maximum and sum; the first block of them is kept.
    First,
    /// To be kept.
    Again,
}

/// A computation under way.
struct Run<'a> {
    rank: &'a mut Rank,
    layout: &'a HeadLayout,
    queries: &'a [Vec<u16>],
    /// Tokens of a head that the score buffer holds.
    block: usize,
    result: Attention,
}

impl Run<'_> {
    /// The reciprocals of the heads' sums.
    fn finish(&mut self) -> Result<(), RankError> {
        let heads = self.queries.len();
        let (mut asked, mut finished) = (0, 0);
        while finished < heads {
            let finish = Some(asked).filter(|head| *head < heads);
            let events = self.rank.step(&Requests { finish, ..Default::default() })?;
            asked += usize::from(events.finish_taken);
            finished += usize::from(events.finished);
        }
        Ok(())
    }

    /// Ends the heads.
    fn end(mut self) -> Result<Attention, RankError> {
        self.rank.settle()?;
        self.result.context.iter_mut().for_each(|head| head.truncate(self.layout.head_dim));
        self.result.statistics = self.rank.end();
        Ok(self.result)
    }
}

/// Cuts a range at the multiples of `length`: what of it is in each row.
fn rows(range: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (range.start / length..range.end.div_ceil(length))
        .map(move |row| range.start.max(row * length)..range.end.min((row + 1) * length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_rows() {
        assert_eq!(rows(5..25, 10).collect::<Vec<_>>(), [5..10, 10..20, 20..25]);
        assert_eq!(rows(0..10, 10).count(), 1);
    }

    #[test]
    fn the_score_buffer_is_shared_out() {
        assert_eq!(heads_at_once(1), 8);
        assert_eq!(heads_at_once(16 * 1024), 8);
        assert_eq!(heads_at_once(16 * 1024 + 1), 7);
        assert_eq!(heads_at_once(128 * 1024), 1);
        assert_eq!(heads_at_once(128 * 1024 + 1), 7);
        let whole = ScoreBufferUse { block: 128 * 1024, passes: 1, scores: 112 };
        assert_eq!(score_buffer_use(1, 100), whole);
        // A seventh of the buffer, in whole chunks.
        let seventh = ScoreBufferUse { block: 18_720, passes: 8, scores: 7 * 18_720 };
        assert_eq!(score_buffer_use(7, 128 * 1024 + 1), seventh);
    }
}
