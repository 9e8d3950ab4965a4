// SPDX-License-Identifier: MIT
//! The traits of `num-traits` for values: zero, one, bounds, and conversions from and to the
//! machine's numbers. Nothing here is a circuit; where a unit converts, `fp_widen` and `fp_narrow` do.

use super::fp_round::Unrounded;
use super::{Format, Fp};
use num_traits::float::FloatCore;
use num_traits::{AsPrimitive, Bounded, FromPrimitive, One, ToPrimitive, Zero};

impl<F: Format> Fp<F> {
    /// The number that the value stands for, exactly. A subnormal number that the format flushes is a
    /// zero of its sign; every NaN is [`f64::NAN`].
    fn number(self) -> f64 {
        let x = self.unpack();
        let magnitude = match (x.nan, x.infinite) {
            (true, _) => return f64::NAN,
            (_, true) => f64::INFINITY,
            _ => {
                // The power of two is a normal number of f64 in every format.
                let exponent = x.exponent - F::BIAS - F::MAN_BITS as i32;
                f64::from(x.significand) * f64::from_bits(((exponent + 1023) as u64) << 52)
            }
        };
        if x.negative { -magnitude } else { magnitude }
    }

    /// The value nearest to a number, of two equally near the even one. NaN gives [`Fp::NAN`].
    fn nearest(number: f64) -> Self {
        let negative = number.is_sign_negative();
        if number.is_nan() {
            return Fp::NAN;
        }
        if number.is_infinite() {
            return Fp::infinity(negative);
        }
        let (magnitude, exponent, _) = FloatCore::integer_decode(number);
        Self::rounded(negative, magnitude.into(), exponent.into())
    }

    /// `magnitude * 2^exponent` with this sign, rounded once to nearest even.
    fn rounded(negative: bool, magnitude: u128, exponent: i32) -> Self {
        if magnitude == 0 {
            return Fp::zero(negative);
        }
        // The leading one goes to the top of the word; `field` is the exponent field that it has there.
        let leading_zeros = magnitude.leading_zeros();
        let normalised = magnitude << leading_zeros;
        let field = exponent + 127 - leading_zeros as i32 + F::BIAS;
        if field >= F::EXP_MAX {
            return Fp::infinity(negative);
        }

        // As in fp_narrow: a subnormal number is shifted further down. Numbers smaller than half the
        // smallest one are zeros.
        let normal = field >= i32::from(F::SUBNORMALS);
        let right = if normal { 0 } else { (1 - field) as u32 };
        if right > F::MAN_BITS + 1 || !F::SUBNORMALS && !normal {
            return Fp::zero(negative);
        }

        let below = 126 - F::MAN_BITS + right;
        let number = (normalised >> below) as u32;
        Unrounded {
            negative,
            exponent: if normal { field } else { 0 },
            mantissa: number >> 1 & ((1 << F::MAN_BITS) - 1),
            guard: number & 1 != 0,
            sticky: normalised & ((1 << below) - 1) != 0,
        }
        .round()
    }
}

/// +0. A zero is a value that counts as one: of either sign and, where the format flushes, every
/// subnormal number.
impl<F: Format> Zero for Fp<F> {
    fn zero() -> Self {
        Fp::ZERO
    }

    fn is_zero(&self) -> bool {
        self.unpack().significand == 0
    }
}

impl<F: Format> One for Fp<F> {
    fn one() -> Self {
        Fp::from_bits((F::BIAS as u32) << F::MAN_BITS)
    }
}

/// The finite numbers of the largest magnitude.
impl<F: Format> Bounded for Fp<F> {
    fn min_value() -> Self {
        Self::max_value().negated()
    }

    fn max_value() -> Self {
        Fp::from_bits(F::INFINITY - 1)
    }
}

/// To `f32` and `f64` every value goes exactly, a NaN as their own; a subnormal number that the format
/// flushes is a zero of its sign. To an integer the number is truncated: there is none of NaN and of
/// what is out of the integer's range.
impl<F: Format> ToPrimitive for Fp<F> {
    fn to_i64(&self) -> Option<i64> {
        self.number().to_i64()
    }

    fn to_u64(&self) -> Option<u64> {
        self.number().to_u64()
    }

    fn to_i128(&self) -> Option<i128> {
        self.number().to_i128()
    }

    fn to_u128(&self) -> Option<u128> {
        self.number().to_u128()
    }

    fn to_f64(&self) -> Option<f64> {
        Some(self.number())
    }
}

/// Every number has a value, rounded *once* to nearest, ties to even: an integer does not go through
/// `f64` first. Infinity is what an infinity becomes, and a number that is half a step above the
/// largest finite one or more; NaN becomes [`Fp::NAN`]. Where the format flushes, what is below its
/// smallest normal number after rounding becomes a zero of its sign.
impl<F: Format> FromPrimitive for Fp<F> {
    fn from_i64(n: i64) -> Option<Self> {
        Some(n.as_())
    }

    fn from_u64(n: u64) -> Option<Self> {
        Some(n.as_())
    }

