// SPDX-License-Identifier: MIT
//! Floating-point formats, and values in them.

use pimlico_ports::{BitReader, BitWriter, Shape, Signal};
use std::{fmt, marker::PhantomData};

/// A binary interchange format (IEEE 754-2019 section 3.4) and what is done with its subnormals.
///
/// The RTL has the same three parameters under the same names.
pub trait Format: Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// What a variant of a unit is called; empty for the default, binary16 with subnormals.
    const LABEL: &'static str;
    /// Width of the exponent field.
    const EXP_BITS: u32;
    /// Width of the trailing significand field.
    const MAN_BITS: u32;
    /// Whether subnormal numbers are kept. If not, they are read as zeros of their sign, and a
    /// result that is below the smallest normal number after rounding becomes a zero of its sign.
    const SUBNORMALS: bool;

    /// Width of a value.
    const WIDTH: u32 = 1 + Self::EXP_BITS + Self::MAN_BITS;
    /// Exponent bias.
    const BIAS: i32 = (1 << (Self::EXP_BITS - 1)) - 1;
    /// The exponent field of infinities and NaNs.
    const EXP_MAX: i32 = (1 << Self::EXP_BITS) - 1;
    /// Positive infinity.
    const INFINITY: u32 = (Self::EXP_MAX as u32) << Self::MAN_BITS;
    /// The NaN that every operation returns.
    const NAN: u32 = Self::INFINITY | 1 << (Self::MAN_BITS - 1);
    /// Parameters of the RTL.
    const PARAMETERS: [(&'static str, i64); 3] = [
        ("EXP_BITS", Self::EXP_BITS as i64),
        ("MAN_BITS", Self::MAN_BITS as i64),
        ("SUBNORMALS", Self::SUBNORMALS as i64),
    ];
}

macro_rules! formats {
    ($($(#[$doc:meta])+ $name:ident: $label:literal, $exp:literal, $man:literal, $subnormals:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name;

        impl Format for $name {
            const LABEL: &'static str = $label;
            const EXP_BITS: u32 = $exp;
            const MAN_BITS: u32 = $man;
            const SUBNORMALS: bool = $subnormals;
        }
    )+};
}

formats! {
    /// IEEE 754 binary16 with gradual underflow: the default.
    Binary16: "", 5, 10, true;
    /// binary16, subnormals flushed to zero.
    Binary16Flush: "flush", 5, 10, false;
    /// bfloat16 with gradual underflow.
    Bfloat16: "bfloat16", 8, 7, true;
    /// bfloat16, subnormals flushed to zero.
    Bfloat16Flush: "bfloat16_flush", 8, 7, false;
    /// IEEE 754 binary32 with gradual underflow: what long sums are taken in.
    Binary32: "binary32", 8, 23, true;
    /// binary32, subnormals flushed to zero.
    Binary32Flush: "binary32_flush", 8, 23, false;
}

/// A value in format `F`: its bits, in the low `F::WIDTH` of a word.
///
/// It has the traits of `num-traits` for constants and conversions, but not `Float`: that asks for an
/// order and for the numbers' equality, where this is of bits, as a comparison of hardware is.
#[derive(Clone, Copy, Default)]
pub struct Fp<F> {
    bits: u32,
    format: PhantomData<F>,
}

impl<F: Format> Fp<F> {
    /// Positive zero.
    pub const ZERO: Self = Self::from_bits(0);
    /// The NaN that every operation returns.
    pub const NAN: Self = Self::from_bits(F::NAN);

    /// The value with the low `F::WIDTH` bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self { bits: bits & (u32::MAX >> (32 - F::WIDTH)), format: PhantomData }
    }

    /// The bits.
    #[inline]
    pub const fn to_bits(self) -> u32 {
        self.bits
    }

    /// Infinity of the given sign.
    #[inline]
    pub const fn infinity(negative: bool) -> Self {
        Self::from_bits((negative as u32) << (F::WIDTH - 1) | F::INFINITY)
    }

    /// Zero of the given sign.
    #[inline]
    pub const fn zero(negative: bool) -> Self {
        Self::from_bits((negative as u32) << (F::WIDTH - 1))
    }

    /// The value with the other sign, NaN as well.
    #[inline]
    pub const fn negated(self) -> Self {
        Self::from_bits(self.bits ^ 1 << (F::WIDTH - 1))
    }

    /// Takes the value apart as the RTL does.
    #[inline]
    pub(super) fn unpack(self) -> Unpacked {
        let exponent = (self.bits >> F::MAN_BITS) as i32 & F::EXP_MAX;
        let mantissa = self.bits & ((1 << F::MAN_BITS) - 1);
        let flushed = exponent == 0 && !F::SUBNORMALS;
        let hidden = u32::from(exponent != 0) << F::MAN_BITS;
        Unpacked {
            negative: self.bits >> (F::WIDTH - 1) != 0,
            exponent: exponent.max(1),
            significand: if flushed { 0 } else { hidden | mantissa },
            infinite: exponent == F::EXP_MAX && mantissa == 0,
            nan: exponent == F::EXP_MAX && mantissa != 0,
        }
    }
}

