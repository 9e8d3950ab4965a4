// SPDX-License-Identifier: MIT
//! `exact` against the arithmetic of the machine the tests run on, which is IEEE 754 in binary32
//! and binary64.

mod operands;

use operands::{pairs, random_f64s, random_pairs, stratified, stratified_thinly};
use pimlico_golden::exact::{add, from_f64, max, mul, to_f64};
use pimlico_golden::format::{Format, Subnormals::Gradual};

/// A host's NaN is any NaN; ours is one.
fn canonical(f: Format, bits: u32) -> u32 {
    if f.is_nan(bits) { f.nan() } else { bits }
}

/// In binary64 the product of two 16-bit numbers is exact, and so is the sum of two binary16
/// numbers (at most 51 bits from 2^-24 to 2^16). The sum of two bfloat16 numbers is not, but
/// rounding to 53 bits and then to 8 gives what rounding to 8 gives: with p bits, 2p + 2 are enough
/// (Figueroa, "When is double rounding innocuous?", 1995).
fn compare_with_f64(f: Format, pairs: impl Iterator<Item = (u32, u32)>) {
    for (a, b) in pairs {
        let (x, y) = (to_f64(f, a), to_f64(f, b));
        assert_eq!(
            mul(f, Gradual, a, b),
            from_f64(f, Gradual, x * y),
            "{f:?}: {a:#06x} * {b:#06x}"
        );
        assert_eq!(
            add(f, Gradual, a, b),
            from_f64(f, Gradual, x + y),
            "{f:?}: {a:#06x} + {b:#06x}"
        );
    }
}

#[test]
fn binary16_in_binary64() {
    compare_with_f64(Format::BINARY16, pairs(&stratified(Format::BINARY16)));
    compare_with_f64(Format::BINARY16, random_pairs(Format::BINARY16, 3, 1_000_000));
}

#[test]
fn bfloat16_in_binary64() {
    compare_with_f64(Format::BFLOAT16, pairs(&stratified_thinly(Format::BFLOAT16)));
    compare_with_f64(Format::BFLOAT16, random_pairs(Format::BFLOAT16, 4, 1_000_000));
}

#[test]
fn binary32_is_the_hosts_own() {
    let f = Format::BINARY32;
    for (a, b) in pairs(&stratified_thinly(f)).step_by(7).chain(random_pairs(f, 5, 1_000_000)) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        assert_eq!(mul(f, Gradual, a, b), canonical(f, (x * y).to_bits()), "{a:#x} * {b:#x}");
        assert_eq!(add(f, Gradual, a, b), canonical(f, (x + y).to_bits()), "{a:#x} + {b:#x}");
    }
}

#[test]
fn binary32_conversions_are_the_hosts_own() {
    let f = Format::BINARY32;
    for x in random_f64s(f, 6, 1_000_000) {
        assert_eq!(from_f64(f, Gradual, x), (x as f32).to_bits(), "{x:e}");
    }
    for (a, _) in random_pairs(f, 7, 1_000_000).chain(pairs(&stratified(f)).step_by(512 * 7)) {
        let x = f32::from_bits(a);
        assert!(
            to_f64(f, a).to_bits() == f64::from(x).to_bits() || x.is_nan() && to_f64(f, a).is_nan(),
            "{a:#x}"
        );
    }
}

/// The host has no `maximum` (`f32::max` passes over NaN and does not order the zeros), but it has
/// an order.
#[test]
fn maximum_by_the_hosts_order() {
    for f in [Format::BINARY16, Format::BFLOAT16] {
        for (a, b) in pairs(&stratified_thinly(f)) {
            let (x, y) = (to_f64(f, a), to_f64(f, b));
            let want = if x.is_nan() || y.is_nan() {
                f.nan()
            } else if x.total_cmp(&y).is_gt() {
                a
            } else {
                b
            };
            assert_eq!(max(f, Gradual, a, b), want, "{f:?}: max {a:#06x} {b:#06x}");
        }
    }
}
