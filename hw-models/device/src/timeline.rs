// SPDX-License-Identifier: MIT
//! What a device did over time, in stretches of equal length. Their number is bounded: where a run goes on
//! longer, two become one.

use crate::statistics::Statistics;

/// Stretches, at the most; there are at least half as many once a run is that long.
pub const STRETCHES: usize = 1024;

/// What was done in a stretch, in tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// In the slot of an all-bank RD.
    pub read: u64,
    /// Lost to another row.
    pub row_switch: u64,
    /// Lost to a refresh.
    pub refresh: u64,
    /// With data on the bus.
    pub bus: u64,
    /// With an input of the adder unit.
    pub adder_unit: u64,
    /// With an input of the softmax unit.
    pub softmax_unit: u64,
}

impl Activity {
    fn and(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            row_switch: self.row_switch + other.row_switch,
            refresh: self.refresh + other.refresh,
            bus: self.bus + other.bus,
            adder_unit: self.adder_unit + other.adder_unit,
            softmax_unit: self.softmax_unit + other.softmax_unit,
        }
    }

    /// What statistics count so far.
    fn of(statistics: &Statistics, slot_tck: u64) -> Self {
        Self {
            read: statistics.used * slot_tck,
            row_switch: statistics.lost_tck.row_switch,
            refresh: statistics.lost_tck.refresh,
            bus: statistics.bus_cycles,
            adder_unit: statistics.adder_unit_cycles,
            softmax_unit: statistics.softmax_unit_cycles,
        }
    }

    /// What has come since `before`; all of it, where counting has begun anew.
    fn since(self, before: Self) -> Self {
        let since = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        Self {
            read: since(self.read, before.read),
            row_switch: since(self.row_switch, before.row_switch),
            refresh: since(self.refresh, before.refresh),
            bus: since(self.bus, before.bus),
            adder_unit: since(self.adder_unit, before.adder_unit),
            softmax_unit: since(self.softmax_unit, before.softmax_unit),
        }
    }
}

/// A device's activity, one stretch after the other.
#[derive(Clone, Debug)]
pub struct Timeline {
    slot_tck: u64,
    stretch_tck: u64,
    stretches: Vec<Activity>,
    /// The stretch that has begun, and its tCK.
    begun: Activity,
    begun_tck: u64,
    /// What was counted at the last tCK.
    counted: Activity,
}

impl Timeline {
    /// Of a device whose all-bank RDs take slots of `slot_tck`.
    pub fn new(slot_tck: u64) -> Self {
        Self {
            slot_tck,
            stretch_tck: 1,
            stretches: Vec::with_capacity(STRETCHES),
            begun: Activity::default(),
            begun_tck: 0,
            counted: Activity::default(),
        }
    }

    /// A tCK has gone by, with which the operator's statistics are these.
    pub fn tick(&mut self, statistics: &Statistics) {
        let counted = Activity::of(statistics, self.slot_tck);
        self.begun = self.begun.and(counted.since(self.counted));
        self.counted = counted;
        self.begun_tck += 1;
        if self.begun_tck < self.stretch_tck {
            return;
        }
        self.stretches.push(std::mem::take(&mut self.begun));
        self.begun_tck = 0;
        if self.stretches.len() == STRETCHES {
            let pairs = self.stretches.chunks(2).map(|pair| pair[0].and(pair[1]));
            self.stretches = pairs.collect();
            self.stretches.reserve(STRETCHES / 2);
            self.stretch_tck *= 2;
        }
    }

    /// Duration of a stretch.
    pub fn stretch_tck(&self) -> u64 {
        self.stretch_tck
    }

    /// The stretches. A last one that is not full is left out.
    pub fn stretches(&self) -> &[Activity] {
        &self.stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_grow_and_nothing_is_lost() {
        let mut timeline = Timeline::new(8);
        let mut statistics = Statistics::default();
        for tck in 0..10 * STRETCHES as u64 {
            statistics.used += u64::from(tck % 8 == 0);
            statistics.bus_cycles += tck % 2;
            if tck == 5000 {
                statistics = Statistics { used: 1, ..Statistics::default() }; // an operator begins
            }
            timeline.tick(&statistics);
        }
        assert_eq!(timeline.stretch_tck(), 16);
        let stretches = timeline.stretches();
        assert!((STRETCHES / 2..STRETCHES).contains(&stretches.len()));
        assert_eq!(stretches.len(), 640);
        assert!(stretches.iter().all(|stretch| stretch.bus == 8 || stretch.bus == 7));
        assert!(stretches.iter().all(|stretch| [16, 24].contains(&stretch.read)));
    }
}
