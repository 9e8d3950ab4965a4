// SPDX-License-Identifier: MIT
//! Bench of `pim_module`: a module with its rank under a host that writes and starts programs, gives
//! operands, and has the chips as its memory in between.
//!
//! An episode is a DRAM with random timings and a few actions of the host, one after the other: see
//! [`scenario`]. What shrinks is the list of actions. The judge is `golden`: see [`judge`].

pub(super) mod arrays;
pub(super) mod judge;
mod plan;
pub(super) mod programs;
pub(super) mod scenario;
mod taken;

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use judge::Judge;
use pimlico_units::arith::{Binary16, Format};
use pimlico_units::module::{PimModule, PimModuleIn, PimModuleOut};
use pimlico_units::rank::SequencedGear;
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};
use scenario::Scenario;

/// Beats of an episode, at the most.
const EPISODE: usize = 16_000;
/// Actions of the host in it, at the most.
const ACTIONS: usize = 16;
/// A tREFI that is longer than an episode.
const NEVER: u64 = (1 << 20) - 1;
/// Cycles of the core from the end of a tREFI to the PREA at a head's end. With 3 the REF becomes due in the
/// cycle in which the head ends, not too late for it, and too late to come before.
const BEFORE_PREA: [u64; 4] = [2, 3, 3, 4];

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Bench
    for PimModule<A, LATE, SCORES, G>
{
    fn episodes() -> BoxedStrategy<Vec<PimModuleIn>> {
        let drawn = (ANY.no_shrink(), vec(ANY.no_shrink(), 1..=ACTIONS));
        let inputs = |(seed, actions): (u64, Vec<u64>)| {
            let scenario = || Scenario::new(seed, &actions, is_wide::<A>(), SCORES, G::TCK);
            // In some episodes the first REF becomes due as a head ends, and operands of the next are waiting.
            let head_end = match seed % 3 {
                0 => scenario().with_refi(NEVER).head_end::<A, LATE, SCORES, G>(EPISODE),
                _ => None,
            };
            let scenario = match head_end {
                Some(tck) => {
                    let before = BEFORE_PREA[(seed >> 2) as usize % 4] * G::TCK as u64;
                    scenario().with_refi(tck - before)
                }
                None => scenario(),
            };
            scenario.inputs::<A, LATE, SCORES, G>(EPISODE)
        };
        drawn.prop_map(inputs).boxed()
    }

    fn plan(bins: &mut Bins) {
        plan::plan(bins);
    }

    fn cover(inputs: &[PimModuleIn], outputs: &[PimModuleOut], bins: &mut Bins) {
        plan::cover(inputs, outputs, G::TCK, bins);
    }

    fn oracle(inputs: &[PimModuleIn], outputs: &[PimModuleOut]) -> Result<u64, OracleError> {
        judge::<A, LATE, SCORES, G>(inputs, outputs).map(|judge| judge.checked)
    }
}

/// Whether sums have 32 bits.
pub(super) fn is_wide<A: Format>() -> bool {
    A::WIDTH > Binary16::WIDTH
}

/// The judge behind an episode.
fn judge<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
    inputs: &[PimModuleIn],
    outputs: &[PimModuleOut],
) -> Result<Judge, OracleError> {
    let first = inputs.first().copied().unwrap_or_default();
    let mut judge = Judge::new(&first, is_wide::<A>(), LATE, SCORES, G::TCK);
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
    use pimlico_dpa::types::Fault;
    use pimlico_ports::Model;
    use pimlico_units::arith::Binary32;
    use pimlico_units::gear::{DefaultGear, Gear1, Width as _};

    /// An episode with the outputs of the model.
    fn episode<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        random: &mut Random,
    ) -> (Vec<PimModuleIn>, Vec<PimModuleOut>) {
        let seed = random.next();
        let actions: Vec<u64> = (0..10).map(|_| random.next()).collect();
        let scenario = Scenario::new(seed, &actions, is_wide::<A>(), SCORES, G::TCK);
        let inputs = scenario.inputs::<A, LATE, SCORES, G>(EPISODE);
        let mut unit = PimModule::<A, LATE, SCORES, G>::new();
        let outputs = inputs.iter().map(|input| unit.step(input)).collect();
        (inputs, outputs)
    }

    /// What the judge of the model's runs has checked: results, and programs that it took up.
    fn judged<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>(
        episodes: u64,
    ) -> u64 {
        let mut random = Random(9);
        (0..episodes)
            .map(|number| {
                let (inputs, outputs) = episode::<A, LATE, SCORES, G>(&mut random);
                match judge::<A, LATE, SCORES, G>(&inputs, &outputs) {
                    Ok(judge) => judge.results,
                    Err(error) => panic!("episode {number}: {error}"),
                }
            })
            .sum()
    }

    #[test]
    fn the_model_computes_what_golden_does() {
        assert!(judged::<Binary16, false, 131_072, Gear1>(3) > 1200);
        assert!(judged::<Binary16, true, 64, DefaultGear>(3) > 550);
        assert!(judged::<Binary32, false, 64, DefaultGear>(3) > 600);
        assert!(judged::<Binary32, true, 131_072, DefaultGear>(3) > 700);
    }

    /// What the judge says where a fault is on the port from an output on, in place of what is there.
    fn judge_fault(
        (inputs, outputs): &(Vec<PimModuleIn>, Vec<PimModuleOut>),
        from: usize,
        fault: Fault,
    ) -> Result<u64, OracleError> {
        let mut outputs = outputs.clone();
        outputs[from..].iter_mut().for_each(|output| output.fault_o = fault);
        judge::<Binary16, false, 131_072, DefaultGear>(inputs, &outputs).map(|judge| judge.checked)
    }

    #[test]
    fn faults_are_neither_left_out_nor_made_up() {
        let mut random = Random(3);
        let mut overwritten = [0; 2]; // in the tCK of an RD_RESULT
        let mut others = 0;
        for _ in 0..400 {
            let seen = episode::<Binary16, false, 131_072, DefaultGear>(&mut random);
            let outputs = &seen.1;
            let judge = judge::<Binary16, false, 131_072, DefaultGear>(&seen.0, outputs);
            if judge.expect("model and judge agree").has_lost {
                continue;
            }
            let number = |what: &dyn Fn(&PimModuleOut) -> bool| outputs.iter().position(what);
            if let Some(at) = number(&|output| output.fault_o == Fault::Overwritten) {
                let reads = outputs[at - 1].events_o.results_taken;
                overwritten[usize::from(reads)] += 1;
                let error = judge_fault(&seen, at, Fault::None).expect_err("results are lost");
                assert_eq!(error.port, "fault_o");
            } else if number(&|output| output.fault_o != Fault::None).is_none()
                && let Some(read) = number(&|output| output.events_o.read)
            {
                others += 1;
                for fault in [Fault::Overwritten, Fault::NoPlace] {
                    let error = judge_fault(
                        &seen,
                        (read + 1).next_multiple_of(2 * DefaultGear::TCK),
                        fault,
                    )
                    .expect_err("no fault");
                    assert_eq!(error.port, "fault_o");
                }
            }
            if overwritten.iter().all(|count| *count > 0) && others > 5 {
                return;
            }
        }
        panic!("{overwritten:?}, {others}");
    }
}
