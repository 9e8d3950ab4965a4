// SPDX-License-Identifier: MIT
//! What happens in the rank, and what it makes.

use super::{Bank, Cells, Column, Head};
use pimlico_ports::{Signal, U};

/// What happens in the rank in a cycle of its core, as the sequencer needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "rank_events_t")]
pub struct RankEvents {
    /// The array request is accepted.
    pub array_taken: bool,
    /// The bus request is accepted.
    pub bus_taken: bool,
    /// The finish is accepted.
    pub finish_taken: bool,
    /// The weigh is accepted, with its last score.
    pub weigh_taken: bool,
    /// An RD_ALL is on the pins.
    pub read: bool,
    /// An RD_RESULT is on the pins.
    pub results_taken: bool,
    /// A word of the shared buffers is written.
    pub written: bool,
    /// The bank PUs have new results.
    pub results: bool,
    /// Scores that are scaled, and in the buffer if they are kept: 0 to 4.
    pub scaled: U<3>,
    /// A head can be weighed.
    pub finished: bool,
    /// A word of weights is complete.
    pub word_made: bool,
    /// Elements of the context that leave: 0 to 4.
    pub context_made: U<3>,
    /// Outputs of a matrix that leave: 0 to 4.
    pub output_made: U<3>,
}

/// Why the rank has not read in a cycle of its core, and what is busy: for statistics alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "activity_t")]
pub struct Activity {
    /// A read could not be chosen for its row.
    pub lost_row_switch: bool,
    /// A read could not be chosen for a refresh.
    pub lost_refresh: bool,
    /// The RD_ALL on the pins is the first of an operator.
    pub opens: bool,
    /// The adder unit accepts elements from the data bus.
    pub adder: bool,
    /// The softmax unit accepts a score, a weight or a sum.
    pub softmax: bool,
    /// The controller has nothing queued.
    pub idle: bool,
    /// Nothing is in flight in the rank, and all banks are closed.
    pub settled: bool,
}

/// A score, before scaling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "score_t")]
pub struct Score {
    /// The score is masked: there is no such token.
    pub masked: bool,
    /// Query head of the score.
    pub head: Head,
    /// The score in binary16.
    pub bits: u16,
}

/// A weight, or an element of the context, of a query head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "element_t")]
pub struct Element {
    /// Query head of the element.
    pub head: Head,
    /// The element in binary16.
    pub bits: u16,
}

/// Elements of the data path in a cycle of the rank's core, at most: those of a burst from each chip.
pub const LANES: usize = 4;

/// What the rank makes in a cycle of its core, by lane, the first at the bottom. What there is not is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "rank_results_t")]
pub struct RankResults {
    /// There is a score.
    pub score_valid: U<4>,
    /// The scores.
    pub score: [Score; LANES],
    /// There is a weight.
    pub weight_valid: U<4>,
    /// The weights.
    pub weight: [Element; LANES],
    /// There is an element of the context.
    pub context_valid: U<4>,
    /// The elements of the context, normalised.
    pub context_element: [Element; LANES],
    /// There is an output of a matrix.
    pub output_valid: U<4>,
    /// The outputs of a matrix, in binary16.
    pub output_element: [u16; LANES],
}

impl RankResults {
    /// The scores that there are.
    pub fn scores(&self) -> impl Iterator<Item = Score> {
        valid(self.score_valid, self.score)
    }

    /// The weights that there are.
    pub fn weights(&self) -> impl Iterator<Item = Element> {
        valid(self.weight_valid, self.weight)
    }

    /// The elements of the context that there are.
    pub fn context(&self) -> impl Iterator<Item = Element> {
        valid(self.context_valid, self.context_element)
    }

    /// The outputs of a matrix that there are, in binary16.
    pub fn outputs(&self) -> impl Iterator<Item = u16> {
        valid(self.output_valid, self.output_element)
    }
}

/// The elements in the lanes that are valid.
fn valid<T>(lanes: U<4>, elements: [T; LANES]) -> impl Iterator<Item = T> {
    let is_valid = move |lane: usize| lanes.get() >> lane & 1 != 0;
    elements
        .into_iter()
        .enumerate()
        .filter(move |(lane, _)| is_valid(*lane))
        .map(|(_, element)| element)
}

/// A column that is written to the cell arrays of a logic bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "cell_write_t")]
pub struct CellWrite {
    /// Bank of the column.
    pub bank: Bank,
    /// Column that is written.
    pub column: Column,
    /// Data of the column.
    pub data: Cells,
}
