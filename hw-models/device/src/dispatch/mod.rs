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

mod module;
mod sequencer;

pub use module::Module;
pub use sequencer::{Sequencer, SequencerPorts};

use crate::data_bus::Beats;
use crate::rank::{Events, Rank, RankError, Requests};
use pimlico_dpa::Status;
use pimlico_units::module::{DispatcherOut, LoadKind};
use pimlico_units::rank::SequencerFault;
use std::collections::VecDeque;

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

impl Rank {
    /// Writes to the module: see [`LoadKind`]. What does not fit is remembered by the dispatcher, and a
    /// run then ends with [`Status::BufferOverflow`].
    pub fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), RankError> {
        self.module().load(kind, address, data)?;
        Ok(self.tell_of_host()?)
    }

    /// Runs a request. Ends with all banks closed and no REF owed, even after a fault: what was dispatched
    /// before it is done.
    pub fn run(&mut self, start: Start, made: &mut dyn FnMut(Made)) -> Result<(), RankError> {
        let mut operands = start.operands;
        let (mut ended, mut failed) = (None, None);
        let mut last_command = DispatcherOut::default();
        let mut weighed = Weighed::default();
        let mut last_event_tck = self.tck();
        self.module().start(start.request, start.address)?;
        self.sequencer().start()?;
        self.tell_of_host()?;
        loop {
            let now = self.tck();
            let asked = self.sequencer().asks(operands)?;
            let fault = SequencerFault::of(asked.fault_o.get() as u8);
            let (takes, from_host, done) = (asked.dispatch_ready_o, asked.bus_host_o, asked.done_o);
            let requests = sequencer::requests(asked, operands.first());
            let error = |fault| sequencer::error(fault, &last_command, self.config());
            failed = failed.or(fault.map(error));
            if done && self.is_settled() {
                break;
            }
            let dispatcher = self.module().step(takes, failed.is_some())?;
            ended = ended.or(end(dispatcher));
            let events = self.step(&requests)?;
            let (module, sequencer) = self.front();
            let (_, dispatcher) = module.ports();
            sequencer.step(dispatcher, &events)?;
            let dispatched = takes && dispatcher.dispatch_valid_o;
            if dispatched {
                last_command = *dispatcher;
            }
            if events.bus_taken && from_host {
                operands = operands.get(1..).unwrap_or_default();
            }
            weighed.tell(&requests, &events, made);
            if events != Events::default() || dispatched {
                last_event_tck = now;
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

/// The heads of the weights that the softmax unit has not made yet.
#[derive(Default)]
struct Weighed(VecDeque<usize>);

impl Weighed {
    /// Tells what was made in a tCK.
    fn tell(&mut self, requests: &Requests, events: &Events, made: &mut dyn FnMut(Made)) {
        if let (true, Some(weigh)) = (events.weigh_taken, requests.weigh) {
            self.0.push_back(weigh.head);
        }
        if let Some(bits) = events.weight {
            made(Made::Weight { head: self.0.pop_front().unwrap_or_default(), bits });
        }
        if let Some((bits, score)) = events.score
            && !score.masked
        {
            made(Made::Score { head: score.head, bits });
        }
        if let Some((bits, head)) = events.context {
            made(Made::Context { head, bits });
        }
        if let Some(bits) = events.output {
            made(Made::Output(bits));
        }
    }
}

/// How a run has ended, if it has, and at which word.
fn end(output: &DispatcherOut) -> Option<(Status, u16)> {
    let status = Status::of(output.done_status_o.get() as u8)?;
    output.done_o.then_some((status, output.done_address_o.get() as u16))
}
