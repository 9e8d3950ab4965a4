// SPDX-License-Identifier: MIT
//! Runs of programs: what they start with, what they make, and why they end.

use crate::data_bus::Beats;
use pimlico_dpa::types::{Fault, RunEnd, Status};

/// tCK without an event after which a run is given up: longer than the REFs that may be postponed.
pub const PATIENCE_TCK: u64 = 1 << 16;

/// Why a program was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    /// The dispatcher found a fault.
    #[error("request {request} stopped at word {address} of the command buffer: {status}")]
    Fault {
        /// Whose program.
        request: u8,
        /// What is wrong.
        status: Status,
        /// Where.
        address: u16,
    },
    /// A command asks for what the rank does not have.
    #[error("a command's {field} is one that the rank does not have")]
    Beyond {
        /// Which field.
        field: &'static str,
    },
    /// The dispatcher sent what is no command.
    #[error("a command that the rank does not know")]
    UnknownCommand,
    /// A WEIGH where there are no tokens.
    #[error("weigh: there are no tokens")]
    NoTokens,
    /// The host has given fewer operands than the program writes.
    #[error("the program writes more words of operands than the host has given")]
    Operands,
    /// Results of a sum have not been read when those of the next came.
    #[error("results of the bank PUs were overwritten before they had been read")]
    Overwritten,
    /// A WEIGH without its WR_WEIGHTS, or the other way round.
    #[error(
        "weigh and wr_weights do not match: each word of weights needs one weigh and, behind it and \
         before a close_all or the end, one wr_weights; at most 16 words may wait for theirs"
    )]
    Unpaired,
    /// The loops of a program make more commands than a run may have.
    #[error("more than {most} commands")]
    TooLong {
        /// How many there may be.
        most: usize,
    },
    /// A program beside another, where it is no softmax or the module runs one after the other.
    #[error(
        "a program beside another: the module has room for the softmax of a head alone, if any"
    )]
    NotBeside,
    /// Nothing happens any more. The rank cannot be used again.
    #[error(
        "the program waits for what does not come{}",
        if *overwritten { ": results were overwritten before they had been read" } else { "" }
    )]
    Stuck {
        /// Because of [`Overwritten`](Self::Overwritten).
        overwritten: bool,
    },
    /// The burst that the host has read as the status is not one. The rank cannot be used again.
    #[error("the module does not answer: what the host has read is no status")]
    NoStatus,
    /// The module's queue had no room for a burst.
    #[error("the module has lost a message or an operand: its queue was full")]
    Lost,
    /// The module does not know a message.
    #[error("the module has refused a message")]
    Refused,
    /// Between two looks at the status the module has made more results than it keeps.
    #[error(
        "results may have been overwritten before the host had read them: it looks at the status too seldom"
    )]
    ResultsGone,
}

/// What a run makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A score, before scaling; head by head and chunk by chunk, as the program has it.
    Score {
        /// Query head.
        head: usize,
        /// binary16.
        bits: u16,
    },
    /// A weight.
    Weight {
        /// Query head.
        head: usize,
        /// binary16.
        bits: u16,
    },
    /// Scores one behind the other, where data are of no account.
    Scores {
        /// Query head.
        head: usize,
        /// How many.
        count: usize,
    },
    /// The same of weights.
    Weights {
        /// Query head.
        head: usize,
        /// How many.
        count: usize,
    },
    /// An element of the context.
    Context {
        /// Query head.
        head: usize,
        /// binary16.
        bits: u16,
    },
    /// An output of a matrix, binary16.
    Output(u16),
}

/// What is to run.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The request.
    pub request: u8,
    /// The first word of its program in the command buffer.
    pub address: u16,
    /// The operands, in the order in which the program writes them to the shared buffers.
    pub operands: &'a [Beats],
    /// Elements of the context of each head. Heads come one after the other.
    pub context: usize,
    /// Outputs of a matrix.
    pub outputs: usize,
}

/// How a run ended, according to the status of the module: the first fault that the rank found, and how the program ended.
pub fn outcome(request: u8, fault: Fault, end: RunEnd) -> Result<(), DispatchError> {
    if let Some(error) = error(fault) {
        return Err(error);
    }
    match end {
        RunEnd { status: Status::Done | Status::NotStarted, .. } => Ok(()),
        RunEnd { status, address, .. } => {
            Err(DispatchError::Fault { request, status, address: address.get() as u16 })
        }
    }
}

/// The error of a fault, if it is one.
fn error(fault: Fault) -> Option<DispatchError> {
    let beyond = |field| Some(DispatchError::Beyond { field });
    match fault {
        Fault::None => None,
        Fault::UnknownCommand => Some(DispatchError::UnknownCommand),
        Fault::NoRow => beyond("row"),
        Fault::NoColumn => beyond("column"),
        Fault::NoPlace => beyond("place"),
        Fault::NoTokens => Some(DispatchError::NoTokens),
        Fault::NoOperand => Some(DispatchError::Operands),
        Fault::Overwritten => Some(DispatchError::Overwritten),
        Fault::Unpaired => Some(DispatchError::Unpaired),
    }
}
