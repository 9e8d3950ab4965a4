// SPDX-License-Identifier: MIT
//! `unary` over every operand of the 16-bit formats: what it relies on, and its reciprocal by
//! another definition.

use pimlico_golden::exact::{from_f64, to_f64};
use pimlico_golden::format::{Format, Subnormals, Value};
use pimlico_golden::unary::{exp, exp_f64, recip};

const FORMATS: [Format; 2] = [Format::BINARY16, Format::BFLOAT16];
const SUBNORMALS: [Subnormals; 2] = [Subnormals::Gradual, Subnormals::Flush];

/// The `f64` that is `steps` steps above the positive number `x`; 0 and infinity are the ends.
fn moved(x: f64, steps: i64) -> f64 {
    let end = f64::INFINITY.to_bits() as i64;
    f64::from_bits((x.to_bits() as i64 + steps).clamp(0, end) as u64)
}

/// e^x rounds to the same number wherever within 2^16 steps of the `f64` it lies. (Rounding never
/// goes down where its operand goes up, so that it is enough to look at both ends.)
#[test]
fn no_exponential_is_near_a_rounding_boundary() {
    const STEPS: i64 = 1 << 16;
    let mut checked = 0;
    for (f, s) in FORMATS.into_iter().flat_map(|f| SUBNORMALS.map(|s| (f, s))) {
        for a in (0..1 << 16).filter(|&a| !f.is_nan(a)) {
            let x = exp_f64(f, s, a);
            let rounded = [x, moved(x, -STEPS), moved(x, STEPS)].map(|x| from_f64(f, s, x));
            assert_eq!(rounded, [exp(f, s, a); 3], "{f:?} {s:?} e^{a:#06x}");
            checked += 1;
        }
    }
    assert_eq!(checked, 2 * 2 * (0x7C01 + 0x7F81));
}

/// 2^`exponent` as a fraction of integers.
fn power(exponent: i32) -> (u128, u128) {
    if exponent >= 0 { (1 << exponent, 1) } else { (1, 1 << -exponent) }
}

/// Is `mantissa * 2^exponent` below, at or above the reciprocal of `m * 2^e`? Their product is
/// compared with 1.
fn compare(mantissa: u64, exponent: i32, m: u64, e: i32) -> std::cmp::Ordering {
    let product = u128::from(mantissa) * u128::from(m);
    let (up, down) = power(exponent + e);
    (product * up).cmp(&down)
}

/// The result of each reciprocal is the number between whose two midpoints it lies.
#[test]
fn reciprocals_lie_between_the_midpoints_beside_them() {
    use std::cmp::Ordering::{Greater, Less};
    let s = Subnormals::Gradual;
    for f in FORMATS {
        let mut checked = 0;
        for a in 0..0x8000 {
            let Value::Finite { mantissa, exponent, .. } = f.decode(s, a) else { continue };
            let result = recip(f, s, a);
            assert_eq!(recip(f, s, a | f.sign_mask()), result | f.sign_mask());

            // A midpoint in half the spacing of the number below it. Infinity counts as the number
            // after the largest; the reciprocals of two operands may exceed it.
            let midpoint = |below: u32| match f.decode(s, below) {
                Value::Zero(_) => (1, f.min_quantum() - 1),
                Value::Finite { mantissa, exponent, .. } => (2 * mantissa + 1, exponent - 1),
                _ => unreachable!("{below:#06x} is finite"),
            };
            let (m, e) = midpoint(result - 1);
            assert_eq!(compare(m, e, mantissa, exponent), Less, "{f:?} 1 / {a:#06x}");
            if result != f.infinity(false) {
                let (m, e) = midpoint(result);
                assert_eq!(compare(m, e, mantissa, exponent), Greater, "{f:?} 1 / {a:#06x}");
            }
            checked += 1;
        }
        assert_eq!(checked, f.infinity(false) - 1);
    }
}

/// Flushing, told by gradual underflow: operands that are subnormal count as zeros, and of the
/// results those become zero that are below the smallest normal number. (No reciprocal is so near
/// to that number that rounding it with an unbounded exponent makes a difference, as 1 / x is
/// exactly that number or at least half a spacing of the larger numbers away.)
#[test]
fn flushed_reciprocals() {
    for f in FORMATS {
        for a in 0..1 << 16 {
            let operand = if a & f.exponent_mask() == 0 { a & f.sign_mask() } else { a };
            let gradual = recip(f, Subnormals::Gradual, operand);
            let tiny = to_f64(f, operand).recip().abs() < to_f64(f, f.min_normal());
            let want = if tiny { gradual & f.sign_mask() } else { gradual };
            assert_eq!(recip(f, Subnormals::Flush, a), want, "{f:?} 1 / {a:#06x}");
        }
    }
}
