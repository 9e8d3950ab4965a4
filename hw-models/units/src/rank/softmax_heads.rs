// SPDX-License-Identifier: MIT
//! Softmax without cycles: what the softmax unit makes of a chunk of scores, of a head's sum and of a score.

use super::softmax_sum::{self, HeadSum, Word};
use crate::arith::{Binary32, Format, Fp};
use std::array::from_fn;

/// Query heads whose state is kept.
pub(super) const HEADS: usize = 8;

/// Scores of a chunk: one of each logic bank.
pub(super) const CHUNK: usize = 16;

/// -infinity: a score that is masked, and the maximum of none.
pub(super) const fn lowest<F: Format>() -> Fp<F> {
    Fp::infinity(true)
}

/// 1.
pub(super) const fn one<F: Format>() -> Fp<F> {
    Fp::from_bits((F::BIAS as u32) << F::MAN_BITS)
}

/// The exponential of a number that is the maximum itself.
pub(super) fn exp_of_peak<F: Format>(maximum: Fp<F>) -> Fp<F> {
    let finite = maximum.to_bits() & F::INFINITY != F::INFINITY;
    if finite { one() } else { Fp::NAN }
}

/// The exponential of what a number is above the maximum, which is 0 at the most.
#[inline]
pub(super) fn exp_below<F: Format>(minuend: Fp<F>, maximum: Fp<F>) -> Fp<F> {
    if minuend == maximum && maximum.to_bits() & F::INFINITY != F::INFINITY {
        return one();
    }
    // -infinity - -infinity would be NaN.
    let is_lowest = minuend == lowest();
    let difference = if is_lowest { lowest() } else { minuend + maximum.negated() };
    Fp::<F>::from_bits(difference.to_bits() | 1 << (F::EXP_BITS + F::MAN_BITS)).exp()
}

/// Maxima and sums of the heads of a softmax unit that takes no time: the results of
/// [`SoftmaxUnit`](super::SoftmaxUnit), bit for bit.
#[derive(Clone, Debug)]
pub struct SoftmaxHeads<F: Format> {
    /// Running maxima: NaN where there is none.
    maximum: [Fp<F>; HEADS],
    /// Running sums, or their reciprocals.
    total: [Word; HEADS],
}

impl<F: Format> Default for SoftmaxHeads<F> {
    fn default() -> Self {
        Self { maximum: [Fp::NAN; HEADS], total: [Word::Empty; HEADS] }
    }
}

impl<F: Format> SoftmaxHeads<F> {
    /// Scores of a chunk.
    pub const CHUNK: usize = CHUNK;

    /// A score that is masked.
    pub const MASKED: Fp<F> = lowest();

    /// Pass 1: a chunk of scaled scores of a head, perhaps its first.
    pub fn chunk(&mut self, head: usize, first: bool, scaled: &[Fp<F>; CHUNK]) {
        let old = if first { lowest() } else { self.maximum[head] };
        let (mut maximum, mut peak) = (old, None);
        for (place, score) in scaled.iter().enumerate() {
            let larger = maximum.max(*score);
            if larger != maximum {
                peak = Some(place);
            }
            maximum = larger;
        }
        let factor = match peak {
            Some(_) => exp_below(old, maximum),
            None if first => Fp::ZERO,
            None => one(),
        };
        let exps: [Fp<F>; CHUNK] = from_fn(|place| match peak == Some(place) {
            true => exp_of_peak(maximum),
            false => exp_below(scaled[place], maximum),
        });
        let mut sum = HeadSum::default();
        sum.add(&exps, true);
        self.maximum[head] = maximum;
        self.total[head] = sum.total(first, self.total[head], factor);
    }

    /// All chunks of a head have come: its sum becomes its reciprocal.
    pub fn finish(&mut self, head: usize) {
        self.total[head] = self.total[head].reciprocal();
    }

    /// Pass 2: the exponential of a scaled score of a head.
    #[inline]
    pub fn exp(&self, head: usize, scaled: Fp<F>) -> Fp<F> {
        exp_below(scaled, self.maximum[head])
    }

    /// An exponential over a finished head's sum.
    #[inline]
    pub fn weight(&self, head: usize, exp: Fp<F>) -> Fp<F> {
        softmax_sum::normalise(exp, self.total[head])
    }

    /// A sum of the context over a finished head's sum.
    #[inline]
    pub fn context(&self, head: usize, sum: Fp<Binary32>) -> Fp<F> {
        softmax_sum::normalise(sum, self.total[head])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Binary16;

    /// The maximum itself is one of the scores, and perhaps more of them: the exponential unit's of 0, 1, if it is a number.
    #[test]
    fn what_is_none_below_the_maximum() {
        let zero = Fp::<Binary16>::from_bits(1 << 15);
        assert_eq!(zero.exp(), one());
        for x in (0..=u16::MAX.into()).map(Fp::<Binary16>::from_bits) {
            let is_number = x.to_bits() & Binary16::INFINITY != Binary16::INFINITY;
            let expected = match is_number {
                true => one(),
                false if x == lowest() => Fp::ZERO,
                false => Fp::NAN,
            };
            assert_eq!(exp_below(x, x), expected, "{x:?}");
        }
    }
}
