// SPDX-License-Identifier: MIT
//! Floating-point maximum.

use super::{Format, Fp, Pipeline};
use pimlico_ports::{Model, Open, Unit, ports};

impl<F: Format> Fp<F> {
    /// The larger of the two: `maximum` of IEEE 754-2019 section 9.6. NaN if either is NaN; +0 is
    /// above -0. Where subnormals are flushed, one that is the larger comes out as a zero.
    #[inline]
    pub fn max(self, other: Self) -> Self {
        let (a, b) = (self.unpack(), other.unpack());
        if a.nan || b.nan {
            return Fp::NAN;
        }

        // Of two signs the positive number is the larger, zeros included. Of one sign, the
        // magnitudes say; where they are equal, so are the operands as they are read.
        let above = (a.exponent, a.significand) > (b.exponent, b.significand);
        let a_wins = if a.negative != b.negative { b.negative } else { above != a.negative };

        let (bits, winner) = if a_wins { (self, a) } else { (other, b) };
        if winner.significand == 0 { Fp::zero(winner.negative) } else { bits }
    }
}

ports! {
    /// A maximum.
    unit FpMax<F: Format>: "fp_max" {
        inputs FpMaxIn {
            /// First operand.
            a_i: Fp<F>,
            /// Second operand.
            b_i: Fp<F>,
        }
        outputs FpMaxOut {
            /// Larger of the operands `STAGES` cycles earlier.
            result_o: Fp<F>,
        }
        probes FpMaxProbe {}
    }
}

/// The cycle model of a floating-point maximum with `STAGES` pipeline registers (0 to 3).
///
#[doc = contract!("arith/fp_max")]
#[derive(Clone)]
pub struct FpMax<F, const STAGES: usize> {
    pipeline: Pipeline<Fp<F>, STAGES>,
}

impl<F: Format, const STAGES: usize> Unit for FpMax<F, STAGES> {
    const MODULE: &'static str = "fp_max";
    const PARAMETERS: &'static [(&'static str, i64)] = &super::parameters::<F>(STAGES);
    type In = FpMaxIn<F>;
    type Out = FpMaxOut<F>;
    type Probe = FpMaxProbe<F>;

    fn variant() -> String {
        super::variant::<F>(STAGES)
    }
}

impl<F: Format, const STAGES: usize> Model for FpMax<F, STAGES> {
    fn new() -> Self {
        Self { pipeline: Pipeline::new(Fp::ZERO) }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpMaxProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.pipeline.is_open() {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        FpMaxOut { result_o: self.pipeline.step(input.a_i.max(input.b_i)), ..Default::default() }
    }
}
