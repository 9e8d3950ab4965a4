// SPDX-License-Identifier: MIT
//! Floating-point multiplier.

use super::fp_round::Unrounded;
use super::{Format, Fp, Pipeline};
use pimlico_ports::{Model, Open, Unit, ports};
use std::ops::Mul;

impl<F: Format> Mul for Fp<F> {
    type Output = Self;

    /// The product, rounded to nearest even.
    #[inline]
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self.unpack(), other.unpack());
        let negative = a.negative != b.negative;
        let zero = a.significand == 0 || b.significand == 0;
        if a.nan || b.nan || (a.infinite || b.infinite) && zero {
            return Fp::NAN;
        }
        if a.infinite || b.infinite {
            return Fp::infinity(negative);
        }
        if zero {
            return Fp::zero(negative);
        }

        // The product of two significands in [1, 2) is in [1, 4): its binary point is below bit
        // 2 MAN_BITS, and it is normalised when bit 2 MAN_BITS + 1 is set. Here the leading one goes
        // to the top of the word, and down again where the exponent is too small for it: that gives
        // a subnormal number.
        let product = u64::from(a.significand) * u64::from(b.significand);
        let leading_zeros = product.leading_zeros();
        let above = leading_zeros as i32 - (62 - 2 * F::MAN_BITS as i32);
        let exponent = a.exponent + b.exponent - F::BIAS + 1 - above;
        let normal = exponent >= i32::from(F::SUBNORMALS);
        if !normal && !F::SUBNORMALS {
            return Fp::zero(negative);
        }
        let normalised = product << leading_zeros;
        let aligned =
            if normal { normalised } else { shift_right_sticky(normalised, (1 - exponent) as u32) };

        let below = 63 - F::MAN_BITS;
        Unrounded {
            negative,
            exponent: if normal { exponent } else { 0 },
            mantissa: (aligned >> below) as u32 & ((1 << F::MAN_BITS) - 1),
            guard: aligned >> (below - 1) & 1 != 0,
            sticky: aligned & ((1 << (below - 1)) - 1) != 0,
        }
        .round()
    }
}

/// `value >> distance`, with the lowest bit set if a one was shifted out.
#[inline]
fn shift_right_sticky(value: u64, distance: u32) -> u64 {
    let distance = distance.min(63);
    let lost = value & ((1 << distance) - 1);
    value >> distance | u64::from(lost != 0)
}

ports! {
    /// A multiplier.
    unit FpMul<F: Format>: "fp_mul" {
        inputs FpMulIn {
            /// Multiplicand.
            a_i: Fp<F>,
            /// Multiplier.
            b_i: Fp<F>,
        }
        outputs FpMulOut {
            /// Rounded product of the operands `STAGES` cycles earlier.
            result_o: Fp<F>,
        }
        probes FpMulProbe {}
    }
}

/// The cycle model of a floating-point multiplier with `STAGES` pipeline registers (0 to 3), small or `FAST` (1, 2).
///
#[doc = contract!("arith/fp_mul")]
#[derive(Clone)]
pub struct FpMul<F, const STAGES: usize, const FAST: u8 = 0> {
    pipeline: Pipeline<Fp<F>, STAGES>,
}

impl<F: Format, const STAGES: usize, const FAST: u8> Unit for FpMul<F, STAGES, FAST> {
    const MODULE: &'static str = "fp_mul";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &super::parameters_or_fast::<F>(STAGES, FAST);
    type In = FpMulIn<F>;
    type Out = FpMulOut<F>;
    type Probe = FpMulProbe<F>;

    fn variant() -> String {
        super::variant_or_fast::<F>(STAGES, FAST)
    }
}

impl<F: Format, const STAGES: usize, const FAST: u8> Model for FpMul<F, STAGES, FAST> {
    fn new() -> Self {
        Self { pipeline: Pipeline::new(Fp::ZERO) }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpMulProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.pipeline.is_open() {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        FpMulOut { result_o: self.pipeline.step(input.a_i * input.b_i), ..Default::default() }
    }
}
