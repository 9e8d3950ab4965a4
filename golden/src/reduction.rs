// SPDX-License-Identifier: MIT
//! The contract's orders of summation, one rounded operation at a time.
//!
//! Binary floating-point addition is not associative, so which sums are formed, and in which order,
//! is part of what the device promises. This module writes the two reductions of attention down
//! with [`crate::exact`]. Elements are encodings of a 16-bit format, as they lie in memory.
//!
//! **Where an element lies.** A vector of `d_h` elements is padded with +0 to whole bursts of 32.
//! Element `e` is
//!
//! ```text
//! e = 32 * j + 8 * p + c      burst j, element p = 0..4 of that burst on its chip, chip c = 0..8
//! ```
//!
//! **Score** (K times q, one token). A chip's PU takes one burst per step, and the rank adds up the
//! chips:
//!
//! ```text
//! chip c:  acc = +0;  for each burst j:  acc = ((p0 + p1) + (p2 + p3)) + acc,  p_i = k[e] * q[e]
//! rank:    (((c0 + c1) + (c2 + c3)) + ((c4 + c5) + (c6 + c7))) + (+0)
//! ```
//!
//! The last addend is the adder unit's eighth adder, which accumulates over passes and has nothing
//! to add to one pass. It turns -0 into +0, as does the padding of a group's tokens, below. (A sum
//! that began at +0 is -0 only with [`Subnormals::Flush`], where a tiny negative sum becomes it.)
//!
//! **Context** (weights times V, one element). Token `t` belongs to group `g = t mod 4`, and tokens
//! are padded with weight +0 and V = +0 to whole chunks of 16:
//!
//! ```text
//! group g:  acc = +0;  for t = g, g + 4, g + 8, ...:  acc = w[t] * v[t][e] + acc
//! rank:     s = acc[0] + (+0);  s = acc[1] + s;  s = acc[2] + s;  s = acc[3] + s
//! ```
//!
//! Each operation rounds: nothing is fused. The order of an addition's two operands is of no
//! consequence, as NaNs are canonical.

use crate::exact;
use crate::format::{Format, Subnormals};

/// Chips of a rank: elements side by side in a burst.
pub const CHIPS: usize = 8;
/// Elements of a burst that lie on one chip: the PU's multipliers.
pub const LANES: usize = 4;
/// Elements of a burst.
pub const BURST: usize = CHIPS * LANES;
/// Groups of banks that share a context's tokens among them.
pub const GROUPS: usize = 4;
/// Tokens of a chunk: one per logic bank.
pub const CHUNK: usize = 16;

/// One token's score, `k` times `q`, as the device computes it.
///
/// # Panics
///
/// If the vectors' lengths differ, or the format is wider than 16 bits.
pub fn score(format: Format, subnormals: Subnormals, k: &[u16], q: &[u16]) -> u16 {
    let chips = std::array::from_fn(|chip| u32::from(chip_sum(format, subnormals, k, q, chip)));
    let sum = tree_sum(format, subnormals, &chips);
    exact::add(format, subnormals, sum, format.zero(false)) as u16
}

/// What chip `chip` (0 to 7) contributes to a [`score`]: its accumulator after the last burst.
///
/// # Panics
///
/// If the vectors' lengths differ, `chip` is no chip, or the format is wider than 16 bits.
pub fn chip_sum(format: Format, subnormals: Subnormals, k: &[u16], q: &[u16], chip: usize) -> u16 {
    assert_eq!(k.len(), q.len(), "k and q are of one length");
    assert!(chip < CHIPS, "chip {chip} of {CHIPS}");
    assert_16_bits(format);
    let add = |a, b| exact::add(format, subnormals, a, b);

    let padded = |x: &[u16], e: usize| u32::from(x.get(e).copied().unwrap_or(0));
    let product = |e| exact::mul(format, subnormals, padded(k, e), padded(q, e));

    let mut acc = format.zero(false);
    for burst in 0..k.len().div_ceil(BURST) {
        let p: [u32; LANES] =
            std::array::from_fn(|lane| product(BURST * burst + CHIPS * lane + chip));
        let tree = add(add(p[0], p[1]), add(p[2], p[3]));
        acc = add(tree, acc);
    }
    acc as u16
}

