// SPDX-License-Identifier: MIT
//! Binary floating-point formats: what number an encoding stands for (IEEE 754-2019, section 3.4).
//!
//! An encoding is kept in the low bits of a `u32`, sign first, then the exponent field, then the
//! mantissa field:
//!
//! ```text
//!  width-1        man_bits          0
//!   | sign | exponent | mantissa |
//! ```
//!
//! | exponent field | mantissa field | value |
//! | --- | --- | --- |
//! | all ones | not 0 | NaN |
//! | all ones | 0 | infinity |
//! | *x*, neither | *m* | normal: (2^`man_bits` + *m*) * 2^(*x* - `bias` - `man_bits`) |
//! | 0 | *m*, not 0 | subnormal: *m* * 2^(1 - `bias` - `man_bits`) |
//! | 0 | 0 | zero |

/// A binary interchange format, or one shaped like it: one sign bit, `exp_bits`, `man_bits`.
///
/// Meant for 2 to 8 exponent bits and 1 to 23 mantissa bits: within these an encoding fits in a
/// `u32`, and every value and every product of two values is exact in an `f64`. Bits of a `u32`
/// above [`width`](Self::width) are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Width of the exponent field in bits.
    pub exp_bits: u32,
    /// Width of the mantissa field in bits; the leading bit of a normal number is not stored.
    pub man_bits: u32,
}

/// What happens to numbers below the smallest normal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnormals {
    /// They are numbers like others (IEEE 754): underflow is gradual.
    Gradual,
    /// They become zero of the same sign. An operand does so if its exponent field is 0. A result
    /// does so if its magnitude, rounded to the format's precision as if the exponent had no lower
    /// bound, is below the smallest normal number (what IEEE 754, section 7.5, calls tininess
    /// detected after rounding).
    Flush,
}

/// What an encoding stands for. A sign is `true` for negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Not a number; sign and payload mean nothing here.
    Nan,
    /// An infinity of this sign.
    Inf(bool),
    /// A zero of this sign.
    Zero(bool),
    /// The number `mantissa * 2^exponent`, negative if `sign`. `mantissa` is never 0; that of a
    /// normal number has [`Format::precision`] bits.
    Finite {
        /// `true` for a negative number.
        sign: bool,
        /// The significand as an integer, including the bit that is not stored.
        mantissa: u64,
        /// The power of two that the mantissa's last bit stands for.
        exponent: i32,
    },
}

impl Format {
    /// IEEE 754 binary16 (half precision).
    pub const BINARY16: Self = Self { exp_bits: 5, man_bits: 10 };
    /// bfloat16: binary32 without its lower 16 bits.
    pub const BFLOAT16: Self = Self { exp_bits: 8, man_bits: 7 };
    /// IEEE 754 binary32 (single precision).
    pub const BINARY32: Self = Self { exp_bits: 8, man_bits: 23 };

    /// Width of an encoding in bits.
    pub const fn width(self) -> u32 {
        1 + self.exp_bits + self.man_bits
    }

    /// Bits of a normal number's mantissa, counting the one that is not stored: 11 for binary16.
    pub const fn precision(self) -> u32 {
        self.man_bits + 1
    }

    /// What the exponent field of 1.0 holds: 15 for binary16.
    pub const fn bias(self) -> i32 {
        (1 << (self.exp_bits - 1)) - 1
    }

    /// Exponent of the smallest normal number, 2^`min_exponent`: -14 for binary16.
    pub const fn min_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// Exponent of the binade of the largest finite number, which is below 2^(`max_exponent` + 1):
    /// 15 for binary16.
    pub const fn max_exponent(self) -> i32 {
        self.bias()
    }

    /// The smallest spacing of the format is 2^`min_quantum`, the value of a mantissa's last bit in
    /// the subnormal numbers and in the first binade of the normal ones: -24 for binary16.
    pub const fn min_quantum(self) -> i32 {
        self.min_exponent() - self.man_bits as i32
    }

    /// The largest spacing of the format is 2^`max_quantum`, that below infinity: 5 for binary16.
    pub const fn max_quantum(self) -> i32 {
        self.max_exponent() - self.man_bits as i32
    }

    /// All bits of an encoding.
    pub const fn mask(self) -> u32 {
        u32::MAX >> (32 - self.width())
    }

    /// The sign bit, in its place.
    pub const fn sign_mask(self) -> u32 {
        1 << (self.exp_bits + self.man_bits)
    }

    /// The exponent field, in its place, all ones.
    pub const fn exponent_mask(self) -> u32 {
        ((1 << self.exp_bits) - 1) << self.man_bits
    }

    /// The mantissa field, all ones.
    pub const fn mantissa_mask(self) -> u32 {
        (1 << self.man_bits) - 1
    }

    /// The one NaN that arithmetic gives: positive, quiet, no payload. 0x7E00, 0x7FC0, 0x7FC0_0000.
    pub const fn nan(self) -> u32 {
        self.exponent_mask() | 1 << (self.man_bits - 1)
    }

    /// Infinity, negative if `sign`.
    pub const fn infinity(self, sign: bool) -> u32 {
        self.zero(sign) | self.exponent_mask()
    }

    /// Zero, negative if `sign`.
    pub const fn zero(self, sign: bool) -> u32 {
        if sign { self.sign_mask() } else { 0 }
    }

    /// The number 1.
    pub const fn one(self) -> u32 {
        (self.bias() as u32) << self.man_bits
    }

