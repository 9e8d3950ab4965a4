// SPDX-License-Identifier: MIT
//! Bench of `fp_max`: every result is the larger operand.

use super::plan::{self, CLASSES, class};
use super::{Golden, binary_oracle};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::exhaustive::{self, Binary, Exhaustive};
use pimlico_units::arith::{Format, FpMax, FpMaxIn, FpMaxOut};

impl<F: Format, const STAGES: usize> Bench for FpMax<F, STAGES>
where
    Self: Binary,
{
    /// Every eighth pair is one of corners: for random ones, some would take too long to meet.
    fn arrange(inputs: &mut [FpMaxIn<F>]) {
        for input in inputs.iter_mut().step_by(plan::EVERY) {
            plan::to_corners(&mut input.a_i, &mut input.b_i);
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("operands", &CLASSES, &CLASSES);
        plan::plan_results::<F>(bins);
    }

    fn cover(inputs: &[FpMaxIn<F>], outputs: &[FpMaxOut<F>], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs.iter().skip(STAGES)) {
            let (a, b) = (input.a_i, input.b_i);
            bins.hit_cross("operands", class(a), class(b));
            bins.hit("result", class(output.result_o));
        }
    }

    fn oracle(inputs: &[FpMaxIn<F>], outputs: &[FpMaxOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| (input.a_i, input.b_i));
        let results = outputs.iter().map(|output| output.result_o);
        binary_oracle(operands, results, STAGES, |a, b| golden.max(a, b))
    }

    fn exhaustive() -> Option<Exhaustive> {
        exhaustive::binary::<Self>()
    }
}
