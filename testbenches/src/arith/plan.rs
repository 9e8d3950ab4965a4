// SPDX-License-Identifier: MIT
//! What the benches of the arithmetic units are to reach: every class of operands, each with each, and
//! every way in which a result is rounded or leaves the format's range.
//!
//! Computed on integers, from the exact value, and not from a unit's result.

use crate::coverage::Bins;
use pimlico_units::arith::{Format, Fp};

/// Classes of values.
pub const CLASSES: [&str; 13] = [
    "NaN",
    "+infinity",
    "-infinity",
    "+0",
    "-0",
    "+subnormal",
    "-subnormal",
    "+smallest normal",
    "-smallest normal",
    "+largest",
    "-largest",
    "+normal",
    "-normal",
];

/// The class of a value: an index of [`CLASSES`].
pub fn class<F: Format>(value: Fp<F>) -> usize {
    let bits = value.to_bits();
    let magnitude = bits & !sign_bit::<F>();
    let pair = match magnitude {
        m if m > F::INFINITY => return 0,
        m if m == F::INFINITY => 1,
        0 => 3,
        m if m < smallest_normal::<F>() => 5,
        m if m == smallest_normal::<F>() => 7,
        m if m == F::INFINITY - 1 => 9,
        _ => 11,
    };
    pair + usize::from(bits != magnitude)
}

/// Sorts of values, where signs and neighbours of the ends do not matter.
pub const SORTS: [&str; 5] = ["NaN", "infinity", "zero", "subnormal", "normal"];

/// The sort of a value: an index of [`SORTS`].
pub fn sort<F: Format>(value: Fp<F>) -> usize {
    class(value).div_ceil(2).min(SORTS.len() - 1)
}

/// Declares the classes of results in `F`.
pub fn plan_results<F: Format>(bins: &mut Bins) {
    bins.declare("result", CLASSES);
    if !F::SUBNORMALS {
        for subnormal in [5, 6] {
            bins.leave_out("result", subnormal);
        }
    }
}

fn sign_bit<F: Format>() -> u32 {
    1 << (F::WIDTH - 1)
}

fn smallest_normal<F: Format>() -> u32 {
    1 << F::MAN_BITS
}

/// A finite value's magnitude: an integer times a power of 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    significand: u128,
    exponent: i32,
}

impl Exact {
    /// Of the significand's last bit.
    pub fn exponent(self) -> i32 {
        self.exponent
    }
}

/// The magnitude of a value as the unit reads it; none if it is not finite.
pub fn magnitude<F: Format>(value: Fp<F>) -> Option<Exact> {
    let bits = value.to_bits();
    let exponent = (bits >> F::MAN_BITS) as i32 & F::EXP_MAX;
    let mantissa = bits & (smallest_normal::<F>() - 1);
    let significand = match exponent {
        0 if F::SUBNORMALS => mantissa,
        0 => 0,
        _ => mantissa | smallest_normal::<F>(),
    };
    let exact = Exact {
        significand: significand.into(),
        exponent: exponent.max(1) - F::BIAS - F::MAN_BITS as i32,
    };
    (exponent != F::EXP_MAX).then_some(exact)
}

/// The magnitude of a product.
pub fn product(a: Exact, b: Exact) -> Exact {
    Exact { significand: a.significand * b.significand, exponent: a.exponent + b.exponent }
}

/// The magnitude of a sum, or of a difference; none if the operands are too far apart for the integers
/// here. They do not matter then: the smaller is a sticky bit.
pub fn sum(a: Exact, b: Exact, subtract: bool) -> Option<Exact> {
    let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let shift = u32::try_from(large.exponent - small.exponent).ok().filter(|shift| *shift < 96)?;
    let aligned = large.significand << shift;
    let significand =
        if subtract { aligned.abs_diff(small.significand) } else { aligned + small.significand };
    Some(Exact { significand, exponent: small.exponent })
}

