// SPDX-License-Identifier: MIT
//! What a rank is asked for in a tCK, and what happened in it.

use crate::command::Results;
use crate::data_bus::Beats;
use crate::sizes::Burst;
use pimlico_dpa::types;

/// What the rank is asked for in one tCK. A request stays until it is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// For the arrays.
    pub array: Option<ArrayRequest>,
    /// For the data bus.
    pub bus: Option<BusRequest>,
    /// The scores of this head are complete.
    pub finish: Option<usize>,
    /// Scores in the buffer become a word of weights.
    pub weigh: Option<types::Weigh>,
    /// The oldest word of weights is dropped.
    pub drops_word: bool,
    /// A head ends here: REFs that were postponed come now.
    pub head_end: bool,
}

/// What the arrays are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayRequest {
    /// A column of every bank to its PU.
    Read(AllBankRead),
    /// All banks closed.
    CloseAll,
}

/// An RD in all banks at once, and what the bank PUs do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllBankRead {
    /// Row.
    pub row: usize,
    /// Column.
    pub column: usize,
    /// Word of the shared buffers.
    pub shared: usize,
    /// Four accumulators with one scalar each (context) instead of the adder tree (score).
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
    /// The first of an operator: what was lost before it is fill, and no bubble.
    pub opens: bool,
}

/// What the data bus is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BusRequest {
    /// A word of the shared buffers.
    Write {
        /// Word.
        word: usize,
        /// What it gets.
        data: Shared,
    },
    /// Results to the adder unit.
    Results {
        /// Which.
        results: Results,
        /// What the adder unit does with them.
        sum: Sum,
    },
}

/// Whence a word of the shared buffers comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// From the host, in its order: through the re-layout unit.
    Host(Beats),
    /// From the rank PU: 64 bits for each chip.
    RankPu(Burst),
}

/// What the adder unit does with a burst of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Adds up over the chips, each element by itself: scores, for the softmax unit.
    Tree(Scores),
    /// Adds up over the chips, each element by itself: outputs of a matrix, for the host.
    Outputs(Outputs),
    /// Adds up the burst's elements for each chip by itself: context.
    Lanes(Lanes),
}

/// The scores of a burst, of consecutive tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Query head.
    pub head: usize,
    /// They are in the first chunk of their head.
    pub first: bool,
    /// Tokens that there are from the burst's first on; what is beyond them is masked.
    pub tokens: usize,
    /// Place of the burst's first in the score buffer, if they are kept.
    pub place: Option<usize>,
}

impl Scores {
    /// The score at place `n` of the burst.
    pub(crate) fn nth(&self, n: usize) -> Score {
        Score {
            head: self.head,
            first: self.first,
            masked: n >= self.tokens,
            place: self.place.map(|place| place + n),
        }
    }
}

/// Four outputs of a matrix times a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// The first of them.
    pub place: usize,
    /// They go on from the partial sums of the columns before, which are in the score buffer.
    pub goes_on: bool,
    /// They are complete; otherwise they become partial sums.
    pub complete: bool,
}

/// Whose a sum over the chips is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeSum {
    /// A score.
    Score(Score),
    /// An output.
    Output {
        /// Which.
        place: usize,
        /// It is complete.
        complete: bool,
    },
}

/// A score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Query head.
    pub head: usize,
    /// It is in the first chunk of its head.
    pub first: bool,
    /// There is no such token.
    pub masked: bool,
    /// Place in the score buffer.
    pub place: Option<usize>,
}

/// A sum of the context for each chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Query head.
    pub head: usize,
    /// The burst begins the sum, and ends it.
    pub first: bool,
    /// The burst ends the sum.
    pub last: bool,
    /// Place among the partial sums.
    pub place: usize,
    /// The sum goes on from the partial sum.
    pub goes_on: bool,
    /// The sum is complete; otherwise it becomes the partial sum.
    pub complete: bool,
}

/// A score in the buffer that becomes a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weigh {
    /// Place in the score buffer.
    pub place: usize,
    /// Query head.
    pub head: usize,
}

/// What happened in a tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Events {
    /// The array request was taken.
    pub array_taken: bool,
    /// The bus request was taken.
    pub bus_taken: bool,
    /// The finish was taken.
    pub finish_taken: bool,
    /// The last score of a word of weights was taken.
    pub weigh_taken: bool,
    /// An all-bank RD was issued.
    pub read: bool,
    /// A word of the shared buffers has been written.
    pub written: bool,
    /// The bank PUs have new results.
    pub results: bool,
    /// A burst of results has left the bank PUs.
    pub results_taken: bool,
    /// A score, before scaling, and whose it is.
    pub score: Option<(u16, Score)>,
    /// A score has been scaled.
    pub scaled: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// A weight, and its query head.
    pub weight: Option<(u16, usize)>,
    /// A word of weights is complete.
    pub word_made: bool,
    /// An element of the context, and its query head.
    pub context: Option<(u16, usize)>,
    /// An output of a matrix.
    pub output: Option<u16>,
}
