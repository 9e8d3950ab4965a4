// SPDX-License-Identifier: MIT
//! Runs of WRs as one step of the controller.

use super::standard::{BURST_TCK, CCD_S_TCK};
use super::{MemoryController, Transaction};
use pimlico_device::data_bus::Beats;
use pimlico_device::{BURST_TCK as STEP_TCK, WriteRun};

impl MemoryController {
    /// The commands from a tCK on, where they are a run of WRs: those of `wanted`, as many as come before the next REF.
    ///
    /// The first transaction has to be the first write of `wanted`, and the others those that follow it. Behind each of them
    /// at least [`LOOK_AHEAD`](super::LOOK_AHEAD) have to go to the row of `wanted` in its banks, so that no row is opened or closed.
    pub fn run(&self, from_tck: u64, wanted: WriteRun) -> Option<WriteRun> {
        let from_tck = self.column_tck().max(from_tck).max(self.refreshed);
        let banks = wanted.banks;
        let is_open =
            |bank: usize| self.banks.get(bank).is_some_and(|bank| bank.row == Some(wanted.row));
        let turns = (wanted.place as u64 + wanted.count).div_ceil(banks.len() as u64);
        let has_columns = wanted.column as u64 + turns <= self.size.column as u64;
        let may_run = from_tck < self.next_ref && has_columns && banks.iter().all(is_open);
        if !may_run || !self.follow_at_once(&wanted) {
            return None;
        }
        // Each WR waits for the one before; in its first turn for what was before the run, too.
        let waits = |n: usize| {
            let bank = banks.bank((wanted.place + n) % banks.len());
            let from_tck = from_tck + n as u64 * STEP_TCK;
            let of_group = &self.groups[bank / self.banks_per_group];
            self.banks[bank].column_from > from_tck || of_group.wr_from > from_tck
        };
        if (0..banks.len()).any(waits) {
            return None;
        }
        let until_ref = (self.next_ref - 1 - from_tck) / STEP_TCK + 1;
        let count = wanted.count.min(until_ref);
        Some(WriteRun { from_tck, count, ..wanted })
    }

    /// Whether WRs of a run follow each other at tCCD_S, a burst's length: those of a bank group at tCCD_L at least.
    fn follow_at_once(&self, run: &WriteRun) -> bool {
        let apart = self.timing.ccd_l_tck.div_ceil(STEP_TCK) as usize;
        let group = |place: usize| run.banks.bank(place % run.banks.len()) / self.banks_per_group;
        let is_apart = |n: usize| (1..apart).all(|step| group(n) != group(n + step));
        CCD_S_TCK == STEP_TCK && BURST_TCK == STEP_TCK && (0..run.banks.len()).all(is_apart)
    }

    /// Issues a run of WRs that [`run`](Self::run) tells. Of those that wait the bursts are written; returns how many
    /// there are.
    pub fn take_run(
        &mut self,
        run: &WriteRun,
        mut written: Option<&mut dyn FnMut(&Beats)>,
    ) -> usize {
        let waited = self.queue.len().min(usize::try_from(run.count).unwrap_or(usize::MAX));
        for transaction in self.queue.drain(..waited) {
            if let (Transaction::Write(_, beats), Some(written)) = (transaction, &mut written) {
                written(&beats);
            }
        }
        // What a WR binds, a later one to its bank or group binds longer.
        let turn = run.count.min(run.banks.len() as u64);
        for n in run.count - turn..run.count {
            let place = (run.place as u64 + n) % run.banks.len() as u64;
            self.wrote(run.tck(n), run.banks.bank(place as usize));
        }
        self.hits = self.hits.saturating_sub(waited);
        self.quiet_until = 0;
        waited
    }
}
