// SPDX-License-Identifier: MIT
//! Benches of the arithmetic units.

mod fp_add;
mod fp_exp;
mod fp_max;
mod fp_mul;
mod fp_narrow;
mod fp_recip;
mod fp_widen;
mod functions;
pub(crate) mod plan;

use crate::bench::OracleError;
use pimlico_golden::format::{Format as GoldenFormat, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_units::arith::{Format, Fp};

/// The sums of `golden` for elements in format `F` and sums in format `A`.
pub(crate) fn precision<F: Format, A: Format>() -> Precision {
    let Golden { format: elements, subnormals } = Golden::of::<F>();
    Precision { elements, subnormals, sums: Golden::of::<A>().format }
}

/// The arithmetic of `golden` in a unit's format.
#[derive(Clone, Copy)]
pub(crate) struct Golden {
    pub format: GoldenFormat,
    pub subnormals: Subnormals,
}

impl Golden {
    /// The references for format `F`.
    pub fn of<F: Format>() -> Self {
        Self {
            format: GoldenFormat { exp_bits: F::EXP_BITS, man_bits: F::MAN_BITS },
            subnormals: if F::SUBNORMALS { Subnormals::Gradual } else { Subnormals::Flush },
        }
    }

    /// The exact product, rounded once.
    pub fn mul(self, a: u32, b: u32) -> u32 {
        pimlico_golden::exact::mul(self.format, self.subnormals, a, b)
    }

    /// The exact sum, rounded once.
    pub fn add(self, a: u32, b: u32) -> u32 {
        pimlico_golden::exact::add(self.format, self.subnormals, a, b)
    }

    /// The larger of the two.
    pub fn max(self, a: u32, b: u32) -> u32 {
        pimlico_golden::exact::max(self.format, self.subnormals, a, b)
    }

    /// The reciprocal, rounded once.
    pub fn recip(self, a: u32) -> u32 {
        pimlico_golden::unary::recip(self.format, self.subnormals, a)
    }

    /// `a` of this format in binary32.
    pub fn widen(self, a: u32) -> u32 {
        let to = GoldenFormat::BINARY32;
        pimlico_golden::exact::convert(self.format, to, self.subnormals, a)
    }

    /// `a` of binary32 in this format, rounded once.
    pub fn narrow(self, a: u32) -> u32 {
        let from = GoldenFormat::BINARY32;
        pimlico_golden::exact::convert(from, self.format, self.subnormals, a)
    }

    /// e^a, rounded once.
    pub fn exp(self, a: u32) -> u32 {
        pimlico_golden::unary::exp(self.format, self.subnormals, a)
    }

    /// By how many ULP `got` misses e^a.
    pub fn exp_ulps(self, a: u32, got: u32) -> f64 {
        pimlico_golden::unary::exp_ulps(self.format, self.subnormals, a, got)
    }

    /// What e^a is, if `got` is further from it than `fp_exp` may be, or differs where it is special.
    pub fn wrong_exp<F: Format>(self, a: u32, got: u32) -> Option<u32> {
        let x = self.to_f64(a);
        let special = !x.is_finite() || x == 0.0;
        let expected = self.exp(a);
        let wrong =
            self.exp_ulps(a, got) > fp_exp::largest_error::<F>() || special && got != expected;
        wrong.then_some(expected)
    }

    /// The number that `a` stands for.
    pub fn to_f64(self, a: u32) -> f64 {
        pimlico_golden::exact::to_f64(self.format, a)
    }
}

/// Judges a unit with one operand whose result comes `stages` cycles later, and is a certain one.
fn unary_oracle(
    operands: impl Iterator<Item = u32>,
    results: impl Iterator<Item = u32>,
    stages: usize,
    reference: impl Fn(u32) -> u32,
) -> Result<u64, OracleError> {
    let mut checked = 0;
    for (a, (cycle, got)) in operands.zip((0..).zip(results).skip(stages)) {
        let expected = reference(a);
        if got != expected {
            let what = format!("a = {a:04x}");
            return Err(OracleError { cycle, port: "result_o", got, expected, what });
        }
        checked += 1;
    }
    Ok(checked)
}

/// Judges a unit with two operands whose result comes `stages` cycles later.
fn binary_oracle<F: Format>(
    operands: impl Iterator<Item = (Fp<F>, Fp<F>)>,
    results: impl Iterator<Item = Fp<F>>,
    stages: usize,
    reference: impl Fn(u32, u32) -> u32,
) -> Result<u64, OracleError> {
    let mut checked = 0;
    for ((a, b), (cycle, result)) in operands.zip((0..).zip(results).skip(stages)) {
        let (a, b, got) = (a.to_bits(), b.to_bits(), result.to_bits());
        let expected = reference(a, b);
        if got != expected {
            let what = format!("a = {a:04x}, b = {b:04x}");
            return Err(OracleError { cycle, port: "result_o", got, expected, what });
        }
        checked += 1;
    }
    Ok(checked)
}
