// SPDX-License-Identifier: MIT
//! Bench of `fp_exp`: every result is as near to e^x as the unit's header says, is exact where that
//! is special, and never falls where x rises.

use super::Golden;
use crate::exhaustive::{self, Operands, Outcome};
use crate::{Bench, OracleError};
use pimlico_units::arith::{Format, FpExp, FpExpIn, FpExpOut};

/// The largest error in ULP, from the table in the header of `rtl/arith/fp_exp.sv`.
pub(super) fn largest_error<F: Format>() -> f64 {
    if F::MAN_BITS == 10 { 0.888 } else { 0.853 }
}

impl<F: Format, const STAGES: usize> Bench for FpExp<F, STAGES> {
    fn oracle(inputs: &[FpExpIn<F>], outputs: &[FpExpOut<F>]) -> Result<u64, OracleError> {
        let golden = Golden::of::<F>();
        let error = |cycle, got, expected, what| {
            Err(OracleError { cycle, port: "result_o", got, expected, what })
        };

        // Operand, result, cycle of the result.
        let mut finite = Vec::with_capacity(inputs.len());
        let mut checked = 0;
        for (input, (cycle, output)) in inputs.iter().zip((0..).zip(outputs).skip(STAGES)) {
            let (a, got) = (input.a_i.to_bits(), output.result_o.to_bits());
            if let Some(expected) = golden.wrong_exp::<F>(a, got) {
                let ulps = golden.exp_ulps(a, got);
                return error(cycle, got, expected, format!("a = {a:04x}, {ulps} ULP off"));
            }
            let x = golden.to_f64(a);
            if !x.is_nan() {
                finite.push((x, got, cycle));
            }
            checked += 1;
        }

        // Results are not negative, so that their bits are in the order of their values.
        finite.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in finite.windows(2) {
            let ((below, least, _), (x, got, cycle)) = (pair[0], pair[1]);
            if got < least {
                return error(cycle, got, least, format!("e^{x} is below e^{below}"));
            }
        }
        Ok(checked)
    }

    fn all_operands(_: Operands, _: &(dyn Fn(f64) + Sync)) -> Option<Outcome> {
        exhaustive::run_unary::<Self>()
    }
}
