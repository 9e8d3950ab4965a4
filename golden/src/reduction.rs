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
//!
//! **Formats.** [`Precision`] names that of the elements and that of the sums. Where the latter is the
//! wider one, products are still rounded to the elements' format, and the sums above take them as they
//! are. A score is an element each time that it leaves a unit: each chip's `acc` is rounded before the
//! rank adds up the chips, and so is their sum, where a tiny negative one becomes -0. A context stays
//! in the format of the sums.

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

/// One token's score, `k` times `q`, as the device computes it with sums in the elements' format.
///
/// # Panics
///
/// If the vectors' lengths differ, or the format is wider than 16 bits.
pub fn score(format: Format, subnormals: Subnormals, k: &[u16], q: &[u16]) -> u16 {
    Precision::uniform(format, subnormals).score(k, q)
}

/// One head's context vector, as the device computes it with sums in the elements' format; see
/// [`Precision::context`].
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
    let sums = Precision::uniform(format, subnormals).context(v, weights);
    sums.into_iter().map(|sum| sum as u16).collect()
}

/// Partial sums of a PU whose adders are pipelined: beat `n` is added to partial sum `n` modulo so many.
pub const PARTIALS: usize = 4;

/// The sum of beats in such a PU: each partial sum begins at +0, and neighbours of them meet first.
pub fn interleaved_sum(precision: &Precision, beats: &[u32]) -> u32 {
    let partial = |first: usize| {
        let of_partial = beats.iter().skip(first).step_by(PARTIALS);
        of_partial.fold(precision.sums.zero(false), |sum, beat| precision.add(*beat, sum))
    };
    precision.tree_sum(&std::array::from_fn::<u32, PARTIALS, _>(partial))
}

/// What a reduction computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Format of elements and products: at most 16 bits.
    pub elements: Format,
    /// What becomes of their subnormal numbers, and of those of sums in the same format. Wider sums
    /// keep theirs.
    pub subnormals: Subnormals,
    /// Format of the sums: that of the elements, or one that holds each of them.
    pub sums: Format,
}

impl Precision {
    /// One format for everything.
    pub const fn uniform(format: Format, subnormals: Subnormals) -> Self {
        Self { elements: format, subnormals, sums: format }
    }

    /// The sum of two sums or terms.
    pub fn add(&self, a: u32, b: u32) -> u32 {
        let subnormals =
            if self.sums == self.elements { self.subnormals } else { Subnormals::Gradual };
        exact::add(self.sums, subnormals, a, b)
    }

    /// The product of two elements, rounded to an element, as the term of a sum.
    pub fn product(&self, a: u32, b: u32) -> u32 {
        self.term(exact::mul(self.elements, self.subnormals, a, b))
    }

    /// An element as the term of a sum: the same number.
    pub fn term(&self, element: u32) -> u32 {
        exact::convert(self.elements, self.sums, self.subnormals, element)
    }

    /// A sum, rounded to an element.
    pub fn element(&self, sum: u32) -> u32 {
        exact::convert(self.sums, self.elements, self.subnormals, sum)
    }

    /// The sum over the lanes of one beat: the PU's tree of three adders.
    pub fn lanes_sum(&self, products: [u32; LANES]) -> u32 {
        self.tree_sum(&products)
    }

    /// The sum over the lanes of one beat of any power of two of them, neighbour by neighbour: the
    /// tree of a PU with so many multipliers.
    ///
    /// # Panics
    ///
    /// If there are no terms.
    pub fn tree_sum(&self, terms: &[u32]) -> u32 {
        match terms {
            [term] => *term,
            _ => {
                let (left, right) = terms.split_at(terms.len().div_ceil(2));
                self.add(self.tree_sum(left), self.tree_sum(right))
            }
        }
    }

    /// The sum over the eight chips: the adder unit's tree of seven adders.
    pub fn chips_sum(&self, chips: [u32; CHIPS]) -> u32 {
        self.tree_sum(&chips)
    }

