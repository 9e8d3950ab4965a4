// SPDX-License-Identifier: MIT
//! Runs of programs: what the host writes, what is dispatched, how a run ends.

use super::{Column, Head, Opcode, Row};
use pimlico_ports::{Enumerated, Signal, U};

/// A command that is dispatched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "dispatch_t")]
pub struct Dispatch {
    /// Opcode of the command.
    pub kind: Opcode,
    /// Request that the row belongs to.
    pub request: U<4>,
    /// Query head.
    pub head: Head,
    /// Row of a MAC, after the look-up; 0 for others.
    pub row: Row,
    /// Place in the score buffer, or among the partial sums; 0 for a MAC.
    pub place: U<18>,
    /// Column of a MAC.
    pub column: Column,
    /// Word of the shared buffers; RD_RESULT: which results.
    pub word: u8,
    /// Begins a sum, or a head; WR_SHARED: waits for all MACs before it.
    pub first: bool,
    /// Ends a sum, or a head.
    pub last: bool,
    /// First command of an operator.
    pub opens: bool,
    /// Tokens of the current repetition of the innermost loop over tokens, or T_cur.
    /// Scores beyond them are masked.
    pub tokens: U<20>,
}

/// What the host writes to the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 3, sv = "load_kind_e", prefix = "Load")]
pub enum LoadKind {
    /// A word of the command buffer.
    #[default]
    Command = 0,
    /// An entry of the Va2Pa table.
    Entry = 1,
    /// T_cur of a request.
    Tokens = 2,
    /// A request's segment of the Va2Pa table.
    Segment = 3,
    /// Nothing; the program and the overflow are cleared.
    Clear = 4,
    /// A request's layers: how many, and entries of the table from one to the next.
    Layers = 5,
}

/// A write of the host to the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "load_t")]
pub struct Load {
    /// Kind of the write.
    pub kind: LoadKind,
    /// Address of the word or entry, or number of the request.
    pub address: u16,
    /// Data that are written.
    pub data: u64,
}

/// A start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "start_t")]
pub struct Start {
    /// Request that is to run.
    pub request: U<4>,
    /// First word of the program.
    pub address: U<14>,
}

/// Status of a request: what the host reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal, thiserror::Error)]
#[signal(width = 4, sv = "status_e", prefix = "Status")]
pub enum Status {
    /// The request has not been started.
    #[default]
    #[error("not started")]
    NotStarted = 0,
    /// The request runs.
    #[error("running")]
    Running = 1,
    /// The run reached an END.
    #[error("done")]
    Done = 2,
    /// The host stopped the run.
    #[error("stopped by the host")]
    Stopped = 3,
    /// The host had written data that do not fit the buffers.
    #[error("buffer overflow: the host wrote what does not fit")]
    BufferOverflow = 4,
    /// The program ended without an END.
    #[error("past the end of the program")]
    PastEnd = 5,
    /// No such opcode, or a bit that must not be set.
    #[error("unknown opcode, or a bit set that must be 0")]
    UnknownOpcode = 6,
    /// No such target, loop or source of a bound, or nothing to modify.
    #[error("unknown target: no such target, loop or bound, or no command to modify")]
    UnknownTarget = 7,
    /// A loop without words, without a repetition, or with too many.
    #[error("zero or over-long loop")]
    LoopBound = 8,
    /// A loop extends beyond the end of the program or of the loop around it.
    #[error("loop over the end of the program or of the loop around it")]
    LoopEnd = 9,
    /// Loops are nested deeper than there are registers for.
    #[error("loops nested too deep")]
    TooDeep = 10,
    /// A field exceeds its largest value.
    #[error("arithmetic overflow of a field")]
    FieldOverflow = 11,
    /// The virtual row has no row.
    #[error("Va2Pa miss: no row for the virtual row")]
    Va2PaMiss = 12,
    /// There is no such request.
    #[error("no such request")]
    UnknownRequest = 13,
}

impl Status {
    /// Whether a program or the host made a mistake.
    pub fn is_fault(self) -> bool {
        self.code() >= Self::BufferOverflow.code()
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "run_end_t")]
pub struct RunEnd {
    /// Status with which the run ended.
    pub status: Status,
    /// Word at which the run ended.
    pub address: U<14>,
    /// Layer of the request that ran.
    pub layer: u16,
}

/// What is wrong with a run, as the sequencer finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 4, sv = "fault_e", prefix = "Fault")]
pub enum Fault {
    /// No fault.
    #[default]
    None = 0,
    /// There is no such command.
    UnknownCommand = 1,
    /// There is no such row.
    NoRow = 2,
    /// There is no such column.
    NoColumn = 3,
    /// There is no such place.
    NoPlace = 4,
    /// A WEIGH has no tokens.
    NoTokens = 5,
    /// The host has fewer bursts than the program writes.
    NoOperand = 6,
    /// Results of a sum had not been read when those of the next came.
    Overwritten = 7,
    /// WEIGHs and WR_WEIGHTS do not match.
    Unpaired = 8,
}
