// SPDX-License-Identifier: MIT
//! Bench of `fp_mul`: every result is the exact product, rounded once.

use super::{Golden, binary_oracle};
use crate::{Bench, OracleError};
use pimlico_units::arith::{Format, FpMul, FpMulIn, FpMulOut};

impl<F: Format, const STAGES: usize> Bench for FpMul<F, STAGES> {
    fn oracle(inputs: &[FpMulIn<F>], outputs: &[FpMulOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| (input.a_i, input.b_i));
        let results = outputs.iter().map(|output| output.result_o);
        binary_oracle(operands, results, STAGES, |a, b| golden.mul(a, b))
    }
}
