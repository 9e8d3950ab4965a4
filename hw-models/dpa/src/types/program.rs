// SPDX-License-Identifier: MIT
//! The words of a program (LoL-PIM section 5): a table of their bits stands at the top of the crate.

use crate::SLOTS;
use pimlico_ports::{Enumerated, Signal, U};

/// Opcode of a word in the command buffer; commands, up to CLOSE_ALL, are dispatched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 4, sv = "opcode_e", prefix = "Op")]
pub enum Opcode {
    /// No opcode: empty memory.
    #[default]
    None = 0,
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
    /// Nothing is dispatched.
    Nop = 9,
    /// The run ends.
    End = 10,
    /// The words behind it are repeated.
    DynLoop = 12,
    /// Fields of the command behind it change with the repetitions of loops.
    DynModi = 13,
}

impl Opcode {
    /// Every command, in the order of the codes, from 1.
    pub const COMMANDS: [Self; 8] = [
        Self::MacScore,
        Self::MacContext,
        Self::RdResult,
        Self::WrShared,
        Self::WrWeights,
        Self::Finish,
        Self::Weigh,
        Self::CloseAll,
    ];

    /// The opcode of a word; [`None`](Self::None) for a code that is none.
    pub fn of_word(word: u64) -> Self {
        Self::from_code(word >> (CommandWord::WIDTH - Self::WIDTH)).unwrap_or_default()
    }

    /// Whether it is dispatched.
    pub const fn is_command(self) -> bool {
        Self::MacScore as u8 <= self as u8 && self as u8 <= Self::CloseAll as u8
    }

    /// Its name; of a command that in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::MacScore => "mac_score",
            Self::MacContext => "mac_context",
            Self::RdResult => "rd_result",
            Self::WrShared => "wr_shared",
            Self::WrWeights => "wr_weights",
            Self::Finish => "finish",
            Self::Weigh => "weigh",
            Self::CloseAll => "close_all",
            Self::Nop => "nop",
            Self::End => "end",
            Self::DynLoop => "dyn_loop",
            Self::DynModi => "dyn_modi",
        }
    }

    /// Whether it has a virtual row, which is looked up, in place of a place.
    pub const fn has_row(self) -> bool {
        matches!(self, Self::MacScore | Self::MacContext)
    }

    /// Whether its word is one of the shared buffers, and no address of results.
    pub const fn has_shared_word(self) -> bool {
        self.has_row() || matches!(self, Self::WrShared | Self::WrWeights)
    }

    /// The largest row or place.
    pub const fn max_place(self) -> u32 {
        if self.has_row() { 0xFFFF } else { 0x3_FFFF }
    }
}

/// When a flag is set: never, or where each of some loops around the command is in its first (or
/// last) repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "condition_t")]
pub struct Condition {
    /// The condition can hold.
    pub enabled: bool,
    /// Loops that must be in their first (or last) repetition, the innermost at the bottom.
    pub loops: U<4>,
}

impl Condition {
    /// Never.
    pub const NEVER: Self = Self { enabled: false, loops: U::new(0) };
    /// Always.
    pub const ALWAYS: Self = Self::of_loops(0);

    /// Where it holds for these loops, the innermost in bit 0.
    pub const fn of_loops(loops: u8) -> Self {
        Self { enabled: true, loops: U::new(loops as u64) }
    }

    /// Always or never.
    pub const fn of_flag(set: bool) -> Self {
        if set { Self::ALWAYS } else { Self::NEVER }
    }

    /// Whether it holds, where a bit of `loops` is set for each loop for which it does. Loops that are
    /// not there must be set.
    pub const fn holds(self, loops: u8) -> bool {
        self.enabled && self.loops.get() & !(loops as u64) == 0
    }
}

/// A request of the configuration, or the one that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "request_choice_t")]
pub struct RequestChoice {
    /// The request is the one named in `request`; else the one that runs.
    pub fixed: bool,
    /// Request of the configuration; 0 unless `fixed`.
    pub request: U<4>,
}

impl RequestChoice {
    /// The request that runs.
    pub const RUNNING: Self = Self { fixed: false, request: U::new(0) };

    /// A request of the configuration.
    pub const fn fixed(request: u8) -> Self {
        Self { fixed: true, request: U::new(request as u64) }
    }

