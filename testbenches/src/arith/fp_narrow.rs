// SPDX-License-Identifier: MIT
//! Bench of `fp_narrow`: every result is the operand, rounded once.

use super::plan::{self, CLASSES, class};
use super::{Golden, unary_oracle};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_units::arith::{Format, FpNarrow, FpNarrowIn, FpNarrowOut};

impl<F: Format, const STAGES: usize> Bench for FpNarrow<F, STAGES> {
    fn plan(bins: &mut Bins) {
        bins.declare("operand", CLASSES);
        plan::plan_results::<F>(bins);
        plan::plan_rounding(bins);
    }

    fn cover(inputs: &[FpNarrowIn<F>], outputs: &[FpNarrowOut<F>], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs.iter().skip(STAGES)) {
            bins.hit("operand", class(input.a_i));
            bins.hit("result", class(output.result_o));
            if let Some(a) = plan::magnitude(input.a_i) {
                plan::cover_rounding::<F>(a, bins);
            }
        }
    }

    fn oracle(inputs: &[FpNarrowIn<F>], outputs: &[FpNarrowOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| input.a_i.to_bits());
        let results = outputs.iter().map(|output| output.result_o.to_bits());
        unary_oracle(operands, results, STAGES, |a| golden.narrow(a))
    }
}
