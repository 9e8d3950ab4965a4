// SPDX-License-Identifier: MIT
//! WRs that follow each other at equal distances round the banks of an order, with their data: judged as a whole.
//!
//! **Why that is sound.** A WR among its like is judged by [`Steady`](super::steady::Steady): the bank is open, and the
//! tCK is not before those from which on a WR of any bank, of the group and of the bank waits for nothing. For WR number
//! `n` of a run these are known without stepping through those before it:
//!
//! * what was before the run binds it least where it comes last: it is enough to ask for the first WR of each bank and
//!   of each group, and for the first of all;
//! * a WR of the run binds a later one by tCCD_S and tCCD_L alone, and both come at distances that are the same from turn
//!   to turn: it is enough to ask that the distance is tCCD_S, and that of two WRs of a group tCCD_L, over one turn;
//! * the deadline of refresh and the time at which the bus is free are asked for where they are hardest: at the last WR,
//!   and at the first burst.
//!
//! Data come `CWL` behind each WR, a burst long, so that each is that of the WR which asks for it, and they do not overlap where
//! WRs are a burst apart. No command but a WR is in a run, so that no bank is opened or closed. Where any of this does
//! not hold the run is judged command by command and burst by burst, as every other sequence is.

use super::{Driver, Event, Pin, PinChecker, Transfer, Violation, later};

/// WRs at equal distances, and their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRun<'a> {
    /// The tCK of the first WR.
    pub from_tck: u64,
    /// From one WR to the next, and from one burst to the next.
    pub every_tck: u64,
    /// How many there are.
    pub count: u64,
    /// The banks that take turns.
    pub banks: &'a [usize],
    /// The place among them of the first WR's.
    pub place: usize,
    /// The column of the first turn; each has another one.
    pub column: usize,
    /// When the first burst begins.
    pub data_tck: u64,
}

impl WriteRun<'_> {
    /// A WR by its number.
    pub(crate) fn event(&self, number: u64) -> Event {
        let turns = self.place as u64 + number;
        let (turn, place) = (turns / self.banks.len() as u64, turns % self.banks.len() as u64);
        Event {
            at_tck: later(self.from_tck, number.saturating_mul(self.every_tck)),
            pin: Pin::Wr {
                bank: self.banks[place as usize],
                column: self.column.saturating_add(turn as usize),
            },
        }
    }

    /// When a burst begins, by the number of its WR.
    pub(crate) fn burst(&self, number: u64) -> u64 {
        later(self.data_tck, number.saturating_mul(self.every_tck))
    }

    /// The WRs of the first turn.
    pub(crate) fn turn(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let turn = self.count.min(self.banks.len() as u64);
        let place = |n: u64| (self.place + n as usize) % self.banks.len();
        (0..turn).map(move |n| (self.event(n).at_tck, self.banks[place(n)]))
    }
}

impl PinChecker {
    /// A run of WRs and their data: as if [`command`](Self::command) and [`data`](Self::data) had been called for each,
    /// in the order of time. All data of earlier commands have to be told before.
    ///
    /// # Panics
    ///
    /// If the run has no bank.
    pub fn writes(&mut self, run: &WriteRun<'_>) -> Vec<Violation> {
        if run.count > 0 && self.is_steady_run(run) {
            self.obey_run(run);
            return Vec::new();
        }
        let (mut found, mut bursts) = (Vec::new(), 0);
        for number in 0..run.count {
            let Event { at_tck, pin } = run.event(number);
            // Data that are over by then.
            while bursts < number && later(run.burst(bursts), self.rules.burst) <= at_tck {
                found.extend(self.burst_of_run(run, bursts));
                bursts += 1;
            }
            found.extend(self.command(at_tck, pin));
        }
        (bursts..run.count).for_each(|number| found.extend(self.burst_of_run(run, number)));
        found
    }

    fn burst_of_run(&mut self, run: &WriteRun<'_>, number: u64) -> Vec<Violation> {
        let from_tck = run.burst(number);
        self.data(from_tck, later(from_tck, self.rules.burst), Driver::Controller)
    }

    /// Whether all of a run is [steady](Self::is_steady), and its data come when they are due on a free bus.
    fn is_steady_run(&self, run: &WriteRun<'_>) -> bool {
        let Some(steady) = self.steady.as_ref().filter(|_| self.due.is_empty()) else {
            return false;
        };
        let rules = &self.rules;
        let Event { at_tck: last_tck, .. } = run.event(run.count - 1);
        let waits = |(at_tck, bank): (u64, usize)| {
            let is_open = self.open.get(bank).is_some_and(Option::is_some);
            !is_open || at_tck < steady.banks[bank].max(steady.groups[bank / rules.banks_per_group])
        };
        let is_free = self.bus.is_none_or(|bus| {
            let gap = if bus.driver == Driver::Controller { 0 } else { rules.rtw_gap };
            later(bus.until_tck, gap) <= run.data_tck
        });
        run.every_tck >= rules.t_ccd_s.max(rules.burst).max(1)
            && self.last.is_none_or(|last| last.at_tck < run.from_tck)
            && steady.all <= run.from_tck
            && !run.turn().any(waits)
            && self.groups_are_apart(run)
            && run.data_tck == later(run.from_tck, rules.cwl)
            && run.burst(run.count) < u64::MAX
            && is_free
            && self.refresh_deadline().is_none_or(|deadline| last_tck <= deadline)
    }

    /// Whether WRs of a bank group are tCCD_L apart. All banks are there.
    fn groups_are_apart(&self, run: &WriteRun<'_>) -> bool {
        let group = |place: usize| run.banks[place % run.banks.len()] / self.rules.banks_per_group;
        let near = self.rules.t_ccd_l.div_ceil(run.every_tck);
        let near = usize::try_from(near.min(run.count)).unwrap_or(usize::MAX);
        (0..run.banks.len()).all(|place| (1..near).all(|n| group(place) != group(place + n)))
    }

