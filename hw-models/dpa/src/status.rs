// SPDX-License-Identifier: MIT
//! How a request stands with the dispatcher.

/// How a request stands: what the host reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Status {
    /// It has not been started.
    #[error("not started")]
    NotStarted = 0,
    /// It runs.
    #[error("running")]
    Running = 1,
    /// It came to an END.
    #[error("done")]
    Done = 2,
    /// The host stopped it.
    #[error("stopped by the host")]
    Stopped = 3,
    /// The host had written what does not fit the buffers.
    #[error("buffer overflow: the host wrote what does not fit")]
    BufferOverflow = 4,
    /// The program has no more words, and no END.
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
    /// A loop that reaches over the end of the program or of the loop around it.
    #[error("loop over the end of the program or of the loop around it")]
    LoopEnd = 9,
    /// More loops in each other than there are registers for.
    #[error("loops nested too deep")]
    TooDeep = 10,
    /// A field has become larger than it may be.
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
    /// Every status, in the order of the codes.
    pub const ALL: [Self; 14] = [
        Self::NotStarted,
        Self::Running,
        Self::Done,
        Self::Stopped,
        Self::BufferOverflow,
        Self::PastEnd,
        Self::UnknownOpcode,
        Self::UnknownTarget,
        Self::LoopBound,
        Self::LoopEnd,
        Self::TooDeep,
        Self::FieldOverflow,
        Self::Va2PaMiss,
        Self::UnknownRequest,
    ];

    /// The four bits that the host reads.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The status of a code.
    pub fn of(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether a program or the host made a mistake.
    pub const fn is_fault(self) -> bool {
        self.code() >= Self::BufferOverflow.code()
    }
}
