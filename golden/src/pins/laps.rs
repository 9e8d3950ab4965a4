// SPDX-License-Identifier: MIT
//! Commands that repeat lap by lap, but for their rows, judged as a whole.
//!
//! **Why that is sound.** No rule asks for the number of a row. What commands and data are held against is then where the checker
//! [stands](Stand) in time, and the REFs. Where a lap in which nothing was found began and ended with the same stand, a lap of the same
//! commands and data behind it ends so again, and nothing is found in it, if no REF binds anything at its begin, and REFs in it
//! and behind it come as often as they have to and no more often than they may. Its rows do not show either, where one more lap is
//! told behind it command by command, as long as what binds later commands.

use super::{Event, Pin, PinChecker, later};

/// What later commands and data are held against but for REFs, counted from a tCK: without rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand {
    open: Vec<bool>,
    history: Vec<(u64, Pin)>,
    last: Option<u64>,
    /// The commands that ask for data, and how long ago; and when the bus is free, if that is not yet so.
    due: Vec<(u64, Pin)>,
    bus: Option<(u64, bool)>,
    locked: bool,
}

impl PinChecker {
    /// Where it stands in a tCK behind all that was told, if the last REF binds nothing from there on.
    pub fn stand(&mut self, at_tck: u64) -> Option<Stand> {
        let is_over = |last: Event| later(last.at_tck, self.rules.t_rfc) <= at_tck;
        if !self.last_ref.is_none_or(is_over) {
            return None;
        }
        self.forget(at_tck);
        let ago = |event: &Event| (at_tck.saturating_sub(event.at_tck), without_row(event.pin));
        let binds_until = |until_tck| later(until_tck, self.rules.rtw_gap);
        let bus = self.bus.filter(|bus| binds_until(bus.until_tck) > at_tck);
        Some(Stand {
            open: self.open.iter().map(Option::is_some).collect(),
            history: self.history.iter().map(ago).collect(),
            // A command in the last tCK alone binds this one.
            last: self.last.map(|last| last.at_tck).filter(|&tck| tck >= at_tck),
            due: self.due.iter().map(|due| ago(&due.command)).collect(),
            bus: bus.map(|bus| {
                (binds_until(bus.until_tck) - at_tck, bus.driver == super::Driver::Dram)
            }),
            locked: self.lock.is_locked(),
        })
    }

    /// Laps of so many tCK are over at the end of which it stands where it stands now, if nothing is found in them as nothing was
    /// found in one like them: what was told before was told so much later, but for these REFs, which were in them. Whether it is
    /// so: not where REFs come too often or not often enough, and then it stands as it stood.
    pub fn pass(&mut self, tck: u64, until_tck: u64, refs: &[u64]) -> bool {
        let before = (self.refreshes.clone(), self.last_ref);
        let in_time = refs.iter().chain([&until_tck]).enumerate().all(|(n, &at_tck)| {
            let is_ref = n < refs.len();
            let event = Event { at_tck, pin: Pin::Ref };
            let is_due = self.refresh_deadline().is_none_or(|deadline| at_tck <= deadline);
            let is_rare = self.next_ref().is_none_or(|(_, legal)| legal <= at_tck);
            let may_come = is_due && (!is_ref || is_rare);
            if may_come && is_ref {
                self.refresh(event);
            }
            may_come
        });
        if !in_time {
            (self.refreshes, self.last_ref) = before;
            return false;
        }
        let move_on = |event: &mut Event| event.at_tck = later(event.at_tck, tck);
        self.open.iter_mut().flatten().for_each(move_on);
        self.history.iter_mut().chain(&mut self.last).for_each(move_on);
        for due in &mut self.due {
            move_on(&mut due.command);
            due.from_tck = later(due.from_tck, tck);
        }
        if let Some(bus) = &mut self.bus {
            bus.until_tck = later(bus.until_tck, tck);
        }
        if let Some(steady) = &mut self.steady {
            steady.pass(tck);
        }
        true
    }
}

fn without_row(pin: Pin) -> Pin {
    match pin {
        Pin::Act { bank, .. } => Pin::Act { bank, row: 0 },
        Pin::ActAll { bank, .. } => Pin::ActAll { bank, row: 0 },
        pin => pin,
    }
}

#[cfg(test)]
mod tests {
    use super::super::steady::tests::{Random, rules};
    use super::*;
    use crate::pins::{Driver, Violation};
    use std::collections::VecDeque;

