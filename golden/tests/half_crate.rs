// SPDX-License-Identifier: MIT
//! `exact` against the crate `half`.
//!
//! What `half` does, and so what can be compared:
//!
//! - **NaN**: it promises no payload. A conversion from `f32` keeps the NaN's sign and the upper
//!   bits of its payload and sets the quiet bit; an operation goes through `f32` and gives
//!   whichever NaN the host's arithmetic makes (on x86 0 * infinity is *negative*, 0xFE00). NaNs
//!   are therefore canonicalised before they are compared.
//! - **`+` and `*`** go through `f32` and round twice, which is harmless. For binary16, binary32
//!   has the 2 * 11 + 2 bits that it takes and a wider exponent. bfloat16 has the exponents of
//!   binary32, so that tiny products are rounded to a multiple of 2^-149 first; but a product of 16
//!   bits that is large enough to matter, from 2^-134 up, is such a multiple.
//! - **`from_f64`** is *not* a single rounding: it goes through `f32` where the CPU converts
//!   binary16, and elsewhere drops the lower 32 bits of the mantissa, which turns what is just
//!   above a tie into a tie: 1 + 2^-11 + 2^-40 gives 1. It is not used here. `from_f32` is one
//!   rounding.

mod operands;

use half::{bf16, f16};
use operands::{pairs, random_f64s, random_pairs, stratified, stratified_thinly};
use pimlico_golden::exact::{add, from_f64, mul, to_f64};
use pimlico_golden::format::{Format, Subnormals::Gradual};
use pimlico_golden::reduction::Precision;

fn canonical(f: Format, bits: u16) -> u32 {
    if f.is_nan(bits.into()) { f.nan() } else { bits.into() }
}

#[test]
fn binary16_arithmetic() {
    let f = Format::BINARY16;
    for (a, b) in pairs(&stratified(f)).chain(random_pairs(f, 8, 1_000_000)) {
        let (x, y) = (f16::from_bits(a as u16), f16::from_bits(b as u16));
        assert_eq!(mul(f, Gradual, a, b), canonical(f, (x * y).to_bits()), "{a:#06x} * {b:#06x}");
        assert_eq!(add(f, Gradual, a, b), canonical(f, (x + y).to_bits()), "{a:#06x} + {b:#06x}");
    }
}

#[test]
fn bfloat16_arithmetic() {
    let f = Format::BFLOAT16;
    for (a, b) in pairs(&stratified_thinly(f)).chain(random_pairs(f, 9, 1_000_000)) {
        let (x, y) = (bf16::from_bits(a as u16), bf16::from_bits(b as u16));
        assert_eq!(add(f, Gradual, a, b), canonical(f, (x + y).to_bits()), "{a:#06x} + {b:#06x}");
        assert_eq!(mul(f, Gradual, a, b), canonical(f, (x * y).to_bits()), "{a:#06x} * {b:#06x}");
    }
}

#[test]
fn conversions() {
    for bits in 0..=u16::MAX {
        let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        assert!(
            same(to_f64(Format::BINARY16, bits.into()), f16::from_bits(bits).to_f64()),
            "{bits:#06x}"
        );
        assert!(
            same(to_f64(Format::BFLOAT16, bits.into()), bf16::from_bits(bits).to_f64()),
            "{bits:#06x}"
        );
    }
    for x in random_f64s(Format::BINARY16, 10, 1_000_000) {
        let x = x as f32;
        let want = f16::from_f32(x).to_bits().into();
        assert_eq!(from_f64(Format::BINARY16, Gradual, x.into()), want, "{x:e}");
    }
    for x in random_f64s(Format::BFLOAT16, 11, 1_000_000) {
        let x = x as f32;
        let want = bf16::from_f32(x).to_bits().into();
        assert_eq!(from_f64(Format::BFLOAT16, Gradual, x.into()), want, "{x:e}");
    }
}

/// Scores and contexts with sums in binary32, against the host's `f32`.
#[test]
fn sums_in_binary32() {
    let precision =
        Precision { elements: Format::BINARY16, subnormals: Gradual, sums: Format::BINARY32 };
    // Exponents about 1, so that few sums are infinite, and now and then anything.
    let mut random = random_pairs(Format::BINARY16, 12, 1_000_000).flat_map(|(a, b)| [a, b]);
    let mut next = |len: usize, wild: bool| -> Vec<u16> {
        let tame = |x: u32| (x & 0x83FF | ((x & 0x1C00) + 0x3000)) as u16;
        let draw = |x: u32| if wild && x.is_multiple_of(61) { x as u16 } else { tame(x) };
        random.by_ref().take(len).map(draw).collect()
    };
    let product = |a: u16, b: u16| (f16::from_bits(a) * f16::from_bits(b)).to_f32();
    let element = |x: f32| canonical(Format::BINARY16, f16::from_f32(x).to_bits()) as u16;
    let tree = |x: [f32; 4]| (x[0] + x[1]) + (x[2] + x[3]);
    let (mut scores, mut contexts) = (0, 0);

    for wild in (0..2000).map(|n| n % 4 == 0) {
        let (k, q) = (next(128, wild), next(128, wild));
        let chip = |c: usize| {
            let at = |e: usize| product(k[e], q[e]);
            let beat = |j: usize| tree([0, 1, 2, 3].map(|p| at(32 * j + 8 * p + c)));
            f16::from_f32((0..4).fold(0.0, |acc, j| beat(j) + acc)).to_f32()
        };
        let sum = tree([0, 1, 2, 3].map(chip)) + tree([4, 5, 6, 7].map(chip));
        assert_eq!(precision.score(&k, &q), element(sum + 0.0));
        scores += usize::from(sum.is_finite());

        let (v, weights) = (next(200, wild), next(200, wild));
        let group =
            |g: usize| (g..200).step_by(4).fold(0.0, |acc, t| product(weights[t], v[t]) + acc);
        let sum = [0, 1, 2, 3].map(group).into_iter().fold(0.0, |sum, acc| acc + sum);
        let rows: Vec<[u16; 1]> = v.iter().map(|&x| [x]).collect();
        let expected = if sum.is_nan() { Format::BINARY32.nan() } else { sum.to_bits() };
        assert_eq!(precision.context(&rows, &weights), [expected]);
        contexts += usize::from(sum.is_finite());
    }
    assert!(scores > 1000 && contexts > 1000, "{scores} and {contexts} finite of 2000");
}
