// SPDX-License-Identifier: MIT
//! Rounding and packing.

use super::{Format, Fp};

/// A result before rounding: the inputs of `fp_round`.
///
#[doc = contract!("arith/fp_round")]
pub(crate) struct Unrounded {
    /// Sign.
    pub negative: bool,
    /// Biased exponent field, 0 for a significand without hidden bit; may exceed the format's.
    ///
    /// Where subnormals are flushed, 0 stands for a normalised significand (hidden bit taken away)
    /// at half the smallest normal number: rounding may still carry it into the normal numbers.
    pub exponent: i32,
    /// Trailing significand: `MAN_BITS` bits.
    pub mantissa: u32,
    /// First bit below the significand.
    pub guard: bool,
    /// Whether anything is below the guard bit.
    pub sticky: bool,
}

impl Unrounded {
    /// Rounds to nearest, ties to even.
    #[inline]
    pub fn round<F: Format>(self) -> Fp<F> {
        let up = self.guard && (self.sticky || self.mantissa & 1 != 0);
        let rounded = ((self.exponent as u32) << F::MAN_BITS | self.mantissa) + u32::from(up);
        if rounded >= F::INFINITY {
            Fp::infinity(self.negative)
        } else if !F::SUBNORMALS && rounded >> F::MAN_BITS == 0 {
            Fp::zero(self.negative)
        } else {
            Fp::from_bits(u32::from(self.negative) << (F::WIDTH - 1) | rounded)
        }
    }
}
