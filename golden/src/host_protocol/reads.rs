// SPDX-License-Identifier: MIT
//! All-bank RDs on the chips' pins that follow each other, with no command of the host between them.
//!
//! **Why the first is enough.** The protocol binds an RD of the module by who owns the pins, and by how long ago the host gave
//! them away. Where nothing that the host has done shows later, the owner stays who it is; and where the first RD does not come
//! too soon, those behind it do not. What is found of the first is reported with it, and the next is judged by itself. So is
//! each where the host owns the pins: then an RD is the host's own if it is on its pins in the same tCK, as only the first can be.

use super::ownership::Owner;
use super::{HostChecker, HostViolation};
use crate::pins::Pin;

impl HostChecker {
    /// All-bank RDs of these columns on the chips' pins, the first in a tCK and each so many tCK behind the one before: as if
    /// [`chips`](Self::chips) had been called for each.
    pub fn reads(
        &mut self,
        from_tck: u64,
        every_tck: u64,
        columns: impl Iterator<Item = usize>,
    ) -> Vec<HostViolation> {
        let are_alike = every_tck > 0
            && self.ownership.is_settled(from_tck)
            && self.ownership.at(from_tck).owner() != Owner::Host;
        let mut violations = Vec::new();
        for (n, column) in (0..).zip(columns) {
            let at_tck = from_tck.saturating_add(every_tck.saturating_mul(n));
            let found = self.chips(at_tck, Pin::RdAll { column });
            if are_alike && found.is_empty() {
                break;
            }
            violations.extend(found);
        }
        violations
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{HostRules, WINDOW_ROW};
    use super::*;

    /// Numbers by a linear congruence.
    pub(in crate::host_protocol) struct Random(pub(in crate::host_protocol) u64);

    impl Random {
        pub(in crate::host_protocol) fn below(&mut self, n: u64) -> u64 {
            let factor = 6_364_136_223_846_793_005;
            self.0 = self.0.wrapping_mul(factor).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    /// A module whose chips' pins are told.
    pub(in crate::host_protocol) fn rules(poll: Option<u64>) -> HostRules {
        HostRules {
            banks_per_group: 4,
            burst: 4,
            cl: 22,
            cwl: 16,
            t_rp: 22,
            t_rfc: 560,
            chips: true,
            poll,
        }
    }

    /// Hosts that have given the pins away or not, long ago or not, with commands that did not reach the chips: of RDs the same
    /// is found as of each, and nothing else is left behind them.
    #[test]
    fn reads_are_what_their_commands_are() {
        let (mut clean, mut broken) = (0, 0);
        for seed in 0..4000 {
            let mut random = Random(seed);
            let rules = rules(None);
            let mut both = [(); 2].map(|()| HostChecker::new(rules.clone()));
            let mut tck = 10;
            for n in 0..random.below(5) {
                let mut see = |at_tck, pin, on_chips| {
                    both.iter_mut().for_each(|checker| {
                        checker.command(at_tck, pin);
                        if on_chips {
                            checker.chips(at_tck, pin);
                        }
                    });
                };
                match random.below(4) {
                    choice if choice == 0 || n == 0 => {
                        // A START.
                        see(tck, Pin::Act { bank: 4, row: WINDOW_ROW }, true);
                        see(tck + 30, Pin::Wr { bank: 4, column: 0 }, true);
                        let words = [2, 0, 0, 0, 0, 0, 0, 0];
                        for checker in &mut both {
                            checker.write_data(tck + 45, words);
                        }
                        tck += 50;
                    }
                    1 | 2 => see(tck, Pin::PreAll, random.below(4) > 0),
                    _ => see(tck, Pin::RdAll { column: 0 }, random.below(4) > 0),
                }
                tck += random.below(40);
            }
            let (every_tck, count) = (random.below(10), random.below(20) as usize);
            let columns = (0..count).map(|n| n % 2);
            let found = both[0].reads(tck, every_tck, columns.clone());
            let each = (0..)
                .zip(columns)
                .flat_map(|(n, column)| both[1].chips(tck + n * every_tck, Pin::RdAll { column }));
            assert_eq!(found, each.collect::<Vec<_>>(), "{seed}");
            *(if found.is_empty() { &mut clean } else { &mut broken }) += 1;
            assert_eq!(format!("{:?}", both[0]), format!("{:?}", both[1]), "{seed}");
        }
        assert!(clean > 500 && broken > 500, "{clean} {broken}");
    }
}
