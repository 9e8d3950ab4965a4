// SPDX-License-Identifier: MIT
//! What a device did over time, from the beginning of each operator to its end: in stretches of equal length, whose
//! number is bounded (where a run goes on longer, two become one), and in the runs of programs and their phases.

use crate::statistics::Statistics;

/// Stretches, at most; there are at least half as many once a run is that long.
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
    /// Lost to the host, which had the pins.
    pub host: u64,
    /// With data on the bus.
    pub bus: u64,
    /// With an input of the adder unit.
    pub adder_unit: u64,
    /// With an input of the softmax unit.
    pub softmax_unit: u64,
}

impl Activity {
    /// This stretch and another.
    pub fn and(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            row_switch: self.row_switch + other.row_switch,
            refresh: self.refresh + other.refresh,
            host: self.host + other.host,
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
            host: statistics.lost_tck.host,
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
            host: since(self.host, before.host),
            bus: since(self.bus, before.bus),
            adder_unit: since(self.adder_unit, before.adder_unit),
            softmax_unit: since(self.softmax_unit, before.softmax_unit),
        }
    }
}

/// A run of a program. It lasts to the beginning of the next, the last one to the end of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRun {
    /// When it begins.
    pub from_tck: u64,
    /// The operator that it is part of.
    pub operator: &'static str,
    /// Which part.
    pub part: String,
}

/// All-bank RDs of one kind, from the first to the end of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// When the first begins.
    pub from_tck: u64,
    /// When the slot of the last ends.
    pub until_tck: u64,
    /// For the accumulators (context); else for the adder trees (score, matrices).
    pub accumulate: bool,
}

/// A device's activity, one stretch after the other.
#[derive(Clone, Debug)]
pub struct Timeline {
    slot_tck: u64,
    /// tCK so far.
    now_tck: u64,
    /// What the runs that follow are part of.
    label: (&'static str, String),
    runs: Vec<ProgramRun>,
    reads: Vec<Reads>,
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
            now_tck: 0,
            label: Default::default(),
            runs: Vec::new(),
            reads: Vec::new(),
            stretch_tck: 1,
            stretches: Vec::with_capacity(STRETCHES),
            begun: Activity::default(),
            begun_tck: 0,
            counted: Activity::default(),
        }
    }

    /// Names what the runs that follow are part of.
    pub fn label(&mut self, operator: &'static str, part: String) {
        self.label = (operator, part);
    }

    /// A run begins.
    pub fn begin(&mut self) {
        let (operator, part) = self.label.clone();
        self.runs.push(ProgramRun { from_tck: self.now_tck, operator, part });
    }

    /// An all-bank RD is on the pins.
    pub fn read(&mut self, accumulate: bool) {
        let from_tck = self.now_tck;
        let until_tck = from_tck + self.slot_tck;
        let run_tck = self.runs.last().map_or(0, |run| run.from_tck);
        match self.reads.last_mut() {
            Some(last) if last.accumulate == accumulate && last.from_tck >= run_tck => {
                last.until_tck = until_tck;
            }
            _ => self.reads.push(Reads { from_tck, until_tck, accumulate }),
        }
    }

    /// A tCK has gone by, with which the operator's statistics are these.
    pub fn tick(&mut self, statistics: &Statistics) {
        let counted = Activity::of(statistics, self.slot_tck);
        self.begun = self.begun.and(counted.since(self.counted));
        self.counted = counted;
        self.begun_tck += 1;
        self.now_tck += 1;
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

    /// The stretches that are full.
    pub fn stretches(&self) -> &[Activity] {
        &self.stretches
    }

    /// All stretches, the last of which may not be full: when each begins, when it ends, what was done.
    pub fn activity(&self) -> impl Iterator<Item = (u64, u64, Activity)> {
        let all = self.stretches.iter().chain((self.begun_tck > 0).then_some(&self.begun));
        all.zip((0..).step_by(self.stretch_tck as usize)).map(|(stretch, from_tck)| {
            (from_tck, self.now_tck.min(from_tck + self.stretch_tck), *stretch)
        })
    }

    /// tCK so far.
    pub fn tck(&self) -> u64 {
        self.now_tck
    }

    /// The runs of programs.
    pub fn runs(&self) -> &[ProgramRun] {
        &self.runs
    }

    /// The phases of the runs: all-bank RDs of one kind.
    pub fn reads(&self) -> &[Reads] {
        &self.reads
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

    #[test]
    fn runs_and_their_phases_are_known() {
        let mut timeline = Timeline::new(8);
        for part in ["a", "b"] {
            timeline.label("attention", part.to_owned());
            timeline.begin();
            for tck in 0..1500 {
                match tck {
                    100 | 200 => timeline.read(false),
                    300 | 400 | 500 => timeline.read(true),
                    _ => {}
                }
                timeline.tick(&Statistics::default());
            }
        }
        let run = |part: &str, from_tck| ProgramRun {
            from_tck,
            operator: "attention",
            part: part.to_owned(),
        };
        assert_eq!(timeline.runs(), [run("a", 0), run("b", 1500)]);
        let of_run = |tck: u64| {
            let score = Reads { from_tck: tck + 100, until_tck: tck + 208, accumulate: false };
            [score, Reads { from_tck: tck + 300, until_tck: tck + 508, accumulate: true }]
        };
        assert_eq!(timeline.reads(), [of_run(0), of_run(1500)].concat());
        assert_eq!((timeline.tck(), timeline.stretch_tck()), (3000, 4));
        let (from_tck, until_tck, _) = timeline.activity().last().expect("a stretch");
        assert_eq!((from_tck, until_tck), (2996, 3000));
        timeline.tick(&Statistics::default());
        let (from_tck, until_tck, _) = timeline.activity().last().expect("a stretch");
        assert_eq!((from_tck, until_tck), (3000, 3001), "one that is not full");
    }
}
