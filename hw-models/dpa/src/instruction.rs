// SPDX-License-Identifier: MIT
//! The words of a program and their binary encoding: a table of it stands at the top of the crate.

use crate::{DEPTH, SLOTS, Status};

/// A command that is dispatched; its code is its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A column of every bank to its PU: adder tree (score, FC).
    MacScore = 1,
    /// A column of every bank to its PU: four accumulators (context).
    MacContext = 2,
    /// Results of the bank PUs to the adder unit.
    RdResult = 3,
    /// A word of the shared buffers from the host.
    WrShared = 4,
    /// A word of the shared buffers from the softmax unit.
    WrWeights = 5,
    /// The scores of a head are complete.
    Finish = 6,
    /// Up to four scores become a word of weights.
    Weigh = 7,
    /// All banks closed; a head ends.
    CloseAll = 8,
}

impl Kind {
    /// Every kind, in the order of the opcodes, from 1.
    pub const ALL: [Self; 8] = [
        Self::MacScore,
        Self::MacContext,
        Self::RdResult,
        Self::WrShared,
        Self::WrWeights,
        Self::Finish,
        Self::Weigh,
        Self::CloseAll,
    ];

    /// Its opcode.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind of an opcode.
    pub fn of(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }

    /// Its name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MacScore => "mac_score",
            Self::MacContext => "mac_context",
            Self::RdResult => "rd_result",
            Self::WrShared => "wr_shared",
            Self::WrWeights => "wr_weights",
            Self::Finish => "finish",
            Self::Weigh => "weigh",
            Self::CloseAll => "close_all",
        }
    }

    /// Whether it has a virtual row, which is looked up, in place of a place.
    pub const fn has_row(self) -> bool {
        matches!(self, Self::MacScore | Self::MacContext)
    }

    /// The largest row or place.
    pub const fn max_place(self) -> u32 {
        if self.has_row() { 0xFFFF } else { 0x3_FFFF }
    }
}

/// When a flag is set: never, or where each of some loops around the command is in its first (or
/// last) repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition(u8);

impl Condition {
    /// Never.
    pub const NEVER: Self = Self(0);
    /// Always.
    pub const ALWAYS: Self = Self(0x10);

    /// Where it holds for these loops, the innermost in bit 0.
    pub const fn of_loops(loops: u8) -> Self {
        Self(0x10 | loops & 0xF)
    }

    /// The condition of five bits.
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits & 0x1F)
    }

    /// Its five bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether it holds, where a bit of `loops` is set for each loop for which it does. Loops that are
    /// not there must be set.
    pub const fn holds(self, loops: u8) -> bool {
        self.0 & 0x10 != 0 && self.0 & !loops & 0xF == 0
    }
}

/// A command as it stands in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandWord {
    /// What it does.
    pub kind: Kind,
    /// Whose virtual row it is; the running request's by default.
    pub request: Option<u8>,
    /// Begins a sum, or a head.
    pub first: Condition,
    /// Ends it.
    pub last: Condition,
    /// The first of an operator.
    pub opens: Condition,
    /// Query head, 3 bits.
    pub head: u8,
    /// Virtual row, or place in the score buffer; 18 bits.
    pub place: u32,
    /// Column.
    pub column: u8,
    /// Word of the shared buffers, or bus address.
    pub word: u8,
}

impl CommandWord {
    /// A command whose fields are all 0.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            request: None,
            first: Condition::NEVER,
            last: Condition::NEVER,
            opens: Condition::NEVER,
            head: 0,
            place: 0,
            column: 0,
            word: 0,
        }
    }
}

/// Whence a loop has its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is the number of repetitions.
    Count,
    /// It is the tokens of a repetition; there are those of the loop around it that goes over tokens.
    Part,
    /// It is the tokens of a repetition; there are T_cur, of the running request by default.
    All(Option<u8>),
}

/// Dyn-Loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Whence the bound.
    pub source: Source,
    /// Words that are repeated; 14 bits.
    pub words: u16,
    /// LB: repetitions, or tokens of a repetition; 20 bits.
    pub bound: u32,
}

/// What a modification changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Target {
    /// Row or place.
    Place = 1,
    /// Row or place, by 64 times the coefficient.
    Place64 = 2,
    /// Column.
    Column = 3,
    /// Word or bus address.
    Word = 4,
    /// The same, modulo 256.
    WordWraps = 5,
    /// Query head.
    Head = 6,
}

impl Target {
    /// Every target, in the order of the codes, from 1.
    pub const ALL: [Self; 6] =
        [Self::Place, Self::Place64, Self::Column, Self::Word, Self::WordWraps, Self::Head];
}

/// One of a Dyn-Modi's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modification {
    /// What it changes.
    pub target: Target,
    /// By which loop, 0 for the innermost; 2 bits.
    pub level: u8,
    /// By how much in each repetition; 10 bits.
    pub coefficient: u16,
}

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A command to dispatch.
    Command(CommandWord),
    /// Dyn-Modi.
    Modify([Option<Modification>; SLOTS]),
    /// Dyn-Loop.
    Loop(Loop),
    /// Nothing.
    Nop,
    /// The end of a run.
    End,
}

