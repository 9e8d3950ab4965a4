// SPDX-License-Identifier: MIT
//! Floating-point reciprocal, 1 / x.

use super::fp_round::Unrounded;
use super::{Format, Fp, Pipeline};
use pimlico_ports::{Model, Open, Unit, ports};

impl<F: Format> Fp<F> {
    /// 1 / x, rounded to nearest even.
    #[inline]
    pub fn recip(self) -> Self {
        let a = self.unpack();
        if a.nan {
            return Fp::NAN;
        }
        if a.infinite {
            return Fp::zero(a.negative);
        }

        // An operand with two zeros below the place of the hidden bit has a reciprocal beyond the
        // largest number, and zero has none.
        let leading_zeros = a.significand.leading_zeros() - (31 - F::MAN_BITS);
        if leading_zeros > 2 {
            return Fp::infinity(a.negative);
        }
        let quotient = divide::<F>(a.significand << leading_zeros);

        // The exponent of a quotient whose first bit is the hidden one, -1 at the least.
        let exponent = 2 * F::BIAS - 1 - (a.exponent - leading_zeros as i32);
        if !F::SUBNORMALS && exponent < 0 {
            return Fp::zero(a.negative);
        }
        let gradual = F::SUBNORMALS && exponent < 1;
        let number = if gradual { quotient >> (1 - exponent) } else { quotient };

        Unrounded {
            negative: a.negative,
            exponent: if gradual { 0 } else { exponent },
            mantissa: number >> 1 & ((1 << F::MAN_BITS) - 1),
            guard: number & 1 != 0,
            sticky: true,
        }
        .round()
    }
}

/// The quotient 1 / d for a significand d in [1, 2): `MAN_BITS` + 2 bits, the first of which, worth
/// a half, is a 1. The quotient of 1 comes out as ones only.
#[inline]
fn divide<F: Format>(divisor: u32) -> u32 {
    let mut quotient = 1;
    let mut remainder = (2 << F::MAN_BITS) - divisor;
    for _ in 0..=F::MAN_BITS {
        let doubled = 2 * remainder;
        let fits = doubled >= divisor;
        remainder = if fits { doubled - divisor } else { doubled };
        quotient = quotient << 1 | u32::from(fits);
    }
    quotient
}

ports! {
    /// A reciprocal.
    unit FpRecip<F: Format>: "fp_recip" {
        inputs FpRecipIn {
            /// Operand x.
            a_i: Fp<F>,
        }
        outputs FpRecipOut {
            /// Rounded reciprocal of the operand `STAGES` cycles earlier.
            result_o: Fp<F>,
        }
        probes FpRecipProbe {}
    }
}

/// The cycle model of a floating-point reciprocal with `STAGES` pipeline registers (0 to 6).
///
#[doc = contract!("arith/fp_recip")]
#[derive(Clone)]
pub struct FpRecip<F, const STAGES: usize> {
    pipeline: Pipeline<Fp<F>, STAGES>,
}

impl<F: Format, const STAGES: usize> Unit for FpRecip<F, STAGES> {
    const MODULE: &'static str = "fp_recip";
    const PARAMETERS: &'static [(&'static str, i64)] = &super::parameters::<F>(STAGES);
    type In = FpRecipIn<F>;
    type Out = FpRecipOut<F>;
    type Probe = FpRecipProbe<F>;

    fn variant() -> String {
        super::variant::<F>(STAGES)
    }
}

impl<F: Format, const STAGES: usize> Model for FpRecip<F, STAGES> {
    fn new() -> Self {
        // The registers hold a flag that says that the result is not 0: cleared, it is.
        Self { pipeline: Pipeline::new(Fp::ZERO) }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpRecipProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.pipeline.is_open() {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        FpRecipOut { result_o: self.pipeline.step(input.a_i.recip()), ..Default::default() }
    }
}
