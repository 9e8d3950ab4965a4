// SPDX-License-Identifier: MIT
//! By how much sums of products that round at each step may miss the real ones: worst cases, of any operands.
//!
//! **Roundings.** To nearest, an operation is exact but for a factor 1 + d, |d| <= u: u = 2^-11 in binary16, 2^-24 in
//! binary32. A sum of products is then the sum of `a_i b_i (1 + d_1) ... (1 + d_k)`, where k is the number of roundings
//! between product i and the result, its own among them (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
//! edition, section 4.2). With at most `elements` of them in binary16 and `sums` in binary32
//!
//! ```text
//! |computed - real| <= g * (|a_1 b_1| + ... + |a_n b_n|)      g = (1 + 2^-11)^elements (1 + 2^-24)^sums - 1
//! ```
//!
//! Additions to +0 are exact and do not count. A tree of 2^n terms has n roundings on each path, a chain of n terms n - 1.
//!
//! **Underflow.** A product or a conversion below 2^-14 is rounded to a multiple of 2^-24 instead: it is off by 2^-25 at
//! the most, besides. Sums are multiples of what they are made of, so that they lose nothing there. `small` of these, each
//! with the roundings behind it, add `small * 2^-25 * (1 + g)`.
//!
//! **Overflow.** As long as `(1 + g)` times the sum of magnitudes is below 65520, no number on the way rounds to an
//! infinity. Else the bound is infinite.
//!
//! **The reference** is a sum of float64 itself, off by `n * 2^-53` of the same sum of magnitudes at the most.

use crate::native::{ContextOrder, DotOrder};

/// Half a unit in the last place of 1: binary16, binary32, float64.
const U_ELEMENT: f64 = 1.0 / (1 << 11) as f64;
const U_SUM: f64 = 1.0 / (1 << 24) as f64;
const U_REAL: f64 = f64::EPSILON / 2.0;
/// Half of the smallest binary16 number.
pub(crate) const HALF_SMALLEST: f64 = 1.0 / (1 << 25) as f64;
/// What rounds to an infinity.
const BEYOND: f64 = 65520.0;

/// The roundings between operands and a result, on the longest path, and the terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roundings {
    /// To binary16.
    pub elements: usize,
    /// To binary32.
    pub sums: usize,
    /// Roundings to binary16 that may underflow.
    pub small: usize,
    /// Terms.
    pub terms: usize,
}

impl Roundings {
    /// g.
    pub fn growth(&self) -> f64 {
        let exponent = self.elements as f64 * U_ELEMENT.ln_1p() + self.sums as f64 * U_SUM.ln_1p();
        exponent.exp_m1()
    }

    /// By how much a result may miss the real sum, whose terms' magnitudes add up to `magnitudes`.
    pub fn bound(&self, magnitudes: f64) -> f64 {
        let growth = self.growth();
        if magnitudes.is_nan() || magnitudes * (1.0 + growth) >= BEYOND {
            return f64::INFINITY;
        }
        let underflow = self.small as f64 * HALF_SMALLEST * (1.0 + growth);
        (growth + self.terms as f64 * U_REAL) * magnitudes + underflow
    }
}

/// What is off by a relative `error` and is rounded once more to binary16.
pub(crate) fn rounded(value: f64, error: f64) -> f64 {
    error + (value.abs() + error) * U_ELEMENT + HALF_SMALLEST
}

impl DotOrder {
    /// The roundings of a dot product of so many terms.
    ///
    /// * A rank: the product; two levels of a burst's lanes; the bursts of a tile one by one; the chip's sum as an element;
    ///   three levels of chips; the tiles before, and the sum as an element, tile by tile.
    /// * A PU of 16 multipliers: the product; four levels; the beats of a partial sum one by one; two levels of partial
    ///   sums; the parts one by one.
    pub fn roundings(&self, terms: usize) -> Roundings {
        match *self {
            Self::Chips { wide, tile } => {
                let tiles = terms.div_ceil(tile).max(1);
                let bursts = tile.min(terms).div_ceil(32);
                let additions = 2 + bursts.saturating_sub(1) + 3 + (tiles - 1);
                if wide {
                    let small = terms + 9 * tiles;
                    Roundings { elements: 2 + tiles, sums: additions, small, terms }
                } else {
                    Roundings { elements: 1 + additions, sums: 0, small: terms, terms }
                }
            }
            Self::Beats { part } => beats(part, terms),
        }
    }
}

impl ContextOrder {
    /// The roundings of an element of the context of so many tokens, as an element.
    ///
    /// A rank: the product; the tokens of a bank group one by one; the groups, part after part. With sums of 32 bits the
    /// whole is rounded to an element at the end.
    pub fn roundings(&self, terms: usize) -> Roundings {
        match *self {
            Self::Groups { wide, tokens } => {
                let parts = terms.div_ceil(tokens).max(1);
                let of_group = tokens.min(terms).div_ceil(4);
                let additions = of_group.saturating_sub(1) + (4 * parts - 1);
                let (elements, sums) = if wide { (2, additions) } else { (1 + additions, 0) };
                Roundings { elements, sums, small: terms + usize::from(wide), terms }
            }
            Self::Beats { part } => beats(part, terms),
        }
    }
}

fn beats(part: usize, terms: usize) -> Roundings {
    let parts = terms.div_ceil(part).max(1);
    let of_partial = part.min(terms).div_ceil(16).div_ceil(4);
    let additions = 4 + of_partial.saturating_sub(1) + 2 + (parts - 1);
    Roundings { elements: 1 + additions, sums: 0, small: terms, terms }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundings_of_the_orders() {
        let of = |order: DotOrder, terms| {
            let Roundings { elements, sums, .. } = order.roundings(terms);
            (elements, sums)
        };
        // A product, two levels of lanes, three more bursts, three levels of chips.
        assert_eq!(of(DotOrder::Chips { wide: false, tile: 4096 }, 128), (9, 0));
        assert_eq!(of(DotOrder::Chips { wide: true, tile: 4096 }, 128), (3, 8));
        assert_eq!(of(DotOrder::Chips { wide: false, tile: 4096 }, 4097), (1 + 2 + 127 + 3 + 1, 0));
        assert_eq!(of(DotOrder::Beats { part: 1024 }, 16), (7, 0));
        assert_eq!(of(DotOrder::Beats { part: 1024 }, 1025), (1 + 4 + 15 + 2 + 1, 0));
        let context = ContextOrder::Groups { wide: false, tokens: 512 }.roundings(1024);
        assert_eq!(context.elements, 1 + 127 + 7);
    }

    #[test]
    fn a_bound_grows_with_the_terms_and_ends_with_overflow() {
        let roundings = Roundings { elements: 1, sums: 0, small: 0, terms: 0 };
        assert!((roundings.bound(1.0) - U_ELEMENT).abs() < 1e-12);
        assert!((roundings.bound(100.0) - 100.0 * U_ELEMENT).abs() < 1e-10);
        assert_eq!(roundings.bound(65519.0), f64::INFINITY);
        assert_eq!(roundings.bound(f64::NAN), f64::INFINITY);
        let small = Roundings { small: 4, ..roundings };
        assert!(small.bound(0.0) >= 4.0 * HALF_SMALLEST);
    }
}
