// SPDX-License-Identifier: MIT
//! Bench of `latency_estimator`: an estimate is the sum of the steps that `golden` takes.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::gemv::{Operation, Parts, estimate};
use pimlico_ports::U;
use pimlico_units::channel::{
    GUARD_TCK, LatencyEstimator, LatencyEstimatorIn, LatencyEstimatorOut,
};

/// Cycles from an operation to its answer.
const LATENCY: usize = 4;

const KINDS: [&str; 2] = ["GEMV", "GWRITE"];
const SLACKS: [&str; 5] =
    ["less", "one less than the estimate", "the estimate", "one more than the estimate", "more"];
const GAPS: [&str; 4] =
    ["back to back", "after a gap of 1", "after a gap of 2", "after a longer gap"];

/// The estimate of an operation, with the timings of the first cycle.
fn expected<const FILL: u64>(first: &LatencyEstimatorIn, input: &LatencyEstimatorIn) -> u64 {
    let parts = Parts {
        t_rtp: first.rtp_i.into(),
        t_rp: first.rp_i.into(),
        t_rcd: first.rcd_i.into(),
        t_faw: first.faw_i.into(),
        dot: first.dot_i.get(),
        fill: FILL,
        copy: first.copy_i.into(),
        guard: first.guard_i.into(),
    };
    let operation = match input.gwrite_i {
        true => Operation::Gwrite,
        false => Operation::Gemv {
            activations: input.activations_i.get(),
            count: input.count_i.get() + 1,
            results: input.results_i.get() + 1,
        },
    };
    estimate(&parts, input.precharges_i.get(), operation)
}

impl<const FILL: u64> Bench for LatencyEstimator<FILL> {
    /// Checks all outputs in every cycle; counts the estimates.
    fn oracle(
        inputs: &[LatencyEstimatorIn],
        outputs: &[LatencyEstimatorOut],
    ) -> Result<u64, OracleError> {
        let mut checked = 0;
        for (cycle, output) in outputs.iter().enumerate() {
            let asked = cycle.checked_sub(LATENCY).map(|asked| &inputs[asked]);
            let estimate = asked
                .filter(|input| input.valid_i)
                .map(|input| expected::<FILL>(&inputs[0], input));
            let answer = estimate.map_or_else(LatencyEstimatorOut::default, |estimate| {
                LatencyEstimatorOut {
                    valid_o: true,
                    estimate_o: U::new(estimate),
                    admit_o: estimate < inputs[cycle - 1].slack_i.get(),
                }
            });
            OracleError::unless_equal(cycle as u64, output, &answer)?;
            checked += u64::from(estimate.is_some());
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross(
            "operation after operation",
            &["GEMV, GEMV", "GEMV, GWRITE", "GWRITE, GEMV", "GWRITE, GWRITE"],
            &GAPS,
        );
        bins.cross("operation, slack", &KINDS, &SLACKS);
        bins.declare("dot products of a GEMV", (1..=32).map(|count| count.to_string()));
        bins.declare("activations of a GEMV", (0..=15).map(|count| count.to_string()));
        bins.declare("bursts of a GEMV", (1..=8).map(|count| count.to_string()));
        bins.cross("precharges", &["none", "one", "up to 32", "more"], &KINDS);
        bins.declare("operation in the cycle in which timings are sampled", KINDS);
    }

    fn cover(inputs: &[LatencyEstimatorIn], _: &[LatencyEstimatorOut], bins: &mut Bins) {
        let mut last: Option<(usize, usize)> = None;
        for (cycle, input) in inputs.iter().enumerate().filter(|(_, input)| input.valid_i) {
            let kind = usize::from(input.gwrite_i);
            if let Some((before, at)) = last {
                let gap = (cycle - at - 1).min(GAPS.len() - 1);
                bins.hit_cross("operation after operation", 2 * before + kind, gap);
            }
            last = Some((kind, cycle));
            if cycle == 0 {
                bins.hit("operation in the cycle in which timings are sampled", kind);
            }
            let precharges = match input.precharges_i.get() {
                few @ 0..=1 => few as usize,
                2..=32 => 2,
                _ => 3,
            };
            bins.hit_cross("precharges", precharges, kind);
            if kind == 0 {
                bins.hit("dot products of a GEMV", input.count_i.get() as usize);
                bins.hit("activations of a GEMV", input.activations_i.get() as usize);
                bins.hit("bursts of a GEMV", input.results_i.get() as usize);
            }
            if let Some(compared) = inputs.get(cycle + LATENCY - 1) {
                let estimate = expected::<FILL>(&inputs[0], input);
                let slack = compared.slack_i.get();
                let sort = match slack as i64 - estimate as i64 {
                    ..=-2 => 0,
                    near @ -1..=1 => (near + 2) as usize,
                    2.. => 4,
                };
                bins.hit_cross("operation, slack", kind, sort);
            }
        }
    }

    /// Most episodes have timings as they are, and most slacks are near the estimate that they are compared with.
    fn arrange(inputs: &mut [LatencyEstimatorIn]) {
        let Some(first) = inputs.first_mut() else { return };
        if first.slack_i.get() % 4 != 0 {
            (first.rtp_i, first.rp_i, first.rcd_i, first.faw_i) = (6, 14, 14, 30);
            (first.dot_i, first.copy_i, first.guard_i) =
                (U::new(2), 96, first.guard_i % (GUARD_TCK + 1));
        }
        let first = *first;
        for cycle in 0..inputs.len() {
            let asked = cycle.checked_sub(LATENCY - 1).map(|asked| inputs[asked]);
            let Some(asked) = asked.filter(|input| input.valid_i) else { continue };
            let draw = inputs[cycle].slack_i.get();
            let estimate = expected::<FILL>(&first, &asked);
            let near = match draw % 8 {
                0 => estimate.saturating_sub(1),
                1 => estimate,
                2 => estimate + 1,
                3 => draw / 8 % 512,
                4 => draw / 8 % (2 * estimate + 1),
                _ => draw,
            };
            inputs[cycle].slack_i = U::new(near);
        }
    }
}
