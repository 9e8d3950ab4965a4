// SPDX-License-Identifier: MIT
//! A dot product as a PU sums it up that has a whole column to itself: no other chip has a part of it.
//!
//! With `n` multipliers, a power of two, elements come `n` at a time, the last of them filled up with
//! +0 on both sides:
//!
//! ```text
//! s_i = +0;  for beats n = i, i + 4, i + 8, ...:  s_i = tree(p_0, ..., p_n-1) + s_i     p_i = a[e] * b[e], rounded
//! sum = (s_0 + s_1) + (s_2 + s_3)
//! tree: ((p0 + p1) + (p2 + p3)) + ((p4 + p5) + (p6 + p7)) ...      neighbours first
//! ```
//!
//! In parts, each of them begins at +0 and is rounded to an element; the sum so far is added to +0
//! first, and the new part to that:
//!
//! ```text
//! sum = part_0;  for each further part:  sum = part_k + (sum + (+0))
//! ```

use crate::reduction::{Precision, interleaved_sum};

/// The dot product of `a` and `b`, an element.
///
/// # Panics
///
/// If the vectors' lengths differ, there are no multipliers, or elements are wider than 16 bits.
pub fn dot(precision: Precision, multipliers: usize, a: &[u16], b: &[u16]) -> u16 {
    assert_eq!(a.len(), b.len(), "vectors of one length");
    assert!(precision.elements.width() <= 16, "{:?} is wider than 16 bits", precision.elements);
    let beat = |(a, b): (&[u16], &[u16])| {
        let padded = |x: &[u16], i: usize| u32::from(x.get(i).copied().unwrap_or(0));
        let product = |i| precision.product(padded(a, i), padded(b, i));
        let products: Vec<u32> = (0..multipliers).map(product).collect();
        precision.tree_sum(&products)
    };
    let beats: Vec<u32> = a.chunks(multipliers).zip(b.chunks(multipliers)).map(beat).collect();
    precision.element(interleaved_sum(&precision, &beats)) as u16
}

/// The same in parts of `part` elements, whose sums are added up outside the PU.
///
/// # Panics
///
/// As [`dot`], or if `part` is 0.
pub fn dot_in_parts(
    precision: Precision,
    multipliers: usize,
    part: usize,
    a: &[u16],
    b: &[u16],
) -> u16 {
    assert_eq!(a.len(), b.len(), "vectors of one length");
    let mut sum = None;
    for (a, b) in a.chunks(part).zip(b.chunks(part)) {
        let new = dot(precision, multipliers, a, b).into();
        sum = Some(match sum {
            None => new,
            Some(before) => precision.add(new, precision.add(before, precision.sums.zero(false))),
        });
    }
    sum.map_or(0, |sum| precision.element(sum) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact;
    use crate::format::{Format, Subnormals};

    const H: Format = Format::BINARY16;
    const P: Precision = Precision::uniform(H, Subnormals::Gradual);

    /// The sum of some elements, each with its place among `length`.
    fn sum_of(length: usize, part: usize, elements: &[(usize, f64)]) -> f64 {
        let bits = |x| exact::from_f64(H, Subnormals::Gradual, x) as u16;
        let mut a = vec![0; length];
        for &(place, value) in elements {
            a[place] = bits(value);
        }
        exact::to_f64(H, dot_in_parts(P, 16, part, &a, &vec![bits(1.0); length]).into())
    }

    // From 2048 on, binary16 counts in twos: a one is lost that meets 2048 alone.

    #[test]
    fn neighbours_meet_first() {
        assert_eq!(sum_of(16, 16, &[(0, 2048.0), (2, 1.0), (3, 1.0)]), 2050.0);
        assert_eq!(sum_of(16, 16, &[(0, 2048.0), (1, 1.0), (2, 1.0)]), 2048.0);
        assert_eq!(sum_of(16, 16, &[(0, 2048.0), (8, 1.0), (15, 1.0)]), 2050.0);
        assert_eq!(sum_of(16, 16, &[(0, 2048.0), (7, 1.0), (8, 1.0)]), 2048.0);
    }

    #[test]
    fn beats_meet_those_that_are_four_before() {
        assert_eq!(sum_of(80, 80, &[(0, 2048.0), (64, 1.0), (16, 1.0)]), 2048.0);
        assert_eq!(sum_of(80, 80, &[(0, 2048.0), (32, 1.0), (48, 1.0)]), 2050.0);
        assert_eq!(sum_of(96, 96, &[(16, 1.0), (80, 1.0), (0, 2048.0)]), 2050.0);
    }

    #[test]
    fn partial_sums_meet_neighbour_by_neighbour() {
        assert_eq!(sum_of(48, 48, &[(0, 2048.0), (16, 1.0), (32, 1.0)]), 2048.0);
        assert_eq!(sum_of(48, 48, &[(0, 1.0), (16, 1.0), (47, 2048.0)]), 2050.0);
    }

    #[test]
    fn parts_are_summed_up_before_they_meet() {
        assert_eq!(sum_of(96, 32, &[(0, 2048.0), (32, 1.0), (48, 1.0)]), 2050.0);
        assert_eq!(sum_of(96, 32, &[(0, 2048.0), (32, 1.0), (64, 1.0)]), 2048.0);
        assert_eq!(sum_of(33, 32, &[(0, 3.0), (32, 4.0)]), 7.0);
        assert_eq!(dot_in_parts(P, 16, 32, &[], &[]), 0);
    }

    #[test]
    fn padding_turns_nothing_into_nan() {
        assert_eq!(dot(P, 16, &[0x7C00], &[0x3C00]), 0x7C00);
    }
}
