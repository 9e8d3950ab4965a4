// SPDX-License-Identifier: MIT
//! Runs of WRs to the host's memory, judged as a whole.
//!
//! **Why that is sound.** The protocol binds a WR to memory, and its command on the chips' pins, by who owns the pins
//! alone; its data are nobody's affair. Who owns them changes with a PREA or a START, of which none is in a run. So it is
//! enough that the host owns the pins with the first of them and nothing is on its way that changes this, that no run of
//! the module can be on, and that no bank has a window open. What is late before the run is reported with its first
//! WR, so that nothing may be.

use super::HostChecker;
use super::ownership::Owner;
use crate::pins::WriteRun;

impl HostChecker {
    /// Whether a run of WRs, each in the same tCK on the host's and on the chips' pins, breaks no rule, and all of them are
    /// to memory; but not always where it is so.
    pub fn is_plain(&self, run: &WriteRun<'_>) -> bool {
        run.count > 0
            && self.is_of_memory(run.event(0).at_tck)
            && !run.banks.iter().any(|bank| self.open.contains(bank))
    }

    /// Whether the host owns the pins from this tCK on, and nothing of its windows is under way.
    fn is_of_memory(&self, at_tck: u64) -> bool {
        let states = self.ownership.at(at_tck);
        states.owner() == Owner::Host
            && !states.busy()
            && self.ownership.is_settled(at_tck)
            && self.writes.are_of_memory()
            && self.reads.are_of_memory()
            && !self.chips.owes()
    }

    /// Whether commands behind this tCK that open rows of memory, write them and close them, each in the same tCK on the
    /// host's and on the chips' pins, break no rule, and leave nothing behind them once a REF has come: all windows are
    /// closed, and nothing of them is under way.
    pub fn is_fresh(&self, at_tck: u64) -> bool {
        self.is_of_memory(at_tck.saturating_add(1)) && self.open.is_empty()
    }

    /// A run that is plain, with its data on both sides: as if [`command`](Self::command), [`chips`](Self::chips) and
    /// [`write_data`](Self::write_data) had been called for each. All data of earlier commands have to be told before.
    ///
    /// # Panics
    ///
    /// If it is not [plain](Self::is_plain).
    pub fn writes(&mut self, run: &WriteRun<'_>) {
        assert!(self.is_plain(run), "a run that is to be judged WR by WR");
        let last = run.event(run.count - 1);
        self.writes.forget();
        self.reads.forget();
        self.chips.both(last.at_tck, last.pin);
        self.polled_tck = self.polled_tck.max(last.at_tck);
    }
}

#[cfg(test)]
mod tests {
    use super::super::WINDOW_ROW;
    use super::super::reads::tests::{Random, rules};
    use super::*;
    use crate::pins::Pin;

    /// A checker for which everything is done that is done for another.
    struct Both([HostChecker; 2]);

    impl Both {
        fn command(&mut self, at_tck: u64, pin: Pin, on_chips: bool) -> bool {
            let found = self.0.each_mut().map(|checker| {
                let mut found = checker.command(at_tck, pin);
                found.extend(on_chips.then(|| checker.chips(at_tck, pin)).into_iter().flatten());
                found
            });
            assert_eq!(found[0], found[1]);
            found[0].is_empty()
        }
    }

    /// Hosts that own the pins or do not, with windows open or not, and what may be late: a run that is plain leaves what
    /// its commands leave, one by one, and nothing is found of these.
    #[test]
    fn a_plain_run_is_what_its_commands_are() {
        let (mut plain, mut other) = (0, 0);
        for seed in 0..4000 {
            let mut random = Random(seed);
            let rules = rules((seed % 3 == 0).then_some(50));
            let new = HostChecker::new(rules);
            let mut both = Both([new.clone(), new]);
            let mut tck = 10;
            for _ in 0..random.below(6) {
                let bank = random.below(16) as usize;
                match random.below(8) {
                    0 => {
                        both.command(
                            tck,
                            Pin::Act { bank: 4, row: WINDOW_ROW },
                            random.below(3) > 0,
                        );
                        both.command(tck + 30, Pin::Wr { bank: 4, column: 0 }, random.below(3) > 0);
                        let words = [2, 0, 0, 0, 0, 0, 0, 0];
                        if random.below(4) > 0 {
                            let found = both.0.each_mut().map(|c| c.write_data(tck + 45, words));
                            assert_eq!(found[0], found[1]);
                        }
                        tck += 50;
                    }
                    1 => drop(both.command(tck, Pin::PreAll, random.below(8) > 0)),
                    2 => drop(both.command(tck, Pin::Rd { bank, column: 0 }, true)),
                    _ => drop(both.command(tck, Pin::Act { bank, row: 3 }, random.below(20) > 0)),
                }
                tck += random.below(20) + 1;
            }
            let banks: Vec<usize> = (0..1 + random.below(16) as usize).collect();
            let run = WriteRun {
                from_tck: tck,
                every_tck: 4,
                count: random.below(40),
                banks: &banks,
                place: 0,
                column: 0,
                data_tck: tck + 15,
            };
            let is_plain = both.0[0].is_plain(&run);
            *(if is_plain { &mut plain } else { &mut other }) += 1;
            if !is_plain {
                continue;
            }
            both.0[0].writes(&run);
            let (each, mut told) = (&mut both.0[1], 0);
            for event in (0..run.count).map(|number| run.event(number)) {
                while told < run.count && run.burst(told) + 4 <= event.at_tck {
                    assert_eq!(each.write_data(run.burst(told), [told; 8]), []);
                    told += 1;
                }
                assert_eq!(each.command(event.at_tck, event.pin), []);
                assert_eq!(each.chips(event.at_tck, event.pin), []);
            }
            for number in told..run.count {
                assert_eq!(each.write_data(run.burst(number), [number; 8]), []);
            }
            each.reads.forget();
            assert_eq!(format!("{:?}", both.0[0]), format!("{:?}", both.0[1]), "{seed}");
            both.command(run.event(run.count).at_tck + 30, Pin::PreAll, true);
        }
        assert!(plain > 500 && other > 500, "{plain} {other}");
    }
}
