// SPDX-License-Identifier: MIT
//! The rank PU's refresh manager: counts the REFs that fall due and says when one is wanted, so
//! that the rank refreshes between heads, or when idle, or at a row switch, and only at last by
//! force.
//!
//! Twin of `rtl/rank/refresh_manager.sv`; this header is the contract of both.
//!
//! A clock is one tCK. In the first clock after reset `enable_i` and `refi_i` (tREFI) are latched;
//! a tREFI of 0 switches refresh off like `enable_i` = 0. From the second clock on, called clock 0
//! here, a REF falls due at every multiple of tREFI but 0, and each `done_i` pays one back:
//!
//! ```text
//! clock      0  ...  R-1  R    R+1  ...  R+5  R+6            R = tREFI, rank idle from R+1 on
//! owed_o     0       0    1    1         1    0
//! idle_i     0       0    0    1         1    1
//! refresh_o  0       0    0    1         1    0              refresh_o follows idle_i at once
//! done_i                                 1                   the REF is on the pins
//! ```
//!
//! A `done_i` while nothing is owed does not count: REFs are not pulled in. A REF that falls due as
//! another is done leaves `owed_o` as it is. `owed_o` stops at 15: so many are lost anyway.
//!
//! JESD79-4 allows 8 REFs to be postponed at any time: at the multiple of tREFI where the ninth
//! falls due, the first must have come. So `owed_o` = `MAX_POSTPONED` may stand until the next
//! falls due.
//!
//! * `refresh_o`, a REF where it does no harm, while any is owed and
//!   * `idle_i` is set; or
//!   * a `head_end_i` was seen (in an earlier clock) since `owed_o` was last 0, so that all that is
//!     owed is caught up on; or
//!   * `owed_o` is `MAX_POSTPONED` - 1 or more, so that a row switch can take it: there is a whole
//!     tREFI in which one may come.
//! * `force_o`, a REF now, while `owed_o` is `MAX_POSTPONED` and fewer than `MARGIN` clocks remain
//!   until the next falls due (in the last clock before it, one clock remains), or `owed_o` is more.
//!
//! `MARGIN` must cover what the rank controller needs from `force_o` to the REF: the longest wait
//! before PRE, tRP, and three clocks for its registers. 256 does for every preset; with a tREFI
//! below it `force_o` is set as soon as `MAX_POSTPONED` are owed.

use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A refresh manager.
    unit RefreshManager: "refresh_manager" {
        inputs RefreshManagerIn {
            /// Refresh is on. Latched in the first clock, as is `refi_i`.
            enable_i: bool => all_but_one_in(16),
            /// tREFI.
            refi_i: U<20> => |entropy: &[u64]| U::new(entropy[0] % 128),
            /// A head is done.
            head_end_i: bool => one_in(128),
            /// The rank has nothing to do.
            idle_i: bool => one_in(4),
            /// A REF is on the pins.
            done_i: bool => one_in(48),
        }
        outputs RefreshManagerOut {
            /// A REF is wanted, where it does no harm.
            refresh_o: bool,
            /// A REF is wanted now.
            force_o: bool,
            /// REFs that are due.
            owed_o: U<4>,
        }
        probes RefreshManagerProbe {}
    }
}

/// The most that `owed_o` can tell.
const MOST_OWED: u32 = 15;

/// The model of a refresh manager.
#[derive(Clone)]
pub struct RefreshManager<const MAX_POSTPONED: u32 = 8, const MARGIN: u32 = 256> {
    configured: bool,
    /// tREFI, 0 where refresh is off.
    refi: u32,
    /// Clocks until the next REF falls due.
    left: u32,
    owed: u32,
    head_ended: bool,
}

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

impl<const MAX_POSTPONED: u32, const MARGIN: u32> Model for RefreshManager<MAX_POSTPONED, MARGIN> {
    fn new() -> Self {
        Self { configured: false, refi: 0, left: 0, owed: 0, head_ended: false }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        RefreshManagerProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let Self { owed, left, head_ended, .. } = *self;
        let wanted = input.idle_i || head_ended || owed + 1 >= MAX_POSTPONED;
        let output = RefreshManagerOut {
            refresh_o: owed > 0 && wanted,
            force_o: owed > MAX_POSTPONED || owed == MAX_POSTPONED && left < MARGIN,
            owed_o: U::new(owed.into()),
        };

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
        for clock in 0..12 * REFI {
            let (owed, left) = (clock / REFI, REFI - clock % REFI);
            let force = owed > 8 || owed == 8 && left < 256;
            assert_eq!(step(&mut unit, |_| ()), (owed >= 7, force, owed), "clock {clock}");
        }
    }

    #[test]
    fn it_refreshes_when_idle_and_after_a_head() {
        let mut unit = configured();
        let busy = |unit: &mut _, clocks| {
            for _ in 0..clocks {
                step(unit, |_| ());
            }
        };
        busy(&mut unit, 2 * REFI);
        assert_eq!(step(&mut unit, |_| ()), (false, false, 2));
        assert_eq!(step(&mut unit, |input| input.idle_i = true), (true, false, 2));
        assert_eq!(step(&mut unit, |_| ()), (false, false, 2));
        assert_eq!(step(&mut unit, |input| input.head_end_i = true), (false, false, 2));
        assert_eq!(step(&mut unit, |input| input.done_i = true), (true, false, 2));
        assert_eq!(step(&mut unit, |input| input.done_i = true), (true, false, 1));
        assert_eq!(step(&mut unit, |input| input.idle_i = true), (false, false, 0));
        // The head's end is forgotten, and so is one that comes while nothing is owed.
        assert_eq!(step(&mut unit, |input| input.head_end_i = true), (false, false, 0));
        busy(&mut unit, REFI);
        assert_eq!(step(&mut unit, |_| ()), (false, false, 1));
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
