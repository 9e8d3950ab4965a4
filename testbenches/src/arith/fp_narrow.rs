// SPDX-License-Identifier: MIT
//! Bench of `fp_narrow`: every result is the operand, rounded once.

use super::{Golden, unary_oracle};
use crate::{Bench, OracleError};
use pimlico_units::arith::{Format, FpNarrow, FpNarrowIn, FpNarrowOut};

impl<F: Format, const STAGES: usize> Bench for FpNarrow<F, STAGES> {
    fn oracle(inputs: &[FpNarrowIn<F>], outputs: &[FpNarrowOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| input.a_i.to_bits());
        let results = outputs.iter().map(|output| output.result_o.to_bits());
        unary_oracle(operands, results, STAGES, |a| golden.narrow(a))
    }
}
