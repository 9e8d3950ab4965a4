// SPDX-License-Identifier: MIT
//! Bench of `fp_add`: every result is the exact sum, rounded once.

use super::{Golden, binary_oracle};
use crate::{Bench, OracleError};
use pimlico_units::arith::{Format, FpAdd, FpAddIn, FpAddOut};

impl<F: Format, const STAGES: usize> Bench for FpAdd<F, STAGES> {
    fn oracle(inputs: &[FpAddIn<F>], outputs: &[FpAddOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| (input.a_i, input.b_i));
        let results = outputs.iter().map(|output| output.result_o);
        binary_oracle(operands, results, STAGES, |a, b| golden.add(a, b))
    }
}