    /// One token's score, `k` times `q`, as the device computes it: an element.
    ///
    /// # Panics
    ///
    /// If the vectors' lengths differ, or elements are wider than 16 bits.
    pub fn score(&self, k: &[u16], q: &[u16]) -> u16 {
        let chips = std::array::from_fn(|chip| self.term(self.chip_sum(k, q, chip).into()));
        let sum = self.add(self.chips_sum(chips), self.sums.zero(false));
        self.element(sum) as u16
    }

    /// What chip `chip` (0 to 7) contributes to a [`score`](Self::score): its accumulator after the
    /// last burst, rounded to an element.
    ///
    /// # Panics
    ///
    /// If the vectors' lengths differ, `chip` is no chip, or elements are wider than 16 bits.
    pub fn chip_sum(&self, k: &[u16], q: &[u16], chip: usize) -> u16 {
        assert_eq!(k.len(), q.len(), "k and q are of one length");
        assert!(chip < CHIPS, "chip {chip} of {CHIPS}");
        self.assert_16_bits();

        let padded = |x: &[u16], e: usize| u32::from(x.get(e).copied().unwrap_or(0));
        let product = |e| self.product(padded(k, e), padded(q, e));

        let mut acc = self.sums.zero(false);
        for burst in 0..k.len().div_ceil(BURST) {
            let p = std::array::from_fn(|lane| product(BURST * burst + CHIPS * lane + chip));
            acc = self.add(self.lanes_sum(p), acc);
        }
        self.element(acc) as u16
    }

    /// One head's context vector: the rows of `v` (one per token, `d_h` elements each) times their
    /// weights, as the device computes it, in the format of the sums. As many sums as a row has
    /// elements; none if there is no row.
    ///
    /// # Panics
    ///
    /// If there are not as many weights as rows, the rows' lengths differ, or elements are wider than
    /// 16 bits.
    pub fn context<R: AsRef<[u16]>>(&self, v: &[R], weights: &[u16]) -> Vec<u32> {
        self.context_in_parts(v, weights, v.len().max(1))
    }

    /// The same where the tokens are summed up part by part, the banks' accumulators beginning anew with
    /// each: the sum of the parts before comes first in the rank's accumulator.
    ///
    /// # Panics
    ///
    /// As [`context`](Self::context), or if `tokens` is 0.
    pub fn context_in_parts<R: AsRef<[u16]>>(
        &self,
        v: &[R],
        weights: &[u16],
        tokens: usize,
    ) -> Vec<u32> {
        assert_eq!(v.len(), weights.len(), "one weight per token");
        let d_h = v.first().map_or(0, |row| row.as_ref().len());
        assert!(v.iter().all(|row| row.as_ref().len() == d_h), "every row of V is of one length");

        // Elements that pad a row to whole bursts are columns of their own: they reach no other
        // element, and are not returned.
        let zero = self.sums.zero(false);
        let element = |e| {
            v.chunks(tokens).zip(weights.chunks(tokens)).fold(zero, |sum, (v, weights)| {
                (0..GROUPS).fold(self.add(sum, zero), |sum, group| {
                    self.add(self.group_sum(v, weights, group, e), sum)
                })
            })
        };
        (0..d_h).map(element).collect()
    }

    /// What group `group` (0 to 3) contributes to element `element` of a [`context`](Self::context):
    /// its accumulator after the last token.
    ///
    /// # Panics
    ///
    /// If there are not as many weights as rows, `group` is no group, a row has no such element, or
    /// elements are wider than 16 bits.
    pub fn group_sum<R: AsRef<[u16]>>(
        &self,
        v: &[R],
        weights: &[u16],
        group: usize,
        element: usize,
    ) -> u32 {
        assert_eq!(v.len(), weights.len(), "one weight per token");
        assert!(group < GROUPS, "group {group} of {GROUPS}");
        self.assert_16_bits();

        let tokens = v.len().next_multiple_of(CHUNK);
        let weight = |t: usize| u32::from(weights.get(t).copied().unwrap_or(0));
        let value = |t: usize| u32::from(v.get(t).map_or(0, |row| row.as_ref()[element]));

        (group..tokens)
            .step_by(GROUPS)
            .fold(self.sums.zero(false), |acc, t| self.add(self.product(weight(t), value(t)), acc))
    }

