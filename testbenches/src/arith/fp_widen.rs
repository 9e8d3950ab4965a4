// SPDX-License-Identifier: MIT
//! Bench of `fp_widen`: every result is the number that the operand is.

use super::plan::{CLASSES, class};
use super::{Golden, unary_oracle};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::exhaustive::{self, Exhaustive};
use pimlico_units::arith::{Format, FpWiden, FpWidenIn, FpWidenOut};

impl<F: Format, const STAGES: usize> Bench for FpWiden<F, STAGES> {
    fn plan(bins: &mut Bins) {
        bins.declare("operand", CLASSES);
    }

    fn cover(inputs: &[FpWidenIn<F>], _: &[FpWidenOut<F>], bins: &mut Bins) {
        for input in inputs {
            bins.hit("operand", class(input.a_i));
        }
    }

    fn oracle(inputs: &[FpWidenIn<F>], outputs: &[FpWidenOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| input.a_i.to_bits());
        let results = outputs.iter().map(|output| output.result_o.to_bits());
        unary_oracle(operands, results, STAGES, |a| golden.widen(a))
    }

    fn exhaustive() -> Option<Exhaustive> {
        exhaustive::unary::<Self>()
    }
}
