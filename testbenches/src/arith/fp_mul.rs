// SPDX-License-Identifier: MIT
//! Bench of `fp_mul`: every result is the exact product, rounded once.

use super::plan::{self, CLASSES, class};
use super::{Golden, binary_oracle};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::exhaustive::{self, Binary, Exhaustive};
use pimlico_units::arith::{Format, FpMul, FpMulIn, FpMulOut};

impl<F: Format, const STAGES: usize, const FAST: u8> Bench for FpMul<F, STAGES, FAST>
where
    Self: Binary,
{
    /// Every eighth pair is one of corners: for random ones, some would take too long to meet.
    fn arrange(inputs: &mut [FpMulIn<F>]) {
        for input in inputs.iter_mut().step_by(plan::EVERY) {
            plan::to_corners(&mut input.a_i, &mut input.b_i);
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("operands", &CLASSES, &CLASSES);
        plan::plan_results::<F>(bins);
        plan::plan_rounding(bins);
    }

    fn cover(inputs: &[FpMulIn<F>], outputs: &[FpMulOut<F>], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs.iter().skip(STAGES)) {
            let (a, b) = (input.a_i, input.b_i);
            bins.hit_cross("operands", class(a), class(b));
            bins.hit("result", class(output.result_o));
            if let (Some(a), Some(b)) = (plan::magnitude(a), plan::magnitude(b)) {
                plan::cover_rounding::<F>(plan::product(a, b), bins);
            }
        }
    }

    fn oracle(inputs: &[FpMulIn<F>], outputs: &[FpMulOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| (input.a_i, input.b_i));
        let results = outputs.iter().map(|output| output.result_o);
        binary_oracle(operands, results, STAGES, |a, b| golden.mul(a, b))
    }

    fn exhaustive() -> Option<Exhaustive> {
        exhaustive::binary::<Self>()
    }
}
