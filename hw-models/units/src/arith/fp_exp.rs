// SPDX-License-Identifier: MIT
//! Floating-point exponential, e^x.

use super::exp2_fraction::exp2_fraction;
use super::fp_round::Unrounded;
use super::{Format, Fp, Pipeline};
use pimlico_ports::{Model, Open, Unit, ports};

/// log2 e in units of 2^-14.
const LOG2_E: u32 = 23637;

/// |x| is below 2^(TOP + 1), or e^x is too large or too small for the format.
const fn top<F: Format>() -> i32 {
    let limit = (F::BIAS + F::MAN_BITS as i32) * 710 / 1024 + 1;
    (limit as u32).next_power_of_two().ilog2() as i32 - 1
}

impl<F: Format> Fp<F> {
    /// e^x to within one ULP, monotonic.
    #[inline]
    pub fn exp(self) -> Self {
        let a = self.unpack();
        if a.nan {
            return Fp::NAN;
        }
        let top = const { top::<F>() };
        let distance = F::BIAS + top - a.exponent;
        if distance < 0 {
            return if a.negative { Fp::ZERO } else { Fp::infinity(false) };
        }
        let (n, f) = scale::<F>(a.negative, a.significand, distance);

        // Bits: the hidden one, the significand's, guard.
        let number = 1 << (F::MAN_BITS + 1) | exp2_fraction::<F>(f);
        let power = n + F::BIAS;
        if !F::SUBNORMALS && power < 0 {
            return Fp::ZERO;
        }
        let gradual = F::SUBNORMALS && power < 1;
        let number = if gradual { number >> (1 - power).min(31) } else { number };

        Unrounded {
            negative: false,
            exponent: if gradual { 0 } else { power },
            mantissa: number >> 1 & ((1 << F::MAN_BITS) - 1),
            guard: number & 1 != 0,
            sticky: true,
        }
        .round()
    }
}

/// y = x log2 e, rounded down: its integer part, and its fraction in units of 2^-(`MAN_BITS` + 2).
/// The exponent of x is `distance` below the largest.
#[inline]
fn scale<F: Format>(negative: bool, significand: u32, distance: i32) -> (i32, u32) {
    let aligned = (significand * LOG2_E) >> (12 - const { top::<F>() });
    let magnitude = (aligned >> distance.min(31)) as i32;
    let y = if negative { !magnitude } else { magnitude };
    let width = F::MAN_BITS + 2;
    (y >> width, y as u32 & ((1 << width) - 1))
}

ports! {
    /// An exponential function.
    unit FpExp<F: Format>: "fp_exp" {
        inputs FpExpIn {
            /// Operand x.
            a_i: Fp<F>,
        }
        outputs FpExpOut {
            /// e^x of the operand `STAGES` cycles earlier.
            result_o: Fp<F>,
        }
        probes FpExpProbe {}
    }
}

/// The cycle model of a floating-point exponential with `STAGES` pipeline registers (0 to 4).
///
#[doc = contract!("arith/fp_exp")]
#[derive(Clone)]
pub struct FpExp<F, const STAGES: usize> {
    pipeline: Pipeline<Fp<F>, STAGES>,
}

impl<F: Format, const STAGES: usize> Unit for FpExp<F, STAGES> {
    const MODULE: &'static str = "fp_exp";
    const PARAMETERS: &'static [(&'static str, i64)] = &super::parameters::<F>(STAGES);
    type In = FpExpIn<F>;
    type Out = FpExpOut<F>;
    type Probe = FpExpProbe<F>;

    fn variant() -> String {
        super::variant::<F>(STAGES)
    }
}

impl<F: Format, const STAGES: usize> Model for FpExp<F, STAGES> {
    fn new() -> Self {
        // The registers hold a flag that says that the result is not 0: cleared, it is.
        Self { pipeline: Pipeline::new(Fp::ZERO) }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpExpProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.pipeline.is_open() {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        FpExpOut { result_o: self.pipeline.step(input.a_i.exp()), ..Default::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Bfloat16, Binary16};

    /// A test of all operands is then a test of every entry of the tables, in the RTL too.
    fn operands_reach_every_fraction<F: Format>() {
        let mut reached = vec![false; 1 << (F::MAN_BITS + 2)];
        for bits in 0..1 << F::WIDTH {
            let a = Fp::<F>::from_bits(bits).unpack();
            let distance = F::BIAS + top::<F>() - a.exponent;
            if distance >= 0 {
                reached[scale::<F>(a.negative, a.significand, distance).1 as usize] = true;
            }
        }
        // The last bit of a fraction is no index of either table.
        let unreached = reached.chunks(2).filter(|pair| !pair[0] && !pair[1]).count();
        assert_eq!(unreached, 0);
    }

    #[test]
    fn operands_reach_every_entry() {
        operands_reach_every_fraction::<Binary16>();
        operands_reach_every_fraction::<Bfloat16>();
    }

    #[test]
    fn widths_are_those_of_the_contract() {
        assert_eq!((top::<Binary16>(), top::<Bfloat16>()), (4, 6));
    }
}
