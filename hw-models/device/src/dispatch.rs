// SPDX-License-Identifier: MIT
//! Runs of programs: what they start with, what they make, and why they end.

use crate::config::Config;
use crate::data_bus::Beats;
use crate::sizes::{LANES, PARTIAL_SUMS, SCORE_BUFFER};
use pimlico_dpa::types::{Dispatch, Fault, Opcode, ResultAddress, RunEnd, Status};

/// tCK without an event after which a run is given up: longer than the REFs that may be postponed.
const PATIENCE_TCK: u64 = 1 << 16;

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
    /// The same, of a command that is not known.
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

/// What has become of a run so far.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    request: u8,
    failed: Option<DispatchError>,
    ended: Option<RunEnd>,
    last_command: Option<Dispatch>,
    last_event_tck: u64,
}

impl Outcome {
    /// A run that starts.
    pub fn new(start: &Start<'_>, at_tck: u64) -> Self {
        Self {
            request: start.request,
            failed: None,
            ended: None,
            last_command: None,
            last_event_tck: at_tck,
        }
    }

    /// A command has been dispatched.
    pub fn dispatched(&mut self, command: Dispatch) {
        self.last_command = Some(command);
    }

    /// The fault of the run, of which the first counts.
    pub fn fault(&mut self, fault: Fault, config: &Config) {
        if self.failed.is_none() {
            self.failed = error(fault, self.last_command.as_ref(), config);
        }
    }

    /// The program has ended.
    pub fn program_ended(&mut self, end: RunEnd) {
        self.ended = self.ended.or(Some(end));
    }

    /// A tCK is over, in which something happened or not.
    pub fn tck(&mut self, tck: u64, is_event: bool) -> Result<(), DispatchError> {
        if is_event {
            self.last_event_tck = tck;
        }
        if tck - self.last_event_tck > PATIENCE_TCK {
            let overwritten = self.failed == Some(DispatchError::Overwritten);
            return Err(DispatchError::Stuck { overwritten });
        }
        Ok(())
    }

    /// The run is over.
    pub fn end(self) -> Result<(), DispatchError> {
        match (self.failed, self.ended) {
            (Some(error), _) => Err(error),
            (None, None | Some(RunEnd { status: Status::Done, .. })) => Ok(()),
            (None, Some(RunEnd { status, address })) => {
                let address = address.get() as u16;
                Err(DispatchError::Fault { request: self.request, status, address })
            }
        }
    }
}

/// The error of a fault that came of a command, if it is one.
fn error(fault: Fault, command: Option<&Dispatch>, config: &Config) -> Option<DispatchError> {
    let Dispatch { kind, row, column, word, place, tokens, .. } =
        command.copied().unwrap_or_default();
    let place = place.get() as usize;
    let count = LANES.min(tokens.get() as usize);
    let field = |field, value, limit| match command {
        Some(_) => DispatchError::Field { command: kind.name(), field, value, limit },
        None => DispatchError::Beyond { field },
    };
    Some(match fault {
        Fault::None => return None,
        Fault::UnknownCommand => DispatchError::UnknownCommand,
        Fault::NoRow => field("row", row.into(), config.organisation.rows),
        Fault::NoColumn => field("column", column.into(), config.columns()),
        Fault::NoPlace => match kind {
            Opcode::RdResult if ResultAddress::of_bits(word).context_sums => {
                field("place", place, PARTIAL_SUMS)
            }
            Opcode::RdResult => field("place", place + LANES - 1, SCORE_BUFFER),
            _ => field("place", place + count.saturating_sub(1), SCORE_BUFFER),
        },
        Fault::NoTokens => DispatchError::NoTokens,
        Fault::NoOperand => DispatchError::Operands,
        Fault::Overwritten => DispatchError::Overwritten,
        Fault::Unpaired => DispatchError::Unpaired,
    })
}