/// An operand's fields.
pub(super) struct Unpacked {
    pub negative: bool,
    /// Biased exponent; 1 for subnormals and zeros, whose hidden bit is 0.
    pub exponent: i32,
    /// Hidden bit and trailing significand: `MAN_BITS` + 1 bits.
    pub significand: u32,
    pub infinite: bool,
    pub nan: bool,
}

/// Equality of bits: what a comparison of hardware means. NaN equals the same NaN, -0 is not +0.
impl<F> PartialEq for Fp<F> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<F> Eq for Fp<F> {}

impl<F: Format> fmt::Debug for Fp<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#0width$x}", self.bits, width = 2 + F::WIDTH as usize / 4)
    }
}

impl<F: Format> Signal for Fp<F> {
    const WIDTH: u32 = F::WIDTH;
    const SHAPE: Shape = Shape::Number { exponent_bits: F::EXP_BITS, mantissa_bits: F::MAN_BITS };

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(self.bits), F::WIDTH);
    }

    fn read(bits: &mut BitReader<'_>) -> Self {
        Self::from_bits(bits.take(F::WIDTH) as u32)
    }

    /// Draws where arithmetic goes wrong: half of the exponents are near the bias, so that operands
    /// meet in magnitude and cancel; others are at the ends (zeros, subnormals, infinities, NaNs);
    /// half of the significands have few ones or few zeros, which makes ties and carries.
    fn draw(entropy: &[u64]) -> Self {
        let e = entropy[0];
        let field = |from: u32, bits: u32| (e >> from) as u32 & ((1 << bits) - 1);
        let any_exponent = field(20, F::EXP_BITS);
        let exponent = match field(2, 4) {
            0 | 1 => 0,
            2 => F::EXP_MAX as u32,
            3 => any_exponent & 1,
            4 => F::EXP_MAX as u32 - 1 - (any_exponent & 1),
            5..8 => any_exponent,
            _ => F::BIAS as u32 + (any_exponent & 7) - 4,
        };
        let any_mantissa = field(40, F::MAN_BITS);
        let one = 1 << (any_mantissa % F::MAN_BITS);
        let mantissa = match field(6, 4) {
            0..3 => 0,
            3 => one,
            4 => one | 1,
            5 => (1 << F::MAN_BITS) - 1,
            6 => ((1 << F::MAN_BITS) - 1) ^ one,
            7 => (1 << F::MAN_BITS) - one,
            _ => any_mantissa,
        };
        let sign = field(0, 1);
        Self::from_bits((sign << F::EXP_BITS | exponent) << F::MAN_BITS | mantissa)
    }
}

impl From<f32> for Fp<Binary32> {
    fn from(value: f32) -> Self {
        Self::from_bits(value.to_bits())
    }
}

impl From<Fp<Binary32>> for f32 {
    fn from(value: Fp<Binary32>) -> Self {
        f32::from_bits(value.bits)
    }
}

impl From<half::f16> for Fp<Binary16> {
    fn from(value: half::f16) -> Self {
        Self::from_bits(u32::from(value.to_bits()))
    }
}

impl From<Fp<Binary16>> for half::f16 {
    fn from(value: Fp<Binary16>) -> Self {
        half::f16::from_bits(value.bits as u16)
    }
}

impl From<half::bf16> for Fp<Bfloat16> {
    fn from(value: half::bf16) -> Self {
        Self::from_bits(u32::from(value.to_bits()))
    }
}

impl From<Fp<Bfloat16>> for half::bf16 {
    fn from(value: Fp<Bfloat16>) -> Self {
        half::bf16::from_bits(value.bits as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_the_standards() {
        assert_eq!((Binary16::WIDTH, Binary16::BIAS, Binary16::NAN), (16, 15, 0x7E00));
        assert_eq!((Bfloat16::WIDTH, Bfloat16::BIAS, Bfloat16::NAN), (16, 127, 0x7FC0));
        assert_eq!((Binary32::WIDTH, Binary32::BIAS, Binary32::NAN), (32, 127, 0x7FC0_0000));
        assert_eq!(Fp::<Binary16>::infinity(true).to_bits(), 0xFC00);
        assert_eq!(Fp::<Binary32>::infinity(true), f32::NEG_INFINITY.into());
        assert_eq!(Fp::from(half::f16::from_f32(1.5)), Fp::<Binary16>::from_bits(0x3E00));
    }

    #[test]
    fn stimulus_reaches_every_class() {
        let mut state = 0u64;
        let mut classes = [0; 5];
        for _ in 0..10_000 {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            let x = Fp::<Binary16>::draw(&[state ^ state >> 29]).unpack();
            let class = match (x.nan, x.infinite, x.significand) {
                (true, ..) => 0,
                (_, true, _) => 1,
                (_, _, 0) => 2,
                (_, _, ..0x400) => 3,
                _ => 4,
            };
            classes[class] += 1;
        }
        assert!(classes.iter().all(|&n| n > 100), "{classes:?}");
    }
}
