// SPDX-License-Identifier: MIT
//! Arithmetic by definition: the exact result in integers, then the nearest number of the format.
//!
//! IEEE 754-2019, section 4.3: an operation gives the result that would come of "infinite precision
//! and unbounded range", rounded. So each operation here first computes its exact result as
//! `mantissa * 2^exponent`, and [`round_exact`] is the only place that rounds. Policy, beyond the
//! standard:
//!
//! - round to nearest, ties to even; overflow gives infinity;
//! - underflow as [`Subnormals`] says;
//! - every NaN result is [`Format::nan`], whatever NaN went in. A NaN operand gives NaN, signalling
//!   or not; there are no flags.

use std::cmp::Ordering;

use crate::format::{Format, Subnormals, Value};

/// The product `a * b`, rounded once. 0 * infinity is NaN; a product's sign is the exclusive or of
/// its factors' signs.
pub fn mul(f: Format, s: Subnormals, a: u32, b: u32) -> u32 {
    use Value::{Finite, Inf, Nan, Zero};
    match (f.decode(s, a), f.decode(s, b)) {
        (Nan, _) | (_, Nan) | (Inf(_), Zero(_)) | (Zero(_), Inf(_)) => f.nan(),
        (Inf(x), Inf(y) | Finite { sign: y, .. }) | (Finite { sign: x, .. }, Inf(y)) => {
            f.infinity(x ^ y)
        }
        (Zero(x), Zero(y) | Finite { sign: y, .. }) | (Finite { sign: x, .. }, Zero(y)) => {
            f.zero(x ^ y)
        }
        (
            Finite { sign: x, mantissa: m, exponent: i },
            Finite { sign: y, mantissa: n, exponent: j },
        ) => round_exact(f, s, x ^ y, u128::from(m) * u128::from(n), i + j),
    }
}

/// The sum `a + b`, rounded once. Infinities of unlike sign give NaN. An exact sum of zero is +0,
/// but (-0) + (-0) = -0.
pub fn add(f: Format, s: Subnormals, a: u32, b: u32) -> u32 {
    use Value::{Finite, Inf, Nan, Zero};
    match (f.decode(s, a), f.decode(s, b)) {
        (Nan, _) | (_, Nan) => f.nan(),
        (Inf(x), Inf(y)) if x != y => f.nan(),
        (Inf(x), _) | (_, Inf(x)) => f.infinity(x),
        (Zero(x), Zero(y)) => f.zero(x && y),
        (Finite { sign, mantissa, exponent }, Zero(_))
        | (Zero(_), Finite { sign, mantissa, exponent }) => {
            round_exact(f, s, sign, mantissa.into(), exponent)
        }
        (
            Finite { sign: x, mantissa: m, exponent: i },
            Finite { sign: y, mantissa: n, exponent: j },
        ) => add_finite(f, s, (x, m, i), (y, n, j)),
    }
}

/// [`add`] of two finite numbers other than zero, each as (sign, mantissa, exponent).
fn add_finite(f: Format, s: Subnormals, x: (bool, u64, i32), y: (bool, u64, i32)) -> u32 {
    let (high, low) = if x.2 >= y.2 { (x, y) } else { (y, x) };
    let distance = high.2 - low.2;

    // Too far apart for an i128. But `high` is then a normal number, whose neighbours are at least
    // half of 2^(its exponent) away, and `low` is below 2^24 * 2^(its exponent), which is less than
    // half the way to any of them. So the number nearest to the sum is `high`.
    if distance > 64 {
        return round_exact(f, s, high.0, high.1.into(), high.2);
    }

    // Both as multiples of 2^(the lower exponent), at most 2^(24 + 64) in magnitude.
    let signed = |(sign, mantissa, _): (bool, u64, i32)| {
        if sign { -i128::from(mantissa) } else { mantissa.into() }
    };
    let sum = signed(high) * (1 << distance) + signed(low);
    round_exact(f, s, sum < 0, sum.unsigned_abs(), low.2)
}

