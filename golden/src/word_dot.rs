// SPDX-License-Identifier: MIT
//! A dot product as a PU of NeuPIMs sums it up: a word of 16 elements at a time, on one sum.
//!
//! ```text
//! sum = +0;  for each word:  sum = tree(p_0, ..., p_15) + sum     p_i = a[e] * b[e], rounded; the tree adds neighbours first
//! ```
//!
//! A row of a bank has 512 elements; a longer vector is summed row by row, each sum is rounded to an element, and a vector unit adds these:
//!
//! ```text
//! total = part_0;  for each further part:  total = total + part_k;  the result is rounded to an element
//! ```
//!
//! ```
//! use pimlico_golden::{format::{Format, Subnormals}, reduction::Precision, word_dot};
//!
//! let precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
//! // 1 * 1 in 40 places: two words and a half.
//! assert_eq!(word_dot::dot(precision, &[0x3C00; 40], &[0x3C00; 40]), 0x5100);
//! ```

use crate::reduction::Precision;

/// Elements of a word.
pub const WORD: usize = 16;
/// Elements of a row.
pub const ROW: usize = 512;

/// The dot product of elements of a row, an element.
///
/// # Panics
///
/// If the vectors' lengths differ, or elements are wider than 16 bits.
pub fn dot(precision: Precision, a: &[u16], b: &[u16]) -> u16 {
    assert_eq!(a.len(), b.len(), "vectors of one length");
    assert!(precision.elements.width() <= 16, "{:?} is wider than 16 bits", precision.elements);
    let zero = precision.sums.zero(false);
    let at = |x: &[u16], e: usize| u32::from(x.get(e).copied().unwrap_or(0));
    let mut sum = zero;
    for word in 0..a.len().div_ceil(WORD) {
        let mut level: Vec<u32> = (WORD * word..WORD * (word + 1))
            .map(|e| precision.product(at(a, e), at(b, e)))
            .collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| precision.add(pair[0], pair[1])).collect();
        }
        sum = precision.add(level[0], sum);
    }
    precision.element(sum) as u16
}

/// The same of vectors that take several rows.
///
/// # Panics
///
/// As [`dot`].
pub fn dot_of_rows(precision: Precision, a: &[u16], b: &[u16]) -> u16 {
    assert_eq!(a.len(), b.len(), "vectors of one length");
    let parts = a.chunks(ROW).zip(b.chunks(ROW)).map(|(a, b)| dot(precision, a, b));
    let terms = parts.map(|part| precision.term(part.into()));
    let total = terms.reduce(|total, term| precision.add(total, term));
    total.map_or(0, |total| precision.element(total) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact;
    use crate::format::{Format, Subnormals};

    const H: Format = Format::BINARY16;
    const NARROW: Precision = Precision::uniform(H, Subnormals::Gradual);
    const WIDE: Precision =
        Precision { elements: H, subnormals: Subnormals::Gradual, sums: Format::BINARY32 };

    /// The sum of elements that are zero but for these.
    fn sum(precision: Precision, length: usize, elements: &[(usize, f64)]) -> f64 {
        let bits = |x| exact::from_f64(H, Subnormals::Gradual, x) as u16;
        let mut a = vec![0; length];
        elements.iter().for_each(|&(e, x)| a[e] = bits(x));
        exact::to_f64(H, dot_of_rows(precision, &a, &vec![bits(1.0); length]).into())
    }

    // From 2048 on, binary16 counts in twos: adding 1 to 2048 is lost, adding 2 is not.

    #[test]
    fn neighbours_of_a_word_meet_first() {
        assert_eq!(sum(NARROW, 16, &[(0, 2048.0), (1, 1.0), (2, 1.0)]), 2048.0);
        assert_eq!(sum(NARROW, 16, &[(0, 2048.0), (2, 1.0), (3, 1.0)]), 2050.0);
        assert_eq!(sum(NARROW, 16, &[(0, 2048.0), (8, 1.0), (15, 1.0)]), 2050.0);
        assert_eq!(sum(NARROW, 16, &[(7, 1.0), (8, 2048.0), (12, 1.0)]), 2048.0);
    }

    #[test]
    fn words_follow_each_other_on_one_sum() {
        assert_eq!(sum(NARROW, 48, &[(0, 2048.0), (16, 1.0), (32, 1.0)]), 2048.0);
        assert_eq!(sum(NARROW, 48, &[(0, 1.0), (16, 1.0), (32, 2048.0)]), 2050.0);
        // With four partial sums the ones of words 1 and 5 would meet first.
        assert_eq!(sum(NARROW, 96, &[(0, 2048.0), (16, 1.0), (80, 1.0)]), 2048.0);
    }

    #[test]
    fn rows_begin_anew() {
        assert_eq!(sum(NARROW, 1536, &[(0, 2048.0), (512, 1.0), (528, 1.0)]), 2050.0);
        assert_eq!(sum(NARROW, 1536, &[(0, 2048.0), (512, 1.0), (1024, 1.0)]), 2048.0);
        assert_eq!(sum(WIDE, 1536, &[(0, 2048.0), (512, 1.0), (1024, 1.0)]), 2050.0);
        // A row's sum is rounded to an element in between.
        assert_eq!(sum(WIDE, 1024, &[(0, 2048.0), (16, 1.0), (512, 1.0)]), 2048.0);
        assert_eq!(dot_of_rows(NARROW, &[], &[]), 0);
    }

    #[test]
    fn minus_zero_is_lost_in_a_word() {
        assert_eq!(dot(NARROW, &[0x8000; 16], &[0x3C00; 16]), 0);
    }
}
