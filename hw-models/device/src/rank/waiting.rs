// SPDX-License-Identifier: MIT
//! Cycles of a run in which all that goes on is time: while rows are closed and opened, and while the chips refresh.
//!
//! The rank controller waits for a timing, the sequencer for what has been requested, the dispatcher for the sequencer, or its run
//! is over; nothing is on the data buses, and the units behind them rest, but for the bank PUs, which may still be at a sum. How
//! long that lasts each of them tells; the shortest of it is one step.

use super::engine::Rank;
use super::host::Shown;
use super::slot::SlotPhase;
use pimlico_dpa::types::Fault;
use pimlico_units::module::HostPortOut;

impl Rank {
    /// Cycles in which it waited that were passed at once, since the reset.
    pub fn passed_waits(&self) -> u64 {
        self.passed_waits
    }

    /// Cycles of the core at once, if all of them are such until a tCK. The host's port is passive until then.
    pub(super) fn pass_wait(&mut self, host: &HostPortOut, until_tck: u64) -> bool {
        let may_wait = matches!(self.slots.phase, SlotPhase::Stepped)
            && self.front.is_stalled()
            && self.chips_drive.is_empty()
            && self.operands.is_idle()
            && self.softmax.rests()
            && self.sums.may_rest()
            && self.results.is_none()
            && self.wave.is_none()
            && self.watch.is_none()
            && !self.record.draws();
        if !may_wait {
            return false;
        }
        let (status, overflow) = self.front.status();
        let is_shown = (status, overflow) == (self.shown.status, self.shown.overflow)
            && self.shown.fault == Fault::None;
        if !is_shown {
            return false;
        }
        let asked = self.sequencer.requests(host.operands_o.get() as usize, host.operand_valid_o);
        let asks_softmax = asked.finish_valid_o || asked.weigh_valid_o || asked.weights_drop_o;
        // A run whose requests are done ends in the first cycle that is settled.
        let may_end = asked.done_o && self.control.settles();
        if asks_softmax || may_end || asked.fault_o != Fault::None {
            return false;
        }
        let gear = self.gear();
        let tck = (until_tck - self.now).min(self.patience.left(self.now));
        let waits = self.sequencer.waits().min(self.control.waits(&asked));
        let cycles = self.sums.rest(self.tck, waits.min(tck / gear));
        if cycles == 0 {
            return false;
        }
        let settled = self.is_settled();
        self.control.rest(cycles);
        self.sequencer.rest(cycles);
        let passed = self.tck..self.tck + cycles * gear;
        self.record.begin_tck(self.tck);
        self.record.no_reads(passed.clone(), self.control.cause());
        self.record.begin_tck(passed.end - 1);
        self.tck = passed.end;
        self.now += cycles * gear;
        self.passed_waits += cycles;
        self.shown = Shown { status, overflow, over: asked.done_o, settled, ..Shown::default() };
        true
    }
}
