// SPDX-License-Identifier: MIT
//! What a rank makes of a program's commands, one after the other, as if each took no time: what its chips
//! hold, what its scores, weights, contexts and outputs are.
//!
//! Hardware works at several commands at once, with interlocks that keep the order of the program. Here no
//! command overlaps with another. The results of a program that breaks a rule of `rtl/rank/sequencer.md` are
//! unspecified, and the first command that does so ends the judgement ([`Stop::Open`]). Time counts in one of
//! these rules alone, that of partial sums, for which [`Source::results`] says when RD_RESULTs were.
//!
//! Weights are not computed: the unit's exponential is its own. What the device says they are is checked
//! against real numbers ([`Expected::Near`]) and then taken for it, so that contexts are exact again.

mod operands;
mod softmax;
mod sums;

use crate::dispatch::Dispatched;
use crate::exact;
use crate::format::{Format, Subnormals};
use crate::reduction::{CHIPS, LANES, Precision};
use crate::sequencer::opcode::{
    CLOSE_ALL, FINISH, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};
use crate::softmax::HeadSum;
use std::collections::VecDeque;

pub use operands::relaid;

/// Banks of a chip.
const BANKS: usize = 16;
/// Words of a shared buffer.
const WORDS: usize = 256;
/// Places for partial sums of the context.
const PARTIAL_SUMS: usize = 256;
/// Query heads.
const HEADS: usize = 8;
const H: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;

/// A column of a bank, or a word of the shared buffers: 64 bits of each chip.
pub type Column = [u64; CHIPS];

/// How a rank computes.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Sums are of 32 bits.
    pub wide: bool,
    /// The context is normalised, not the weights.
    pub late: bool,
    /// Places of the score buffer.
    pub places: usize,
    /// tCK in a cycle of the rank's core: 1, 2 or 4.
    pub gear: u64,
}

/// What goes into a program.
pub trait Source {
    /// A column of every bank, in a row that is open in all.
    fn column(&mut self, row: u32, column: u32) -> Option<[Column; BANKS]>;

    /// The tCK in which the next RD_RESULT is on the pins.
    fn results(&mut self) -> Option<u64>;

    /// The host's next burst, in its order.
    fn operand(&mut self) -> Option<[u64; 8]>;

    /// The next weight, as the device has it.
    fn weight(&mut self) -> Option<u16>;
}

/// A number that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// These bits.
    Bits(u16),
    /// This number, or one that is off by so much.
    Near(f64, f64),
    /// Any number.
    Any,
}

impl Expected {
    /// Whether a binary16 number is it.
    pub fn holds(&self, bits: u16) -> bool {
        match *self {
            Self::Bits(expected) => bits == expected,
            Self::Near(value, bound) => (exact::to_f64(H, bits.into()) - value).abs() <= bound,
            Self::Any => true,
        }
    }
}

/// A score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// There is no such token.
    pub masked: bool,
    /// Query head.
    pub head: u32,
    /// binary16.
    pub bits: u16,
}

/// What has been made, in order.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Scores, before scaling.
    pub scores: Vec<Score>,
    /// Weights, with their head.
    pub weights: Vec<(u32, Expected)>,
    /// Elements of the context, with their head.
    pub context: Vec<(u32, Expected)>,
    /// Outputs of a matrix.
    pub outputs: Vec<u16>,
}

/// Why a command has not been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// What it gives is open.
    Open(&'static str),
    /// What goes into it has not come.
    Waits,
}

/// The sums of the bank PUs of a rank: of each bank, chip and lane.
type Sums = [[[u32; LANES]; CHIPS]; BANKS];

/// Sums that are made, or complete.
#[derive(Clone, Debug)]
struct BankSums {
    accumulate: bool,
    /// FINISHes ahead of a WEIGH whose weights they use.
    finishes: u64,
    sums: Box<Sums>,
}

/// A word of weights.
#[derive(Clone, Copy, Debug)]
struct Word {
    count: usize,
    /// The tree beats before the FINISH that it waits for, if that comes behind all of them.
    behind: Option<u64>,
    /// FINISHes ahead of its WEIGH.
    finishes: u64,
}