    /// A lap: commands by the tCK in it.
    fn lap(random: &mut Random) -> (u64, Vec<(u64, Pin)>) {
        let mut tck = 1 + random.below(4);
        let mut commands = vec![(tck, Pin::ActAll { bank: 0, row: 0 })];
        tck += 20 + random.below(5);
        for _ in 0..random.below(6) {
            commands.push((tck, Pin::RdAll { column: 3 }));
            tck += 8 + random.below(3);
        }
        for _ in 0..random.below(3) {
            commands.push((tck, Pin::RdResult { bank: 4 }));
            tck += 6 + random.below(3);
        }
        tck += 20 + random.below(20);
        commands.push((tck, Pin::PreAll));
        tck += 18 + random.below(10);
        if random.below(3) == 0 {
            commands.push((tck, Pin::Ref));
            tck += 40 + random.below(30);
        }
        if random.below(2) == 0 {
            commands.push((tck, Pin::RdResult { bank: 2 }));
            tck += 6;
        }
        (tck + random.below(30), commands)
    }

    /// A checker, and when data come that are due.
    struct Told(PinChecker, VecDeque<u64>);

    impl Told {
        /// All of a lap, of a row, and the data that come before its last command.
        fn lap(&mut self, from_tck: u64, row: usize, lap: &[(u64, Pin)]) -> Vec<Violation> {
            let Self(checker, data) = self;
            let mut found = Vec::new();
            for &(tck, pin) in lap {
                let at_tck = from_tck + tck;
                while let Some(data_tck) = data.pop_front_if(|data_tck| *data_tck < at_tck) {
                    found.extend(checker.data(data_tck, data_tck + 4, Driver::Dram));
                }
                let pin = match pin {
                    Pin::ActAll { bank, .. } => Pin::ActAll { bank, row },
                    pin => pin,
                };
                found.extend(checker.command(at_tck, pin));
                if pin.driver().is_some() {
                    data.push_back(at_tck + checker.rules.latency(pin));
                }
            }
            found
        }
    }

    /// Laps that keep all rules and laps that break some, with REFs in them or not, too often and too seldom: where a lap was clean
    /// from one stand to the same, a checker that passes the next ones and is told the last finds later what one finds that was told
    /// all.
    #[test]
    fn laps_that_are_passed_are_judged_as_told() {
        let (mut passed, mut broken) = ([0; 2], 0);
        for seed in 0..6000 {
            let mut random = Random(seed);
            let rules = rules(seed % 50 == 0, 400 + 100 * (seed % 40));
            let new = || Told(PinChecker::new(rules.clone()), VecDeque::new());
            let [mut each, mut whole] = [new(), new()];
            let mut both =
                |tck, pin| assert_eq!(each.0.command(tck, pin), whole.0.command(tck, pin));
            let mut tck = 5;
            if random.below(2) == 0 {
                both(tck, Pin::Ref);
                tck += 40 + random.below(40);
            }
            let (lap_tck, lap) = lap(&mut random);
            for row in 0..2 {
                assert_eq!(whole.lap(tck, row, &lap), each.lap(tck, row, &lap));
                tck += lap_tck;
            }
            let stand = whole.0.stand(tck);
            let found = whole.lap(tck, 2, &lap);
            assert_eq!(found, each.lap(tck, 2, &lap));
            tck += lap_tck;
            let count = 1 + random.below(4) + random.below(2) * random.below(40);
            let is_clean = found.is_empty() && stand.is_some() && whole.0.stand(tck) == stand;
            broken += u64::from(!found.is_empty());
            let refs = (0..count).flat_map(|n| {
                let refs = lap.iter().filter(|(_, pin)| *pin == Pin::Ref);
                refs.map(move |(at_tck, _)| tck + n * lap_tck + at_tck)
            });
            let refs: Vec<u64> = refs.collect();
            if is_clean && whole.0.pass(count * lap_tck, tck + count * lap_tck, &refs) {
                passed[usize::from(!refs.is_empty())] += 1;
                for row in 0..count {
                    assert_eq!(each.lap(tck + row * lap_tck, 3 + row as usize, &lap), []);
                }
                whole.1.iter_mut().for_each(|data_tck| *data_tck += count * lap_tck);
                tck += count * lap_tck;
            }
            assert_eq!(whole.lap(tck, 99, &lap), each.lap(tck, 99, &lap), "{seed}");
            tck += lap_tck;
            assert_eq!(whole.0.stand(tck), each.0.stand(tck), "{seed}");
            let [Told(mut each, _), Told(mut whole, _)] = [each, whole];
            for pin in
                [Pin::Act { bank: 3, row: 1 }, Pin::RdAll { column: 0 }, Pin::Ref, Pin::PreAll]
            {
                tck += random.below(30);
                assert_eq!(whole.command(tck, pin), each.command(tck, pin), "{pin} of {seed}");
            }
            assert_eq!(whole.finish(tck + 5000), each.finish(tck + 5000));
        }
        assert!(passed[0] > 1500 && passed[1] > 250 && broken > 300, "{passed:?} {broken}");
    }
}