    /// The largest finite number: 65504 (0x7BFF) for binary16.
    pub const fn max_finite(self) -> u32 {
        self.exponent_mask() - 1
    }

    /// The smallest positive normal number: 2^-14 (0x0400) for binary16.
    pub const fn min_normal(self) -> u32 {
        1 << self.man_bits
    }

    /// The smallest positive number: 2^-24 (0x0001) for binary16.
    pub const fn min_subnormal(self) -> u32 {
        1
    }

    /// Is this the encoding of a NaN, canonical or not?
    pub const fn is_nan(self, bits: u32) -> bool {
        bits & self.exponent_mask() == self.exponent_mask() && bits & self.mantissa_mask() != 0
    }

    /// What `bits` stand for, read as an operand: with [`Subnormals::Flush`] an exponent field of 0
    /// means zero.
    pub const fn decode(self, subnormals: Subnormals, bits: u32) -> Value {
        let sign = bits & self.sign_mask() != 0;
        let field = (bits & self.exponent_mask()) >> self.man_bits;
        let mantissa = bits & self.mantissa_mask();

        if field == self.exponent_mask() >> self.man_bits {
            return if mantissa == 0 { Value::Inf(sign) } else { Value::Nan };
        }
        if field == 0 {
            return match subnormals {
                Subnormals::Gradual if mantissa != 0 => {
                    Value::Finite { sign, mantissa: mantissa as u64, exponent: self.min_quantum() }
                }
                _ => Value::Zero(sign),
            };
        }
        Value::Finite {
            sign,
            mantissa: (1 << self.man_bits) + mantissa as u64,
            exponent: field as i32 - self.bias() - self.man_bits as i32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Subnormals::{Flush, Gradual};

    const FORMATS: [Format; 3] = [Format::BINARY16, Format::BFLOAT16, Format::BINARY32];

    #[test]
    fn parameters_are_those_of_ieee_754_table_3_5() {
        assert_eq!(FORMATS.map(Format::width), [16, 16, 32]);
        assert_eq!(FORMATS.map(Format::precision), [11, 8, 24]);
        assert_eq!(FORMATS.map(Format::bias), [15, 127, 127]);
        assert_eq!(FORMATS.map(Format::min_exponent), [-14, -126, -126]);
        assert_eq!(FORMATS.map(Format::max_exponent), [15, 127, 127]);
        assert_eq!(FORMATS.map(Format::min_quantum), [-24, -133, -149]);
        assert_eq!(FORMATS.map(Format::max_quantum), [5, 120, 104]);
    }

    #[test]
    fn special_encodings() {
        assert_eq!(FORMATS.map(Format::nan), [0x7E00, 0x7FC0, 0x7FC0_0000]);
        assert_eq!(FORMATS.map(|f| f.infinity(false)), [0x7C00, 0x7F80, 0x7F80_0000]);
        assert_eq!(FORMATS.map(|f| f.infinity(true)), [0xFC00, 0xFF80, 0xFF80_0000]);
        assert_eq!(FORMATS.map(|f| f.zero(true)), [0x8000, 0x8000, 0x8000_0000]);
        assert_eq!(FORMATS.map(Format::one), [0x3C00, 0x3F80, 0x3F80_0000]);
        assert_eq!(FORMATS.map(Format::max_finite), [0x7BFF, 0x7F7F, 0x7F7F_FFFF]);
        assert_eq!(FORMATS.map(Format::min_normal), [0x0400, 0x0080, 0x0080_0000]);
    }

    #[test]
    fn decoded_values() {
        let f = Format::BINARY16;
        let finite = |sign, mantissa, exponent| Value::Finite { sign, mantissa, exponent };
        assert_eq!(f.decode(Gradual, 0x3C00), finite(false, 1024, -10)); // 1
        assert_eq!(f.decode(Gradual, 0xC000), finite(true, 1024, -9)); // -2
        assert_eq!(f.decode(Gradual, 0x7BFF), finite(false, 2047, 5)); // 65504
        assert_eq!(f.decode(Gradual, 0x0400), finite(false, 1024, -24)); // 2^-14
        assert_eq!(f.decode(Gradual, 0x83FF), finite(true, 1023, -24));
        assert_eq!(f.decode(Gradual, 0x0001), finite(false, 1, -24));
        assert_eq!(f.decode(Gradual, 0x8000), Value::Zero(true));
        assert_eq!(f.decode(Gradual, 0xFC00), Value::Inf(true));
        assert_eq!(f.decode(Gradual, 0x7C01), Value::Nan);
        assert_eq!(f.decode(Gradual, 0xFFFF), Value::Nan);
    }

    #[test]
    fn flush_reads_exponent_field_0_as_zero() {
        let f = Format::BINARY16;
        assert_eq!(f.decode(Flush, 0x0001), Value::Zero(false));
        assert_eq!(f.decode(Flush, 0x83FF), Value::Zero(true));
        assert_eq!(f.decode(Flush, 0x0400), f.decode(Gradual, 0x0400));
    }

    #[test]
    fn bits_above_the_width_are_ignored() {
        for bits in [0x0000, 0x0001, 0x3C00, 0x7C00, 0x7E01, 0xFFFF] {
            assert_eq!(
                Format::BINARY16.decode(Gradual, 0xABCD_0000 | bits),
                Format::BINARY16.decode(Gradual, bits)
            );
            assert_eq!(Format::BINARY16.is_nan(0xABCD_0000 | bits), Format::BINARY16.is_nan(bits));
        }
    }
}
