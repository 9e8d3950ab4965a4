// SPDX-License-Identifier: MIT
//! Bench of `fp_recip`: every result is the exact reciprocal, rounded once.

use super::plan::{CLASSES, class, plan_results};
use super::{Golden, unary_oracle};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::exhaustive::{self, Exhaustive};
use pimlico_units::arith::{Format, FpRecip, FpRecipIn, FpRecipOut};

impl<F: Format, const STAGES: usize> Bench for FpRecip<F, STAGES> {
    /// No reciprocal is the largest number: those of subnormal numbers are too far apart.
    fn plan(bins: &mut Bins) {
        bins.declare("operand", CLASSES);
        plan_results::<F>(bins);
        for largest in [9, 10] {
            bins.leave_out("result", largest);
        }
        bins.declare("infinity", ["of zero", "by overflow"]);
        if !F::SUBNORMALS {
            bins.leave_out("infinity", 1);
        }
    }

    fn cover(inputs: &[FpRecipIn<F>], outputs: &[FpRecipOut<F>], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs.iter().skip(STAGES)) {
            let (operand, result) = (class(input.a_i), class(output.result_o));
            bins.hit("operand", operand);
            bins.hit("result", result);
            if matches!(result, 1 | 2) {
                let is_zero = matches!(operand, 3 | 4) || !F::SUBNORMALS;
                bins.hit("infinity", usize::from(!is_zero));
            }
        }
    }

    fn oracle(inputs: &[FpRecipIn<F>], outputs: &[FpRecipOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| input.a_i.to_bits());
        let results = outputs.iter().map(|output| output.result_o.to_bits());
        unary_oracle(operands, results, STAGES, |a| golden.recip(a))
    }

    fn exhaustive() -> Option<Exhaustive> {
        exhaustive::unary::<Self>()
    }
}
