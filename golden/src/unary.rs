// SPDX-License-Identifier: MIT
//! Functions of one operand: the reciprocal, rounded once, and the exponential function.
//!
//! The reciprocal is exact integer arithmetic, as everything in [`exact`] is. e^x has
//! no exact form: it is computed in `f64`, which is enough if no value comes so near to half-way
//! between two numbers of the format that the error of the `f64` could decide. `tests/unary.rs`
//! looks at every operand of both 16-bit formats: none comes within 2^16 steps of the `f64`, and a
//! mathematical library is off by one or two.

use crate::exact;
use crate::format::{Format, Subnormals, Value};

/// The reciprocal `1 / a`, rounded once. That of a zero is an infinity of its sign, and the other
/// way round.
pub fn recip(f: Format, s: Subnormals, a: u32) -> u32 {
    match f.decode(s, a) {
        Value::Nan => f.nan(),
        Value::Inf(sign) => f.zero(sign),
        Value::Zero(sign) => f.infinity(sign),
        Value::Finite { sign, mantissa, exponent } => {
            // More than 100 bits of the quotient; whatever is below them only tells that the
            // quotient goes on, which one more bit says.
            let numerator = 1u128 << 126;
            let quotient = numerator / u128::from(mantissa);
            let rest = numerator % u128::from(mantissa);
            let number = quotient << 1 | u128::from(rest != 0);
            exact::round_exact(f, s, sign, number, -exponent - 127)
        }
    }
}

/// e^`a` in `f64`, `a` read as `s` says.
pub fn exp_f64(f: Format, s: Subnormals, a: u32) -> f64 {
    match f.decode(s, a) {
        Value::Zero(_) => 1.0,
        _ => exact::to_f64(f, a).exp(),
    }
}

/// e^`a`, rounded once (for binary16 and bfloat16: see the head of this module).
pub fn exp(f: Format, s: Subnormals, a: u32) -> u32 {
    exact::from_f64(f, s, exp_f64(f, s, a))
}

/// By how many units in the last place `got` misses e^`a`. A unit is the format's spacing at e^`a`,
/// not below that of the subnormal numbers.
///
/// Where the correctly rounded result is NaN, infinite or a flushed zero, that has no error.
/// Infinity in the place of a finite number counts as the number one step beyond the largest.
pub fn exp_ulps(f: Format, s: Subnormals, a: u32, got: u32) -> f64 {
    let (exact, nearest) = (exp_f64(f, s, a), exp(f, s, a));
    let flushed = s == Subnormals::Flush && nearest == f.zero(false);
    let special = flushed || nearest & f.exponent_mask() == f.exponent_mask();
    if special && got == nearest {
        return 0.0;
    }

    let value = if got == f.infinity(false) {
        exact::power_of_two(f.max_exponent() + 1)
    } else {
        exact::to_f64(f, got)
    };
    let binade = exact.log2().floor().max(-1e6) as i32;
    let quantum = binade.clamp(f.min_exponent(), f.max_exponent()) - f.man_bits as i32;
    let ulps = (value - exact).abs() / exact::power_of_two(quantum);
    if ulps.is_nan() { f64::INFINITY } else { ulps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Subnormals::{Flush, Gradual};

    const H: Format = Format::BINARY16;
    const B: Format = Format::BFLOAT16;

    #[test]
    fn recip_known_answers() {
        let cases = [
            (0x3C00, 0x3C00), // 1
            (0x4000, 0x3800), // 1 / 2
            (0xC200, 0xB555), // 1 / -3 = -0.33325
            (0x3C01, 0x3BFE), // 1 / (1 + 2^-10) = 1 - 2^-10 + 2^-20
            (0x7BFF, 0x0100), // 1 / 65504 = 256.1 * 2^-24
            (0x7800, 0x0200), // 2^-15
            (0x0400, 0x7400), // 2^14
            (0x0200, 0x7800), // 2^15
            (0x0101, 0x7BF8), // 2^24 / 257 = 65281: 65280
            (0x0100, 0x7C00), // 2^16
            (0x8001, 0xFC00),
            (0x0000, 0x7C00),
            (0x8000, 0xFC00),
            (0x7C00, 0x0000),
            (0xFC00, 0x8000),
            (0xFFFF, 0x7E00),
        ];
        for (a, want) in cases {
            assert_eq!(recip(H, Gradual, a), want, "{a:#06x}");
        }
        for (a, want) in [(0x0200, 0x7C00), (0x83FF, 0xFC00), (0x7401, 0x0000), (0xF800, 0x8000)] {
            assert_eq!(recip(H, Flush, a), want, "{a:#06x}");
        }
        assert_eq!(recip(H, Flush, 0x7400), 0x0400);
        assert_eq!(recip(B, Gradual, 0x4040), 0x3EAB); // 1 / 3
    }

    #[test]
    fn exp_known_answers() {
        let cases = [
            (0x0000, 0x3C00),
            (0x8000, 0x3C00),
            (0x3C00, 0x4170), // e = 2.71828
            (0xBC00, 0x35E3), // 1 / e = 0.36788
            (0x498B, 0x7BF7), // e^11.0859 = 65247
            (0x498C, 0x7C00), // e^11.09375 = 65758
            (0xCC54, 0x0001), // e^-17.3125 = 0.508 * 2^-24
            (0xCC56, 0x0000), // e^-17.34375
            (0x7C00, 0x7C00),
            (0xFC00, 0x0000),
            (0xFE01, 0x7E00),
        ];
        for (a, want) in cases {
            assert_eq!(exp(H, Gradual, a), want, "{a:#06x}");
        }
        assert_eq!(exp(H, Flush, 0xCC54), 0);
        assert_eq!(exp(B, Gradual, 0x3F80), 0x402E);
    }

    #[test]
    fn errors_in_ulps() {
        assert_eq!(exp_ulps(H, Gradual, 0x0000, 0x3C02), 2.0);
        assert_eq!(exp_ulps(H, Gradual, 0x0000, 0x3BFF), 0.5);
        assert_eq!(exp_ulps(H, Gradual, 0xFC00, 0x0003), 3.0);
        assert_eq!(exp_ulps(H, Gradual, 0xFC00, 0x0000), 0.0);
        assert_eq!(exp_ulps(H, Gradual, 0x7C00, 0x7C00), 0.0);
        assert_eq!(exp_ulps(H, Gradual, 0x7C00, 0x7BFF), f64::INFINITY);
        assert_eq!(exp_ulps(H, Gradual, 0x7E00, 0x7E00), 0.0);
        assert_eq!(exp_ulps(H, Gradual, 0x7E00, 0x3C00), f64::INFINITY);
        assert_eq!(exp_ulps(H, Gradual, 0x3C00, 0x7E00), f64::INFINITY);
        // e^-10 = 4.54e-5 = 761.7 * 2^-24 is below the smallest normal number.
        assert_eq!(exp_ulps(H, Flush, 0xC900, 0x0000), 0.0);
        assert!((exp_ulps(H, Gradual, 0xC900, 0x0000) - 761.7).abs() < 0.1);
    }
}