/// The sum over the eight chips: the adder unit's tree of seven adders.
pub fn tree_sum(format: Format, subnormals: Subnormals, chips: &[u32; CHIPS]) -> u32 {
    let add = |a, b| exact::add(format, subnormals, a, b);
    let [c0, c1, c2, c3, c4, c5, c6, c7] = *chips;
    add(add(add(c0, c1), add(c2, c3)), add(add(c4, c5), add(c6, c7)))
}

/// One head's context vector: the rows of `v` (one per token, `d_h` elements each) times their
/// weights, as the device computes it. As many elements as a row has; none if there is no row.
///
/// # Panics
///
/// If there are not as many weights as rows, the rows' lengths differ, or the format is wider than
/// 16 bits.
pub fn context<R: AsRef<[u16]>>(
    format: Format,
    subnormals: Subnormals,
    v: &[R],
    weights: &[u16],
) -> Vec<u16> {
    assert_eq!(v.len(), weights.len(), "one weight per token");
    let d_h = v.first().map_or(0, |row| row.as_ref().len());
    assert!(v.iter().all(|row| row.as_ref().len() == d_h), "every row of V is of one length");

    // Elements that pad a row to whole bursts are columns of their own: they reach no other
    // element, and are not returned.
    let element = |e| {
        let mut sum = format.zero(false);
        for group in 0..GROUPS {
            let acc = group_sum(format, subnormals, v, weights, group, e);
            sum = exact::add(format, subnormals, acc.into(), sum);
        }
        sum as u16
    };
    (0..d_h).map(element).collect()
}

/// What group `group` (0 to 3) contributes to element `element` of a [`context`]: its accumulator
/// after the last token.
///
/// # Panics
///
/// If there are not as many weights as rows, `group` is no group, a row has no such element, or the
/// format is wider than 16 bits.
pub fn group_sum<R: AsRef<[u16]>>(
    format: Format,
    subnormals: Subnormals,
    v: &[R],
    weights: &[u16],
    group: usize,
    element: usize,
) -> u16 {
    assert_eq!(v.len(), weights.len(), "one weight per token");
    assert!(group < GROUPS, "group {group} of {GROUPS}");
    assert_16_bits(format);

    let tokens = v.len().next_multiple_of(CHUNK);
    let weight = |t: usize| u32::from(weights.get(t).copied().unwrap_or(0));
    let value = |t: usize| u32::from(v.get(t).map_or(0, |row| row.as_ref()[element]));

    let mut acc = format.zero(false);
    for t in (group..tokens).step_by(GROUPS) {
        let product = exact::mul(format, subnormals, weight(t), value(t));
        acc = exact::add(format, subnormals, product, acc);
    }
    acc as u16
}

/// Encodings are handed over as `u16`.
fn assert_16_bits(format: Format) {
    assert!(format.width() <= 16, "{format:?} is wider than 16 bits");
}

#[cfg(test)]
mod tests {
    use super::*;
    use Subnormals::{Flush, Gradual};

    const H: Format = Format::BINARY16;
    const ONE: u16 = 0x3C00;
    const MINUS_ZERO: u16 = 0x8000;
    const INFINITY: u16 = 0x7C00;

    fn bits(x: f64) -> u16 {
        exact::from_f64(H, Gradual, x) as u16
    }

    /// A vector of `len` zeros but for the given elements.
    fn sparse(len: usize, elements: &[(usize, f64)]) -> Vec<u16> {
        let mut x = vec![0; len];
        for &(e, value) in elements {
            x[e] = bits(value);
        }
        x
    }

    fn score_of_elements(len: usize, elements: &[(usize, f64)]) -> f64 {
        exact::to_f64(H, score(H, Gradual, &sparse(len, elements), &vec![ONE; len]).into())
    }

    #[test]
    fn score_of_small_integers_is_their_dot_product() {
        for d_h in [1, 7, 31, 32, 33, 64, 80, 96, 128, 256] {
            let k: Vec<f64> = (0..d_h).map(|e| (e % 5) as f64 - 2.0).collect();
            let q: Vec<f64> = (0..d_h).map(|e| (e % 3) as f64).collect();
            let want = k.iter().zip(&q).fold(0.0, |sum, (k, q)| sum + k * q);
            let encode = |x: &[f64]| x.iter().map(|&x| bits(x)).collect::<Vec<_>>();
            assert_eq!(score(H, Gradual, &encode(&k), &encode(&q)), bits(want), "d_h = {d_h}");
        }
    }

