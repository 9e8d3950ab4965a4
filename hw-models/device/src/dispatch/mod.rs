// SPDX-License-Identifier: MIT
//! A rank that executes programs: what the dispatcher makes of them goes through queues to the rank's
//! ports.
//!
//! The host writes a program to the command buffer, T_cur and segments to the configuration and rows to
//! the Va2Pa table ([`Rank::load`]); then it starts a request and gives the operands that the program
//! asks for, in its order ([`Rank::run`]). The rank gives back scores, weights, context and outputs as
//! they come.
//!
//! The host's writes take a clock of the dispatcher each, and none of the rank: they come while the host
//! has the module, between two operators.

mod command;
mod module;
mod queue;
mod sequencer;
mod weights;

pub use module::Module;

use crate::data_bus::Beats;
use crate::rank::{Events, Rank, RankError};
use pimlico_dpa::Status;
use pimlico_units::module::{DispatcherOut, LoadKind};
use sequencer::Sequencer;

/// tCK without an event after which a run is given up: longer than the REFs that may be postponed.
pub(crate) const PATIENCE_TCK: u64 = 1 << 16;

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

impl Rank {
    /// Writes to the module: see [`LoadKind`]. What does not fit is remembered by the dispatcher, and a
    /// run then ends with [`Status::BufferOverflow`].
    pub fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), RankError> {
        Ok(self.module().load(kind, address, data)?)
    }

    /// Runs a request. Ends with all banks closed and no REF owed, even after a fault: what was dispatched
    /// before it is done.
    pub fn run(&mut self, start: Start, made: &mut dyn FnMut(Made)) -> Result<(), RankError> {
        let config = self.config().clone();
        let mut sequencer = Sequencer::new(&config, self.options().sums, start.operands);
        let (mut ended, mut failed) = (None, None);
        let mut last_event_tck = self.tck();
        self.module().start(start.request, start.address)?;
        while ended.is_none() || !sequencer.is_drained() || !self.is_settled() {
            let now = self.tck();
            let requests = sequencer.requests(now);
            let (enters, takes) = (sequencer.enters(), sequencer.takes());
            let mut dispatched = None;
            if ended.is_none() {
                let output = self.module().step(takes, failed.is_some())?;
                dispatched = (output.dispatch_valid_o && takes).then_some(*output);
                ended = end(output);
            }
            let events = self.step(&requests)?;
            let seen = sequencer.see(now, &requests, &events, made);
            // After an error nothing more is taken, and the dispatcher is stopped.
            let taken = dispatched.as_ref().filter(|_| failed.is_none());
            let entered = sequencer.dispatch(enters, taken);
            failed = failed.or(seen.and(entered).err());

            if events != Events::default() || enters || dispatched.is_some() {
                last_event_tck = now;
            }
            if ended.is_some() && sequencer.is_drained() && !sequencer.is_closed() {
                self.settle()?;
                break;
            }
            if now - last_event_tck > PATIENCE_TCK {
                let overwritten = failed == Some(DispatchError::Overwritten);
                return Err(DispatchError::Stuck { overwritten }.into());
            }
        }
        match (failed, ended) {
            (Some(error), _) => Err(error.into()),
            (None, None | Some((Status::Done, _))) => Ok(()),
            (None, Some((status, address))) => {
                Err(DispatchError::Fault { request: start.request, status, address }.into())
            }
        }
    }
}

/// How a run has ended, if it has, and at which word.
fn end(output: &DispatcherOut) -> Option<(Status, u16)> {
    let status = Status::of(output.done_status_o.get() as u8)?;
    output.done_o.then_some((status, output.done_address_o.get() as u16))
}