const ROUNDINGS: [&str; 5] = ["exact", "down", "tie, down to even", "tie, up to even", "up"];
const RANGES: [&str; 2] = ["normal", "below normal"];

const EDGES: [&str; 5] = [
    "beyond the largest",
    "to infinity by rounding",
    "carry of rounding into the exponent",
    "up to the smallest normal by rounding",
    "underflow to zero",
];

/// The cover points of a unit that rounds.
pub fn plan_rounding(bins: &mut Bins) {
    bins.cross("rounding, range", &ROUNDINGS, &RANGES);
    bins.declare("edge of the range", EDGES);
}

/// Of a sum, that below the normal numbers is always exact.
pub fn plan_sum<F: Format>(bins: &mut Bins) {
    plan_rounding(bins);
    for rounding in 1..ROUNDINGS.len() {
        bins.leave_out("rounding, range", rounding * RANGES.len() + 1);
    }
    bins.leave_out("edge of the range", 3);
    if F::SUBNORMALS {
        bins.leave_out("edge of the range", 4);
    }
}

/// Marks how `exact` is rounded to `F`.
pub fn cover_rounding<F: Format>(exact: Exact, bins: &mut Bins) {
    let Exact { significand, exponent } = exact;
    if significand == 0 {
        return;
    }
    let man = F::MAN_BITS as i32;
    let (least, most) = (1 - F::BIAS, F::EXP_MAX - 1 - F::BIAS);
    let length = |n: u128| 128 - n.leading_zeros() as i32;
    let leading = length(significand) - 1 + exponent;
    let below = leading < least;
    // Without subnormals, results are rounded as if the exponent had no lower end.
    let last = if below && F::SUBNORMALS { least } else { leading } - man;
    let shift = last - exponent;
    let (rounding, kept, up) = if shift <= 0 {
        (0, significand << -shift, false)
    } else if shift > 126 {
        (1, 0, false)
    } else {
        let kept = significand >> shift;
        let (rest, half) = (significand & ((1 << shift) - 1), 1u128 << (shift - 1));
        let odd = kept & 1 == 1;
        match rest.cmp(&half) {
            _ if rest == 0 => (0, kept, false),
            std::cmp::Ordering::Less => (1, kept, false),
            std::cmp::Ordering::Equal => (if odd { 3 } else { 2 }, kept, odd),
            std::cmp::Ordering::Greater => (4, kept, true),
        }
    };
    bins.hit_cross("rounding, range", rounding, usize::from(below));
    let rounded = kept + u128::from(up);
    let carry = length(rounded) > length(kept) && kept > 0;
    let reaches_normal = rounded > 0 && length(rounded) - 1 + last >= least;
    let edges = [
        leading > most,
        leading == most && carry,
        !below && leading < most && carry,
        below && reaches_normal,
        if F::SUBNORMALS { rounded == 0 } else { !reaches_normal },
    ];
    for (edge, _) in edges.into_iter().enumerate().filter(|(_, reached)| *reached) {
        bins.hit("edge of the range", edge);
    }
}

/// Values at the edges of `F`, and such whose products and sums are there.
pub fn corner<F: Format>(number: usize) -> Fp<F> {
    let one = (F::BIAS as u32) << F::MAN_BITS;
    let ulp_below = smallest_normal::<F>() - 2; // a significand of 2 less two ULP
    let corners = [
        0,
        1,
        smallest_normal::<F>() - 1,
        smallest_normal::<F>(),
        smallest_normal::<F>() | ulp_below,
        F::INFINITY - 1,
        F::INFINITY - 2,
        F::INFINITY,
        one,
        one | 1,
        (one - smallest_normal::<F>()) | 1,
        one | ulp_below,
        one - 1,
        // Half an ULP of the largest number.
        F::INFINITY - ((F::MAN_BITS + 2) << F::MAN_BITS),
        F::NAN,
        one | ulp_below | 1,
    ];
    let sign = if number & 16 == 0 { 0 } else { sign_bit::<F>() };
    Fp::from_bits(corners[number % 16] | sign)
}

