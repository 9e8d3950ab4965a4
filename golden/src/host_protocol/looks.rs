// SPDX-License-Identifier: MIT
//! Looks at the status at equal distances that all say the same, while a run goes on.
//!
//! **Why the first and the last are enough.** What a look says is held against what the host has done and what looks before it
//! have said. The host does nothing else meanwhile. So where all that it has done shows by the first look, and that finds
//! nothing, one that comes later with the same words finds nothing either, and leaves no more behind than when it was.

use super::ownership::Owner;
use super::{HostChecker, HostViolation, Window};
use crate::pins::Pin;

impl HostChecker {
    /// RDs of one place, the first in a tCK and each so many tCK behind the one before, which all give the same words: as if
    /// [`command`](Self::command) and [`read_data`](Self::read_data) had been called for each.
    pub fn looks(
        &mut self,
        from_tck: u64,
        [every_tck, count]: [u64; 2],
        (bank, column): (usize, usize),
        words: [u64; 8],
    ) -> Vec<HostViolation> {
        let data_tck = self.rules.cl.saturating_add(1);
        let are_apart = data_tck.saturating_add(self.rules.burst) <= every_tck;
        let at_tck = |n: u64| from_tck.saturating_add(every_tck.saturating_mul(n));
        let (mut violations, mut n) = (Vec::new(), 0);
        while n < count {
            let mut found = self.command(at_tck(n), Pin::Rd { bank, column });
            found.extend(self.read_data(at_tck(n).saturating_add(data_tck), words));
            n += 1;
            if found.is_empty() && are_apart && self.looks_go_on(at_tck(n - 1), every_tck, bank) {
                n = n.max(count - 1);
                self.polled_tck = self.polled_tck.max(at_tck(n - 1));
            }
            violations.extend(found);
        }
        violations
    }

    /// Whether looks behind one that found nothing find nothing, if they say the same: a run goes on, and all that the host has done
    /// shows by then.
    fn looks_go_on(&self, at_tck: u64, every_tck: u64, bank: usize) -> bool {
        self.open.contains(&bank)
            && Window::of(bank, &self.rules) == Window::Status
            && self.rules.poll.is_none_or(|poll| every_tck <= poll)
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.goes_on(at_tck)
            && self.queue.is_settled()
    }

    /// Whether a status has told that a run goes on, and the host has done nothing since that shows later than in a tCK.
    pub fn goes_on(&self, at_tck: u64) -> bool {
        let states = self.ownership.at(at_tck);
        states.busy()
            && states.owner() == Owner::Module
            && self.ownership.is_settled(at_tck)
            && !self.chips.owes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::WINDOW_ROW;
    use super::super::reads::tests::{Random, rules};
    use super::*;

    /// A host that has started a run or not, with operands under way or not, and looks whose words are right or wrong: of looks the
    /// same is found as of each, and nothing else is left behind them.
    #[test]
    fn looks_are_what_their_commands_are() {
        let (mut clean, mut broken) = (0, 0);
        for seed in 0..6000 {
            let mut random = Random(seed);
            let rules = rules([None, Some(100), Some(2000)][random.below(3) as usize]);
            let mut both = [(); 2].map(|()| HostChecker::new(rules.clone()));
            // Windows, a START of some operands, and PREA, most of the time.
            let operands = random.below(3);
            for checker in &mut both {
                let mut at_tck = 10;
                let mut see = |checker: &mut HostChecker, pin| {
                    checker.command(at_tck, pin);
                    checker.chips(at_tck, pin);
                    at_tck += 30;
                };
                see(checker, Pin::Act { bank: 0, row: WINDOW_ROW });
                see(checker, Pin::Wr { bank: 0, column: 0 });
                checker.write_data(55, [2, operands, 0, 0, 0, 0, 0, 0]);
                see(checker, Pin::PreAll);
                for bank in 0..3 {
                    checker.command(at_tck, Pin::Act { bank, row: WINDOW_ROW });
                    at_tck += 30;
                }
            }
            let mut tck = 10 + 6 * 30;
            for n in 0..random.below(operands + 1) {
                for checker in &mut both {
                    checker.command(tck, Pin::Wr { bank: 1, column: n as usize });
                    checker.write_data(tck + 15, [7; 8]);
                }
                tck += 4;
            }
            tck += random.below(3) * random.below(60);
            let state = [2, 2, 2, 1, 0][random.below(5) as usize];
            let taken = [1, 1, 0, 9][random.below(4) as usize];
            let words = [state, taken, 0, 0, 0, 0, 0, 0];
            let bank = if random.below(8) == 0 { 0 } else { 2 };
            let (every_tck, count) = (20 + random.below(90), random.below(20));
            let found = both[0].looks(tck, [every_tck, count], (bank, 0), words);
            let each = (0..count).flat_map(|n| {
                let at_tck = tck + n * every_tck;
                let mut found = both[1].command(at_tck, Pin::Rd { bank, column: 0 });
                found.extend(both[1].read_data(at_tck + 23, words));
                found
            });
            assert_eq!(found, each.collect::<Vec<_>>(), "{seed}");
            *(if found.is_empty() { &mut clean } else { &mut broken }) += 1;
            assert_eq!(format!("{:?}", both[0]), format!("{:?}", both[1]), "{seed}");
        }
        assert!(clean > 500 && broken > 500, "{clean} {broken}");
    }
}
