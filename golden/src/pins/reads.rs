// SPDX-License-Identifier: MIT
//! All-bank RDs that follow each other at equal distances, judged as a whole.
//!
//! **Why that is sound.** An all-bank RD among its like is judged by [`Steady`](super::steady::Steady). What was before the run
//! binds its first RD most, so that it is enough to ask for that one; an RD of the run binds a later one by the same delay from
//! one to the next. What has to come in time, a REF and data that are due, is asked for at the last RD. RDs open no bank, close
//! none and ask for no data. Where any of this does not hold, the run is judged command by command.

use super::{Event, Pin, PinChecker, Violation, later};

impl PinChecker {
    /// All-bank RDs of these columns, the first in a tCK and each so many tCK behind the one before: as if
    /// [`command`](Self::command) had been called for each. Data may not be told before the last of them, but for those that
    /// are over by the first.
    pub fn reads(
        &mut self,
        from_tck: u64,
        every_tck: u64,
        columns: impl ExactSizeIterator<Item = usize>,
    ) -> Vec<Violation> {
        let count = columns.len();
        let reads = (0..).zip(columns).map(|(n, column)| Event {
            at_tck: later(from_tck, every_tck.saturating_mul(n)),
            pin: Pin::RdAll { column },
        });
        if count > 0 && self.are_steady(from_tck, every_tck, count as u64) {
            self.obey_reads(every_tck, count as u64, reads);
            return Vec::new();
        }
        reads.flat_map(|read| self.command(read.at_tck, read.pin)).collect()
    }

    /// Whether all of so many RDs break no rule; but not always where it is so.
    fn are_steady(&self, from_tck: u64, every_tck: u64, count: u64) -> bool {
        let pin = Pin::RdAll { column: 0 };
        let last_tck = later(from_tck, every_tck.saturating_mul(count - 1));
        let missing_tck = last_tck.saturating_sub(self.rules.burst);
        let apart_tck = self.steady.as_ref().map(|steady| steady.delay(pin, pin).max(1));
        apart_tck.is_some_and(|apart_tck| apart_tck <= every_tck)
            && last_tck < u64::MAX
            && self.is_steady(Event { at_tck: from_tck, pin })
            && self.due.iter().all(|due| missing_tck <= due.from_tck)
            && self.refresh_deadline().is_none_or(|deadline| last_tck <= deadline)
    }

    /// What they do, where they break no rule.
    fn obey_reads(&mut self, every_tck: u64, count: u64, reads: impl Iterator<Item = Event>) {
        let near = (self.reach / every_tck).saturating_add(1).min(count);
        self.history.extend(reads.skip((count - near) as usize));
        if let Some(&last) = self.history.back() {
            self.forget(last.at_tck);
            // Of all of them the last binds longest.
            if let Some(steady) = &mut self.steady {
                steady.see(&self.rules, last);
            }
            self.last = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::steady::tests::{Random, rules};
    use super::*;

    /// Rows that are opened, perhaps not in all banks nor long ago, with commands behind it whose data may be missing.
    fn before(random: &mut Random, checkers: [&mut PinChecker; 2]) -> u64 {
        let [fast, slow] = checkers;
        let mut both = |tck, pin| assert_eq!(fast.command(tck, pin), slow.command(tck, pin));
        let mut tck = 3;
        if random.below(10) > 0 {
            both(tck, Pin::ActAll { bank: 0, row: 2 });
        }
        tck += 20 + random.below(8);
        for _ in 0..random.below(4) {
            let pin = match random.below(5) {
                0 => Pin::WrShared { word: 1 },
                1 => Pin::RdResult { bank: 0 },
                2 if random.below(4) == 0 => Pin::Pre { bank: 3 },
                _ => Pin::RdAll { column: 5 },
            };
            both(tck, pin);
            tck += random.below(14);
        }
        tck
    }

    /// Runs that keep all rules and runs that break some, first, last or in the middle: what is found is what is found of each
    /// RD, and so is what is found later.
    #[test]
    fn reads_are_judged_as_their_commands_are() {
        let (mut steady, mut broken, mut all) = (0, 0, 0);
        for seed in 0..6000 {
            let mut random = Random(seed);
            let rules = rules(seed % 50 == 0, 100 + 40 * (seed % 40));
            let mut fast = PinChecker::new(rules.clone());
            let mut slow = PinChecker { steady: None, ..PinChecker::new(rules) };
            let mut tck = before(&mut random, [&mut fast, &mut slow]);
            for _ in 0..2 {
                let from_tck = tck + random.below(3) * random.below(20);
                let every_tck = if random.below(4) > 0 { 8 } else { random.below(12) };
                let columns: Vec<_> = (0..random.below(100) as usize).collect();
                let count = columns.len() as u64;
                all += 1;
                steady += u64::from(count > 0 && fast.are_steady(from_tck, every_tck, count));
                let found = fast.reads(from_tck, every_tck, columns.iter().copied());
                let each = (0..).zip(columns).flat_map(|(n, column)| {
                    slow.command(from_tck + n * every_tck, Pin::RdAll { column })
                });
                assert_eq!(found, each.collect::<Vec<_>>(), "{seed}");
                broken += u64::from(!found.is_empty());
                tck = from_tck + every_tck * count.saturating_sub(1) + random.below(20);
            }
            assert_eq!((&fast.history, fast.last), (&slow.history, slow.last), "{seed}");
            assert_eq!(format!("{:?}", fast.due), format!("{:?}", slow.due));
            for pin in [Pin::RdAll { column: 0 }, Pin::Wr { bank: 7, column: 1 }, Pin::PreAll] {
                tck += random.below(30);
                assert_eq!(fast.command(tck, pin), slow.command(tck, pin), "{pin} of {seed}");
            }
            assert_eq!(fast.finish(tck + 100), slow.finish(tck + 100));
        }
        assert!(steady > all / 4 && broken > all / 8, "{steady} and {broken} of {all}");
    }
}
