// SPDX-License-Identifier: MIT
//! Bench of `fp_add`: every result is the exact sum, rounded once.

use super::plan::{self, CLASSES, class};
use super::{Golden, binary_oracle};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::exhaustive::{self, Binary, Exhaustive};
use pimlico_units::arith::{Format, FpAdd, FpAddIn, FpAddOut};

impl<F: Format, const STAGES: usize, const FAST: bool> Bench for FpAdd<F, STAGES, FAST>
where
    Self: Binary,
{
    /// Every eighth pair is one of corners: for random ones, some would take too long to meet.
    fn arrange(inputs: &mut [FpAddIn<F>]) {
        for input in inputs.iter_mut().step_by(plan::EVERY) {
            plan::to_corners(&mut input.a_i, &mut input.b_i);
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("operands", &CLASSES, &CLASSES);
        plan::plan_results::<F>(bins);
        plan::plan_sum::<F>(bins);
        bins.cross("distance of exponents, signs", &DISTANCES, &["like", "unlike"]);
    }

    fn cover(inputs: &[FpAddIn<F>], outputs: &[FpAddOut<F>], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs.iter().skip(STAGES)) {
            let (a, b) = (input.a_i, input.b_i);
            bins.hit_cross("operands", class(a), class(b));
            bins.hit("result", class(output.result_o));
            if let (Some(x), Some(y)) = (plan::magnitude(a), plan::magnitude(b)) {
                let unlike = (a.to_bits() ^ b.to_bits()) >> (F::WIDTH - 1) != 0;
                let distance = distance(x.exponent().abs_diff(y.exponent()), F::MAN_BITS);
                bins.hit_cross("distance of exponents, signs", distance, unlike.into());
                if let Some(sum) = plan::sum(x, y, unlike) {
                    plan::cover_rounding::<F>(sum, bins);
                }
            }
        }
    }

    fn oracle(inputs: &[FpAddIn<F>], outputs: &[FpAddOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| (input.a_i, input.b_i));
        let results = outputs.iter().map(|output| output.result_o);
        binary_oracle(operands, results, STAGES, |a, b| golden.add(a, b))
    }

    fn exhaustive() -> Option<Exhaustive> {
        exhaustive::binary::<Self>()
    }
}

const DISTANCES: [&str; 7] = [
    "0",
    "1",
    "more, all in the significand",
    "the last bit's",
    "the guard bit's",
    "the guard bit's and one",
    "more",
];

/// Of exponents, for significands with `man_bits` behind the point: an index of [`DISTANCES`].
fn distance(distance: u32, man_bits: u32) -> usize {
    match distance {
        0 | 1 => distance as usize,
        _ if distance < man_bits => 2,
        _ => (3 + distance - man_bits).min(6) as usize,
    }
}
