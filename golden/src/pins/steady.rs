// SPDX-License-Identifier: MIT
//! The commands that come most, in constant time: WRs to open rows, of a host that fills a memory, and all-bank RDs,
//! RD_RESULTs and WR_SHAREDs, of a rank that computes.
//!
//! From each command follows a tCK from which on each of these waits for it no more: a WR of a bank, of a group or of
//! any; the others of any, as they name no bank whose gates are its own. It is not earlier than the gates ask for, but where it is too
//! late nothing is lost: a command that comes sooner is held against all gates, as every other one is.

use super::gates::GATES;
use super::{Event, MOD, Pin, PinChecker, Rules, later};

/// Commands of processing in memory that come most: their gates are the same for all banks and words.
const OF_PIM: [Pin; 3] =
    [Pin::RdAll { column: 0 }, Pin::RdResult { bank: 0 }, Pin::WrShared { word: 0 }];

/// The place of a command among these.
fn of_pim(pin: Pin) -> Option<usize> {
    match pin {
        Pin::RdAll { .. } => Some(0),
        Pin::RdResult { .. } => Some(1),
        Pin::WrShared { .. } => Some(2),
        _ => None,
    }
}

/// How long each of [`OF_PIM`] waits for a command before it, whatever bank that names.
type Waits = [u64; OF_PIM.len()];

/// Kinds of commands, by the place that [`kind`] gives them. Which gates there are before a command does not depend on more.
pub(super) const KINDS: [Pin; 13] = [
    Pin::Act { bank: 0, row: 0 },
    Pin::ActAll { bank: 0, row: 0 },
    Pin::Pre { bank: 0 },
    Pin::PreAll,
    Pin::Rd { bank: 0, column: 0 },
    Pin::Wr { bank: 0, column: 0 },
    Pin::RdAll { column: 0 },
    Pin::RdResult { bank: 0 },
    Pin::WrShared { word: 0 },
    Pin::Ref,
    Pin::SetWord { word: 0 },
    Pin::Mrs { register: 0, opcode: 0 },
    Pin::WrAll { column: 0 },
];

/// The place of a command's kind among [`KINDS`].
pub(super) fn kind(pin: Pin) -> usize {
    match pin {
        Pin::Act { .. } => 0,
        Pin::ActAll { .. } => 1,
        Pin::Pre { .. } => 2,
        Pin::PreAll => 3,
        Pin::Rd { .. } => 4,
        Pin::Wr { .. } => 5,
        Pin::RdAll { .. } => 6,
        Pin::RdResult { .. } => 7,
        Pin::WrShared { .. } => 8,
        Pin::Ref => 9,
        Pin::SetWord { .. } => 10,
        Pin::Mrs { .. } => 11,
        Pin::WrAll { .. } => 12,
    }
}

/// What the gates say of a command before one of [`OF_PIM`].
fn waits(rules: &Rules, earlier: Pin) -> Waits {
    let refresh = if earlier == Pin::Ref { rules.t_rfc } else { 0 };
    OF_PIM.map(|later| {
        let binding = GATES.iter().filter(|gate| (gate.later)(later));
        let binding = binding.filter(|gate| (gate.binds)(rules, earlier, later));
        binding.map(|gate| (gate.delay)(rules)).fold(refresh, u64::max)
    })
}

/// When a command breaks no gate any more.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    /// Of a WR.
    pub(super) banks: Vec<u64>,
    pub(super) groups: Vec<u64>,
    pub(super) all: u64,
    /// Of each of [`OF_PIM`].
    pim: Waits,
    /// How long these wait for a command of each kind.
    waits: [Waits; KINDS.len()],
}

