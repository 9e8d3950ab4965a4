// SPDX-License-Identifier: MIT
//! `exact` against a search through every number of the format: slower still, and nothing left to
//! get wrong.

mod operands;

use operands::{pairs, random_f64s, random_pairs, stratified};
use pimlico_golden::exact::{add, from_f64, mul, round_exact, to_f64};
use pimlico_golden::format::{Format, Subnormals};

/// A format small enough to try everything: 3 exponent bits, 2 mantissa bits, 64 encodings, numbers
/// from 1/16 to 14.
const TINY: Format = Format { exp_bits: 3, man_bits: 2 };

/// The positive number `x` rounded to nearest even in `f` by looking at every number there is. `x`
/// and half-way points must be exact in an `f64`.
fn nearest(f: Format, x: f64) -> u32 {
    // For rounding, the number after the largest counts as what it would be if the exponent went on
    // (IEEE 754, 4.3.1).
    let beyond = 2f64.powi(f.max_exponent() + 1);
    let value = |bits| if bits == f.infinity(false) { beyond } else { to_f64(f, bits) };

    let above = (0..=f.infinity(false)).find(|&bits| value(bits) >= x);
    match above {
        None => f.infinity(false),
        Some(0) => 0,
        Some(above) => {
            let below = above - 1;
            let (down, up) = (x - value(below), value(above) - x);
            // Numbers next to each other have mantissas, and so encodings, that take turns in being
            // even.
            if down < up || down == up && below % 2 == 0 { below } else { above }
        }
    }
}

/// `x` rounded with underflow as `s` says. Flushing, by its definition: round where the exponent
/// goes further down, then see whether the result is below the smallest normal number.
fn nearest_signed(f: Format, s: Subnormals, x: f64) -> u32 {
    let sign = f.zero(x < 0.0);
    let wider = Format { exp_bits: f.exp_bits + 2, ..f };
    let tiny = to_f64(wider, nearest(wider, x.abs())) < to_f64(f, f.min_normal());
    match s {
        Subnormals::Flush if tiny => sign,
        _ => sign | nearest(f, x.abs()),
    }
}

/// Finite operands as `s` reads them; results other than zero (whose sign needs other rules than
/// these).
fn every_finite_pair(f: Format, s: Subnormals, mut check: impl FnMut(u32, u32, f64, f64)) {
    let read = |bits| {
        let flushed = s == Subnormals::Flush && bits & f.exponent_mask() == 0;
        if flushed { 0.0 } else { to_f64(f, bits) }
    };
    let finite: Vec<u32> =
        (0..1 << f.width()).filter(|bits| bits & f.exponent_mask() != f.exponent_mask()).collect();
    for &a in &finite {
        for &b in &finite {
            check(a, b, read(a), read(b));
        }
    }
}

#[test]
fn every_product_and_sum_of_a_tiny_format() {
    let mut checked = 0;
    for f in [TINY, Format { exp_bits: 2, man_bits: 4 }, Format { exp_bits: 4, man_bits: 1 }] {
        for s in [Subnormals::Gradual, Subnormals::Flush] {
            every_finite_pair(f, s, |a, b, x, y| {
                if x * y != 0.0 {
                    assert_eq!(
                        mul(f, s, a, b),
                        nearest_signed(f, s, x * y),
                        "{f:?} {s:?}: {x} * {y}"
                    );
                    checked += 1;
                }
                if x + y != 0.0 {
                    assert_eq!(
                        add(f, s, a, b),
                        nearest_signed(f, s, x + y),
                        "{f:?} {s:?}: {x} + {y}"
                    );
                    checked += 1;
                }
            });
        }
    }
    assert!(checked > 20_000, "{checked}");
}

#[test]
fn every_step_of_a_tiny_format_is_rounded_right() {
    // Thirty-seconds of the smallest spacing, from zero to beyond infinity.
    for s in [Subnormals::Gradual, Subnormals::Flush] {
        for n in 1..16 * 16 * 32 * 2u32 {
            let exponent = TINY.min_quantum() - 5;
            let x = f64::from(n) * 2f64.powi(exponent);
            let want = nearest_signed(TINY, s, x);
            assert_eq!(round_exact(TINY, s, false, n.into(), exponent), want, "{s:?} {x}");
            assert_eq!(
                round_exact(TINY, s, true, n.into(), exponent),
                want | TINY.sign_mask(),
                "{s:?} -{x}"
            );
            assert_eq!(from_f64(TINY, s, x), want, "{s:?} {x}");
        }
    }
}

#[test]
fn binary16_by_search() {
    let f = Format::BINARY16;
    for s in [Subnormals::Gradual, Subnormals::Flush] {
        for x in random_f64s(f, 12, 2_000) {
            assert_eq!(from_f64(f, s, x), nearest_signed(f, s, x), "{s:?} {x:e}");
        }
    }
}

/// Flushing told by gradual underflow in a format with two more exponent bits, where none of these
/// results underflows.
#[test]
fn flush_by_a_wider_format() {
    let f = Format::BINARY16;
    let wider = Format { exp_bits: f.exp_bits + 2, ..f };
    let widen = |bits| {
        let zero = bits & f.exponent_mask() == 0;
        from_f64(
            wider,
            Subnormals::Gradual,
            if zero { 0.0f64.copysign(to_f64(f, bits)) } else { to_f64(f, bits) },
        )
    };
    let narrow = |bits| {
        let x = to_f64(wider, bits);
        match x.abs() < to_f64(f, f.min_normal()) {
            true => f.zero(x.is_sign_negative()),
            false => from_f64(f, Subnormals::Gradual, x),
        }
    };
    for (a, b) in random_pairs(f, 13, 1_000_000).chain(pairs(&stratified(f))) {
        let product = narrow(mul(wider, Subnormals::Gradual, widen(a), widen(b)));
        assert_eq!(mul(f, Subnormals::Flush, a, b), product, "{a:#06x} * {b:#06x}");
        let sum = narrow(add(wider, Subnormals::Gradual, widen(a), widen(b)));
        assert_eq!(add(f, Subnormals::Flush, a, b), sum, "{a:#06x} + {b:#06x}");
    }
}
