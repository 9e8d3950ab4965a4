// SPDX-License-Identifier: MIT
//! Which slots were used, and why the others were not.

use crate::statistics::Statistics;
use pimlico_units::lap::Walk;
use std::ops::Range;

/// Why no all-bank RD could be chosen, as the rank controller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The host has the pins.
    Host,
    Refresh,
    RowSwitch,
}

impl Cause {
    /// As the rank controller says.
    pub fn of(refresh: bool, row_switch: bool) -> Option<Self> {
        if refresh { Some(Self::Refresh) } else { row_switch.then_some(Self::RowSwitch) }
    }
}

/// Why the tCK before an all-bank RD were lost, where neither a refresh nor a row took them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gap {
    /// It is the first of the operator, or of a part of it.
    Fill,
    /// Its operands were not there, or results had to leave before it.
    Io,
    /// No such reason.
    #[default]
    Bubble,
}

/// The books of an operator.
#[derive(Debug)]
pub struct Accounts {
    pub statistics: Statistics,
    slot_tck: u64,
    from_tck: u64,
    /// The slot of the last all-bank RD ends here.
    slot_until: u64,
    /// tCK that were lost for a reason that shows when the next RD comes, or does not come.
    pending: u64,
}

impl Accounts {
    pub fn new(slot_tck: u64) -> Self {
        let statistics = Statistics::default();
        Self { statistics, slot_tck, from_tck: 0, slot_until: 0, pending: 0 }
    }

    /// Starts an operator.
    pub fn restart(&mut self, at_tck: u64) {
        *self = Self { from_tck: at_tck, ..Self::new(self.slot_tck) };
    }

    /// An all-bank RD, and why it comes no sooner.
    pub fn used(&mut self, at_tck: u64, gap: Gap) {
        let lost = &mut self.statistics.lost_tck;
        *match gap {
            Gap::Fill => &mut lost.fill_drain,
            Gap::Io => &mut lost.io,
            Gap::Bubble => &mut lost.bubble,
        } += std::mem::take(&mut self.pending);
        self.statistics.used += 1;
        self.slot_until = at_tck + self.slot_tck;
    }

    /// A tCK without one.
    pub fn idle(&mut self, at_tck: u64, cause: Option<Cause>) {
        if at_tck < self.slot_until {
            return;
        }
        let lost = &mut self.statistics.lost_tck;
        match cause {
            Some(Cause::Host) => lost.host += 1,
            Some(Cause::Refresh) => lost.refresh += 1,
            Some(Cause::RowSwitch) => lost.row_switch += 1,
            None => self.pending += 1,
        }
    }

    /// So many tCK without one, from one tCK on, for the same cause.
    pub fn idle_until(&mut self, tck: Range<u64>, cause: Option<Cause>) {
        let tck = tck.end.saturating_sub(tck.start.max(self.slot_until));
        let lost = &mut self.statistics.lost_tck;
        *match cause {
            Some(Cause::Host) => &mut lost.host,
            Some(Cause::Refresh) => &mut lost.refresh,
            Some(Cause::RowSwitch) => &mut lost.row_switch,
            None => &mut self.pending,
        } += tck;
    }

    /// Goes over all of it, for [laps](pimlico_units::lap), in a tCK.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let Self { statistics, slot_tck: _, from_tck: _, slot_until, pending } = self;
        statistics.walk(walk);
        walk.time(slot_until, now);
        walk.still(*pending);
    }

    /// The same where there is no all-bank RD before or in a lap, so that what is lost before the first adds up.
    pub fn walk_without_reads(&mut self, walk: &mut Walk<'_>, now: u64) {
        walk.refuse_if(self.slot_until > now);
        let Self { statistics, slot_tck: _, from_tck: _, slot_until: _, pending } = self;
        statistics.walk(walk);
        walk.moves(pending);
    }

    /// Ends the operator.
    pub fn finish(&mut self, at_tck: u64) -> Statistics {
        self.statistics.lost_tck.fill_drain += std::mem::take(&mut self.pending);
        self.statistics.cycles = at_tck - self.from_tck;
        self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Lost;

    const SLOT_TCK: u64 = 8;

    #[test]
    fn a_slot_takes_its_time_and_no_more() {
        for gap_tck in [0, 1, 5] {
            let mut accounts = Accounts::new(SLOT_TCK);
            accounts.restart(100);
            accounts.used(100, Gap::Fill);
            let next = 100 + SLOT_TCK + gap_tck;
            (101..next).for_each(|tck| accounts.idle(tck, None));
            accounts.used(next, Gap::Bubble);
            (next + 1..130).for_each(|tck| accounts.idle(tck, Some(Cause::RowSwitch)));
            let Statistics { cycles, used, lost_tck, .. } = accounts.finish(130);
            assert_eq!((cycles, used, lost_tck.bubble), (30, 2, gap_tck));
            assert_eq!(lost_tck.row_switch, 130 - next - SLOT_TCK);
            assert_eq!(lost_tck.total(), cycles - used * SLOT_TCK);
        }
    }

    #[test]
    fn many_tck_are_counted_as_one_by_one() {
        for (from, until) in [(101, 104), (103, 112), (108, 130), (109, 109)] {
            for cause in [None, Some(Cause::Host), Some(Cause::Refresh), Some(Cause::RowSwitch)] {
                let [mut all, mut each] = [(), ()].map(|()| {
                    let mut accounts = Accounts::new(SLOT_TCK);
                    accounts.restart(100);
                    accounts.used(100, Gap::Fill);
                    accounts
                });
                all.idle_until(from..until, cause);
                (from..until).for_each(|tck| each.idle(tck, cause));
                assert_eq!(all.finish(until), each.finish(until));
            }
        }
    }

    #[test]
    fn each_cause_has_an_account_of_its_own() {
        let mut accounts = Accounts::new(SLOT_TCK);
        accounts.restart(0);
        (0..3).for_each(|tck| accounts.idle(tck, None));
        accounts.used(3, Gap::Fill);
        let causes = [(false, true), (true, false), (true, true), (false, false)];
        for (tck, (refresh, row_switch)) in (3 + SLOT_TCK..).zip(causes) {
            accounts.idle(tck, Cause::of(refresh, row_switch));
        }
        accounts.used(15, Gap::Io);
        (15 + SLOT_TCK..33).for_each(|tck| accounts.idle(tck, None));
        let lost = accounts.finish(33).lost_tck;
        let expected =
            Lost { row_switch: 1, refresh: 2, fill_drain: 3 + 10, io: 1, ..Lost::default() };
        assert_eq!(lost, expected);
    }
}
