// SPDX-License-Identifier: MIT
//! Conversion of a floating-point number to a narrower format, rounded.

use super::fp_round::Unrounded;
use super::{Binary32, Format, Fp, Pipeline, same};
use pimlico_ports::{Model, Open, Signal, Unit, ports};

impl<F: Format> Fp<F> {
    /// The number rounded to nearest even into a format with a narrower significand and an exponent
    /// that is no wider. Where that flushes subnormals, those of this format are zeros as well. Into
    /// its own format a number goes as it is.
    #[inline]
    pub fn narrow<N: Format>(self) -> Fp<N> {
        const { assert!(N::EXP_BITS <= F::EXP_BITS && N::MAN_BITS < F::MAN_BITS || same::<N, F>()) };
        if same::<N, F>() {
            return Fp::from_bits(self.to_bits());
        }
        let a = self.unpack();
        if a.nan {
            return Fp::NAN;
        }
        let exponent = a.exponent - (F::BIAS - N::BIAS);
        if a.infinite || exponent >= N::EXP_MAX {
            return Fp::infinity(a.negative);
        }

        // Smaller numbers than half the smallest one are zeros: the hidden bit is below the guard.
        let normal = a.significand >> F::MAN_BITS != 0;
        let right = if N::SUBNORMALS { (1 - exponent).max(0) as u32 } else { 0 };
        if right > N::MAN_BITS + 1 || !N::SUBNORMALS && (exponent < 0 || !normal) {
            return Fp::zero(a.negative);
        }

        let dropped = F::MAN_BITS - N::MAN_BITS - 1 + right;
        let number = a.significand >> dropped;
        Unrounded {
            negative: a.negative,
            exponent: if right == 0 && normal { exponent } else { 0 },
            mantissa: number >> 1 & ((1 << N::MAN_BITS) - 1),
            guard: number & 1 != 0,
            sticky: a.significand & ((1 << dropped) - 1) != 0,
        }
        .round()
    }
}

/// Draws numbers of format `W` where rounding to the narrower `N` turns: half of the draws are
/// numbers of `N` with a one or a run of ones somewhere in the significand, ties among them.
pub(crate) fn near<N: Format, W: Format>(entropy: &[u64]) -> Fp<W> {
    let e = entropy[0];
    if same::<N, W>() || e >> 63 == 0 {
        return Fp::draw(entropy);
    }
    let one = 1 << (e >> 51 & 15);
    let tail = match e >> 55 & 7 {
        0 => 0,
        1 | 2 => one,
        3 | 4 => one - 1,
        5 => one | 1,
        6 => one | one >> 1,
        _ => !0 << (e >> 51 & 15) & ((1 << (W::MAN_BITS - N::MAN_BITS)) - 1),
    };
    Fp::from_bits(Fp::<N>::draw(entropy).widen::<W>().to_bits() ^ tail)
}

ports! {
    /// A conversion from binary32.
    unit FpNarrow<F: Format>: "fp_narrow" {
        inputs FpNarrowIn {
            /// Operand in the wide format.
            a_i: Fp<Binary32> => near::<F, Binary32>,
        }
        outputs FpNarrowOut {
            /// Operand of `STAGES` cycles earlier, rounded to the narrow format.
            result_o: Fp<F>,
        }
        probes FpNarrowProbe {}
    }
}

/// The cycle model of a conversion from binary32 to format `F` with `STAGES` pipeline registers (0
/// to 3).
///
#[doc = contract!("arith/fp_narrow")]
#[derive(Clone)]
pub struct FpNarrow<F, const STAGES: usize> {
    pipeline: Pipeline<Fp<F>, STAGES>,
}

impl<F: Format, const STAGES: usize> Unit for FpNarrow<F, STAGES> {
    const MODULE: &'static str = "fp_narrow";
    const PARAMETERS: &'static [(&'static str, i64)] = &super::parameters::<F>(STAGES);
    type In = FpNarrowIn<F>;
    type Out = FpNarrowOut<F>;
    type Probe = FpNarrowProbe<F>;

    fn variant() -> String {
        super::variant::<F>(STAGES)
    }
}

impl<F: Format, const STAGES: usize> Model for FpNarrow<F, STAGES> {
    fn new() -> Self {
        Self { pipeline: Pipeline::new(Fp::ZERO) }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpNarrowProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.pipeline.is_open() {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        FpNarrowOut { result_o: self.pipeline.step(input.a_i.narrow()), ..Default::default() }
    }
}
