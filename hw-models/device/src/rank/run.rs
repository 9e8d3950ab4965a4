// SPDX-License-Identifier: MIT
//! A rank that executes programs: what the dispatcher makes of them goes through queues to the rank's
//! ports.
//!
//! The host writes a program to the command buffer, T_cur and segments to the configuration and rows to
//! the Va2Pa table ([`Device::load`](crate::Device::load)); then it starts a request and gives the operands
//! that the program asks for, in its order ([`Device::run`](crate::Device::run)). The rank gives back scores,
//! weights, context and outputs as they come.
//!
//! The host's writes take a cycle of the dispatcher each, and none of the rank: they come while the host
//! has the module, between two operators.

use super::engine::Rank;
use crate::dispatch::{Made, Outcome, Start};
use crate::error::RankError;
use pimlico_dpa::types::{Fault, RankEvents};

impl Rank {
    /// Runs a request: see [`Device::run`](crate::Device::run).
    pub(super) fn run_program(
        &mut self,
        start: Start<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), RankError> {
        self.align();
        let mut operands = start.operands;
        let mut outcome = Outcome::new(&start, self.tck);
        self.front.start(start.request, start.address);
        self.watch_dispatcher();
        self.sequencer.start();
        loop {
            let asked = self.sequencer.requests(operands.len(), true);
            outcome.fault(asked.fault_o, &self.config);
            if asked.done_o && self.is_settled() {
                return Ok(outcome.end()?);
            }
            let now = self.tck;
            if self.front.step(asked.dispatch_ready_o, asked.fault_o != Fault::None) {
                self.watch_dispatcher();
            }
            let events = self.step(&asked, operands.first(), made)?;
            let output = self.front.output();
            self.sequencer.step(output, events);
            if output.end_valid_o {
                outcome.program_ended(output.end_o);
            }
            let is_dispatched = asked.dispatch_ready_o && output.dispatch_valid_o;
            if is_dispatched {
                outcome.dispatched(output.dispatch_o);
            }
            if events.bus_taken && asked.bus_o.write && asked.bus_o.host {
                operands = operands.get(1..).unwrap_or_default();
            }
            outcome.tck(now, output.fetch_read_o || events != RankEvents::default())?;
        }
    }
}
