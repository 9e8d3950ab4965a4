// SPDX-License-Identifier: MIT
//! Benches of what is in an NPU.

mod systolic_array;
mod vector_unit;

use crate::arith::plan::corner;
use pimlico_units::arith::{Format, Fp};

/// A number in the place of one that would make most sums infinite or NaN: of the same digits, near 1.
fn tamed<F: Format>(number: Fp<F>) -> Fp<F> {
    let bits = number.to_bits();
    let exponent = (bits >> F::MAN_BITS) as i32 & F::EXP_MAX;
    if exponent <= F::EXP_MAX - 3 {
        return number;
    }
    let near_1 = F::BIAS + (bits as i32 & 7) - 4;
    Fp::from_bits(bits ^ ((exponent ^ near_1) as u32) << F::MAN_BITS)
}

/// A number at an edge of the format, of a number.
fn edge<F: Format>(number: Fp<F>) -> Fp<F> {
    corner((number.to_bits().wrapping_mul(0x9E37_79B1) >> 27) as usize)
}
