// SPDX-License-Identifier: MIT
//! Refresh manager of the rank PU: counts the REFs due, requests them.

use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A refresh manager.
    unit RefreshManager: "refresh_manager" {
        inputs RefreshManagerIn {
            /// Refresh is enabled; sampled in the first cycle after reset.
            enable_i: bool => all_but_one_in(16),
            /// tREFI, in cycles; sampled in the first cycle after reset.
            refi_i: U<20> => |entropy: &[u64]| U::new(entropy[0] % 128),
            /// A head ends.
            head_end_i: bool => one_in(128),
            /// The rank is idle.
            idle_i: bool => one_in(4),
            /// A REF is on the pins.
            done_i: bool => one_in(48),
        }
        outputs RefreshManagerOut {
            /// A REF is requested, where it costs no bandwidth.
            refresh_o: bool,
            /// A REF is requested now.
            force_o: bool,
            /// REFs that are due.
            owed_o: U<4>,
        }
        probes RefreshManagerProbe {}
    }
}

/// The value at which `owed_o` saturates.
const MOST_OWED: u32 = 15;

/// The cycle model of a refresh manager.
///
#[doc = contract!("rank/refresh_manager")]
#[derive(Clone, PartialEq)]
pub struct RefreshManager<const MAX_POSTPONED: u32 = 8, const MARGIN: u32 = 256> {
    configured: bool,
    /// tREFI, 0 where refresh is off.
    refi: u32,
    /// Cycles until the next REF becomes due.
    left: u32,
    owed: u32,
    /// Cycles in which the rank has been idle, up to [`PAUSE`].
    idle: u8,
    head_ended: bool,
}

/// Cycles of idleness after which a REF costs nothing: longer than a pause between two sums.
const PAUSE: u8 = 16;

impl<const MAX_POSTPONED: u32, const MARGIN: u32> Unit for RefreshManager<MAX_POSTPONED, MARGIN> {
    const MODULE: &'static str = "refresh_manager";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("MAX_POSTPONED", MAX_POSTPONED as i64), ("MARGIN", MARGIN as i64)];
    type In = RefreshManagerIn;
    type Out = RefreshManagerOut;
    type Probe = RefreshManagerProbe;

    fn variant() -> String {
        match (MAX_POSTPONED, MARGIN) {
            (8, 256) => String::new(),
            _ => format!("postponed{MAX_POSTPONED}_margin{MARGIN}"),
        }
    }
}

impl<const MAX_POSTPONED: u32, const MARGIN: u32> RefreshManager<MAX_POSTPONED, MARGIN> {
    /// So many cycles in which the rank is idle and no REF is on the pins, behind the first one after reset.
    pub fn rest(&mut self, cycles: u64) {
        if cycles == 0 {
            return;
        }
        debug_assert!(self.configured, "refi_i is sampled in a cycle of its own");
        self.idle = (u64::from(self.idle) + cycles).min(PAUSE.into()) as u8;
        // A head's end is kept by a REF that is owed in the first of them: later ones do not bring it back.
        self.head_ended &= self.owed > 0;
        let (left, refi) = (u64::from(self.left), u64::from(self.refi));
        if cycles < left || left == 0 {
            self.left -= cycles.min(left) as u32;
            return;
        }
        let due = 1 + (cycles - left) / refi;
        self.left = (refi - (cycles - left) % refi) as u32;
        self.owed = (u64::from(self.owed) + due).min(MOST_OWED.into()) as u32;
    }
}

impl<const MAX_POSTPONED: u32, const MARGIN: u32> Model for RefreshManager<MAX_POSTPONED, MARGIN> {
    fn new() -> Self {
        Self { configured: false, refi: 0, left: 0, owed: 0, idle: 0, head_ended: false }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        RefreshManagerProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let Self { owed, left, head_ended, .. } = *self;
        let output = self.requests(input.idle_i);
        self.idle = if input.idle_i { PAUSE.min(self.idle + 1) } else { 0 };

        if !self.configured {
            self.configured = true;
            self.refi = if input.enable_i { input.refi_i.get() as u32 } else { 0 };
            self.left = self.refi;
            return output;
        }
        self.head_ended = owed > 0 && (head_ended || input.head_end_i);
        let due = left == 1;
        self.left = if due { self.refi } else { left.saturating_sub(1) };
        let done = input.done_i && owed > 0;
        self.owed = (owed + u32::from(due) - u32::from(done)).min(MOST_OWED);
        output
    }
}