/// The larger operand: IEEE 754-2019 `maximum` (section 9.6). NaN if either is NaN; +0 is above -0.
///
/// With [`Subnormals::Flush`], as everywhere, an operand with exponent field 0 is a zero, and that
/// is what is returned.
pub fn max(f: Format, s: Subnormals, a: u32, b: u32) -> u32 {
    let read = |bits| match f.decode(s, bits) {
        Value::Zero(sign) => f.zero(sign),
        _ => bits & f.mask(),
    };
    let (a, b) = (read(a), read(b));

    // An f64 holds every value of the format, so it compares them as they are.
    match to_f64(f, a).partial_cmp(&to_f64(f, b)) {
        None => f.nan(),
        Some(Ordering::Less) => b,
        Some(Ordering::Greater) => a,
        // The same encoding, or zeros: of zeros the one that is not negative.
        Some(Ordering::Equal) => a & b,
    }
}

/// The number that `bits` stand for in `from`, rounded once into `to`. `s` says how both formats
/// treat subnormal numbers.
pub fn convert(from: Format, to: Format, s: Subnormals, bits: u32) -> u32 {
    match from.decode(s, bits) {
        Value::Nan => to.nan(),
        Value::Inf(sign) => to.infinity(sign),
        Value::Zero(sign) => to.zero(sign),
        Value::Finite { sign, mantissa, exponent } => {
            round_exact(to, s, sign, mantissa.into(), exponent)
        }
    }
}

/// The number `mantissa * 2^exponent`, negative if `sign`, rounded to nearest, ties to even. A
/// mantissa of 0 is a zero.
pub fn round_exact(f: Format, s: Subnormals, sign: bool, mantissa: u128, exponent: i32) -> u32 {
    if mantissa == 0 {
        return f.zero(sign);
    }

    // The number lies in the binade from 2^binade to 2^(binade + 1), where the format's numbers,
    // were its exponent unbounded, are the multiples of 2^(binade - man_bits). Gradual underflow
    // means that the spacing never gets finer than `min_quantum`.
    let binade = i64::from(exponent) + i64::from(mantissa.ilog2());
    let quantum = binade - i64::from(f.man_bits);
    let quantum = match s {
        Subnormals::Gradual => quantum.max(f.min_quantum().into()),
        Subnormals::Flush => quantum,
    };

    let multiple = nearest_multiple(mantissa, exponent.into(), quantum);
    encode(f, sign, multiple, quantum)
}

/// The integer nearest to `mantissa * 2^exponent / 2^quantum`; of two equally near, the even one.
fn nearest_multiple(mantissa: u128, exponent: i64, quantum: i64) -> u128 {
    if quantum <= exponent {
        // It is an integer, and no longer than a mantissa of the format, as the quantum is no finer
        // than that of the number's own binade.
        return mantissa << (exponent - quantum);
    }
    if quantum - exponent > 128 {
        // Less than half a quantum, as the mantissa is below 2^128.
        return 0;
    }

    // From here on in units of 2^exponent. The neighbours are `lower * quantum` and `(lower + 1) *
    // quantum`. Half a quantum is what is written down, as a whole one may be 2^128.
    let half_quantum = 1u128 << (quantum - exponent - 1);
    let lower = mantissa / half_quantum / 2;
    let above_lower = mantissa - lower * half_quantum * 2;
    match above_lower.cmp(&half_quantum) {
        Ordering::Less => lower,
        Ordering::Greater => lower + 1,
        Ordering::Equal => lower + lower % 2,
    }
}

