// SPDX-License-Identifier: MIT
//! Bench of `pim_dimm`: a host at the pins that loads and starts programs through the module's windows, polls, takes the pins
//! back, and has the chips as its memory in between.
//!
//! An episode is a DRAM with random timings and a few actions of the host, one after the other; what shrinks is their
//! list. The judge is made of two: the reference of `host_port` says what crosses from the host's side to the module, and
//! `golden` judges the module behind it, as in the benches of those units.

mod host;
mod judge;
mod plan;

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::module::pim_module::is_wide;
use host::Host;
use judge::Judge;
use pimlico_units::arith::Format;
use pimlico_units::module::{PimDimm, PimDimmIn, PimDimmOut};
use pimlico_units::rank::SequencedGear;
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};

/// tCK of an episode, at the most.
const EPISODE: usize = 8_000;
/// Actions of the host in it, at the most.
const ACTIONS: usize = 8;

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Bench
    for PimDimm<A, LATE, SCORES, G>
{
    fn episodes() -> BoxedStrategy<Vec<PimDimmIn>> {
        let drawn = (ANY.no_shrink(), vec(ANY.no_shrink(), 1..=ACTIONS));
        let inputs = |(seed, actions): (u64, Vec<u64>)| {
            let host = Host::new(seed, &actions, is_wide::<A>(), SCORES, G::TCK);
            host.inputs::<A, LATE, SCORES, G>(EPISODE)
        };
        drawn.prop_map(inputs).boxed()
    }

    fn plan(bins: &mut Bins) {
        plan::plan(bins);
    }

    fn cover(inputs: &[PimDimmIn], outputs: &[PimDimmOut], bins: &mut Bins) {
        if let Ok(judge) = judge::<A, LATE, SCORES, G>(inputs, outputs) {
            plan::cover(judge.runs(), judge.results(), &judge.seen, bins);
        }
    }

    fn oracle(inputs: &[PimDimmIn], outputs: &[PimDimmOut]) -> Result<u64, OracleError> {
        judge::<A, LATE, SCORES, G>(inputs, outputs).map(|judge| judge.checked())
    }
}

/// The judge behind an episode.
fn judge<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
    inputs: &[PimDimmIn],
    outputs: &[PimDimmOut],
) -> Result<Judge<A, LATE, SCORES, G>, OracleError> {
    let first = inputs.first().copied().unwrap_or_default();
    let mut judge = Judge::new(&first);
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
    use pimlico_units::arith::{Binary16, Binary32};
    use pimlico_units::gear::{DefaultGear, Gear1, Gear4};

    /// Results of runs that `golden` has judged in the model's episodes.
    fn judged<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        episodes: u64,
    ) -> u64 {
        let mut random = Random(11);
        let episode = |number| {
            let seed = random.next();
            let actions: Vec<u64> = (0..6).map(|_| random.next()).collect();
            let host = Host::new(seed, &actions, is_wide::<A>(), SCORES, G::TCK);
            let inputs = host.inputs::<A, LATE, SCORES, G>(EPISODE);
            let mut unit = PimDimm::<A, LATE, SCORES, G>::new();
            let outputs: Vec<_> = inputs.iter().map(|input| unit.step(input)).collect();
            match judge::<A, LATE, SCORES, G>(&inputs, &outputs) {
                Ok(judge) => judge.results(),
                Err(error) => panic!("episode {number}: {error}"),
            }
        };
        (0..episodes).map(episode).sum()
    }

    #[test]
    fn the_model_does_what_the_judges_expect() {
        assert!(judged::<Binary16, false, 131_072, DefaultGear>(4) > 1600);
        assert!(judged::<Binary16, false, 131_072, Gear1>(3) > 1100);
        assert!(judged::<Binary16, false, 131_072, Gear4>(4) > 1200);
        assert!(judged::<Binary32, true, 131_072, DefaultGear>(3) > 1100);
    }
}