const NOP: u64 = 9;
const END: u64 = 10;
const MODIFY: u64 = 13;

/// The low bits.
const fn low(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

/// Bits 59 to 55.
fn request_bits(request: Option<u8>) -> u64 {
    request.map_or(0, |request| 0x10 | low(request.into(), 4)) << 55
}

fn request_of(word: u64) -> Result<Option<u8>, Status> {
    let request = low(word >> 55, 4) as u8;
    match (word >> 59 & 1, request) {
        (0, 0) => Ok(None),
        (0, _) => Err(Status::UnknownOpcode),
        _ => Ok(Some(request)),
    }
}

impl Instruction {
    /// The opcode of a Dyn-Loop.
    pub const LOOP: u64 = 12;

    /// The word. Of a field that is too large its low bits count.
    pub fn encode(&self) -> u64 {
        match self {
            Self::Command(command) => command.encode(),
            Self::Modify(slots) => {
                let slots = slots.iter().enumerate().map(|(s, slot)| {
                    let bits = slot.map_or(0, |Modification { target, level, coefficient }| {
                        (target as u64) << 12
                            | low(level.into(), 2) << 10
                            | low(coefficient.into(), 10)
                    });
                    bits << (15 * s)
                });
                MODIFY << 60 | slots.sum::<u64>()
            }
            Self::Loop(Loop { source, words, bound }) => {
                let source = match source {
                    Source::Count => 0,
                    Source::Part => 1 << 53,
                    Source::All(request) => 2 << 53 | request_bits(*request),
                };
                Self::LOOP << 60
                    | source
                    | low((*words).into(), 14) << 20
                    | low((*bound).into(), 20)
            }
            Self::Nop => NOP << 60,
            Self::End => END << 60,
        }
    }

    /// What a word says; else [`UnknownOpcode`](Status::UnknownOpcode) or
    /// [`UnknownTarget`](Status::UnknownTarget).
    pub fn decode(word: u64) -> Result<Self, Status> {
        let opcode = word >> 60;
        if let Some(kind) = Kind::of(opcode as u8) {
            return CommandWord::decode(kind, word).map(Self::Command);
        }
        match opcode {
            NOP | END if low(word, 60) != 0 => Err(Status::UnknownOpcode),
            NOP => Ok(Self::Nop),
            END => Ok(Self::End),
            Self::LOOP => Loop::decode(word).map(Self::Loop),
            MODIFY => {
                let mut slots = [None; SLOTS];
                for (s, slot) in slots.iter_mut().enumerate() {
                    *slot = Modification::decode(low(word >> (15 * s), 15))?;
                }
                Ok(Self::Modify(slots))
            }
            _ => Err(Status::UnknownOpcode),
        }
    }
}

impl CommandWord {
    fn encode(&self) -> u64 {
        let condition = |condition: Condition, at: u32| u64::from(condition.bits()) << at;
        u64::from(self.kind.code()) << 60
            | request_bits(self.request)
            | condition(self.first, 47)
            | condition(self.last, 42)
            | condition(self.opens, 37)
            | low(self.head.into(), 3) << 34
            | low(self.place.into(), 18) << 16
            | u64::from(self.column) << 8
            | u64::from(self.word)
    }

    fn decode(kind: Kind, word: u64) -> Result<Self, Status> {
        if low(word >> 52, 3) != 0 {
            return Err(Status::UnknownOpcode);
        }
        let condition = |at: u32| Condition::of_bits((word >> at) as u8);
        Ok(Self {
            kind,
            request: request_of(word)?,
            first: condition(47),
            last: condition(42),
            opens: condition(37),
            head: low(word >> 34, 3) as u8,
            place: low(word >> 16, 18) as u32,
            column: (word >> 8) as u8,
            word: word as u8,
        })
    }
}

impl Loop {
    fn decode(word: u64) -> Result<Self, Status> {
        let request = request_of(word)?;
        let code = low(word >> 53, 2);
        if low(word >> 34, 19) != 0 || code < 2 && request.is_some() {
            return Err(Status::UnknownOpcode);
        }
        let source = match code {
            0 => Source::Count,
            1 => Source::Part,
            2 => Source::All(request),
            _ => return Err(Status::UnknownTarget),
        };
        Ok(Self { source, words: low(word >> 20, 14) as u16, bound: low(word, 20) as u32 })
    }
}

impl Modification {
    fn decode(bits: u64) -> Result<Option<Self>, Status> {
        let target = match bits >> 12 {
            0 => return Ok(None),
            code => *Target::ALL.get(code as usize - 1).ok_or(Status::UnknownTarget)?,
        };
        let (level, coefficient) = (low(bits >> 10, 2) as u8, low(bits, 10) as u16);
        debug_assert!(usize::from(level) < DEPTH);
        Ok(Some(Self { target, level, coefficient }))
    }
}