/// The encoding of `multiple * 2^quantum`, which has at most the format's precision: infinity if it
/// is too large, zero if its quantum is too small for the format (which only [`Subnormals::Flush`]
/// lets happen).
fn encode(f: Format, sign: bool, multiple: u128, quantum: i64) -> u32 {
    let first_normal = 1u128 << f.man_bits;

    // Rounding up may have reached the next binade, where the spacing is twice as wide.
    let (multiple, quantum) = if multiple == 2 * first_normal {
        (first_normal, quantum + 1)
    } else {
        (multiple, quantum)
    };

    if quantum > f.max_quantum().into() {
        return f.infinity(sign);
    }
    if quantum < f.min_quantum().into() {
        return f.zero(sign);
    }
    if multiple < first_normal {
        // Subnormal, or zero: the quantum is the smallest.
        return f.zero(sign) | multiple as u32;
    }
    let field = (quantum - i64::from(f.min_quantum()) + 1) as u32;
    f.zero(sign) | field << f.man_bits | (multiple - first_normal) as u32
}

/// The `f64` rounded once, to nearest even, into the format. NaN gives [`Format::nan`].
pub fn from_f64(f: Format, s: Subnormals, x: f64) -> u32 {
    let sign = x.is_sign_negative();
    if x.is_nan() {
        return f.nan();
    }
    if x.is_infinite() {
        return f.infinity(sign);
    }
    // binary64: 52 stored mantissa bits, bias 1023.
    let field = (x.to_bits() >> 52 & 0x7FF) as i32;
    let mantissa = x.to_bits() & ((1 << 52) - 1);
    match field {
        0 => round_exact(f, s, sign, mantissa.into(), -1074),
        _ => round_exact(f, s, sign, u128::from(mantissa + (1 << 52)), field - 1075),
    }
}

/// The number that `bits` stand for, exactly (subnormal numbers too). NaN gives [`f64::NAN`].
pub fn to_f64(f: Format, bits: u32) -> f64 {
    let (sign, magnitude) = match f.decode(Subnormals::Gradual, bits) {
        Value::Nan => return f64::NAN,
        Value::Inf(sign) => (sign, f64::INFINITY),
        Value::Zero(sign) => (sign, 0.0),
        Value::Finite { sign, mantissa, exponent } => {
            (sign, mantissa as f64 * power_of_two(exponent))
        }
    };
    if sign { -magnitude } else { magnitude }
}

