// SPDX-License-Identifier: MIT
//! Bench of `refresh_manager`: what is owed is what has fallen due by division less what was done, and
//! refresh is asked for as the policy says. That the REFs then come in time is for the test of manager
//! and controller together.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_ports::U;
use pimlico_units::rank::{RefreshManager, RefreshManagerIn, RefreshManagerOut};

/// Cycles of idleness before a REF is asked for.
const PAUSE: u64 = 16;

const ASKED: [&str; 3] = ["not", "where it does no harm", "now"];

impl<const MAX_POSTPONED: u32, const MARGIN: u32> Bench for RefreshManager<MAX_POSTPONED, MARGIN> {
    /// Some intervals are of any length: what the first draws say together.
    fn arrange(inputs: &mut [RefreshManagerIn]) {
        let draws = inputs.iter().take(3).map(|input| input.refi_i.get());
        let any = draws.fold(0, |any, draw| any << 7 | draw);
        if let Some(first) = inputs.first_mut().filter(|first| first.refi_i.get() % 8 == 7) {
            first.refi_i = U::new(any);
        }
        // Stretches in which the rank is idle.
        for cycle in 0..inputs.len() {
            inputs[cycle].idle_i |= inputs[cycle & !31].idle_i;
        }
    }

    fn plan(bins: &mut Bins) {
        bins.declare("REFs owed", (0..=15).map(|owed| owed.to_string()));
        bins.cross("asked for, state", &ASKED, &["busy", "idle"]);
        bins.cross("a REF is done, asked for", &["none owed", "one owed", "more owed"], &ASKED);
        for (owed, asked) in [(0, 1), (0, 2), (1, 2)] {
            bins.leave_out("a REF is done, asked for", owed * ASKED.len() + asked);
        }
        bins.cross("a head ends", &["none owed", "owed"], &["busy", "idle"]);
        bins.declare("configuration", ["refresh off", "a tREFI of 0", "refresh on"]);
    }

    fn cover(inputs: &[RefreshManagerIn], outputs: &[RefreshManagerOut], bins: &mut Bins) {
        if let Some(first) = inputs.first() {
            let on = if first.refi_i.get() == 0 { 1 } else { 2 };
            bins.hit("configuration", if first.enable_i { on } else { 0 });
        }
        for (input, output) in inputs.iter().zip(outputs) {
            let owed = output.owed_o.get() as usize;
            let asked = if output.force_o { 2 } else { usize::from(output.refresh_o) };
            bins.hit("REFs owed", owed);
            bins.hit_cross("asked for, state", asked, input.idle_i.into());
            if input.done_i {
                bins.hit_cross("a REF is done, asked for", owed.min(2), asked);
            }
            if input.head_end_i {
                bins.hit_cross("a head ends", usize::from(owed > 0), input.idle_i.into());
            }
        }
    }

    fn oracle(
        inputs: &[RefreshManagerIn],
        outputs: &[RefreshManagerOut],
    ) -> Result<u64, OracleError> {
        let Some(first) = inputs.first() else { return Ok(0) };
        let refi = Some(first.refi_i.get()).filter(|&refi| first.enable_i && refi > 0);
        // REFs done, and those that never can be as `owed_o` could not count them.
        let mut settled = 0;
        let (mut head_ended, mut idle) = (false, 0);
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let clock = cycle.saturating_sub(1);
            let due = refi.map_or(0, |refi| clock / refi);
            settled = due.saturating_sub(15).max(settled);
            let owed = due - settled;
            let left = refi.map_or(0, |refi| refi - clock % refi);
            let late = owed + 1 >= MAX_POSTPONED.into();
            let refresh = owed > 0 && (input.idle_i && idle >= PAUSE || head_ended || late);
            idle = if input.idle_i { idle + 1 } else { 0 };
            let postponed = owed.cmp(&MAX_POSTPONED.into());
            let force = postponed.is_gt() || postponed.is_eq() && left < MARGIN.into();
            let got = [output.refresh_o.into(), output.force_o.into(), output.owed_o.get() as u32];
            let expected = [refresh.into(), force.into(), owed as u32];
            let ports = ["refresh_o", "force_o", "owed_o"];
            for ((port, got), expected) in ports.into_iter().zip(got).zip(expected) {
                if got != expected {
                    let what = format!("{due} due, {settled} settled, {left} tCK to the next");
                    return Err(OracleError { cycle, port, got, expected, what });
                }
            }
            head_ended = owed > 0 && (head_ended || input.head_end_i);
            settled += u64::from(owed > 0 && input.done_i);
        }
        Ok(outputs.len() as u64)
    }
}
