// SPDX-License-Identifier: MIT
//! Behind a REF: whether what comes is judged as if nothing had come before.
//!
//! **Why that is sound.** Commands and data are held against banks that are open, against earlier commands that are near
//! enough, against data that are due or on the bus, and against the deadline of refresh. Behind a REF at which no bank is open,
//! no data are due, and all other commands and data are so long ago that they bind nothing later than tRFC, what is found until
//! the next REF depends on the tCK since then alone: a command within tRFC is found to break that, wherever it comes. The
//! deadline depends on all REFs so far; it is asked for at the end of what comes.

use super::{PinChecker, later};

impl PinChecker {
    /// Whether it is so behind a REF in this tCK, for so many tCK from there on.
    pub fn is_fresh(&self, at_tck: u64, tck: u64) -> bool {
        let from_tck = later(at_tck, self.rules.t_rfc);
        let deadline = self.refresh_deadline();
        let bus_tck = self.bus.map_or(0, |bus| later(bus.until_tck, self.rules.rtw_gap));
        let binds = self.history.back().map_or(0, |last| later(last.at_tck, self.reach));
        self.last_ref.is_some_and(|last| last.at_tck == at_tck)
            && self.last == self.last_ref
            && self.open.iter().all(Option::is_none)
            && self.due.is_empty()
            && bus_tck <= from_tck
            && binds <= from_tck
            && deadline.is_none_or(|deadline| later(at_tck, tck) <= deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::super::steady::tests::{Random, rules};
    use crate::pins::{Driver, Pin, PinChecker};

    /// Any command of a host.
    fn pin(random: &mut Random) -> Pin {
        let (bank, column) = (random.below(16) as usize, 1);
        match random.below(8) {
            0 => Pin::Pre { bank },
            1 => Pin::PreAll,
            2 => Pin::Rd { bank, column },
            3 | 4 => Pin::Wr { bank, column },
            _ => Pin::Act { bank, row: 3 },
        }
    }

    /// Commands and data of all kinds before a REF, at any time: where the checker is fresh, it finds what one finds that has
    /// seen the REF alone.
    #[test]
    fn what_is_before_a_fresh_checker_does_not_matter() {
        let (mut fresh, mut other) = (0, 0);
        for seed in 0..8000 {
            let mut random = Random(seed);
            let rules = rules(false, 100_000);
            let mut used = PinChecker::new(rules.clone());
            let (mut tck, mut told) = (0, true);
            for _ in 0..random.below(6) {
                let pin = pin(&mut random);
                used.command(tck, pin);
                if let Some(driver) = pin.driver() {
                    told &= random.below(8) > 0;
                    let from_tck = tck + rules.latency(pin);
                    if told {
                        used.data(from_tck, from_tck + 4, driver);
                    }
                    tck = from_tck;
                }
                tck += 1 + random.below(30);
            }
            if random.below(4) > 0 {
                used.command(tck, Pin::PreAll);
            }
            let ref_tck = tck + 1 + random.below(60);
            used.command(ref_tck, Pin::Ref);
            if !used.is_fresh(ref_tck, 400) {
                other += 1;
                continue;
            }
            fresh += 1;
            let mut new = PinChecker::new(rules.clone());
            assert_eq!(new.command(ref_tck, Pin::Ref), []);
            let mut tck = ref_tck;
            let mut is_clean = [true; 2];
            for _ in 0..8 {
                tck += 1 + random.below(40);
                let pin = pin(&mut random);
                let found = [&mut used, &mut new].map(|checker| {
                    let mut found = checker.command(tck, pin);
                    found.extend(checker.data(tck, tck + 4, Driver::Dram));
                    found
                });
                is_clean = [0, 1].map(|n| is_clean[n] && found[n].is_empty());
                assert_eq!(is_clean[0], is_clean[1], "{pin} of {seed}");
                // Within tRFC other rules are broken beside that.
                assert!(tck < ref_tck + rules.t_rfc || found[0] == found[1], "{pin} of {seed}");
            }
            assert_eq!(used.finish(tck), new.finish(tck));
        }
        assert!(fresh > 1000 && other > 1000, "{fresh} and {other}");
        // A REF that is not the last command, and one behind which another is due too soon.
        let mut checker = PinChecker::new(rules(false, 1000));
        checker.command(500, Pin::Ref);
        assert!(checker.is_fresh(500, 2000) && !checker.is_fresh(500, 4000));
        checker.command(600, Pin::PreAll);
        assert!(!checker.is_fresh(500, 100) && !checker.is_fresh(600, 100));
    }
}