    // From 2048 on, binary16 counts in twos: adding 1 to 2048 is lost, adding 2 is not. Where two
    // ones meet before they meet 2048, they survive.

    #[test]
    fn score_adds_the_lanes_of_a_burst_in_pairs() {
        // Chip 0, burst 0: lanes 0, 1, 2, 3 are elements 0, 8, 16, 24.
        assert_eq!(score_of_elements(32, &[(0, 2048.0), (8, 1.0), (16, 1.0)]), 2048.0);
        assert_eq!(score_of_elements(32, &[(0, 2048.0), (16, 1.0), (24, 1.0)]), 2050.0);
        assert_eq!(score_of_elements(32, &[(0, 1.0), (8, 1.0), (24, 2048.0)]), 2050.0);
    }

    #[test]
    fn score_accumulates_burst_by_burst_on_a_chip() {
        // Chip 0: bursts 0, 1, 2 begin at elements 0, 32, 64.
        assert_eq!(score_of_elements(96, &[(0, 2048.0), (32, 1.0), (64, 1.0)]), 2048.0);
        assert_eq!(score_of_elements(96, &[(0, 1.0), (32, 1.0), (64, 2048.0)]), 2050.0);
        // Within burst 1 first, then with what burst 0 left.
        assert_eq!(score_of_elements(64, &[(0, 2048.0), (32, 1.0), (56, 1.0)]), 2050.0);
    }

    #[test]
    fn score_adds_the_chips_in_a_tree() {
        assert_eq!(score_of_elements(32, &[(0, 2048.0), (1, 1.0), (2, 1.0)]), 2048.0);
        assert_eq!(score_of_elements(32, &[(0, 2048.0), (2, 1.0), (3, 1.0)]), 2050.0);
        assert_eq!(score_of_elements(32, &[(0, 2048.0), (4, 1.0), (7, 1.0)]), 2050.0);
        assert_eq!(score_of_elements(32, &[(5, 2048.0), (4, 1.0), (7, 1.0)]), 2048.0);
    }

    #[test]
    fn every_product_is_rounded() {
        // (1 + 2^-5)(1 + 2^-6) is 2^-11 above what it is rounded to: a fused sum would keep that
        // against -(1 + 48/1024).
        let k = [bits(1.0 + 1.0 / 32.0), 0, 0, 0, 0, 0, 0, 0, bits(-1.0 - 48.0 / 1024.0)];
        let q = [bits(1.0 + 1.0 / 64.0), 0, 0, 0, 0, 0, 0, 0, ONE];
        assert_eq!(score(H, Gradual, &k, &q), 0);
    }

    #[test]
    fn a_score_is_never_minus_zero() {
        assert_eq!(score(H, Gradual, &[MINUS_ZERO; 32], &[ONE; 32]), 0);
        assert_eq!(score(H, Gradual, &[], &[]), 0);
    }

    #[test]
    fn flushing_makes_minus_zeros_that_later_additions_lose() {
        // -2^-14 * (1 + 2^-10) and 2^-14: their sum is flushed to -0.
        let (negative, positive) = (0x8401, 0x0400);

        // Chips 0 and 4 meet in the last adder of the tree: -0, before the eighth adder.
        let k = [negative, 0, 0, 0, positive, 0, 0, 0];
        let chips = k.map(u32::from);
        assert_eq!(tree_sum(H, Flush, &chips), MINUS_ZERO.into());
        assert_eq!(score(H, Flush, &k, &[ONE; 8]), 0);

        // Tokens 0 and 4 of group 0, and 8 and 12 of padding. Tokens 8 and 12, and no padding.
        let mut v = vec![[0]; 16];
        (v[0], v[4]) = ([negative], [positive]);
        assert_eq!(group_sum(H, Flush, &v[..5], &[ONE; 5], 0, 0), 0);
        (v[0], v[4], v[8], v[12]) = ([0], [0], [negative], [positive]);
        assert_eq!(group_sum(H, Flush, &v, &[ONE; 16], 0, 0), MINUS_ZERO);
        assert_eq!(context(H, Flush, &v, &[ONE; 16]), [0]);
    }

    #[test]
    fn score_overflows_on_the_way() {
        // 65504 + 65504 is infinite before -65504 is seen, in another chip.
        assert_eq!(
            score_of_elements(32, &[(0, 65504.0), (8, 65504.0), (1, -65504.0)]),
            f64::INFINITY
        );
        // Padding is +0 on both sides: it cannot turn an infinity into NaN.
        assert_eq!(score(H, Gradual, &[INFINITY], &[ONE]), INFINITY);
        assert_eq!(score(H, Gradual, &[INFINITY], &[0]), 0x7E00);
    }