    fn from_i128(n: i128) -> Option<Self> {
        Some(n.as_())
    }

    fn from_u128(n: u128) -> Option<Self> {
        Some(n.as_())
    }

    fn from_f64(n: f64) -> Option<Self> {
        Some(n.as_())
    }
}

/// Into another format: rounded once, as by [`FromPrimitive`]. NaN becomes [`Fp::NAN`], also where both
/// are one format.
impl<F: Format, G: Format> AsPrimitive<Fp<G>> for Fp<F> {
    fn as_(self) -> Fp<G> {
        Fp::nearest(self.number())
    }
}

macro_rules! conversions {
    ($($number:ident => $from:expr, for $($type:ty),+;)+) => {$($(
        /// As `as` converts an `f64`: an integer saturates, and is 0 for NaN.
        impl<F: Format> AsPrimitive<$type> for Fp<F> {
            fn as_(self) -> $type {
                self.number() as $type
            }
        }

        /// Rounded as by [`FromPrimitive`].
        impl<F: Format> AsPrimitive<Fp<F>> for $type {
            fn as_(self) -> Fp<F> {
                let $number = self;
                $from
            }
        }
    )+)+};
}

conversions! {
    number => Fp::nearest(number.as_()), for f32, f64;
    number => Fp::rounded(false, number.as_(), 0), for u8, u16, u32, u64, u128, usize;
    number => Fp::rounded(number < 0, number.unsigned_abs().as_(), 0),
        for i8, i16, i32, i64, i128, isize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Bfloat16, Bfloat16Flush, Binary16, Binary16Flush, Binary32, Binary32Flush};
    use half::{bf16, f16};

    fn all<F: Format>() -> impl Iterator<Item = Fp<F>> {
        (0..1 << 16).map(Fp::from_bits)
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    }

    /// Every value against that of the crate `half` with the same bits, and back.
    fn values_are_those_of_half<F: Format, H>(half: fn(u16) -> H)
    where
        H: ToPrimitive + AsPrimitive<i8> + AsPrimitive<u64> + AsPrimitive<f32>,
    {
        for x in all::<F>() {
            let h = half(x.to_bits() as u16);
            let number = h.to_f64().expect("a number");
            assert!(same(x.to_f64().expect("a number"), number), "{x:?}");
            assert!(same(x.to_f32().expect("a number").into(), number), "{x:?}");
            assert_eq!((x.to_i8(), x.to_u16()), (h.to_i8(), h.to_u16()), "{x:?}");
            assert_eq!((x.to_i64(), x.to_u64()), (h.to_i64(), h.to_u64()), "{x:?}");
            assert_eq!((x.to_i128(), x.to_u128()), (number.to_i128(), number.to_u128()), "{x:?}");
            assert_eq!(AsPrimitive::<i8>::as_(x), AsPrimitive::<i8>::as_(h), "{x:?}");
            assert_eq!(AsPrimitive::<u64>::as_(x), AsPrimitive::<u64>::as_(h), "{x:?}");
            assert!(same(AsPrimitive::<f32>::as_(x).into(), AsPrimitive::<f32>::as_(h).into()));

            let back = if number.is_nan() { Fp::NAN } else { x };
            assert_eq!(Fp::from_f64(number), Some(back));
            assert_eq!(Fp::from_f32(number as f32), Some(back));
            assert_eq!(AsPrimitive::<Fp<F>>::as_(x), back);
            assert_eq!(x.is_zero(), number == 0.0, "{x:?}");
        }
    }

    #[test]
    fn values_are_those_of_binary16() {
        values_are_those_of_half::<Binary16, f16>(f16::from_bits);
    }

    #[test]
    fn values_are_those_of_bfloat16() {
        values_are_those_of_half::<Bfloat16, bf16>(bf16::from_bits);
    }

    /// Half-way between any value and the next one the even one is nearest, and to either side of that
    /// each its own. Next to the largest one is 2^(`BIAS` + 1), as infinity.
    fn numbers_between_values_are_rounded<F: Format>() {
        for bits in 0..F::INFINITY {
            let [below, above] = [bits, bits + 1].map(Fp::<F>::from_bits);
            let even = if bits & 1 == 0 { below } else { above };
            let next =
                if above == Fp::infinity(false) { 2f64.powi(F::BIAS + 1) } else { above.number() };
            let middle = (below.number() + next) / 2.0;
            for (number, value) in
                [(middle.next_down(), below), (middle, even), (middle.next_up(), above)]
            {
                assert_eq!(Fp::from_f64(number), Some(value), "{number:e}");
                assert_eq!(Fp::from_f64(-number), Some(value.negated()), "{number:e}");
            }
        }
    }

    #[test]
    fn numbers_are_rounded_to_nearest_even() {
        numbers_between_values_are_rounded::<Binary16>();
        numbers_between_values_are_rounded::<Bfloat16>();
    }

    /// Against the model of `fp_narrow`: numbers of binary32 about every value and every half-way.
    fn numbers_are_rounded_as_by_fp_narrow<F: Format, W: Format>() {
        for x in all::<F>() {
            let half = 1 << (22 - F::MAN_BITS);
            for tail in [0, 1, half - 1, half, half + 1, 2 * half - 1] {
                let wide = Fp::<W>::from_bits(x.widen::<W>().to_bits() ^ tail);
                assert_eq!(AsPrimitive::<Fp<F>>::as_(wide), wide.narrow(), "{wide:?}");
            }
        }
    }

    #[test]
    fn conversions_are_those_of_the_hardware() {
        numbers_are_rounded_as_by_fp_narrow::<Binary16, Binary32>();
        numbers_are_rounded_as_by_fp_narrow::<Binary16Flush, Binary32Flush>();
        numbers_are_rounded_as_by_fp_narrow::<Bfloat16, Binary32>();
        numbers_are_rounded_as_by_fp_narrow::<Bfloat16Flush, Binary32Flush>();
    }

    #[test]
    fn binary32_is_the_machines() {
        let mut state = 1u64;
        for _ in 0..1_000_000 {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            let bits = state ^ state >> 29;
            // Any f64, and one that is near a number of binary32.
            let near = f64::from(f32::from_bits(bits as u32)).to_bits() ^ bits >> 35;
            for number in [bits, near].map(f64::from_bits) {
                let x: Fp<Binary32> = number.as_();
                let machine = number as f32;
                assert!(same(x.number(), machine.into()), "{number:e}");
            }
            let integer: Fp<Binary32> = (bits as i64).as_();
            assert_eq!(f32::from(integer), bits as i64 as f32, "{bits}");
        }
    }

    #[test]
    fn integers_are_rounded_once() {
        for n in -70_000i32..=70_000 {
            assert_eq!(Fp::from_i32(n), Some(Fp::<Binary16>::from(f16::from_f32(n as f32))), "{n}");
        }
        // 2^63 + 2^55 is a tie of bfloat16; f64 does not see what is above it.
        let tie = 1u64 << 63 | 1 << 55;
        let bits = |n: u64| Fp::<Bfloat16>::from_u64(n).map(Fp::to_bits);
        assert_eq!([tie, tie + 1].map(bits), [Some(0x5F00), Some(0x5F01)]);
        assert_eq!(Fp::<Bfloat16>::from_i64(i64::MIN), Some(Fp::from_bits(0xDF00)));
        assert_eq!(Fp::<Bfloat16>::from_i128(i128::MIN), Some(Fp::from_bits(0xFF00)));
        assert_eq!(Fp::<Bfloat16>::from_u128(u128::MAX), Some(Fp::infinity(false)));
        assert_eq!(Fp::<Binary16>::from_u64(65_519), Some(Fp::max_value()));
        assert_eq!(Fp::<Binary16>::from_u64(65_520), Some(Fp::infinity(false)));
    }

    /// `x + 0` and `1 * x` are `x`, but for -0 + 0 and NaN.
    fn zero_and_one_are_neutral<F: Format>() {
        assert_eq!(Fp::<F>::zero(false), Zero::zero());
        for x in all::<F>().filter(|x| !x.number().is_nan()) {
            let read = Fp::<F>::nearest(x.number());
            assert_eq!(read * Fp::one(), read, "{x:?}");
            let sum = if x.is_zero() { Fp::ZERO } else { x };
            assert_eq!(x + Zero::zero(), sum, "{x:?}");
            assert!(x == Fp::infinity(false) || x.number() <= Fp::<F>::max_value().number());
            assert!(x == Fp::infinity(true) || x.number() >= Fp::<F>::min_value().number());
        }
    }

    #[test]
    fn constants() {
        zero_and_one_are_neutral::<Binary16>();
        zero_and_one_are_neutral::<Binary16Flush>();
        zero_and_one_are_neutral::<Bfloat16>();
        zero_and_one_are_neutral::<Bfloat16Flush>();
        assert_eq!(Fp::<Binary32>::one(), 1.0f32.into());
        assert_eq!(Fp::<Binary32>::max_value(), f32::MAX.into());
        assert_eq!(Fp::<Binary32>::min_value(), f32::MIN.into());
    }

    #[test]
    fn flushed_subnormal_numbers_are_zeros() {
        let tiny = Fp::<Binary16Flush>::from_bits(0x83FF);
        assert!(tiny.is_zero() && same(tiny.number(), -0.0));
        // 2^-14 (1 - 2^-12) is rounded up to the smallest normal number, less than that is flushed.
        let smallest = Fp::from_bits(0x0400);
        let below = |distance: i32| smallest.number() * (1.0 - 2f64.powi(distance));
        assert_eq!(Fp::<Binary16Flush>::from_f64(below(-12)), Some(smallest));
        assert_eq!(Fp::<Binary16Flush>::from_f64(below(-11)), Some(Fp::ZERO));
        assert_eq!(Fp::<Binary32Flush>::from_f32(-f32::MIN_POSITIVE / 2.0), Some(Fp::zero(true)));
    }
}