    /// Elements are handed over as `u16`.
    fn assert_16_bits(&self) {
        assert!(self.elements.width() <= 16, "{:?} is wider than 16 bits", self.elements);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real;
    use Subnormals::{Flush, Gradual};

    const H: Format = Format::BINARY16;
    const S: Format = Format::BINARY32;
    const WIDE: Precision = Precision { elements: H, subnormals: Gradual, sums: S };
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
            let k: Vec<i32> = (0..d_h).map(|e| e % 5 - 2).collect();
            let q: Vec<i32> = (0..d_h).map(|e| e % 3).collect();
            let encode = |x: &[i32]| x.iter().map(|&x| bits(x.into())).collect::<Vec<_>>();
            let want = bits(real::dot(&k, &q).into());
            assert_eq!(score(H, Gradual, &encode(&k), &encode(&q)), want, "d_h = {d_h}");
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
        let flush = Precision::uniform(H, Flush);
        assert_eq!(flush.chips_sum(k.map(u32::from)), MINUS_ZERO.into());
        assert_eq!(score(H, Flush, &k, &[ONE; 8]), 0);

        // Tokens 0 and 4 of group 0, and 8 and 12 of padding. Tokens 8 and 12, and no padding.
        let mut v = vec![[0]; 16];
        (v[0], v[4]) = ([negative], [positive]);
        assert_eq!(flush.group_sum(&v[..5], &[ONE; 5], 0, 0), 0);
        (v[0], v[4], v[8], v[12]) = ([0], [0], [negative], [positive]);
        assert_eq!(flush.group_sum(&v, &[ONE; 16], 0, 0), MINUS_ZERO.into());
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
    fn chips_sum_pairs_neighbours() {
        let uniform = Precision::uniform(H, Gradual);
        let sum = |x: [f64; 8]| exact::to_f64(H, uniform.chips_sum(x.map(|x| bits(x).into())));
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
            let value = |t: i32, e: i32| (t + 2 * e) % 7 - 3;
            let v: Vec<Vec<i32>> =
                (0..tokens).map(|t| (0..d_h).map(|e| value(t, e)).collect()).collect();
            let weights: Vec<i32> = (0..tokens).map(|t| t % 4).collect();
            let encode = |x: &[i32]| x.iter().map(|&x| bits(x.into())).collect::<Vec<_>>();
            let want = encode(&real::weighted_sum(&weights, v.iter()));
            let (v, weights) =
                (v.iter().map(|row| encode(row)).collect::<Vec<_>>(), encode(&weights));
            assert_eq!(context(H, Gradual, &v, &weights), want, "{tokens} tokens, d_h = {d_h}");
        }
    }