impl Steady {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            banks: vec![0; rules.banks()],
            groups: vec![0; rules.bank_groups],
            all: 0,
            pim: [0; OF_PIM.len()],
            waits: KINDS.map(|earlier| waits(rules, earlier)),
        }
    }

    /// How long one of [`OF_PIM`] waits for a command before it.
    pub(super) fn delay(&self, earlier: Pin, pin: Pin) -> u64 {
        of_pim(pin).map_or(u64::MAX, |place| self.waits[kind(earlier)][place])
    }

    /// A command that is obeyed.
    pub(super) fn see(&mut self, rules: &Rules, Event { at_tck, pin }: Event) {
        let from = |delay| later(at_tck, delay);
        for (free_tck, wait) in self.pim.iter_mut().zip(self.waits[kind(pin)]) {
            *free_tck = from(wait).max(*free_tck);
        }
        match pin {
            Pin::Act { .. } | Pin::ActAll { .. } => {
                self.banks[pin.banks(rules)].fill(from(rules.t_rcd_wr));
            }
            Pin::Wr { bank, .. } => self.column(rules, bank, from(rules.t_ccd_l)),
            Pin::Rd { bank, .. } => {
                self.column(rules, bank, from(rules.t_ccd_l));
                self.wait(from(rules.rd_to_wr(rules.cl, rules.cwl)));
            }
            Pin::RdAll { .. } | Pin::WrAll { .. } => self.wait(from(rules.t_ccd_l)),
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

    /// All that was seen was so much later.
    pub(super) fn pass(&mut self, tck: u64) {
        let times = self.banks.iter_mut().chain(&mut self.groups).chain([&mut self.all]);
        times.chain(&mut self.pim).for_each(|time| *time = later(*time, tck));
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
    /// Whether a command is one of those that come most and breaks no rule; but not always where it is so.
    pub(super) fn is_steady(&self, Event { at_tck, pin }: Event) -> bool {
        let Some(free_tck) = self.steady.as_ref().and_then(|steady| self.free_tck(steady, pin))
        else {
            return false;
        };
        let missing_tck = at_tck.saturating_sub(self.rules.burst);
        free_tck <= at_tck
            && self.last.is_none_or(|last| last.at_tck < at_tck)
            && self.due.iter().all(|due| missing_tck <= due.from_tck)
            && self.refresh_deadline().is_none_or(|deadline| at_tck <= deadline)
    }

    /// When one of them breaks no gate any more, if the banks are as it wants them and the chips obey it.
    fn free_tck(&self, steady: &Steady, pin: Pin) -> Option<u64> {
        let is_open = |bank: usize| self.open.get(bank).is_some_and(Option::is_some);
        match pin {
            Pin::Wr { bank, .. } if is_open(bank) => {
                let group = bank / self.rules.banks_per_group;
                Some(steady.all.max(steady.banks[bank]).max(steady.groups[group]))
            }
            _ if self.lock.is_locked() => None,
            Pin::RdAll { .. } if !self.open.iter().all(Option::is_some) => None,
            Pin::RdResult { bank } if bank >= self.open.len() => None,
            _ => of_pim(pin).map(|place| steady.pim[place]),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::pins::Driver;

    pub(in crate::pins) fn rules(locked: bool, t_refi: u64) -> Rules {
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
    pub(in crate::pins) struct Random(pub(in crate::pins) u64);

    impl Random {
        pub(in crate::pins) fn below(&mut self, n: u64) -> u64 {
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
            3 | 19 | 20 => Pin::ActAll { bank: 0, row: 2 },
            4 => Pin::Pre { bank },
            5 if random.below(4) == 0 => Pin::PreAll,
            6 => Pin::Ref,
            7 => Pin::Mrs { register: 1, opcode: 0 },
            8..=10 => Pin::RdAll { column: 3 },
            13..=15 => Pin::RdResult { bank },
            16..=18 => Pin::WrShared { word: 1 },
            11 => Pin::Rd { bank, column: 4 },
            12 if random.below(2) == 0 => Pin::WrAll { column: 6 },
            12 => Pin::Rd { bank, column: 4 },
            _ => Pin::Wr { bank, column: 5 },
        }
    }

    /// Random commands, some of which break rules and most of which are WRs, with their data, some of which do not
    /// come; both checkers find the same.
    #[test]
    fn nothing_is_overlooked() {
        let (mut steady, mut broken) = ([0; 4], 0);
        for seed in 0..400 {
            let mut random = Random(seed);
            let t_modch = (seed % 5 == 0).then_some(4);
            let rules = Rules { t_modch, ..rules(seed % 2 == 0, 200 + 40 * (seed % 7)) };
            let mut fast = PinChecker::new(rules.clone());
            let mut slow = PinChecker { steady: None, ..PinChecker::new(rules.clone()) };
            let (mut tck, mut data) = (0, Vec::new());
            let step = [2, 6, 12, 40][(seed % 4) as usize];
            for _ in 0..400 {
                tck += random.below(step) + u64::from(random.below(8) > 0);
                let pin = pin(&mut random);
                data.sort_unstable_by_key(|(from_tck, _)| *from_tck);
                let due = data.partition_point(|(from_tck, _)| *from_tck < tck);
                for (from_tck, driver) in data.drain(..due).collect::<Vec<_>>() {
                    let found = fast.data(from_tck, from_tck + 4, driver);
                    assert_eq!(found, slow.data(from_tck, from_tck + 4, driver));
                }
                let place = of_pim(pin).unwrap_or(3);
                steady[place] += u64::from(fast.is_steady(Event { at_tck: tck, pin }));
                let found = fast.command(tck, pin);
                assert_eq!(found, slow.command(tck, pin), "{pin} at {tck} of {seed}");
                broken += found.len();
                if let Some(driver) = pin.driver().filter(|_| random.below(50) > 0) {
                    data.push((tck + rules.latency(pin), driver));
                }
            }
            assert_eq!(fast.finish(tck + 100), slow.finish(tck + 100));
        }
        assert!(steady[3] > 5000 && steady.iter().all(|&count| count > 50), "{steady:?}");
        assert!(broken > 5000, "{broken}");
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
