// SPDX-License-Identifier: MIT
//! What a module is asked for in a cycle, what happened in it, and what must not.

use super::channels::Beat;
use super::epu::{SoftmaxRequest, Sum};
use super::layout::Write;
use super::softmax::Weighed;
use super::units::Word;
use crate::accounts::Gap;

/// A column of all banks, and what the PUs do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllBankRead {
    /// Row.
    pub row: usize,
    /// Column.
    pub column: usize,
    /// What the PUs do.
    pub beat: Beat,
    /// Why it comes no sooner, if it is late.
    pub gap: Gap,
}

/// What the arrays are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayRequest {
    /// A column of every bank to its PU.
    Read(AllBankRead),
    /// A column of one bank of every channel is written.
    Write(Write),
    /// All banks closed.
    CloseAll,
}

/// What the data lines are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusRequest {
    /// A word of the global buffers, the next of its side.
    Operand {
        /// Which word of the side it is; for the waveform.
        number: usize,
        /// The word.
        word: Word,
        /// It is the last.
        last: bool,
    },
    /// The results of all PUs.
    Results(Sum),
}

/// What a module is asked for in a cycle. A request stays until it is taken.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// For the arrays.
    pub array: Option<ArrayRequest>,
    /// For the data lines.
    pub bus: Option<BusRequest>,
    /// For the softmax unit. What is asked for in a cycle in which it has no clock is not seen.
    pub softmax: SoftmaxRequest,
    /// A head ends here: REFs that were postponed come now.
    pub head_end: bool,
}

/// What happened in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// The array request was taken.
    pub array_taken: bool,
    /// The bus request was taken.
    pub bus_taken: bool,
    /// An all-bank RD is on the pins.
    pub read: bool,
    /// A WR_SHARED is on the pins, in the second slot.
    pub operand: bool,
    /// An RD_RESULT is on the pins, in the second slot.
    pub results: bool,
    /// What the softmax unit did, in a cycle in which it has a clock.
    pub softmax: Option<Weighed>,
}
