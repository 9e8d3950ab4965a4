// SPDX-License-Identifier: MIT
//! Bench of `aim_hub`: a hub with two channels under a host that writes columns and programs, starts them, and gives
//! words, with cell arrays and the memories of the hub around it.
//!
//! What shrinks is the list of the host's actions. The judge executes what `golden::dispatch` dispatches, command by
//! command: see [`judge`].

mod host;
mod judge;
mod memories;
mod plan;
mod program;

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use judge::Judge;
use pimlico_units::module::{AimHub, AimHubIn, AimHubOut};
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};

/// Channels.
const CHANNELS: usize = 2;
/// Cycles of an episode, at the most.
const EPISODE: usize = 6000;
/// Actions of the host in it, at the most.
const ACTIONS: usize = 6;

impl<const PINGPONG: bool> Bench for AimHub<PINGPONG> {
    fn episodes() -> BoxedStrategy<Vec<AimHubIn>> {
        let drawn = (ANY.no_shrink(), vec(ANY.no_shrink(), 1..=ACTIONS));
        let inputs =
            |(seed, actions): (u64, Vec<u64>)| host::inputs::<PINGPONG>(seed, &actions, EPISODE);
        drawn.prop_map(inputs).boxed()
    }

    fn plan(bins: &mut Bins) {
        plan::plan(bins);
    }

    fn cover(inputs: &[AimHubIn], outputs: &[AimHubOut], bins: &mut Bins) {
        plan::cover(inputs, outputs, bins);
    }

    fn oracle(inputs: &[AimHubIn], outputs: &[AimHubOut]) -> Result<u64, OracleError> {
        let first = inputs.first().copied().unwrap_or_default();
        let mut judge = Judge::new(&first, PINGPONG);
        for (input, output) in inputs.iter().zip(outputs) {
            judge.cycle(input, output)?;
        }
        Ok(judge.checked)
    }
}
