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

use super::Rank;
use crate::dispatch::{DispatchError, Made, Start};
use crate::error::RankError;
use crate::requests::Events;
use crate::sequencer;
use pimlico_dpa::types::LoadKind;
use pimlico_dpa::{Dispatch, Status};
use pimlico_units::module::DispatcherOut;

/// tCK without an event after which a run is given up: longer than the REFs that may be postponed.
const PATIENCE_TCK: u64 = 1 << 16;

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
        let mut last_command = Dispatch::default();
        let mut last_event_tck = self.tck();
        self.module().start(start.request, start.address)?;
        self.sequencer().start()?;
        self.tell_of_host()?;
        loop {
            let now = self.tck();
            let asked = self.sequencer().asks(operands)?;
            let fault = asked.fault_o;
            let (takes, from_host, done) = (asked.dispatch_ready_o, asked.bus_o.host, asked.done_o);
            let requests = self.requests(operands.first());
            failed = failed.or(sequencer::error(fault, &last_command, self.config()));
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
                last_command = dispatcher.dispatch_o;
            }
            if events.bus_taken && from_host {
                operands = operands.get(1..).unwrap_or_default();
            }
            tell(&events, made);
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

/// Tells what was made in a tCK.
fn tell(events: &Events, made: &mut dyn FnMut(Made)) {
    if let Some((bits, head)) = events.weight {
        made(Made::Weight { head, bits });
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

/// How a run has ended, if it has, and at which word.
fn end(output: &DispatcherOut) -> Option<(Status, u16)> {
    output.end_valid_o.then_some((output.end_o.status, output.end_o.address.get() as u16))
}
