// SPDX-License-Identifier: MIT
//! Floating-point adder.

use super::fp_round::Unrounded;
use super::{Format, Fp, Pipeline};
use pimlico_ports::{Model, Open, Unit, ports};
use std::ops::Add;

/// Guard, round and sticky bit below the significand.
const EXTRA: u32 = 3;

impl<F: Format> Add for Fp<F> {
    type Output = Self;

    /// The sum, rounded to nearest even. A sum of exactly zero is -0 only if both operands are.
    #[inline]
    fn add(self, other: Self) -> Self {
        let (a, b) = (self.unpack(), other.unpack());
        let subtract = a.negative != b.negative;
        if a.nan || b.nan || a.infinite && b.infinite && subtract {
            return Fp::NAN;
        }
        if a.infinite || b.infinite {
            return Fp::infinity(if a.infinite { a.negative } else { b.negative });
        }

        let swap = (b.exponent, b.significand) > (a.exponent, a.significand);
        let (major, minor) = if swap { (b, a) } else { (a, b) };

        // Align the smaller operand; what falls out at the bottom is kept as one sticky bit.
        let distance = (major.exponent - minor.exponent) as u32;
        let aligned = shift_right_sticky(minor.significand << EXTRA, distance);
        let magnitude = major.significand << EXTRA;
        let sum = if subtract { magnitude - aligned } else { magnitude + aligned };
        if sum == 0 {
            return Fp::zero(major.negative && !subtract);
        }

        // Put the leading one at bit `top + 1`, or as far up as the smallest exponent allows.
        let top = F::MAN_BITS + EXTRA;
        let leading_zeros = sum.leading_zeros() as i32 - (30 - top as i32);
        // A sum that minor is exact, so it need not be rounded to know whether it is flushed.
        let exponent = major.exponent + 1;
        let normal = exponent > leading_zeros;
        let left = if normal { leading_zeros } else { exponent - 1 };
        let normalised = sum << left;

        Unrounded {
            negative: major.negative,
            exponent: if normal { exponent - leading_zeros } else { 0 },
            mantissa: normalised >> (EXTRA + 1) & ((1 << F::MAN_BITS) - 1),
            guard: normalised >> EXTRA & 1 != 0,
            sticky: normalised & ((1 << EXTRA) - 1) != 0,
        }
        .round()
    }
}

/// `value >> distance`, with the lowest bit set if a one was shifted out.
#[inline]
fn shift_right_sticky(value: u32, distance: u32) -> u32 {
    let distance = distance.min(31);
    let lost = value & ((1 << distance) - 1);
    value >> distance | u32::from(lost != 0)
}

ports! {
    /// An adder.
    unit FpAdd<F: Format>: "fp_add" {
        inputs FpAddIn {
            /// First operand.
            a_i: Fp<F>,
            /// Second operand.
            b_i: Fp<F>,
        }
        outputs FpAddOut {
            /// Rounded sum of the operands `STAGES` cycles earlier.
            result_o: Fp<F>,
        }
        probes FpAddProbe {}
    }
}

/// The cycle model of a floating-point adder with `STAGES` pipeline registers (0 to 4). With `FAST` these have no
/// reset.
///
#[doc = contract!("arith/fp_add")]
#[derive(Clone)]
pub struct FpAdd<F, const STAGES: usize, const FAST: bool = false> {
    pipeline: Pipeline<Fp<F>, STAGES>,
    /// Cycles since the reset, up to `STAGES`.
    cycles: usize,
}

impl<F: Format, const STAGES: usize, const FAST: bool> Unit for FpAdd<F, STAGES, FAST> {
    const MODULE: &'static str = "fp_add";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &super::parameters_or_fast::<F>(STAGES, FAST as u8);
    type In = FpAddIn<F>;
    type Out = FpAddOut<F>;
    type Probe = FpAddProbe<F>;

    fn variant() -> String {
        super::variant_or_fast::<F>(STAGES, FAST.into())
    }
}

impl<F: Format, const STAGES: usize, const FAST: bool> Model for FpAdd<F, STAGES, FAST> {
    fn new() -> Self {
        Self { pipeline: Pipeline::new(Fp::ZERO), cycles: 0 }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        FpAddProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if FAST && self.cycles < STAGES {
            open.port("result_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        self.cycles = (self.cycles + 1).min(STAGES);
        FpAddOut { result_o: self.pipeline.step(input.a_i + input.b_i), ..Default::default() }
    }
}
