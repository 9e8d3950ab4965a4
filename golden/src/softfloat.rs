// SPDX-License-Identifier: MIT
//! The same multiply, add, maximum and conversions by somebody else: `rustc_apfloat`, a port of LLVM's APFloat, the soft
//! floating point with which both compilers fold constants.
//!
//! A second opinion on [`crate::exact`], slower, with gradual underflow only. Its NaNs carry
//! payloads; here they come out as [`Format::nan`].

use std::ops::{Add, Mul};

use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Status, StatusAnd};

use crate::format::Format;

/// The product `a * b`, rounded to nearest even.
///
/// # Panics
///
/// If the format is none of binary16, bfloat16 and binary32.
pub fn mul(f: Format, a: u32, b: u32) -> u32 {
    match f {
        Format::BINARY16 => apply(f, Half::mul, a, b),
        Format::BFLOAT16 => apply(f, BFloat::mul, a, b),
        Format::BINARY32 => apply(f, Single::mul, a, b),
        _ => panic!("no soft float for {f:?}"),
    }
}

/// The sum `a + b`, rounded to nearest even.
///
/// # Panics
///
/// If the format is none of binary16, bfloat16 and binary32.
pub fn add(f: Format, a: u32, b: u32) -> u32 {
    match f {
        Format::BINARY16 => apply(f, Half::add, a, b),
        Format::BFLOAT16 => apply(f, BFloat::add, a, b),
        Format::BINARY32 => apply(f, Single::add, a, b),
        _ => panic!("no soft float for {f:?}"),
    }
}

/// The larger of `a` and `b`: `maximum` of IEEE 754-2019, section 9.6.
///
/// # Panics
///
/// If the format is none of binary16, bfloat16 and binary32.
pub fn max(f: Format, a: u32, b: u32) -> u32 {
    match f {
        Format::BINARY16 => apply(f, maximum::<Half>, a, b),
        Format::BFLOAT16 => apply(f, maximum::<BFloat>, a, b),
        Format::BINARY32 => apply(f, maximum::<Single>, a, b),
        _ => panic!("no soft float for {f:?}"),
    }
}

/// `bits` of a 16-bit format in binary32, exactly.
///
/// # Panics
///
/// If the format is neither binary16 nor bfloat16.
pub fn widen(from: Format, bits: u32) -> u32 {
    match from {
        Format::BINARY16 => convert::<Half, Single>(from, Format::BINARY32, bits),
        Format::BFLOAT16 => convert::<BFloat, Single>(from, Format::BINARY32, bits),
        _ => panic!("no soft float for {from:?}"),
    }
}

/// `bits` of binary32 in a 16-bit format, rounded to nearest even.
///
/// # Panics
///
/// If the format is neither binary16 nor bfloat16.
pub fn narrow(to: Format, bits: u32) -> u32 {
    match to {
        Format::BINARY16 => convert::<Single, Half>(Format::BINARY32, to, bits),
        Format::BFLOAT16 => convert::<Single, BFloat>(Format::BINARY32, to, bits),
        _ => panic!("no soft float for {to:?}"),
    }
}

/// `bits` of `from`, for which `T` stands in `rustc_apfloat`, in `to`, for which `U` does.
fn convert<T: FloatConvert<U>, U: Float>(from: Format, to: Format, bits: u32) -> u32 {
    let result = T::from_bits((bits & from.mask()).into()).convert(&mut false).value;
    if result.is_nan() { to.nan() } else { result.to_bits() as u32 }
}

fn maximum<T: Float>(a: T, b: T) -> StatusAnd<T> {
    Status::OK.and(a.maximum(b))
}

/// `operation` on two encodings of `f`, for which `T` stands in `rustc_apfloat`.
fn apply<T: Float>(f: Format, operation: fn(T, T) -> StatusAnd<T>, a: u32, b: u32) -> u32 {
    let read = |bits: u32| T::from_bits((bits & f.mask()).into());
    let result = operation(read(a), read(b)).value;
    if result.is_nan() { f.nan() } else { result.to_bits() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        assert_eq!(mul(Format::BINARY16, 0x3E00, 0x4000), 0x4200); // 1.5 * 2 = 3
        assert_eq!(mul(Format::BFLOAT16, 0x3FC0, 0x4000), 0x4040);
        assert_eq!(mul(Format::BINARY32, 0x3FC0_0000, 0x4000_0000), 0x4040_0000);
        assert_eq!(add(Format::BINARY16, 0x7BFF, 0x4C00), 0x7C00);
        assert_eq!(add(Format::BFLOAT16, 0x3F80, 0x3F80), 0x4000);
        assert_eq!(widen(Format::BINARY16, 0x8001), 0xB380_0000); // -2^-24
        assert_eq!(narrow(Format::BINARY16, 0x4780_0000), 0x7C00); // 65536
        assert_eq!(max(Format::BINARY16, 0x8000, 0x0000), 0x0000);
        assert_eq!(max(Format::BINARY16, 0xFC00, 0x7E01), 0x7E00);
    }

    #[test]
    fn nan_is_canonical() {
        assert_eq!(mul(Format::BINARY16, 0x0000, 0xFC00), 0x7E00);
        assert_eq!(add(Format::BINARY16, 0x7D55, 0x3C00), 0x7E00);
        assert_eq!(add(Format::BFLOAT16, 0x7F80, 0xFF80), 0x7FC0);
    }
}
