// SPDX-License-Identifier: MIT
//! Bench of `activation_window`: what may come is what `golden`'s sum over all activations says.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::window::Activations;
use pimlico_ports::U;
use pimlico_units::channel::{ActivationWindow, ActivationWindowIn, ActivationWindowOut};

const KINDS: [&str; 2] = ["ACT", "PIM_ACTIVATION"];
const DISTANCES: [&str; 4] = ["within the window", "tFAW", "tFAW + 1", "later"];
const WINDOWS: [&str; 4] = ["0 or 1", "up to 15", "up to 63", "up to 255"];

/// Banks that a cycle activates.
fn banks(input: &ActivationWindowIn) -> u64 {
    u64::from(input.act_i) + 4 * u64::from(input.pim_activation_i)
}

fn window(input: &ActivationWindowIn) -> usize {
    match input.faw_i {
        0..=1 => 0,
        2..=15 => 1,
        16..=63 => 2,
        64.. => 3,
    }
}

impl Bench for ActivationWindow {
    /// Checks all outputs in every cycle.
    fn oracle(
        inputs: &[ActivationWindowIn],
        outputs: &[ActivationWindowOut],
    ) -> Result<u64, OracleError> {
        let mut activations = Activations::new(inputs.first().map_or(0, |i| i.faw_i.into()));
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let expected = ActivationWindowOut {
                act_ready_o: activations.may_add(cycle, 1),
                pim_ready_o: activations.may_add(cycle, 4),
                used_o: U::new(activations.within(cycle)),
            };
            OracleError::unless_equal(cycle, output, &expected)?;
            if banks(input) > 0 {
                activations.add(cycle, banks(input));
            }
        }
        Ok(outputs.len() as u64)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("tFAW, activation", &WINDOWS, &KINDS);
        bins.cross("activation after activation", &KINDS, &KINDS);
        bins.cross(
            "ACT, distance to the fourth bank before",
            &DISTANCES,
            &["all ACTs", "of a PIM_ACTIVATION"],
        );
        bins.cross("PIM_ACTIVATION, distance to the bank before", &DISTANCES, &KINDS);
        // A fifth bank is never within the window.
        for second in 0..2 {
            bins.leave_out("ACT, distance to the fourth bank before", second);
            bins.leave_out("PIM_ACTIVATION, distance to the bank before", second);
        }
        bins.declare("banks in the window", (0..=4).map(|banks| banks.to_string()));
        bins.cross(
            "activation in the cycle in which tFAW is sampled",
            &["none", "ACT", "PIM_ACTIVATION"],
            &WINDOWS,
        );
    }

    fn cover(inputs: &[ActivationWindowIn], outputs: &[ActivationWindowOut], bins: &mut Bins) {
        let Some(first) = inputs.first() else { return };
        let faw = usize::from(first.faw_i);
        let kind = |input: &ActivationWindowIn| usize::from(input.pim_activation_i);
        let sort = match (first.act_i, first.pim_activation_i) {
            (true, _) => 1,
            (_, true) => 2,
            _ => 0,
        };
        bins.hit_cross("activation in the cycle in which tFAW is sampled", sort, window(first));
        let mut banks_before: Vec<(usize, usize)> = Vec::new(); // cycle and kind of each bank
        for (cycle, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            bins.hit("banks in the window", output.used_o.get() as usize);
            if banks(input) == 0 {
                continue;
            }
            bins.hit_cross("tFAW, activation", window(first), kind(input));
            let distance = |at: usize| match (cycle - at).checked_sub(faw) {
                None => 0,
                Some(0) => 1,
                Some(1) => 2,
                Some(_) => 3,
            };
            if let Some(&(at, before)) = banks_before.last() {
                bins.hit_cross("activation after activation", before, kind(input));
                if input.pim_activation_i {
                    bins.hit_cross(
                        "PIM_ACTIVATION, distance to the bank before",
                        distance(at),
                        before,
                    );
                }
            }
            if let Some([fourth, .., last]) = banks_before.last_chunk::<4>()
                && input.act_i
            {
                let is_pim = fourth.1 == 1 || last.1 == 1;
                let of = usize::from(is_pim);
                bins.hit_cross("ACT, distance to the fourth bank before", distance(fourth.0), of);
            }
            banks_before.extend((0..banks(input)).map(|_| (cycle, kind(input))));
        }
    }

    /// Leaves out what may not come. Some episodes are dense: what waits comes as soon as it may.
    fn arrange(inputs: &mut [ActivationWindowIn]) {
        let Some(first) = inputs.first_mut() else { return };
        let (habit, window) = (first.faw_i % 8, first.faw_i / 8);
        first.faw_i = match habit {
            0 => window % 2,
            1 | 2 => window % 16,
            3..=5 => 30,
            6 => 2 * window,
            _ => 255 - window,
        };
        let mut activations = Activations::new(first.faw_i.into());
        let (mut waits, mut pim_waits) = (false, false);
        for (cycle, input) in (0u64..).zip(inputs) {
            let is_dense = input.faw_i % 2 == 0 || cycle % 512 > 255;
            if is_dense {
                input.act_i |= waits;
                input.pim_activation_i |= pim_waits;
            }
            (waits, pim_waits) = (input.act_i, input.pim_activation_i);
            // Of two that wait, either goes first.
            let pim_first = input.faw_i & 4 == 0;
            let may = |banks| activations.may_add(cycle, banks);
            input.act_i &= may(1) && !(pim_first && input.pim_activation_i);
            input.pim_activation_i &= may(4) && !input.act_i;
            if input.act_i {
                waits = false;
            }
            if input.pim_activation_i {
                pim_waits = false;
            }
            if banks(input) > 0 {
                activations.add(cycle, banks(input));
            }
        }
    }
}