/// A rank.
#[derive(Clone, Debug)]
pub struct Rank {
    kind: Kind,
    scale: u32,
    precision: Precision,
    shared: Vec<Option<Column>>,
    /// As of [`Word::behind`], of words that hold weights.
    behind: Vec<Option<u64>>,
    /// As of [`Word::finishes`], of words that hold weights; 0 of others.
    finishes_ahead: Vec<u64>,
    making: Option<BankSums>,
    complete: Option<BankSums>,
    /// Score by score: scaled, of each head.
    heads: [Vec<u32>; HEADS],
    sums: [Option<HeadSum>; HEADS],
    /// FINISHes so far, and with that of a head.
    finishes: u64,
    finished: [u64; HEADS],
    /// Scores of the chunk that has begun, and its head.
    chunk: usize,
    chunk_head: usize,
    buffer: Vec<Option<u32>>,
    /// The tCK from which on an RD_RESULT reads the partial output at a place, if there is one.
    outputs_from: Vec<Option<u64>>,
    /// Partial sums of the context, with the same.
    partial_sums: Vec<Option<([u32; CHIPS], u64)>>,
    /// The last RD_RESULT was one of scores that are kept.
    keeps: bool,
    /// What the adder unit sums up of the context.
    lanes: Option<[u32; CHIPS]>,
    words: VecDeque<Word>,
    /// Tree beats so far; whether one may still be on its way; and whether a FINISH is behind them.
    trees: u64,
    tree_under_way: bool,
    finish_behind: bool,
    /// The results of the last tree beats have been read.
    tree_read: bool,
    /// The chips keep the scores of the complete sums: bank group 0 has been read.
    kept: bool,
    /// What it has made.
    pub made: Made,
}

impl Rank {
    /// One of whose memories nothing is known.
    pub fn new(kind: Kind) -> Self {
        let sums = if kind.wide { Format::BINARY32 } else { H };
        Self {
            kind,
            scale: 0,
            precision: Precision { elements: H, subnormals: GRADUAL, sums },
            shared: vec![None; WORDS],
            behind: vec![None; WORDS],
            finishes_ahead: vec![0; WORDS],
            making: None,
            complete: None,
            heads: Default::default(),
            sums: [None; HEADS],
            finishes: 0,
            finished: [0; HEADS],
            chunk: 0,
            chunk_head: 0,
            buffer: vec![None; kind.places],
            outputs_from: vec![None; kind.places],
            keeps: false,
            partial_sums: vec![None; PARTIAL_SUMS],
            lanes: None,
            words: VecDeque::new(),
            trees: 0,
            tree_under_way: false,
            finish_behind: false,
            tree_read: false,
            kept: false,
            made: Made::default(),
        }
    }

    /// Sets the factor of the scores.
    pub fn set_scale(&mut self, scale: u16) {
        self.scale = scale.into();
    }

    /// Executes a command.
    pub fn execute(&mut self, command: &Dispatched, source: &mut impl Source) -> Result<(), Stop> {
        match command.opcode {
            MAC_SCORE | MAC_CONTEXT => self.mac(command, source),
            RD_RESULT => {
                let at = source.results().ok_or(Stop::Waits)?;
                match (command.word & 0x80 != 0, command.word & 0x40 != 0) {
                    (true, _) => self.context(command, at),
                    (false, true) => self.outputs(command, at),
                    (false, false) => self.scores(command),
                }
            }
            WR_SHARED => self.write_shared(command, source),
            WR_WEIGHTS => self.write_weights(command, source),
            FINISH => self.finish(command.head as usize),
            WEIGH => self.weigh(command),
            CLOSE_ALL if self.words.is_empty() => {
                self.tree_under_way &= !self.tree_read;
                Ok(())
            }
            CLOSE_ALL => Err(Stop::Open("words of weights that nobody writes")),
            _ => Err(Stop::Open("no command")),
        }
    }
}

/// Results are read that are not those of a whole sum of this kind.
const NO_SUM: Stop = Stop::Open("a sum that was never made");

/// A number that is off by no more than the bound.
fn near((value, bound): (f64, f64)) -> Expected {
    Expected::Near(value, bound)
}

#[cfg(test)]
mod tests;
