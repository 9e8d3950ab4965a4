// SPDX-License-Identifier: MIT
//! Bench of `aim_channel`: a channel under a hub that sends commands and words, with cell arrays at its pins.
//!
//! An episode is a DRAM with random timings and a few actions of the hub, one after the other: see
//! [`scenario`]. What shrinks is the list of actions. The judge knows nothing of numbers and conditions: see
//! [`judge`].

pub(crate) mod judge;
mod plan;
mod program;
pub(crate) mod scenario;

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use judge::Judge;
use pimlico_units::channel::{AimChannel, AimChannelIn, AimChannelOut};
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};

/// Cycles of an episode, at the most.
const EPISODE: usize = 4000;
/// Actions of the hub in it, at the most.
const ACTIONS: usize = 60;

impl<const PINGPONG: bool> Bench for AimChannel<PINGPONG> {
    fn episodes() -> BoxedStrategy<Vec<AimChannelIn>> {
        let drawn = (ANY.no_shrink(), vec(ANY.no_shrink(), 1..=ACTIONS));
        let inputs = |(seed, actions): (u64, Vec<u64>)| {
            scenario::inputs::<PINGPONG>(seed, &actions, EPISODE)
        };
        drawn.prop_map(inputs).boxed()
    }

    fn plan(bins: &mut Bins) {
        plan::plan(PINGPONG, bins);
    }

    fn cover(inputs: &[AimChannelIn], outputs: &[AimChannelOut], bins: &mut Bins) {
        plan::cover(inputs, outputs, bins);
    }

    fn oracle(inputs: &[AimChannelIn], outputs: &[AimChannelOut]) -> Result<u64, OracleError> {
        let first = inputs.first().copied().unwrap_or_default();
        let mut judge = Judge::new(&first, PINGPONG);
        for (input, output) in inputs.iter().zip(outputs) {
            judge.cycle(input, output)?;
        }
        judge.end()?;
        Ok(judge.checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use pimlico_ports::Model;

    /// What the judge of the model's runs has checked.
    fn judged<const PINGPONG: bool>(episodes: u64) -> u64 {
        let mut random = Random(7);
        let mut checked = 0;
        for number in 0..episodes {
            let seed = random.next();
            let actions: Vec<u64> = (0..random.below(60) + 1).map(|_| random.next()).collect();
            let inputs = scenario::inputs::<PINGPONG>(seed, &actions, EPISODE);
            let mut unit = AimChannel::<PINGPONG>::new();
            let outputs: Vec<_> = inputs.iter().map(|input| unit.step(input)).collect();
            match AimChannel::<PINGPONG>::oracle(&inputs, &outputs) {
                Ok(more) => checked += more,
                Err(error) => panic!("episode {number}: {error}"),
            }
        }
        checked
    }

    #[test]
    fn the_model_keeps_what_the_judge_knows() {
        let checked = [judged::<true>(100), judged::<false>(100)];
        assert!(checked.iter().all(|checked| *checked > 20_000), "{checked:?}");
    }
}
