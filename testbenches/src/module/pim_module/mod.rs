// SPDX-License-Identifier: MIT
//! Bench of `pim_module`: a module with its rank under a host that writes and starts programs, gives
//! operands, and has the chips as its memory in between.
//!
//! An episode is a DRAM with random timings and a few actions of the host, one after the other: see
//! [`scenario`]. What shrinks is the list of actions. The judge is `golden`: see [`judge`].

mod arrays;
mod judge;
mod plan;
mod programs;
mod scenario;

use crate::coverage::Bins;
use crate::{Bench, OracleError};
use judge::Judge;
use pimlico_units::arith::{Binary16, Format};
use pimlico_units::module::{PimModule, PimModuleIn, PimModuleOut};
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};
use scenario::Scenario;

/// Beats of an episode, at the most.
const EPISODE: usize = 16_000;
/// Actions of the host in it, at the most.
const ACTIONS: usize = 16;

impl<A: Format, const LATE: bool, const SCORES: usize> Bench for PimModule<A, LATE, SCORES> {
    fn episodes() -> BoxedStrategy<Vec<PimModuleIn>> {
        let drawn = (ANY.no_shrink(), vec(ANY.no_shrink(), 1..=ACTIONS));
        let inputs = |(seed, actions): (u64, Vec<u64>)| {
            let scenario = Scenario::new(seed, &actions, is_wide::<A>(), SCORES);
            scenario.inputs::<A, LATE, SCORES>(EPISODE)
        };
        drawn.prop_map(inputs).boxed()
    }

    fn plan(bins: &mut Bins) {
        plan::plan(bins);
    }

    fn cover(inputs: &[PimModuleIn], outputs: &[PimModuleOut], bins: &mut Bins) {
        plan::cover(inputs, outputs, bins);
    }

    fn oracle(inputs: &[PimModuleIn], outputs: &[PimModuleOut]) -> Result<u64, OracleError> {
        judge::<A, LATE, SCORES>(inputs, outputs).map(|judge| judge.checked)
    }
}

fn is_wide<A: Format>() -> bool {
    A::WIDTH > Binary16::WIDTH
}

/// The judge behind an episode.
fn judge<A: Format, const LATE: bool, const SCORES: usize>(
    inputs: &[PimModuleIn],
    outputs: &[PimModuleOut],
) -> Result<Judge, OracleError> {
    let first = inputs.first().copied().unwrap_or_default();
    let mut judge = Judge::new(&first, is_wide::<A>(), LATE, SCORES);
    for (tck, (inputs, outputs)) in (0..).zip(inputs.chunks(2).zip(outputs.chunks(2))) {
        judge.tck(2 * tck, inputs, outputs)?;
    }
    judge.end(inputs.len() as u64)?;
    Ok(judge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use pimlico_ports::Model;
    use pimlico_units::arith::Binary32;

    /// What the judge of the model's runs has checked: results, and programs that it took up.
    fn judged<A: Format, const LATE: bool, const SCORES: usize>(episodes: u64) -> u64 {
        let mut random = Random(9);
        (0..episodes)
            .map(|_| {
                let seed = random.next();
                let actions: Vec<u64> = (0..10).map(|_| random.next()).collect();
                let scenario = Scenario::new(seed, &actions, is_wide::<A>(), SCORES);
                let inputs = scenario.inputs::<A, LATE, SCORES>(EPISODE);
                let mut unit = PimModule::<A, LATE, SCORES>::new();
                let outputs: Vec<_> = inputs.iter().map(|input| unit.step(input)).collect();
                match judge::<A, LATE, SCORES>(&inputs, &outputs) {
                    Ok(judge) => judge.results,
                    Err(error) => panic!("seed {seed:#x}, actions {actions:x?}: {error}"),
                }
            })
            .sum()
    }

    #[test]
    fn the_model_computes_what_golden_does() {
        assert!(judged::<Binary16, false, 131_072>(6) > 2000);
        assert!(judged::<Binary16, true, 64>(6) > 2000);
        assert!(judged::<Binary32, false, 64>(6) > 2000);
        assert!(judged::<Binary32, true, 131_072>(6) > 2000);
    }
}