    /// What a run that breaks no rule does.
    fn obey_run(&mut self, run: &WriteRun<'_>) {
        let last = run.event(run.count - 1);
        let near = (self.reach / run.every_tck).saturating_add(1).min(run.count);
        self.forget(last.at_tck);
        self.history.extend((run.count - near..run.count).map(|number| run.event(number)));
        self.forget(last.at_tck);
        // Of each bank and each group the last WR binds longest.
        let turn = run.count.min(run.banks.len() as u64);
        if let Some(steady) = &mut self.steady {
            (run.count - turn..run.count).for_each(|n| steady.see(&self.rules, run.event(n)));
        }
        self.last = Some(last);
        let until_tck = later(run.burst(run.count - 1), self.rules.burst);
        self.bus = Some(Transfer { until_tck, driver: Driver::Controller });
    }
}

#[cfg(test)]
mod tests {
    use super::super::steady::tests::{Random, rules};
    use super::*;
    use crate::pins::Rules;

    /// Commands before a run: rows that are opened, perhaps not in all banks nor long ago, with reads and writes.
    fn before(random: &mut Random, checkers: [&mut PinChecker; 2], rules: &Rules) -> u64 {
        let [fast, slow] = checkers;
        let (mut tck, mut data) = (0, Vec::new());
        let mut both = |tck, pin| assert_eq!(fast.command(tck, pin), slow.command(tck, pin));
        for bank in 0..16 {
            if random.below(40) == 0 {
                continue;
            }
            both(tck, Pin::Act { bank, row: 3 });
            tck += 9 + random.below(3);
        }
        tck += random.below(40);
        for _ in 0..random.below(5) {
            let (bank, column) = (random.below(16) as usize, 1);
            let pin = match random.below(6) {
                0 => Pin::Rd { bank, column },
                1 => Pin::RdAll { column },
                _ => Pin::Wr { bank, column },
            };
            both(tck, pin);
            data.extend(pin.driver().map(|driver| (tck + rules.latency(pin), driver)));
            tck += 4 + random.below(30);
        }
        data.sort_unstable_by_key(|(from_tck, _)| *from_tck);
        let is_told = random.below(20) > 0;
        for (from_tck, driver) in data.into_iter().filter(|_| is_told) {
            let until_tck = from_tck + 4;
            assert_eq!(
                fast.data(from_tck, until_tck, driver),
                slow.data(from_tck, until_tck, driver)
            );
        }
        tck
    }

    /// A run, most of which break no rule.
    fn run<'a>(random: &mut Random, banks: &'a mut Vec<usize>, tck: u64) -> WriteRun<'a> {
        *banks = match random.below(8) {
            0 => (0..1 + random.below(16)).map(|_| random.below(17) as usize).collect(),
            1 => (0..16).collect(),
            2 => vec![3, 4, 8],
            3 => vec![0],
            _ => (0..16).map(|n| n % 4 * 4 + n / 4).collect(),
        };
        let from_tck = tck + random.below(3) * random.below(30);
        let every_tck = if random.below(4) > 0 { 4 } else { random.below(13) };
        let late = if random.below(8) > 0 { 0 } else { random.below(3) };
        WriteRun {
            from_tck,
            every_tck,
            count: random.below(200),
            place: random.below(banks.len() as u64) as usize,
            banks,
            column: random.below(100) as usize,
            data_tck: from_tck + 16 + late - u64::from(late == 2) * 3,
        }
    }

    /// Runs that keep all rules and runs that break some, at their edges or in the middle: what is found is what is found
    /// of each WR and each burst, and so is what is found later.
    #[test]
    fn runs_are_judged_as_their_commands_are() {
        let (mut steady, mut broken, mut all) = (0, 0, 0);
        for seed in 0..6000 {
            let mut random = Random(seed);
            let rules = rules(false, 300 + 40 * (seed % 40));
            let mut fast = PinChecker::new(rules.clone());
            let mut slow = PinChecker { steady: None, ..PinChecker::new(rules.clone()) };
            let mut tck = before(&mut random, [&mut fast, &mut slow], &rules);
            let mut banks = Vec::new();
            for _ in 0..2 {
                let run = run(&mut random, &mut banks, tck);
                all += 1;
                steady += u64::from(run.count > 0 && fast.is_steady_run(&run));
                let found = fast.writes(&run);
                assert_eq!(found, slow.writes(&run), "{run:?} of {seed}");
                broken += u64::from(!found.is_empty());
                tck = run.event(run.count.saturating_sub(1)).at_tck + random.below(30);
            }
            // What binds later commands, of whatever kind.
            assert_eq!([&fast.open, &slow.open].map(|open| open.len()), [16; 2]);
            assert_eq!((&fast.history, fast.last), (&slow.history, slow.last), "{seed}");
            assert_eq!(
                format!("{:?} {:?}", fast.due, fast.bus),
                format!("{:?} {:?}", slow.due, slow.bus)
            );
            for pin in [Pin::Rd { bank: 5, column: 0 }, Pin::Wr { bank: 7, column: 1 }, Pin::PreAll]
            {
                tck += random.below(60);
                assert_eq!(fast.command(tck, pin), slow.command(tck, pin), "{pin} of {seed}");
            }
            assert_eq!(fast.finish(tck + 100), slow.finish(tck + 100));
        }
        assert!(steady > all / 4 && broken > all / 4, "{steady} and {broken} of {all}");
    }
}
