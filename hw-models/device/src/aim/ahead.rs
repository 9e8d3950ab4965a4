// SPDX-License-Identifier: MIT
//! What a module does in cycles that can be foreseen. Each is taken as [`Module::step`] would take it, with all that is told
//! and counted; what it does without is what would not move.
//!
//! * It waits for a timing ([`Module::wait`]): nothing is on the pins, no data come, and nothing is computed.
//! * WRs to open rows follow each other ([`Module::write_on`]), one in each cycle.
//! * So do the columns of a row ([`Module::read_on`]), while nothing is on the data lines, and nothing could be.
//!
//! It needs models, as of others the state is not known; with a waveform every tCK is stepped.

use super::layout::Write;
use super::module::{Module, array_request};
use super::queues::Queues;
use super::requests::Events;
use super::turns::Turns;
use super::units::SLOTS;
use crate::dispatch::PATIENCE_TCK;
use crate::error::DeviceError;
use pimlico_dpa::types::{ArrayKind, Pins};
use std::iter::Peekable;

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

    /// WRs to open rows, one in each cycle, as long as they follow each other.
    pub(super) fn write_on(&mut self, writes: &mut Peekable<&mut dyn Iterator<Item = Write>>) {
        if !self.rests() || !self.bus_requests.is_empty() {
            return;
        }
        let most = self.control.runs_on();
        let row = self.writes.front().map(|write| write.row);
        if row.is_some_and(|row| self.tells_runs(row)) {
            self.write_runs(writes, most);
        } else {
            self.write_one_by_one(writes, most);
        }
    }

    /// Each WR is told as it goes, and its data as they come.
    fn write_one_by_one(
        &mut self,
        writes: &mut Peekable<&mut dyn Iterator<Item = Write>>,
        most: u64,
    ) {
        let (mut cycles, mut events) = (0, Events::default());
        while cycles < most
            && let Some(pins) = self.next_write(writes)
        {
            self.issue(pins, &mut events);
            self.writes.extend(writes.next());
            for _ in 0..SLOTS {
                self.account(None);
                self.move_data();
                self.tck += 1;
            }
            cycles += 1;
        }
        self.control.ran(cycles);
    }

    /// WRs are told in runs, as long as they are; what they write is in the arrays at once, and their data are counted.
    fn write_runs(&mut self, writes: &mut Peekable<&mut dyn Iterator<Item = Write>>, most: u64) {
        let (from_tck, mut cycles) = (self.tck, 0);
        let mut run: Option<Turns> = None;
        self.land_all();
        while cycles < most
            && let Some(pins) = self.next_write(writes)
        {
            let row = self.writes.front().map_or(0, |write| write.row);
            let place = (row, pins.column(), pins.bank());
            if !run.as_mut().is_some_and(|run| run.goes_on(place))
                && let Some(whole) = run.replace(Turns::begin(self.tck, place))
            {
                self.tell_writes(whole.run());
            }
            self.land_next();
            self.writes.extend(writes.next());
            for _ in 0..SLOTS {
                self.move_data();
                self.tck += 1;
            }
            cycles += 1;
        }
        if let Some(whole) = run {
            self.tell_writes(whole.run());
        }
        self.idle_since(from_tck);
        self.control.ran(cycles);
    }

    /// The pins of a cycle with a WR in which the next write is accepted, if it is one.
    fn next_write(
        &mut self,
        writes: &mut Peekable<&mut dyn Iterator<Item = Write>>,
    ) -> Option<Pins> {
        let &Write { bank, row, column, .. } = writes.peek()?;
        self.control.write_on(array_request(ArrayKind::Wr, bank, row, column))
    }

    /// Whether WRs can be told in runs: their data follow each other on the data lines, and have them for themselves.
    fn tells_runs(&mut self, row: usize) -> bool {
        self.config.timing.burst_tck == SLOTS as u64
            && self.only_writes()
            && self.takes(Turns::begin(self.tck, (row, 0, 0)).run())
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
    fn rests(&self) -> bool {
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
