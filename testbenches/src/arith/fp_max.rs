// SPDX-License-Identifier: MIT
//! Bench of `fp_max`: every result is the larger operand.

use super::{Golden, binary_oracle};
use crate::exhaustive::{self, Binary, Operands, Outcome};
use crate::{Bench, OracleError};
use pimlico_units::arith::{Format, FpMax, FpMaxIn, FpMaxOut};

impl<F: Format, const STAGES: usize> Bench for FpMax<F, STAGES>
where
    Self: Binary,
{
    fn oracle(inputs: &[FpMaxIn<F>], outputs: &[FpMaxOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let operands = inputs.iter().map(|input| (input.a_i, input.b_i));
        let results = outputs.iter().map(|output| output.result_o);
        binary_oracle(operands, results, STAGES, |a, b| golden.max(a, b))
    }

    fn all_operands(operands: Operands, progress: &(dyn Fn(f64) + Sync)) -> Option<Outcome> {
        exhaustive::run::<Self>(operands, progress)
    }
}