    #[test]
    fn context_is_never_minus_zero_nor_is_its_absence_an_error() {
        assert_eq!(context(H, Gradual, &[[MINUS_ZERO; 3]; 16], &[ONE; 16]), [0; 3]);
        assert_eq!(Precision::uniform(H, Gradual).group_sum(&[[MINUS_ZERO]], &[ONE], 0, 0), 0);
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

    // Sums in binary32: there 2048 + 1 is exact, and what is rounded to binary16 is known from where
    // 2049 becomes 2048.

    fn wide_score(len: usize, elements: &[(usize, f64)]) -> f64 {
        let score = WIDE.score(&sparse(len, elements), &vec![ONE; len]);
        exact::to_f64(H, score.into())
    }

    #[test]
    fn wide_score_rounds_each_chip_and_the_rank() {
        // On one chip the ones meet 2048 one by one: in a burst, and over bursts.
        assert_eq!(wide_score(32, &[(0, 2048.0), (8, 1.0), (16, 1.0)]), 2050.0);
        assert_eq!(wide_score(96, &[(0, 2048.0), (32, 1.0), (64, 1.0)]), 2050.0);
        // The chip's 2049 is rounded before the rank adds another chip's 1.
        assert_eq!(wide_score(32, &[(0, 2048.0), (8, 1.0), (1, 1.0)]), 2048.0);
        // The rank's 2048 + 1 + 1 is not rounded on the way; its 2048 + 1 is at the end.
        assert_eq!(wide_score(32, &[(0, 2048.0), (1, 1.0), (2, 1.0)]), 2050.0);
        assert_eq!(wide_score(32, &[(0, 2048.0), (1, 1.0)]), 2048.0);
        // 65504 + 65504 is finite on the chip until it leaves.
        assert_eq!(wide_score(32, &[(0, 65504.0), (8, 65504.0), (16, -65504.0)]), 65504.0);
        assert_eq!(wide_score(32, &[(0, 65504.0), (8, 65504.0), (1, -65504.0)]), f64::INFINITY);
    }

    #[test]
    fn wide_sums_take_rounded_products() {
        // As in `every_product_is_rounded`: the product is 1 + 48/1024.
        let mut k = [0; 16];
        let mut q = [ONE; 16];
        (k[0], q[0]) = (bits(1.0 + 1.0 / 32.0), bits(1.0 + 1.0 / 64.0));
        k[8] = bits(-1.0 - 48.0 / 1024.0);
        assert_eq!(WIDE.score(&k, &q), 0);
        let context = WIDE.context(&[[k[0]], [0], [0], [0], [k[8]]], &[q[0], ONE, ONE, ONE, ONE]);
        assert_eq!(context, [0]);
        // 2^-24 * 2^-1 is a tie that goes to zero.
        assert_eq!(WIDE.context(&[[1]], &[bits(0.5)]), [0]);
    }

    #[test]
    fn wide_context_is_not_rounded_to_an_element() {
        let context = |values: &[(usize, f64)]| {
            let v: Vec<[u16; 1]> = sparse(9, values).into_iter().map(|x| [x]).collect();
            exact::to_f64(S, WIDE.context(&v, &[ONE; 9])[0])
        };
        assert_eq!(context(&[(0, 2048.0), (4, 1.0)]), 2049.0);
        assert_eq!(context(&[(0, 2048.0), (1, 1.0), (2, 1.0), (3, 1.0)]), 2051.0);
        assert_eq!(context(&[(0, 65504.0), (4, 65504.0)]), 131_008.0);
        // From 2^24 on, binary32 counts in twos: group 0 has come to 512 * 2^15 when it meets two ones.
        let mut v = vec![[0]; 4 * 514];
        v.iter_mut().step_by(4).take(512).for_each(|x| *x = [bits(32768.0)]);
        (v[4 * 512], v[4 * 513]) = ([ONE], [ONE]);
        let context = WIDE.context(&v, &vec![ONE; v.len()]);
        assert_eq!(exact::to_f64(S, context[0]), 16_777_216.0);
    }

    #[test]
    fn wide_sums_of_flushed_elements_keep_what_is_small() {
        let wide = Precision { subnormals: Flush, ..WIDE };
        // -2^-14 * (1 + 2^-10) and 2^-14: their sum is below binary16's normal numbers.
        let v = [[0x8401], [0], [0], [0], [0x0400]];
        let context = wide.context(&v, &[ONE; 5]);
        assert_eq!(exact::to_f64(S, context[0]), -exact::to_f64(H, 1));
        // Elements 0 and 4 are on two chips; the rank's sum is rounded to a zero of its sign.
        assert_eq!(wide.score(&v.map(|[x]| x), &[ONE; 5]), MINUS_ZERO);
        assert_eq!(wide.chip_sum(&[0x8401, 0, 0, 0, 0, 0, 0, 0, 0x0400], &[ONE; 9], 0), MINUS_ZERO);
        // Products and operands below them are zeros.
        assert_eq!(wide.context(&[[0x0400]], &[bits(0.5)]), [0]);
        assert_eq!(wide.context(&[[0x03FF]], &[ONE]), [0]);
    }
}
