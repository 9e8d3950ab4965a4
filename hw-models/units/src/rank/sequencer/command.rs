// SPDX-License-Identifier: MIT
//! What a dispatched command asks the rank for: the entry that it becomes in one of the queues.

use super::SequencerIn;
use super::scoreboard::Access;
use pimlico_dpa::Opcode;
use pimlico_dpa::types::{
    ArrayKind, ArrayRequest, Dispatch, Fault, Finish, Mac, ResultAddress, Sum, SumKind, Weigh,
};
use pimlico_ports::U;

/// Partial sums of the context.
const PARTIAL_SUMS: u64 = 256;
/// Scores in a burst, and weights in a word.
const LANES: u64 = 4;
/// Chips, and so elements that complete sums of the context have.
const CHIPS: u16 = 8;

/// A command as it is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// A MAC.
    Read(ArrayRequest),
    /// All banks are closed.
    CloseAll,
    /// Results of the bank PUs are read.
    Results(Results),
    /// The next burst of the host goes into a word of the shared buffers.
    Shared {
        /// The word.
        word: u8,
        /// It waits for the MACs before it.
        behind_reads: bool,
    },
    /// The oldest word of weights goes into a word of the shared buffers.
    Weights {
        /// The word.
        word: u8,
    },
    /// The sum of a head's exponentials is divided by.
    Finish(Finish),
    /// Scores become a word of weights.
    Weigh(Weigh),
}

impl Command {
    /// What it does with a word of the shared buffers, and with which.
    pub(super) fn access(&self) -> Option<(Access, u8)> {
        match *self {
            Command::Read(request) => Some((Access::Mac, request.mac.word)),
            Command::Shared { word, .. } | Command::Weights { word } => Some((Access::Write, word)),
            _ => None,
        }
    }
}

/// RD_RESULT.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Results {
    /// Its address on the bus.
    pub address: u8,
    /// What sums become of what it reads.
    pub sum: Sum,
}

impl Results {
    /// It reads sums of the context.
    pub fn is_context(&self) -> bool {
        self.sum.kind == SumKind::Context
    }

    /// It reads what the chips have kept since the RD_RESULT of bank group 0.
    pub fn is_kept(&self) -> bool {
        !self.is_context() && ResultAddress::of_bits(self.address).lane != U::new(0)
    }

    /// Elements that are complete with it, for the host.
    pub fn elements(&self) -> u16 {
        match self.sum.kind {
            SumKind::Context if self.sum.complete && self.sum.last => CHIPS,
            SumKind::Outputs if self.sum.complete => LANES as u16,
            _ => 0,
        }
    }

    /// Scores that come of it, masked ones among them.
    pub fn scores(&self) -> u16 {
        if self.sum.kind == SumKind::Scores { LANES as u16 } else { 0 }
    }
}

/// The request of a MAC, checked against what the rank has.
#[inline]
pub fn decode_read(dispatched: &Dispatch, input: &SequencerIn) -> Result<ArrayRequest, Fault> {
    let Dispatch { kind, row, column, word, first, last, opens, .. } = *dispatched;
    if u64::from(row) >= input.size_i.rows.get() {
        return Err(Fault::NoRow);
    }
    if u64::from(column) >= input.size_i.columns.get() {
        return Err(Fault::NoColumn);
    }
    let mac = Mac { word, accumulate: kind == Opcode::MacContext, first, last, opens };
    Ok(ArrayRequest { kind: ArrayKind::ReadAll, bank: U::new(0), row, column, mac })
}

/// What a dispatched command asks for, if the rank has that: by the sequencer's input, and with so many places in the score
/// buffer.
///
/// # Errors
///
/// The fault that the sequencer stops at.
pub fn decode(dispatched: &Dispatch, input: &SequencerIn, scores: u64) -> Result<Command, Fault> {
    let Dispatch { kind, head, word, first, .. } = *dispatched;
    let place = dispatched.place.get();
    Ok(match kind {
        Opcode::MacScore | Opcode::MacContext => Command::Read(decode_read(dispatched, input)?),
        Opcode::CloseAll => Command::CloseAll,
        Opcode::WrShared => Command::Shared { word, behind_reads: first },
        Opcode::WrWeights => Command::Weights { word },
        Opcode::Finish => Command::Finish(Finish { head }),
        Opcode::Weigh => {
            let count = dispatched.tokens.get().min(LANES);
            if count == 0 {
                return Err(Fault::NoTokens);
            }
            if place + count > scores {
                return Err(Fault::NoPlace);
            }
            Command::Weigh(Weigh { place: U::new(place), head, count: U::new(count) })
        }
        Opcode::RdResult => Command::Results(decode_results(dispatched, input.wide_i, scores)?),
        _ => return Err(Fault::UnknownCommand),
    })
}

fn decode_results(dispatched: &Dispatch, wide: bool, scores: u64) -> Result<Results, Fault> {
    let Dispatch { head, word, first, last, .. } = *dispatched;
    let (place, tokens) = (dispatched.place.get(), dispatched.tokens.get());
    let which = ResultAddress::of_bits(word);
    let kind = which.sum_kind();
    let none = Sum { kind, ..Sum::default() };
    let keep = place + LANES <= scores;
    let sum = match kind {
        SumKind::Context if place >= PARTIAL_SUMS => return Err(Fault::NoPlace),
        SumKind::Context => Sum {
            head,
            // A burst holds four sums of 16 bits or two of 32, of as many bank groups.
            first: !which.upper,
            last: !wide || which.upper,
            place: U::new(place),
            goes_on: !first,
            complete: last,
            ..none
        },
        SumKind::Outputs if !keep => return Err(Fault::NoPlace),
        SumKind::Outputs => Sum { place: U::new(place), goes_on: !first, complete: last, ..none },
        SumKind::Scores => {
            let before = which.lane.get() * LANES;
            let tokens = U::new(tokens.saturating_sub(before).min(LANES));
            let place = U::new(if keep { place } else { 0 });
            Sum { head, first, tokens, place, keep, ..none }
        }
    };
    Ok(Results { address: which.on_bus().bits(), sum })
}
