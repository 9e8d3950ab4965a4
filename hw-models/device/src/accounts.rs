// SPDX-License-Identifier: MIT
//! Which slots were used, and why the others were not.

use crate::statistics::Statistics;

/// Why no all-bank RD could be chosen, as the rank controller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
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
            Some(Cause::Refresh) => lost.refresh += 1,
            Some(Cause::RowSwitch) => lost.row_switch += 1,
            None => self.pending += 1,
        }
    }

    /// Ends the operator.
    pub fn finish(&mut self, at_tck: u64) -> Statistics {
        self.statistics.lost_tck.fill_drain += std::mem::take(&mut self.pending);
        self.statistics.cycles = at_tck - self.from_tck;
        self.statistics
    }
}
