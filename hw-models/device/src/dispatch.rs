// SPDX-License-Identifier: MIT
//! Runs of programs: what they start with, what they make, and why they end.

use crate::data_bus::Beats;
use pimlico_dpa::Status;

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
    #[error("{command}: {field} {value}, the rank has 0 to {}", limit - 1)]
    Field {
        /// Which command.
        command: &'static str,
        /// Which field.
        field: &'static str,
        /// Its value.
        value: usize,
        /// The first value that is too large.
        limit: usize,
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
    /// Nothing happens any more. The rank cannot be used again.
    #[error(
        "the program waits for what does not come{}",
        if *overwritten { ": results were overwritten before they had been read" } else { "" }
    )]
    Stuck {
        /// Because of [`Overwritten`](Self::Overwritten).
        overwritten: bool,
    },
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
}
