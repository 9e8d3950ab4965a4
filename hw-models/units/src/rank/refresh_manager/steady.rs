// SPDX-License-Identifier: MIT
//! Cycles in which a refresh manager requests the same: the time to the next REF alone goes on.

use super::{PAUSE, RefreshManager, RefreshManagerOut};
use pimlico_ports::U;

impl<const MAX_POSTPONED: u32, const MARGIN: u32> RefreshManager<MAX_POSTPONED, MARGIN> {
    /// What it requests in this cycle.
    pub fn requests(&self, idle_i: bool) -> RefreshManagerOut {
        let Self { owed, left, head_ended, .. } = *self;
        let is_idle = idle_i && self.idle == PAUSE;
        let wanted = is_idle || head_ended || owed + 1 >= MAX_POSTPONED;
        RefreshManagerOut {
            refresh_o: owed > 0 && wanted,
            force_o: owed > MAX_POSTPONED || owed == MAX_POSTPONED && left < MARGIN,
            owed_o: U::new(owed.into()),
        }
    }

    /// Cycles from this one on in which what it requests stays as it is, if no head ends, no REF comes, and the rank is
    /// idle in all of them or in none. Not more than there are, but it may be fewer.
    pub fn steady_cycles(&self, idle_i: bool) -> u64 {
        if !self.configured {
            return 0;
        }
        let pause = if idle_i && self.idle < PAUSE { (PAUSE - self.idle).into() } else { u64::MAX };
        let due = if self.refi > 0 { u64::from(self.left).saturating_sub(1) } else { u64::MAX };
        let forced = match self.owed == MAX_POSTPONED && self.left >= MARGIN {
            true => u64::from(self.left - MARGIN),
            false => u64::MAX,
        };
        pause.min(due).min(forced)
    }

    /// So many of the [`steady_cycles`](Self::steady_cycles) go by.
    pub fn pass(&mut self, cycles: u64, idle_i: bool) {
        if cycles == 0 {
            return;
        }
        let idle = u64::from(self.idle).saturating_add(cycles).min(PAUSE.into());
        self.idle = if idle_i { idle as u8 } else { 0 };
        self.left = self.left.saturating_sub(cycles.try_into().unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::RefreshManagerIn;
    use pimlico_ports::Model;

    /// From states of all kinds: what goes by at once leaves what goes by cycle by cycle leaves, and requests the same.
    #[test]
    fn steady_cycles_go_by_at_once() {
        let mut jumps = 0;
        for (enable_i, idle_i) in [(true, false), (true, true), (false, true)] {
            let refi_i = U::new(300);
            let quiet = RefreshManagerIn { enable_i, refi_i, idle_i, ..Default::default() };
            let mut unit = RefreshManager::<8, 256>::new();
            for cycle in 0..8000u64 {
                let steady = unit.steady_cycles(idle_i);
                let cycles = steady.min(1 + cycle % 400);
                let (mut all, mut each) = (unit.clone(), unit.clone());
                all.pass(cycles, idle_i);
                for _ in 0..cycles {
                    assert_eq!(each.requests(idle_i), unit.requests(idle_i), "cycle {cycle}");
                    each.step(&quiet);
                }
                for _ in 0..20 {
                    assert_eq!(all.step(&quiet), each.step(&quiet), "cycle {cycle}");
                }
                jumps += u64::from(cycles > 1);
                unit.step(&RefreshManagerIn {
                    done_i: cycle % 3001 == 7,
                    head_end_i: cycle % 977 == 5,
                    idle_i: cycle % 50 < 25,
                    ..quiet
                });
            }
        }
        assert!(jumps > 8000, "{jumps}");
    }
}
