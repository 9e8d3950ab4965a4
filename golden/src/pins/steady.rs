// SPDX-License-Identifier: MIT
//! WRs to open rows, which are most commands of a host that fills a memory, in constant time.
//!
//! From each command follows a tCK from which on a WR of a bank, of a group or of any waits for it no more. They are
//! not later than the gates ask for, but where they are too late nothing is lost: a WR that comes sooner is held against
//! all gates, as every other command is.

use super::{Event, MOD, Pin, PinChecker, Rules, later};

/// When a WR breaks no gate any more.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    banks: Vec<u64>,
    groups: Vec<u64>,
    all: u64,
}

impl Steady {
    pub(super) fn new(rules: &Rules) -> Self {
        Self { banks: vec![0; rules.banks()], groups: vec![0; rules.bank_groups], all: 0 }
    }

    /// A command that is obeyed.
    pub(super) fn see(&mut self, rules: &Rules, Event { at_tck, pin }: Event) {
        let from = |delay| later(at_tck, delay);
        match pin {
            Pin::Act { .. } | Pin::ActAll { .. } => {
                self.banks[pin.banks(rules)].fill(from(rules.t_rcd_wr));
            }
            Pin::Wr { bank, .. } => self.column(rules, bank, from(rules.t_ccd_l)),
            Pin::Rd { bank, .. } => {
                self.column(rules, bank, from(rules.t_ccd_l));
                self.wait(from(rules.rd_to_wr(rules.cl, rules.cwl)));
            }
            Pin::RdAll { .. } => self.wait(from(rules.t_ccd_l)),
            Pin::RdResult { .. } => {
                self.wait(from(rules.rd_to_wr(rules.result_latency(), rules.cwl)))
            }
            Pin::Mrs { .. } => self.wait(from(MOD)),
            Pin::Ref => self.wait(from(rules.t_rfc)),
            Pin::Pre { .. } | Pin::PreAll | Pin::WrShared { .. } | Pin::SetWord { .. } => {}
        }
        if pin.driver().is_some() {
            self.wait(from(rules.t_ccd_s));
        }
    }

    fn column(&mut self, rules: &Rules, bank: usize, from_tck: u64) {
        let group = &mut self.groups[bank / rules.banks_per_group];
        *group = from_tck.max(*group);
    }

    fn wait(&mut self, from_tck: u64) {
        self.all = self.all.max(from_tck);
    }
}

impl PinChecker {
    /// Whether a command is a WR that breaks no rule; but not always where it is.
    pub(super) fn is_steady(&self, Event { at_tck, pin }: Event) -> bool {
        let (Pin::Wr { bank, .. }, Some(steady)) = (pin, &self.steady) else { return false };
        let Some(Some(_)) = self.open.get(bank) else { return false };
        let group = bank / self.rules.banks_per_group;
        let free_tck = steady.all.max(steady.banks[bank]).max(steady.groups[group]);
        let missing_tck = at_tck.saturating_sub(self.rules.burst);
        free_tck <= at_tck
            && self.last.is_none_or(|last| last.at_tck < at_tck)
            && self.due.iter().all(|due| missing_tck <= due.from_tck)
            && self.refresh_deadline().is_none_or(|deadline| at_tck <= deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Driver;

    fn rules(locked: bool, t_refi: u64) -> Rules {
        Rules {
            bank_groups: 4,
            banks_per_group: 4,
            burst: 4,
            t_ccd_s: 4,
            t_ccd_l: 8,
            t_ccd_result: Some(6),
            t_rrd_s: 4,
            t_rrd_l: 8,
            t_faw: 34,
            faw_banks: 16,
            t_rcd: 22,
            t_rcd_wr: 14,
            t_rcd_mac: 22,
            t_ras: 52,
            t_rp: 22,
            t_rc: 74,
            cl: 22,
            cwl: 16,
            cl_reg: Some(26),
            cwl_gb: Some(10),
            t_modch: None,
            rtw_gap: 2,
            t_wtr_s: 4,
            t_wtr_l: 12,
            t_wtr_shared: Some(3),
            t_wr: 24,
            t_rtp: 12,
            t_rfc: 60,
            t_refi: Some(t_refi),
            max_postponed: 2,
            locked,
        }
    }

    /// Numbers by a linear congruence.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    fn pin(random: &mut Random) -> Pin {
        let bank = random.below(17) as usize;
        match random.below(40) {
            0..=2 => Pin::Act { bank, row: 1 },
            3 => Pin::ActAll { bank: 0, row: 2 },
            4 => Pin::Pre { bank },
            5 if random.below(4) == 0 => Pin::PreAll,
            6 => Pin::Ref,
            7 => Pin::Mrs { register: 1, opcode: 0 },
            8 => Pin::RdAll { column: 3 },
            9 => Pin::RdResult { bank },
            10 => Pin::WrShared { word: 1 },
            11 | 12 => Pin::Rd { bank, column: 4 },
            _ => Pin::Wr { bank, column: 5 },
        }
    }

    /// Random commands, some of which break rules and most of which are WRs, with their data, some of which do not
    /// come; both checkers find the same.
    #[test]
    fn nothing_is_overlooked() {
        let (mut steady, mut broken) = (0, 0);
        for seed in 0..400 {
            let mut random = Random(seed);
            let rules = rules(seed % 2 == 0, 200 + 40 * (seed % 7));
            let mut fast = PinChecker::new(rules.clone());
            let mut slow = PinChecker { steady: None, ..PinChecker::new(rules.clone()) };
            let (mut tck, mut data) = (0, Vec::new());
            let step = [2, 6, 12][(seed % 3) as usize];
            for _ in 0..400 {
                tck += random.below(step) + u64::from(random.below(8) > 0);
                let pin = pin(&mut random);
                data.sort_unstable_by_key(|(from_tck, _)| *from_tck);
                let due = data.partition_point(|(from_tck, _)| *from_tck < tck);
                for (from_tck, driver) in data.drain(..due).collect::<Vec<_>>() {
                    let found = fast.data(from_tck, from_tck + 4, driver);
                    assert_eq!(found, slow.data(from_tck, from_tck + 4, driver));
                }
                steady += u64::from(fast.is_steady(Event { at_tck: tck, pin }));
                let found = fast.command(tck, pin);
                assert_eq!(found, slow.command(tck, pin), "{pin} at {tck} of {seed}");
                broken += found.len();
                if let Some(driver) = pin.driver().filter(|_| random.below(50) > 0) {
                    data.push((tck + rules.latency(pin), driver));
                }
            }
            assert_eq!(fast.finish(tck + 100), slow.finish(tck + 100));
        }
        assert!(steady > 5000 && broken > 5000, "{steady} {broken}");
    }

    #[test]
    fn a_host_that_fills_a_row_is_steady() {
        let mut checker = PinChecker::new(rules(false, 100_000));
        for (n, bank) in (0..4).map(|n| (n, 4 * n)) {
            assert_eq!(checker.command(4 * n as u64, Pin::Act { bank, row: 0 }), []);
        }
        for n in 0..100 {
            let (at_tck, pin) = (100 + 4 * n, Pin::Wr { bank: 4 * (n % 4) as usize, column: 0 });
            assert!(checker.is_steady(Event { at_tck, pin }), "{n}");
            assert_eq!(checker.command(at_tck, pin), []);
            if let Some(from_tck) = (at_tck + 16).checked_sub(16).filter(|_| n >= 4) {
                assert_eq!(checker.data(from_tck, from_tck + 4, Driver::Controller), []);
            }
        }
    }
}