/// Makes a pair of corners of a pair of random values.
pub fn to_corners<F: Format>(a: &mut Fp<F>, b: &mut Fp<F>) {
    let mixed = (a.to_bits() ^ b.to_bits().rotate_left(13)).wrapping_mul(0x9E37_79B1) >> 16;
    (*a, *b) = (corner(mixed as usize), corner(mixed as usize >> 5));
}

/// Which inputs of an episode are corners.
pub const EVERY: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_units::arith::{Bfloat16, Binary16, Binary16Flush};

    fn marked(plan: impl Fn(&mut Bins), cover: impl Fn(&mut Bins)) -> Vec<String> {
        let mut bins = Bins::default();
        plan(&mut bins);
        cover(&mut bins);
        bins.iter().filter(|(.., hits)| *hits > 0).map(|(_, bin, _)| bin.to_owned()).collect()
    }

    fn rounded<F: Format>(a: u32, b: u32) -> Vec<String> {
        let [a, b] = [a, b].map(|bits| magnitude(Fp::<F>::from_bits(bits)).expect("finite"));
        marked(plan_rounding, |bins| cover_rounding::<F>(product(a, b), bins))
    }

    #[test]
    fn products_are_rounded_as_by_hand() {
        // 1.5 * 1.5; 1.5 * (1 + 2^-10), a tie; its odd neighbour; (1 + 2^-10)(2 - 2^-9).
        assert_eq!(rounded::<Binary16>(0x3E00, 0x3E00), ["exact, normal"]);
        assert_eq!(rounded::<Binary16>(0x3E00, 0x3C01), ["tie, up to even, normal"]);
        assert_eq!(rounded::<Binary16>(0x3E00, 0x3C03), ["tie, down to even, normal"]);
        assert_eq!(rounded::<Binary16>(0x3C01, 0x3FFE), ["up, normal", EDGES[2]]);
        assert_eq!(rounded::<Binary16>(0x3C01, 0x7BFE), ["up, normal", EDGES[1]]);
        assert_eq!(rounded::<Binary16>(0x7BFF, 0x4000), ["exact, normal", EDGES[0]]);
        // 2^-24 / 2 goes to zero, (2^-14)(1 - 2^-11) to 2^-14.
        assert_eq!(
            rounded::<Binary16>(0x0001, 0x3800),
            ["tie, down to even, below normal", EDGES[4]]
        );
        assert_eq!(
            rounded::<Binary16>(0x0400, 0x3BFF),
            ["tie, up to even, below normal", EDGES[3]]
        );
        assert_eq!(rounded::<Binary16Flush>(0x0400, 0x3BFF), ["exact, below normal", EDGES[4]]);
        assert!(rounded::<Binary16Flush>(0x0001, 0x3800).is_empty());
    }

    #[test]
    fn sums_are_aligned() {
        let of = |bits| magnitude(Fp::<Bfloat16>::from_bits(bits)).expect("finite");
        let (one, ulp) = (of(0x3F80), of(0x3C00));
        assert_eq!(sum(one, ulp, false).map(|s| s.significand << 7), Some(0x81 << 14));
        assert_eq!(sum(one, one, true).map(|s| s.significand), Some(0));
        assert_eq!(sum(of(0x7F00), one, false), None);
    }

    #[test]
    fn every_class_is_told_from_the_others() {
        let bits = [0x7E01, 0x7C00, 0xFC00, 0, 0x8000, 3, 0x8003, 0x400, 0x8400, 0x7BFF, 0xFBFF];
        let others = [0x3C00, 0xBC00];
        let classes: Vec<_> = bits
            .into_iter()
            .chain(others)
            .map(|bits| class(Fp::<Binary16>::from_bits(bits)))
            .collect();
        assert_eq!(classes, (0..CLASSES.len()).collect::<Vec<_>>());
    }
}
