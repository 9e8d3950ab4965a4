// SPDX-License-Identifier: MIT
//! What a report has of LPDDR5X-PIM's own.

use pimlico_device::lp5::{BlockCounts, BlockFormats, GemvPlan, Lp5Spec};
use pimlico_host::lp5::{Asked, Lp5Matrix};
use serde::Serialize;

/// What every report says of the rules.
pub const RULES: &str =
    "the rules at the pins are of JESD79-4's kinds, with the numbers of LPDDR5X";

/// A product on LPDDR5X-PIM beside its plan and beside the host.
#[derive(Clone, Debug, Serialize)]
pub struct Lp5Report {
    /// Format of elements: `bfloat16` or `binary16`.
    pub elements: &'static str,
    /// ns that a fence takes beside the wait for data.
    pub fence_ns: u64,
    /// tCK by the closed form, with refresh and fences.
    pub plan_tck: f64,
    /// GB/s (10^9 bytes) of all channels' pins.
    pub host_gb_per_s: f64,
    /// How many times as fast as the host could read the weights, by the closed form.
    pub plan_speedup: f64,
    /// The same by the tCK that were counted.
    pub speedup: f64,
    /// MACs that each channel is asked for: 16 rows of a column in each bank.
    pub macs_asked: u64,
    /// MACs that arrived in each channel.
    pub macs: Vec<u64>,
}

impl Lp5Report {
    /// A product that took so many tCK.
    pub fn new(
        spec: &Lp5Spec,
        formats: BlockFormats,
        (refresh, fence_ns): (bool, u64),
        matrix: &Lp5Matrix,
        (tck, counts): (u64, &[BlockCounts]),
    ) -> Self {
        let (rows, columns) = matrix.layout().shape();
        let plan = GemvPlan::new(&spec.timing, matrix.layout());
        let fences_tck = (matrix.fences() * matrix.fence_tck()) as f64;
        let plan_tck =
            fences_tck + if refresh { plan.refreshed_tck(&spec.timing) } else { plan.tck() as f64 };
        let host_gb_per_s = spec.bus_gb_per_s();
        let host_ns = (2 * rows * columns) as f64 / host_gb_per_s;
        let times = |tck: f64| host_ns * 1000.0 / (tck * spec.tck_ps as f64);
        Self {
            elements: formats.elements.name(),
            fence_ns,
            plan_tck,
            host_gb_per_s,
            plan_speedup: times(plan_tck),
            speedup: times(tck as f64),
            macs_asked: matrix.asked().macs,
            macs: counts.iter().map(|counts| counts.macs).collect(),
        }
    }

    /// The first channel at which something else arrived than was asked for: its number, what, how many, and how many were asked for.
    pub fn unlike(asked: Asked, counts: &[BlockCounts]) -> Option<(usize, &'static str, u64, u64)> {
        let Asked { macs, inputs, outputs } = asked;
        counts.iter().enumerate().find_map(|(channel, found)| {
            let all = [
                ("MACs of channel", found.macs, macs),
                ("written input registers of channel", found.inputs, inputs),
                ("written output registers of channel", found.outputs, outputs),
                ("output registers read too early of channel", found.stale, 0),
                ("commands without a meaning of channel", found.faults, 0),
            ];
            let unlike = all.into_iter().find(|(_, found, asked)| found != asked);
            unlike.map(|(what, found, asked)| (channel, what, found, asked))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A MAC more or fewer, a register that is not written or read too early, in any channel.
    #[test]
    fn what_arrives_is_what_was_asked_for() {
        let asked = Asked { macs: 1024, inputs: 64, outputs: 1 };
        let right = BlockCounts { macs: 1024, inputs: 64, outputs: 1, stale: 0, faults: 0 };
        assert_eq!(Lp5Report::unlike(asked, &[right; 4]), None);
        for (channel, wrong, found) in [
            (0, BlockCounts { macs: 1023, ..right }, 1023),
            (3, BlockCounts { macs: 1025, ..right }, 1025),
            (1, BlockCounts { inputs: 63, ..right }, 63),
            (2, BlockCounts { outputs: 0, ..right }, 0),
            (2, BlockCounts { stale: 1, ..right }, 1),
            (0, BlockCounts { faults: 7, ..right }, 7),
        ] {
            let mut counts = [right; 4];
            counts[channel] = wrong;
            let unlike = Lp5Report::unlike(asked, &counts).expect("it is unlike");
            assert_eq!((unlike.0, unlike.2), (channel, found), "{unlike:?}");
        }
    }
}
