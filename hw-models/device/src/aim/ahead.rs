// SPDX-License-Identifier: MIT
//! What a module does in cycles that can be foreseen. Each is taken as [`Module::step`] would take it, with all that is told
//! and counted; what it does without is what would not move.
//!
//! * It waits for a timing ([`Module::wait`]): nothing is on the pins, no data come, and nothing is computed.
//! * WRs to open rows follow each other ([`Module::write_on`]), one in each cycle.
//! * So do the columns of a row ([`Module::read_on`]), while nothing is on the data lines, and nothing could be.
//!
//! (Whole rows that are written are known, and without data those that are read: see `known`.)
//!
//! It needs models, as of others the state is not known; with a waveform every tCK is stepped.

use super::layout::RowWrites;
use super::module::{Module, array_request};
use super::queues::Queues;
use super::requests::Events;
use super::units::SLOTS;
use crate::bursts::WriteRun;
use crate::dispatch::PATIENCE_TCK;
use crate::error::DeviceError;
use pimlico_dpa::types::ArrayKind;

/// Cycles of which nothing is foreseen at once, so that a module that hangs is found.
const MOST: u64 = PATIENCE_TCK / SLOTS as u64;

impl Module {
    /// Cycles go by in which what was asked for last waits, and nothing else is under way. To be called behind a cycle in
    /// which nothing was taken, where as much is asked for until it is.
    pub(super) fn wait(&mut self) {
        self.wait_until(|_| u64::MAX);
    }

    /// The same, but no longer than so many tCK from the one on that `most` is told.
    pub(super) fn wait_until(&mut self, most: impl FnOnce(u64) -> u64) {
        if !self.rests() {
            return;
        }
        let mut cycles = self.control.waits().min(self.cycles_before_data()).min(MOST);
        if cycles > 0 {
            cycles = cycles.min(most(self.tck) / SLOTS as u64);
        }
        self.control.pass(cycles);
        for _ in 0..cycles * SLOTS as u64 {
            self.account(None);
            self.tck += 1;
        }
    }

    /// WRs to open rows, one in each cycle, as long as they follow each other: those that are accepted behind the one that
    /// was accepted last, the one before `next`. Returns how many are. They are told in a run, if who watches the pins takes
    /// one; what they write is in the arrays at once, and their data are counted.
    pub(super) fn write_on(&mut self, writes: &RowWrites<'_>, next: usize) -> usize {
        // Two are under way then: one is on the pins, and the other is chosen.
        let Some(first) = next.checked_sub(2).filter(|_| next < writes.count()) else { return 0 };
        let is_free = self.rests() && self.bus_requests.is_empty();
        if !is_free || !self.tells_runs(&writes.run(first..next, self.tck)) {
            return 0;
        }
        let most = self.control.runs_on().min((writes.count() - next) as u64);
        let cycles = self.control.write_on(most, writes.banks().len() as u64, |number| {
            let (bank, column) = writes.place(next + number as usize);
            array_request(ArrayKind::Wr, bank, writes.row(), column)
        });
        let count = cycles as usize;
        if count > 0 {
            let run = writes.run(first..first + count, self.tck);
            self.land_all();
            self.land_run(writes, &run);
            self.writes
                .extend([first + count, next - 1 + count].map(|number| writes.write(number)));
            let from_tck = self.tck;
            self.tck += cycles * SLOTS as u64;
            self.move_all();
            self.tell_writes(&run);
            self.idle_since(from_tck);
        }
        count
    }

    /// Whether WRs can be told in such runs: their data follow each other on the data lines, and have them for themselves.
    fn tells_runs(&mut self, run: &WriteRun) -> bool {
        self.config.timing.burst_tck == SLOTS as u64 && self.only_writes() && self.takes(run)
    }

    /// Columns of a row, one in each cycle, as long as they follow each other and have the channels for themselves.
    pub(super) fn read_on(&mut self, queues: &mut Queues<'_>) -> Result<(), DeviceError> {
        let has_bus = self.bus_requests.is_empty()
            && self.transfers.is_empty()
            && self.results.is_empty()
            && self.operand.is_none()
            && !self.take_results;
        if !self.foresees() || !has_bus || !self.epu.rests() || !queues.leave_bus() {
            return Ok(());
        }
        let most = self.control.runs_on();
        let (mut cycles, mut events) = (0, Events::default());
        while cycles < most
            && let Some(next) = queues.next_of_run(self.tck)
            && let Some(pins) =
                self.control.read_on(array_request(ArrayKind::ReadAll, 0, next.row, next.column))
        {
            queues.run_on(self.tck);
            self.reads.push_back(next);
            let read = self.issue(pins, &mut events);
            self.account(read);
            self.clock()?;
            self.tck += 1;
            self.account(None);
            self.tck += 1;
            cycles += 1;
        }
        self.control.ran(cycles);
        Ok(())
    }

    /// Whether nobody looks at what is left out.
    fn foresees(&self) -> bool {
        !self.steps_all && self.wave.is_none() && self.weighing.is_none()
    }

    /// Whether PUs and EPU have nothing under way, and nobody looks.
    pub(super) fn rests(&self) -> bool {
        self.foresees()
            && self.operand.is_none()
            && self.results.is_empty()
            && self.channels.is_idle()
            && self.epu.rests()
    }

    /// Cycles before the one in which data are where they go.
    fn cycles_before_data(&self) -> u64 {
        let until = self.transfers.front().map(|transfer| transfer.until_tck);
        until.map_or(u64::MAX, |tck| tck.saturating_sub(self.tck) / SLOTS as u64)
    }
}
