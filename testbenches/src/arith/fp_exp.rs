// SPDX-License-Identifier: MIT
//! Bench of `fp_exp`: every result is as near to e^x as the unit's contract says, is exact where that
//! is special, and never falls where x rises.

use super::Golden;
use super::plan::{CLASSES, class};
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::exhaustive::{self, Exhaustive};
use pimlico_units::arith::{Format, Fp, FpExp, FpExpIn, FpExpOut};

/// The largest error in ULP, from the table in `rtl/arith/fp_exp.md`.
pub(super) fn largest_error<F: Format>() -> f64 {
    if F::MAN_BITS == 10 { 0.888 } else { 0.853 }
}

const RESULTS: [&str; 9] = [
    "NaN",
    "0 of -infinity",
    "0 by underflow",
    "subnormal",
    "below 1",
    "1",
    "above 1",
    "infinity by overflow",
    "infinity of infinity",
];

/// An index of [`RESULTS`], for a result of an operand of class `operand`.
fn result<F: Format>(operand: usize, result: Fp<F>) -> usize {
    let one = (F::BIAS as u32) << F::MAN_BITS;
    match (class(result), operand) {
        (0, _) => 0,
        (3 | 4, 2) => 1,
        (3 | 4, _) => 2,
        (5 | 6, _) => 3,
        (1 | 2, 1) => 8,
        (1 | 2, _) => 7,
        _ => match result.to_bits().cmp(&one) {
            std::cmp::Ordering::Less => 4,
            std::cmp::Ordering::Equal => 5,
            std::cmp::Ordering::Greater => 6,
        },
    }
}

impl<F: Format, const STAGES: usize> Bench for FpExp<F, STAGES> {
    fn plan(bins: &mut Bins) {
        bins.declare("operand", CLASSES);
        bins.declare("result", RESULTS);
        if !F::SUBNORMALS {
            bins.leave_out("result", 3);
        }
    }

    fn cover(inputs: &[FpExpIn<F>], outputs: &[FpExpOut<F>], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs.iter().skip(STAGES)) {
            let operand = class(input.a_i);
            bins.hit("operand", operand);
            bins.hit("result", result(operand, output.result_o));
        }
    }

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

    fn exhaustive() -> Option<Exhaustive> {
        exhaustive::unary::<Self>()
    }
}