/// 2^`exponent`, for an exponent of a normal `f64`: -1022 to 1023. (`f64::powi` does not promise to
/// be exact.)
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Subnormals::{Flush, Gradual};

    const H: Format = Format::BINARY16;
    const B: Format = Format::BFLOAT16;

    /// Commutativity is checked along with the value.
    fn check(
        op: fn(Format, Subnormals, u32, u32) -> u32,
        f: Format,
        s: Subnormals,
        cases: &[(u32, u32, u32)],
    ) {
        for &(a, b, want) in cases {
            let got = op(f, s, a, b);
            assert_eq!(got, want, "{a:#06x} {b:#06x}: got {got:#06x}, want {want:#06x}");
            assert_eq!(op(f, s, b, a), want, "{b:#06x} {a:#06x}");
        }
    }

    #[test]
    fn mul_known_answers() {
        let cases = [
            (0x3C00, 0x3C00, 0x3C00), // 1 * 1
            (0xC000, 0x4200, 0xC600), // -2 * 3 = -6
            (0x3C01, 0x3C01, 0x3C02), // (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20: down
            (0x3C20, 0x3C10, 0x3C30), // (1 + 2^-5)(1 + 2^-6) = 1 + 48.5 * 2^-10: tie, down to even
            (0x3C20, 0x3C30, 0x3C52), // (1 + 2^-5)(1 + 3 * 2^-6) = 1 + 81.5 * 2^-10: tie, up
            (0x5BFF, 0x5C00, 0x7BFF), // 255.875 * 256 = 65504
            (0x7BFF, 0x3C01, 0x7C00), // 65504 * (1 + 2^-10) = 65567.97: infinity
            (0x5C00, 0x5C00, 0x7C00), // 256 * 256 = 65536: infinity
            (0x7BFF, 0xFBFF, 0xFC00),
        ];
        check(mul, H, Gradual, &cases);
    }

    #[test]
    fn mul_underflows_gradually() {
        let cases = [
            (0x0001, 0x3800, 0x0000), // 2^-24 / 2: tie, down to even 0
            (0x0001, 0x3801, 0x0001), // a little above the tie
            (0x0003, 0x3800, 0x0002), // 1.5 * 2^-24: tie, up to even 2
            (0x0005, 0x3800, 0x0002), // 2.5 * 2^-24: tie, down to even 2
            (0x8001, 0x3800, 0x8000), // a result rounded to zero keeps its sign
            (0x0001, 0x0001, 0x0000),
            (0x0400, 0x3800, 0x0200), // 2^-14 / 2 is exact
            (0x07FF, 0x3800, 0x0400), // 1023.5 * 2^-24: tie, up to the smallest normal number
            (0x03FF, 0x3C01, 0x0400), // 1023.999 * 2^-24
        ];
        check(mul, H, Gradual, &cases);
        let cases = [(0x0001, 0x3F00, 0x0000), (0x0001, 0x3F01, 0x0001), (0x0003, 0x3F00, 0x0002)];
        check(mul, B, Gradual, &cases);
    }

    #[test]
    fn mul_flushes_operands_and_results() {
        let cases = [
            (0x03FF, 0x7800, 0x0000), // a subnormal operand is zero, whatever the factor
            (0x83FF, 0x7800, 0x8000),
            (0x03FF, 0x7C00, 0x7E00), // and zero times infinity is NaN
            (0x0400, 0x3800, 0x0000), // 2^-15
            (0x8400, 0x3800, 0x8000),
            (0x0400, 0x3BFF, 0x0000), // 2^-14 * (1 - 2^-11) has 11 bits and is below 2^-14
            (0x0403, 0x3BF9, 0x0000), // a little less than that
        ];
        check(mul, H, Flush, &cases);
    }

    #[test]
    fn flush_looks_at_the_result_rounded_with_an_unbounded_exponent() {
        // Just below 2^-14, numbers of 11 bits come in steps of 2^-25 (gradual underflow: 2^-24).
        // The comments give the product's distance from 2^-14 in such steps.
        let cases = [
            (0x0401, 0x3BFE, 0x0400), // 0.002
            (0x0555, 0x3A00, 0x0400), // 0.5: tie, to even
            (0x0411, 0x3BDE, 0x0000), // 0.56
        ];
        check(mul, H, Flush, &cases);
        check(mul, H, Gradual, &cases.map(|(a, b, _)| (a, b, 0x0400)));
    }

    #[test]
    fn mul_of_specials() {
        for s in [Gradual, Flush] {
            let cases = [
                (0x0000, 0x7C00, 0x7E00), // 0 * inf
                (0x8000, 0xFC00, 0x7E00),
                (0x7C00, 0xFC00, 0xFC00),
                (0xFC00, 0xFC00, 0x7C00),
                (0xFC00, 0x3C00, 0xFC00),
                (0x0000, 0x8000, 0x8000),
                (0x8000, 0x8000, 0x0000),
                (0x8000, 0x3C00, 0x8000),
                (0x7E00, 0x3C00, 0x7E00),
                (0xFFFF, 0x0000, 0x7E00), // any NaN becomes the canonical one
                (0x7C01, 0x7C00, 0x7E00), // a signalling one too
            ];
            check(mul, H, s, &cases);
            check(mul, B, s, &[(0x0000, 0x7F80, 0x7FC0), (0xFFFF, 0x3F80, 0x7FC0)]);
        }
    }

    #[test]
    fn add_known_answers() {
        let cases = [
            (0x3C00, 0x3C00, 0x4000), // 1 + 1
            (0x3C00, 0x1000, 0x3C00), // 1 + 2^-11: tie, down to even
            (0x3C01, 0x1000, 0x3C02), // 1 + 2^-10 + 2^-11: tie, up to even
            (0x3C00, 0x1001, 0x3C01), // a little above the tie
            (0x3C00, 0x8C00, 0x3C00), // 1 - 2^-12: tie between 1 - 2^-11 and 1, to even
            (0x3C00, 0x8C01, 0x3BFF), // a little below it
            (0x3C00, 0x0001, 0x3C00), // 1 + 2^-24
            (0x3C00, 0x8001, 0x3C00),
            (0x6800, 0x3C00, 0x6800), // 2048 + 1: tie, to even 2048
            (0x6801, 0x3C00, 0x6802), // 2050 + 1: tie, to even 2052
            (0x7BFF, 0x4C00, 0x7C00), // 65520: tie between 65504 (odd) and 65536: infinity
            (0x7BFF, 0x4BFF, 0x7BFF), // 65504 + 15.99
            (0xFBFF, 0xCC00, 0xFC00),
            (0x7BFF, 0x7BFF, 0x7C00),
            (0x7BFF, 0xFBFE, 0x5000), // 65504 - 65472 = 32
            (0x0400, 0x8001, 0x03FF), // from normal to subnormal and back: always exact
            (0x03FF, 0x0001, 0x0400),
            (0x0001, 0x0001, 0x0002),
        ];
        check(add, H, Gradual, &cases);
    }

    #[test]
    fn add_signs_of_zero() {
        for s in [Gradual, Flush] {
            let cases = [
                (0x0000, 0x0000, 0x0000),
                (0x0000, 0x8000, 0x0000),
                (0x8000, 0x8000, 0x8000),
                (0x3C00, 0xBC00, 0x0000), // x + (-x) = +0
                (0x8000, 0x3C00, 0x3C00),
                (0x8000, 0xBC00, 0xBC00),
            ];
            check(add, H, s, &cases);
        }
        check(add, H, Gradual, &[(0x0001, 0x8001, 0x0000)]);
    }

    #[test]
    fn add_of_specials() {
        for s in [Gradual, Flush] {
            let cases = [
                (0x7C00, 0xFC00, 0x7E00), // inf - inf
                (0x7C00, 0x7C00, 0x7C00),
                (0xFC00, 0x7BFF, 0xFC00),
                (0xFC00, 0x0000, 0xFC00),
                (0xFE00, 0x7C00, 0x7E00),
                (0x7D55, 0x8000, 0x7E00),
            ];
            check(add, H, s, &cases);
        }
    }

    #[test]
    fn add_flushes_operands_and_results() {
        let cases = [
            (0x03FF, 0x0001, 0x0000), // both read as zero
            (0x83FF, 0x8001, 0x8000),
            (0x03FF, 0x0400, 0x0400),
            (0x0401, 0x8400, 0x0000), // 2^-24
            (0x8401, 0x0400, 0x8000),
            (0x0800, 0x8400, 0x0400), // 2^-13 - 2^-14 is normal
        ];
        check(add, H, Flush, &cases);
    }

    #[test]
    fn add_of_numbers_far_apart() {
        let (large, small) = (B.max_finite(), B.min_subnormal());
        let minus = |bits| bits | B.sign_mask();
        let cases = [
            (large, small, large),
            (large, minus(small), large),
            (minus(large), small, minus(large)),
            (0x7F00, minus(small), 0x7F00), // 2^127: the nearer neighbour is the one below
        ];
        check(add, B, Gradual, &cases);
        // Either side of the distance at which the sum is no longer computed.
        for field in 60..80 {
            let high = field << B.man_bits;
            check(add, B, Gradual, &[(high, 0x0080, high), (high, 0x8080, high)]);
        }
    }

    #[test]
    fn max_known_answers() {
        for s in [Gradual, Flush] {
            let cases = [
                (0x3C00, 0x4000, 0x4000),
                (0xBC00, 0xC000, 0xBC00),
                (0xBC00, 0x3800, 0x3800),
                (0x0000, 0x8000, 0x0000),
                (0x8000, 0x8000, 0x8000),
                (0x8000, 0xBC00, 0x8000),
                (0xFC00, 0xFBFF, 0xFBFF),
                (0x7C00, 0x7BFF, 0x7C00),
                (0x7C00, 0xFE01, 0x7E00),
                (0xFC00, 0x7C01, 0x7E00),
            ];
            check(max, H, s, &cases);
        }
        let cases = [(0x0001, 0x0000, 0x0001), (0x8001, 0x8000, 0x8000), (0x8001, 0x83FF, 0x8001)];
        check(max, H, Gradual, &cases);
        let cases = [(0x03FF, 0x8000, 0x0000), (0x83FF, 0xBC00, 0x8000), (0x83FF, 0x0001, 0x0000)];
        check(max, H, Flush, &cases);
    }

    #[test]
    fn round_exact_takes_any_mantissa_and_exponent() {
        for s in [Gradual, Flush] {
            assert_eq!(round_exact(H, s, true, 0, i32::MAX), 0x8000);
            assert_eq!(round_exact(H, s, false, u128::MAX, i32::MAX), 0x7C00);
            assert_eq!(round_exact(H, s, true, u128::MAX, i32::MIN), 0x8000);
            assert_eq!(round_exact(H, s, true, 1, i32::MIN), 0x8000);
            assert_eq!(round_exact(H, s, false, u128::MAX, -128), 0x3C00); // just below 1
            assert_eq!(round_exact(H, s, false, 1 << 127, -127), 0x3C00);
        }
        // A quantum of 2^128 units: half of it is a tie, one more is not.
        let exponent = H.min_quantum() - 128;
        assert_eq!(round_exact(H, Gradual, false, 1 << 127, exponent), 0x0000);
        assert_eq!(round_exact(H, Gradual, false, (1 << 127) + 1, exponent), 0x0001);
        assert_eq!(round_exact(H, Gradual, false, u128::MAX, exponent), 0x0001);
        assert_eq!(round_exact(H, Gradual, false, u128::MAX, exponent - 1), 0x0000);
    }

    #[test]
    fn f64_rounds_once() {
        // 1 + 2^-11 is a tie. Rounded to binary32 first, 1 + 2^-11 + 2^-40 would become one.
        let tie = 1.0 + power_of_two(-11);
        assert_eq!(from_f64(H, Gradual, tie), 0x3C00);
        assert_eq!(from_f64(H, Gradual, tie + power_of_two(-40)), 0x3C01);
        assert_eq!(from_f64(H, Gradual, 65519.99), 0x7BFF);
        assert_eq!(from_f64(H, Gradual, -65520.0), 0xFC00);
        assert_eq!(from_f64(H, Gradual, f64::MIN_POSITIVE / 4.0), 0x0000);
        assert_eq!(from_f64(H, Gradual, -0.0), 0x8000);
        assert_eq!(from_f64(H, Gradual, f64::NEG_INFINITY), 0xFC00);
        assert_eq!(from_f64(H, Gradual, -f64::NAN), 0x7E00);
        assert_eq!(from_f64(H, Flush, power_of_two(-15)), 0x0000);
    }

    #[test]
    fn f64_and_back_is_the_identity() {
        for f in [H, B] {
            for bits in (0..1 << 16).filter(|&bits| !f.is_nan(bits)) {
                assert_eq!(from_f64(f, Gradual, to_f64(f, bits)), bits);
            }
        }
        assert_eq!(to_f64(H, 0x7BFF), 65504.0);
        assert_eq!(to_f64(H, 0x8001), -power_of_two(-24));
        assert!(to_f64(H, 0xFC01).is_nan());
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(power_of_two(0), 1.0);
        assert_eq!(power_of_two(10), 1024.0);
        assert_eq!(power_of_two(-1022), f64::MIN_POSITIVE);
    }
}