    #[test]
    fn tree_sum_pairs_neighbours() {
        let sum = |x: [f64; 8]| exact::to_f64(H, tree_sum(H, Gradual, &x.map(|x| bits(x).into())));
        assert_eq!(sum([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), 36.0);
        assert_eq!(sum([2048.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]), 2048.0);
        assert_eq!(sum([2048.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]), 2050.0);
        assert_eq!(sum([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2048.0]), 2050.0);
        assert_eq!(sum([0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 2048.0]), 2048.0);
    }

    /// Element 0 of the context of tokens with these values and weight 1.
    fn context_of_tokens(tokens: usize, values: &[(usize, f64)]) -> f64 {
        let v: Vec<[u16; 1]> = sparse(tokens, values).into_iter().map(|x| [x]).collect();
        exact::to_f64(H, context(H, Gradual, &v, &vec![ONE; tokens])[0].into())
    }

    #[test]
    fn context_accumulates_every_fourth_token() {
        assert_eq!(context_of_tokens(9, &[(0, 2048.0), (4, 1.0), (8, 1.0)]), 2048.0);
        assert_eq!(context_of_tokens(9, &[(0, 1.0), (4, 1.0), (8, 2048.0)]), 2050.0);
        // Two ones in one group meet first; in two groups each meets 2048 alone.
        assert_eq!(context_of_tokens(8, &[(0, 2048.0), (1, 1.0), (5, 1.0)]), 2050.0);
        assert_eq!(context_of_tokens(8, &[(0, 2048.0), (1, 1.0), (2, 1.0)]), 2048.0);
    }

    #[test]
    fn context_adds_the_groups_one_after_another() {
        assert_eq!(context_of_tokens(4, &[(0, 1.0), (1, 1.0), (2, 2048.0)]), 2050.0);
        assert_eq!(context_of_tokens(4, &[(0, 2048.0), (2, 1.0), (3, 1.0)]), 2048.0); // no tree
        assert_eq!(context_of_tokens(4, &[(1, 1.0), (2, 1.0), (3, 2048.0)]), 2050.0);
    }

    #[test]
    fn context_of_small_integers_is_the_weighted_sum() {
        for (tokens, d_h) in [(1, 1), (3, 33), (16, 64), (17, 80), (40, 128)] {
            let value = |t: usize, e: usize| ((t + 2 * e) % 7) as f64 - 3.0;
            let weight = |t: usize| (t % 4) as f64;
            let v: Vec<Vec<u16>> =
                (0..tokens).map(|t| (0..d_h).map(|e| bits(value(t, e))).collect()).collect();
            let weights: Vec<u16> = (0..tokens).map(|t| bits(weight(t))).collect();
            let want: Vec<u16> = (0..d_h)
                .map(|e| bits((0..tokens).fold(0.0, |sum, t| sum + weight(t) * value(t, e))))
                .collect();
            assert_eq!(context(H, Gradual, &v, &weights), want, "{tokens} tokens, d_h = {d_h}");
        }
    }

    #[test]
    fn context_is_never_minus_zero_nor_is_its_absence_an_error() {
        assert_eq!(context(H, Gradual, &[[MINUS_ZERO; 3]; 16], &[ONE; 16]), [0; 3]);
        assert_eq!(group_sum(H, Gradual, &[[MINUS_ZERO]], &[ONE], 0, 0), 0);
        assert!(context::<[u16; 3]>(H, Gradual, &[], &[]).is_empty());
    }

    #[test]
    fn subnormals_and_format_are_passed_on() {
        let tiny = 0x0200; // 2^-15
        assert_eq!(score(H, Gradual, &[tiny], &[ONE]), tiny);
        assert_eq!(score(H, Flush, &[tiny], &[ONE]), 0);
        assert_eq!(context(H, Gradual, &[[tiny]], &[ONE]), [tiny]);
        assert_eq!(context(H, Flush, &[[tiny]], &[ONE]), [0]);
        assert_eq!(score(Format::BFLOAT16, Gradual, &[0x3F80; 32], &[0x3F80; 32]), 0x4200); // 32
    }
}
