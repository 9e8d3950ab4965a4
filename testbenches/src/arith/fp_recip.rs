// SPDX-License-Identifier: MIT
//! Bench of `fp_recip`: every result is the exact reciprocal, rounded once.

use super::Golden;
use crate::exhaustive::{self, Operands, Outcome};
use crate::{Bench, OracleError};
use pimlico_units::arith::{Format, FpRecip, FpRecipIn, FpRecipOut};

impl<F: Format, const STAGES: usize> Bench for FpRecip<F, STAGES> {
    fn oracle(inputs: &[FpRecipIn<F>], outputs: &[FpRecipOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let mut checked = 0;
        for (input, (cycle, output)) in inputs.iter().zip((0..).zip(outputs).skip(STAGES)) {
            let (a, got) = (input.a_i.to_bits(), output.result_o.to_bits());
            let expected = golden.recip(a);
            if got != expected {
                let what = format!("a = {a:04x}");
                return Err(OracleError { cycle, port: "result_o", got, expected, what });
            }
            checked += 1;
        }
        Ok(checked)
    }

    fn all_operands(_: Operands, _: &(dyn Fn(f64) + Sync)) -> Option<Outcome> {
        exhaustive::run_unary::<Self>()
    }
}