mod laps;
mod steady;

#[cfg(test)]
mod tests {
    use super::*;

    const REFI: u64 = 300;

    fn step<const P: u32, const M: u32>(
        unit: &mut RefreshManager<P, M>,
        change: impl FnOnce(&mut RefreshManagerIn),
    ) -> (bool, bool, u64) {
        let mut input =
            RefreshManagerIn { enable_i: true, refi_i: U::new(REFI), ..Default::default() };
        change(&mut input);
        let RefreshManagerOut { refresh_o, force_o, owed_o } = unit.step(&input);
        (refresh_o, force_o, owed_o.get())
    }

    fn configured() -> RefreshManager {
        let mut unit = RefreshManager::new();
        step(&mut unit, |_| ());
        unit
    }

    #[test]
    fn it_postpones_to_the_last_moment() {
        let mut unit = configured();
        for cycle in 0..12 * REFI {
            let (owed, left) = (cycle / REFI, REFI - cycle % REFI);
            let force = owed > 8 || owed == 8 && left < 256;
            assert_eq!(step(&mut unit, |_| ()), (owed >= 7, force, owed), "cycle {cycle}");
        }
    }

    #[test]
    fn it_refreshes_when_idle_and_after_a_head() {
        let mut unit = configured();
        let busy = |unit: &mut _, cycles| {
            for _ in 0..cycles {
                step(unit, |_| ());
            }
        };
        busy(&mut unit, 2 * REFI);
        assert_eq!(step(&mut unit, |_| ()), (false, false, 2));
        for _ in 0..PAUSE {
            assert_eq!(step(&mut unit, |input| input.idle_i = true), (false, false, 2));
        }
        assert_eq!(step(&mut unit, |input| input.idle_i = true), (true, false, 2));
        assert_eq!(step(&mut unit, |_| ()), (false, false, 2));
        assert_eq!(step(&mut unit, |input| input.head_end_i = true), (false, false, 2));
        assert_eq!(step(&mut unit, |input| input.done_i = true), (true, false, 2));
        assert_eq!(step(&mut unit, |input| input.done_i = true), (true, false, 1));
        assert_eq!(step(&mut unit, |input| input.idle_i = true), (false, false, 0));
        // The head's end is cleared, and one that comes while no REF is due has no effect.
        assert_eq!(step(&mut unit, |input| input.head_end_i = true), (false, false, 0));
        busy(&mut unit, REFI);
        assert_eq!(step(&mut unit, |_| ()), (false, false, 1));
    }

    #[test]
    fn cycles_of_rest_are_cycles_of_an_idle_rank() {
        for (refi, busy, rest) in (0..400).map(|n| (n % 7, n * 3 % 50, n * n % 61)) {
            let idle = RefreshManagerIn {
                enable_i: busy % 2 == 1 || refi > 2,
                refi_i: U::new(refi),
                idle_i: true,
                ..Default::default()
            };
            let mut each = RefreshManager::<8, 256>::new();
            for cycle in 0..=busy {
                let head_end_i = cycle % 11 == 5;
                let idle_i = cycle % 5 < 3;
                each.step(&RefreshManagerIn {
                    head_end_i,
                    idle_i,
                    done_i: cycle % 13 == 7,
                    ..idle
                });
            }
            let mut all = each.clone();
            for _ in 0..rest {
                each.step(&idle);
            }
            all.rest(rest);
            for _ in 0..20 {
                assert_eq!(all.step(&idle), each.step(&idle), "{refi} {busy} {rest}");
            }
        }
    }

    #[test]
    fn a_ref_that_is_not_owed_does_not_count() {
        let mut unit = configured();
        for _ in 0..REFI {
            assert_eq!(step(&mut unit, |input| input.done_i = true).2, 0);
        }
        // The last of them came as one fell due.
        assert_eq!(step(&mut unit, |_| ()).2, 1);
    }

    #[test]
    fn switched_off_it_owes_nothing() {
        for (enable_i, refi) in [(false, 1), (true, 0)] {
            let mut unit = RefreshManager::<8, 256>::new();
            for _ in 0..1000 {
                let output = step(&mut unit, |input| {
                    (input.enable_i, input.refi_i) = (enable_i, U::new(refi));
                });
                assert_eq!(output, (false, false, 0));
            }
        }
    }
}
