// SPDX-License-Identifier: MIT
//! Conversion of a floating-point number to a wider format.

use super::{Binary32, Format, Fp, Pipeline, same};
use pimlico_ports::{Model, Open, Unit, ports};

impl<F: Format> Fp<F> {
    /// The same number in a format with at least as wide an exponent and a wider significand. Only
    /// a subnormal number between formats of one exponent width stays subnormal. Into its own
    /// format a number goes as it is.
    #[inline]
    pub fn widen<W: Format>(self) -> Fp<W> {
        const { assert!(F::EXP_BITS <= W::EXP_BITS && F::MAN_BITS < W::MAN_BITS || same::<F, W>()) };
        if same::<F, W>() {
            return Fp::from_bits(self.to_bits());
        }
        let a = self.unpack();
        if a.nan {
            return Fp::NAN;
        }
        if a.infinite {
            return Fp::infinity(a.negative);
        }

        // Shift the leading one to the place of the hidden bit, or as far as the exponent allows.
        let exponent = (a.exponent + W::BIAS - F::BIAS) as u32;
        let leading_zeros = a.significand.leading_zeros() - (31 - F::MAN_BITS);
        let left = leading_zeros.min(exponent - 1);
        let significand = a.significand << (left + W::MAN_BITS - F::MAN_BITS);

        let normal = significand >> W::MAN_BITS != 0;
        let field = if normal { exponent - left } else { 0 };
        let mantissa = significand & ((1 << W::MAN_BITS) - 1);
        Fp::from_bits((u32::from(a.negative) << W::EXP_BITS | field) << W::MAN_BITS | mantissa)
    }
}

ports! {
    /// A conversion to binary32.
    unit FpWiden<F: Format>: "fp_widen" {
        inputs FpWidenIn {
            /// Operand in the narrow format.
            a_i: Fp<F>,
        }
        outputs FpWidenOut {
            /// Operand of `STAGES` cycles earlier in the wide format.
            result_o: Fp<Binary32>,
        }
        probes FpWidenProbe {}
    }
}

/// The cycle model of a conversion of format `F` to binary32 with `STAGES` pipeline registers (0 to
/// 3).
///
#[doc = contract!("arith/fp_widen")]
#[derive(Clone)]
pub struct FpWiden<F, const STAGES: usize> {
    pipeline: Pipeline<Fp<Binary32>, STAGES>,
    format: std::marker::PhantomData<F>,
}

impl<F: Format, const STAGES: usize> Unit for FpWiden<F, STAGES> {
    const MODULE: &'static str = "fp_widen";
    const PARAMETERS: &'static [(&'static str, i64)] = &super::parameters::<F>(STAGES);
    type In = FpWidenIn<F>;
    type Out = FpWidenOut<F>;
    type Probe = FpWidenProbe<F>;

    fn variant() -> String {
        super::variant::<F>(STAGES)
    }
}

impl<F: Format, const STAGES: usize> Model for FpWiden<F, STAGES> {
    fn new() -> Self {
        Self { pipeline: Pipeline::new(Fp::ZERO), format: std::marker::PhantomData }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpWidenProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.pipeline.is_open() {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        FpWidenOut { result_o: self.pipeline.step(input.a_i.widen()), ..Default::default() }
    }
}
