// SPDX-License-Identifier: MIT
//! What a sequencer may ask a rank for, judged by what its requests work on: which commands came, in which order,
//! and what has become of them.
//!
//! Hardware has queues, numbers and counters for what it has to remember. Here every command is kept, and a
//! request is compared with the commands before it in the program: a MAC with the writes to its word, a write
//! with the MACs of its word, an RD_RESULT with the sums. How many cycles the unit takes is not known here, but
//! for the latencies that its contract states, as bounds.

mod judge;

pub use judge::Judge;

/// Opcodes of commands.
pub mod opcode {
    #![allow(missing_docs)]
    pub const MAC_SCORE: u32 = 1;
    pub const MAC_CONTEXT: u32 = 2;
    pub const RD_RESULT: u32 = 3;
    pub const WR_SHARED: u32 = 4;
    pub const WR_WEIGHTS: u32 = 5;
    pub const FINISH: u32 = 6;
    pub const WEIGH: u32 = 7;
    pub const CLOSE_ALL: u32 = 8;
}

use opcode::{MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH};

const PARTIAL_SUMS: u32 = 256;

/// What the rank has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of a bank.
    pub rows: u32,
    /// Columns of a row.
    pub columns: u32,
    /// Cycles of a burst.
    pub burst: u64,
    /// Cycles from the acceptance of a request to its command on the pins.
    pub latency: u64,
    /// Idle cycles of the adder unit from a burst of the context to the next, from one of scores or outputs to one
    /// of the context, and from one of the context to one of those.
    pub idle: [u64; 3],
    /// Sums are of 32 bits.
    pub wide: bool,
    /// Places of the score buffer.
    pub scores: u32,
}

impl Sizes {
    /// The fault of a command that asks for what there is not.
    pub fn fault(&self, command: &Command) -> Option<u32> {
        let Command { opcode, place, word, tokens, .. } = *command;
        let count = tokens.min(4);
        match opcode {
            MAC_SCORE | MAC_CONTEXT if command.row >= self.rows => Some(2),
            MAC_SCORE | MAC_CONTEXT if command.column >= self.columns => Some(3),
            RD_RESULT if word & 0x80 != 0 => (place >= PARTIAL_SUMS).then_some(4),
            RD_RESULT if word & 0x40 != 0 => (place + 4 > self.scores).then_some(4),
            WEIGH if count == 0 => Some(5),
            WEIGH => (place + count > self.scores).then_some(4),
            1..=8 => None,
            _ => Some(1),
        }
    }

    /// The bus request of an RD_RESULT.
    fn results(&self, command: &Command) -> Bus {
        let Command { head, word, place, first, last, tokens, .. } = *command;
        if word & 0x80 != 0 {
            let upper = word & 0x40 != 0;
            let sum = Sum::Context {
                head,
                first: !upper,
                last: upper || !self.wide,
                place,
                goes_on: !first,
                complete: last,
            };
            return Bus::Results { address: word & 0xCF, sum };
        }
        let group = word % 4;
        let sum = if word & 0x40 != 0 {
            Sum::Outputs { place, goes_on: !first, complete: last }
        } else {
            let tokens = tokens.saturating_sub(4 * group).min(4);
            let place = Some(place).filter(|place| place + 4 <= self.scores);
            Sum::Scores { head, first, tokens, place }
        };
        Bus::Results { address: group, sum }
    }
}

/// A dispatched command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Command {
    pub opcode: u32,
    pub head: u32,
    pub row: u32,
    pub place: u32,
    pub column: u32,
    pub word: u32,
    pub first: bool,
    pub last: bool,
    pub opens: bool,
    pub tokens: u32,
}

/// What happens in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Seen {
    pub starts: bool,
    pub ends: bool,
    pub operands: usize,
    pub operand_there: bool,
    pub command: Option<Command>,
    pub array_taken: bool,
    pub bus_taken: bool,
    pub finish_taken: bool,
    pub weigh_taken: bool,
    pub read: bool,
    pub results_taken: bool,
    pub written: bool,
    pub results: bool,
    pub scaled: u64,
    pub finished: bool,
    pub word_made: bool,
    pub context: u64,
    pub output: u64,
}

impl Seen {
    /// Whether nothing happens in the rank, and nothing starts or ends.
    fn is_quiet(&self) -> bool {
        let Self { operands, operand_there, command, .. } = *self;
        *self == Self { operands, operand_there, command, ..Self::default() }
    }
}

/// What is asked for in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The dispatcher's command is taken.
    pub ready: bool,
    /// The run's fault.
    pub fault: u32,
    /// The run is over.
    pub done: bool,
    /// Of the array port.
    pub array: Option<Array>,
    /// A head ends.
    pub head_end: bool,
    /// Of the bus port.
    pub bus: Option<Bus>,
    /// A head's scores are complete.
    pub finish: Option<u32>,
    /// Place of the first score of a word of weights, their head and number.
    pub weigh: Option<[u32; 3]>,
    /// A word of weights is dropped.
    pub drops: bool,
}

impl Asked {
    /// Whether nothing is asked for.
    fn is_quiet(&self) -> bool {
        (0..4).all(|queue| !self.has(queue))
    }

    /// Whether the port of a queue has a request.
    fn has(&self, queue: usize) -> bool {
        match queue {
            0 => self.array.is_some(),
            1 | 2 => self.bus.is_some(),
            _ => self.finish.is_some() || self.weigh.is_some(),
        }
    }
}

/// What is wrong with the outputs of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The port.
    pub port: &'static str,
    /// Something is not asked for; else something is that must not be.
    pub is_missing: bool,
    /// What is wrong.
    pub what: String,
}

/// An array request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Array {
    Close,
    Read { row: u32, column: u32, word: u32, accumulate: bool, flags: [bool; 3] },
}

/// A bus request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bus {
    Host { word: u32 },
    Weights { word: u32 },
    Results { address: u32, sum: Sum },
}

/// What becomes of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sum {
    Scores { head: u32, first: bool, tokens: u32, place: Option<u32> },
    Outputs { place: u32, goes_on: bool, complete: bool },
    Context { head: u32, first: bool, last: bool, place: u32, goes_on: bool, complete: bool },
}
