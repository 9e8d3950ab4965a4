// SPDX-License-Identifier: MIT
//! The controller behind a REF: what it does next follows from what waits and from the time until the next REF is due, and
//! from nothing before.

use super::MemoryController;
use super::standard::BURST_TCK;

impl MemoryController {
    /// Whether that holds behind a REF in this tCK: all banks are closed, no data are on their way, and no timing of an
    /// earlier command than the REF binds one behind it.
    pub fn is_fresh(&self, at_tck: u64) -> bool {
        let from_tck = at_tck + self.timing.rfc1_tck;
        let shared = self.groups.iter().chain([&self.rank]);
        let is_over = |tck: u64| tck <= from_tck;
        self.refreshed == from_tck
            && !self.leaving
            && self.hits == 0
            && self.outgoing.is_empty()
            && self.incoming.is_empty()
            && is_over(self.data_until)
            && self.banks.iter().all(|bank| bank.row.is_none() && is_over(bank.act_from))
            && shared
                .into_iter()
                .all(|it| [it.act_from, it.rd_from, it.wr_from].into_iter().all(is_over))
            && self.acts.iter().all(|act| is_over(act + self.timing.faw_tck))
    }

    /// tCK from this one until the next REF is due, if it is not.
    pub fn until_refresh(&self, at_tck: u64) -> Option<u64> {
        self.next_ref.checked_sub(at_tck)
    }

    /// Rows of a bank.
    pub fn rows(&self) -> usize {
        self.size.row
    }

    /// Most bursts that go over the data bus in so many tCK.
    pub fn most_bursts(tck: u64) -> u64 {
        tck / BURST_TCK + 1
    }

    /// WRs one after the other that take so long that what was before them binds nothing behind them, and behind which each bank
    /// stands as the last WRs left it.
    pub fn long_run(&self) -> u64 {
        let t = &self.timing;
        let of_write = t.wl_tck + BURST_TCK + t.wr_tck.max(t.wtr_l_tck).max(t.wtr_s_tck);
        let of_row = t.rc_tck.max(t.ras_tck + t.rp_tck).max(t.faw_tck + t.rrd_l_tck).max(t.rcd_tck);
        (of_write.max(of_row).div_ceil(BURST_TCK) + 2).max(self.banks.len() as u64)
    }

    /// What waits was done, and much more, and all banks are closed again.
    pub fn take_stretch(&mut self) {
        self.queue.clear();
        self.quiet_until = 0;
    }
}