    /// Which request it is, where `running` runs.
    pub const fn of(self, running: u8) -> u8 {
        if self.fixed { self.request.get() as u8 } else { running }
    }

    /// Whether no bit is set that must be 0.
    pub const fn is_valid(self) -> bool {
        self.fixed || self.request.get() == 0
    }
}

/// A command as it stands in the command buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "command_word_t")]
pub struct CommandWord {
    /// Opcode of a command.
    pub opcode: Opcode,
    /// Request that the virtual row belongs to.
    pub request: RequestChoice,
    /// Always 0.
    pub zero: U<3>,
    /// Begins a sum, or a head.
    pub first: Condition,
    /// Ends a sum, or a head.
    pub last: Condition,
    /// First command of an operator.
    pub opens: Condition,
    /// Query head.
    pub head: U<3>,
    /// MAC: virtual row; others: place in the score buffer, or among the partial sums.
    pub place: U<18>,
    /// Column of a MAC.
    pub column: u8,
    /// Word of the shared buffers; RD_RESULT: which results.
    pub word: u8,
}

impl CommandWord {
    /// A command whose fields are all 0.
    pub fn new(opcode: Opcode) -> Self {
        Self { opcode, ..Self::default() }
    }
}

/// Source of a loop's bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 2, sv = "loop_source_e", prefix = "Source")]
pub enum LoopSource {
    /// The bound is the number of repetitions.
    #[default]
    Count = 0,
    /// The bound is the tokens of a repetition.
    /// The loop goes over those of the loop around it that goes over tokens.
    Part = 1,
    /// The bound is the tokens of a repetition; the loop goes over the T_cur of a request.
    All = 2,
}

/// Dyn-Loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "loop_word_t")]
pub struct LoopWord {
    /// Opcode of a Dyn-Loop.
    pub opcode: Opcode,
    /// Source `All`: request whose tokens are counted.
    pub request: RequestChoice,
    /// Source of the loop's bound.
    pub source: LoopSource,
    /// Always 0.
    pub zero: U<19>,
    /// LE: words that are repeated.
    pub words: U<14>,
    /// LB: repetitions, or tokens of a repetition.
    pub bound: U<20>,
}

impl LoopWord {
    /// A loop over what a source gives: so many repetitions, or repetitions of so many tokens.
    pub fn new(source: LoopSource, bound: u32) -> Self {
        Self { opcode: Opcode::DynLoop, source, bound: U::new(bound.into()), ..Self::default() }
    }
}

/// What a Dyn-Modi changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 3, sv = "target_e", prefix = "Target")]
pub enum Target {
    /// Nothing.
    #[default]
    None = 0,
    /// Row or place.
    Place = 1,
    /// Row or place, by 64 times the coefficient.
    Place64 = 2,
    /// Column.
    Column = 3,
    /// Word of the shared buffers, or which results.
    Word = 4,
    /// Word of the shared buffers, or which results, modulo 256.
    WordWraps = 5,
    /// Query head.
    Head = 6,
}

/// A product that a Dyn-Modi adds to a field: a coefficient times the number of a loop's repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "modification_t")]
pub struct Modification {
    /// Field that changes.
    pub target: Target,
    /// Loop whose repetitions change the field, 0 for the innermost.
    pub level: U<2>,
    /// Change in each repetition of the loop.
    pub coefficient: U<10>,
}

impl Modification {
    /// What a target grows by in each repetition of a loop.
    pub const fn new(target: Target, level: u8, coefficient: u16) -> Self {
        let (level, coefficient) = (U::new(level as u64), U::new(coefficient as u64));
        Self { target, level, coefficient }
    }

    /// Whether it changes anything.
    pub fn is_some(&self) -> bool {
        self.target != Target::None
    }
}

/// Dyn-Modi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "modify_word_t")]
pub struct ModifyWord {
    /// Opcode of a Dyn-Modi.
    pub opcode: Opcode,
    /// Products that are added to fields of the next command.
    pub slots: [Modification; SLOTS],
}

impl ModifyWord {
    /// One that adds these products.
    pub const fn new(slots: [Modification; SLOTS]) -> Self {
        Self { opcode: Opcode::DynModi, slots }
    }

    /// The products that it adds.
    pub fn modifications(&self) -> impl Iterator<Item = &Modification> {
        self.slots.iter().filter(|slot| slot.is_some())
    }
}
