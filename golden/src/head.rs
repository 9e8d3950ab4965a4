// SPDX-License-Identifier: MIT
//! Attention of a query as a device computes it, stage by stage: the bits of each result, the real numbers, and by how
//! much the bits may miss them.
//!
//! Each stage starts from what the device made of the one before, so that what is wrong is found in its own stage. All
//! bits follow: scores and context from their order of summation ([`native`](crate::native)), weights from the
//! softmax unit's contract ([`softmax`]) and its exponential ([`exponential`](crate::exponential)).
//!
//! # Bounds
//!
//! With `u` = 2^-11, scores `s`, scaled scores `x = c s` in real numbers and `y` those of the device, weights `w` in real
//! numbers and `z` those of the device:
//!
//! * **Scores** and, of given weights, the **context** are sums of products ([`bound`](crate::bound)).
//! * **Weights.** The factor and the product round: `|y - x| <= |x| ((1 + u)^2 - 1) + 2^-25`, at most `d` over all tokens.
//!   Softmax changes by a factor of `e^-2d` to `e^2d` if its arguments change by `d`. Of the arguments `y`
//!   [`HeadSum`] bounds what the exponentials, their sum and the reciprocal lose. Together:
//!   `|z - w| <= HeadSum + softmax(y) (e^2d - 1)`. With late normalisation `z` and `w` are exponentials, the largest 1,
//!   and the same holds.
//! * **Context, normalised late.** Its reference divides by the sum of the device's exponentials, the device by a sum
//!   that makes up for each rise of the maximum, times a reciprocal of 14 bits. The two sums are off by relative
//!   `a` and `b` from the real one, so that their quotient is within `(1 + a) / (1 - b)`, and the reciprocal within
//!   `1 + 2^-14 + 2^-16`.
//! * **Output from the scores**: that of the context, and `sum of |z_t - w_t| |v_t|`, each by the bound of its weight.
//! * **Output from K, V and Q**: besides, scaled scores are off by `d' = c max |bound of a score|`, and so the output by
//!   `(e^2d' - 1) sum of w_t |v_t|`.
//!
//! Where a number is not finite there is no bound but that of the bits.

use crate::bound::{HALF_SMALLEST, rounded};
use crate::error::distance;
use crate::exact;
use crate::exponential::exp;
use crate::format::{Format, Subnormals};
use crate::native::{
    ContextOrder, ContextSums, DotOrder, bits, nearest, nearest_of_real, number, numbers,
};
use crate::product::{Output, Vector};
use crate::real;
use crate::softmax::{self, CHUNK, Exponential, FixedSum, HeadSum};
use crate::vectors::{Work, on_vectors};

const H: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;
/// Units in the last place by which an exponential may be off: `rtl/arith/fp_exp.md`.
const EXP_ULPS: f64 = 0.888;
/// By how much a reciprocal of 14 bits, of a sum of 17, may be off.
const RECIPROCAL: f64 = 1.01 * (1.0 / (1 << 14) as f64 + 1.0 / (1 << 16) as f64);

/// How attention is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadOrder {
    /// Scores.
    pub score: DotOrder,
    /// The context.
    pub context: ContextOrder,
    /// The context is normalised, not the weights.
    pub late: bool,
}

/// What a device made of a query.
#[derive(Clone, Copy, Debug)]
pub struct HeadMade<'a> {
    /// Each token's score before scaling.
    pub scores: &'a [u16],
    /// Each token's weight: normalised, or the exponential.
    pub weights: &'a [u16],
    /// The context.
    pub context: &'a [u16],
}

/// Results of a stage beside what they are, and are near to.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// The bits; empty where they are judged as another stage's.
    pub bits: Vec<u16>,
    /// The real numbers.
    pub real: Vec<f64>,
    /// By how much each result may miss its real number.
    pub bounds: Vec<f64>,
}

impl Stage {
    /// The first result that is further from its real number than its bound, and how many are.
    ///
    /// # Panics
    ///
    /// If there are not as many results.
    pub fn beyond(&self, got: &[u16]) -> (Option<usize>, usize) {
        assert_eq!(got.len(), self.real.len(), "a reference for each result");
        let is_beyond = |n: &usize| {
            let value = f64::from(number(got[*n]));
            distance(value, self.real[*n]) > self.bounds[*n]
        };
        let mut all = (0..got.len()).filter(is_beyond);
        let first = all.next();
        (first, usize::from(first.is_some()) + all.count())
    }
}

/// What a query's results are, and are near to.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// Scores, of the same K and Q.
    pub score: Stage,
    /// Weights, of the same scores.
    pub softmax: Stage,
    /// Context, of the same weights and V.
    pub context: Stage,
    /// Output, of the same scores and V.
    pub output_from_scores: Stage,
    /// Output, of the same K, V and Q.
    pub output: Stage,
}

/// What results of a query over the tokens of `k` and `v` are. The factor of the scores is `scale`, which the device has
/// as a binary16 number.
///
/// # Panics
///
/// If there are not as many scores, weights and rows of `v` as rows of `k`, or vectors differ in length.
pub fn stages<K: AsRef<[u16]>, V: AsRef<[u16]>>(
    order: &HeadOrder,
    (query, k, v): (&[u16], &[K], &[V]),
    scale: f64,
    made: &HeadMade<'_>,
) -> Stages {
    let HeadMade { scores, weights, .. } = *made;
    let score = of_scores(order.score, query, k);
    let softmax = Softmax::of(scores, scale, order.late);
    let of_scores = real::softmax_of_scaled(&score.real, scale);
    let (from_scores, weight_bounds) = softmax.normalised();
    let worst = score.bounds.iter().copied().fold(0.0, f64::max);
    let shift = (2.0 * scale * worst).exp_m1();
    let sums = Sums::of(order.context, v, weights, [&of_scores, &from_scores, &weight_bounds]);
    let (context, from_scores, output) = sums.stages(order, weights, &softmax, shift);
    Stages { score, softmax: softmax.stage, context, output_from_scores: from_scores, output }
}

fn of_scores<K: AsRef<[u16]>>(order: DotOrder, query: &[u16], k: &[K]) -> Stage {
    on_vectors(Scores { query: Vector::new(order, query), k })
}

/// Scores of all K of a query.
struct Scores<'a, K> {
    query: Vector,
    k: &'a [K],
}

impl<K: AsRef<[u16]>> Work for Scores<'_, K> {
    type Made = Stage;

    #[inline(always)]
    fn work(mut self) -> Stage {
        let mut stage = Stage::default();
        for k in self.k {
            let Output { bits, real, bound } = self.query.times_here(k.as_ref());
            stage.bits.push(bits);
            stage.real.push(real);
            stage.bounds.push(bound);
        }
        stage
    }
}

/// Softmax of a device's scores.
struct Softmax {
    stage: Stage,
    /// The fixed-point sum's reciprocal, in binary32.
    reciprocal: u32,
    /// The sum of the exponentials of `stage`, with late normalisation.
    sum: Option<f64>,
    /// By how much the sum that the unit divides by may be off, and that of its exponentials, from the real one.
    errors: [f64; 2],
}

impl Softmax {
    fn of(scores: &[u16], scale: f64, late: bool) -> Self {
        let factor = number(exact::from_f64(H, GRADUAL, scale) as u16);
        let scaled: Vec<f32> =
            scores.iter().map(|&score| nearest(number(score) * factor)).collect();
        let (max, sum) = maximum_and_sum(&scaled);
        let reciprocal = softmax::reciprocal(sum);
        let factor = f64::from(f32::from_bits(reciprocal));
        let weight = |&x: &f32| {
            let exp = exp_of(x, max);
            // The product is exact: 11 and 14 bits.
            let weight = || bits(nearest_of_real(f64::from(number(exp)) * factor));
            if late { exp } else { weight() }
        };
        let bits = scaled.iter().map(weight).collect();
        let exact: Vec<f64> =
            scores.iter().map(|&score| scale * f64::from(number(score))).collect();
        let mut real = real::softmax(&exact);
        let mut sum = None;
        if late {
            // What the weights are then: exponentials, the largest of them 1.
            let largest = real.iter().copied().fold(0.0, f64::max);
            real.iter_mut().for_each(|weight| *weight /= largest);
            sum = Some(real.iter().sum());
        }
        let (bounds, errors) = weight_bounds(&scaled, &exact, late);
        Self { stage: Stage { bits, real, bounds }, reciprocal, sum, errors }
    }

    /// The real weights, normalised in any case, and how far the device's, normalised by their own sum, may be from them.
    fn normalised(&self) -> (Vec<f64>, Vec<f64>) {
        let Self { stage: Stage { real, bounds, .. }, sum, errors: [_, of_sum], .. } = self;
        let (sum, of_sum) = sum.map_or((1.0, 0.0), |sum| (sum, *of_sum));
        let weights: Vec<f64> = real.iter().map(|weight| weight / sum).collect();
        let bound =
            |(weight, bound): (&f64, &f64)| (bound / sum + weight * of_sum) / (1.0 - of_sum);
        let bounds = weights.iter().zip(bounds).map(bound).collect();
        (weights, bounds)
    }
}

/// e^(x - max) as the unit has it: a masked score is as far below as can be, whatever the maximum.
fn exp_of(x: f32, max: f32) -> u16 {
    if x == f32::NEG_INFINITY { 0 } else { exp(bits(nearest(x - max))) }
}

/// Chunk by chunk: the maximum of the scaled scores, and the sum of the exponentials below it.
fn maximum_and_sum(scaled: &[f32]) -> (f32, FixedSum) {
    let larger = |a: f32, b: f32| if a.is_nan() || a > b { a } else { b };
    let (mut max, mut sum) = (f32::NEG_INFINITY, Some(0));
    for chunk in scaled.chunks(CHUNK) {
        let higher = chunk.iter().copied().fold(max, larger);
        let of_chunk = chunk.iter().map(|&x| units(number(exp_of(x, higher)))).sum();
        let factor = exp_of(max, higher);
        sum = softmax::combine(H, sum, factor.into(), of_chunk);
        max = higher;
    }
    (max, sum)
}

/// An exponential in units of the sum, which binary16 has nothing below.
fn units(exp: f32) -> FixedSum {
    (!exp.is_nan()).then_some((exp * (1 << 24) as f32) as u64)
}

/// By how much each weight may be off, and the relative errors of the unit's sum and of that of its exponentials. `exact`
/// are the scaled scores in real numbers.
fn weight_bounds(scaled: &[f32], exact: &[f64], late: bool) -> (Vec<f64>, [f64; 2]) {
    let none = (vec![f64::INFINITY; scaled.len()], [f64::INFINITY; 2]);
    if scaled.iter().any(|x| !x.is_finite()) {
        return none;
    }
    let scaled: Vec<f64> = scaled.iter().copied().map(f64::from).collect();
    let sum = HeadSum::of(Exponential { format: H, subnormals: GRADUAL, ulps: EXP_ULPS }, &scaled);
    let two_roundings = (1.0 + 1.0 / (1 << 11) as f64).powi(2) - 1.0;
    let off = |x: &f64| x.abs() * two_roundings + HALF_SMALLEST;
    let shift = (2.0 * exact.iter().map(off).fold(0.0, f64::max)).exp_m1();
    let mut of_exponentials = 0.0;
    let bound = |x: &f64| {
        let (exp, exp_error) = sum.exponential(*x);
        of_exponentials += exp_error;
        let (weight, error) = if late { (exp, exp_error) } else { sum.normalised(exp, exp_error) };
        error + weight * shift
    };
    let bounds = scaled.iter().map(bound).collect();
    let errors = [sum.relative_error(), of_exponentials / sum.sum()];
    // The real sum is that of the real scores, not of the rounded ones.
    (bounds, errors.map(|error| (1.0 + error) * (1.0 + shift) - 1.0))
}

/// Weighted sums of V, and of its magnitudes.
struct Sums {
    /// Of the device's weights in its order, in the sums' format.
    sums: Vec<f32>,
    /// In float64, by the real weights of real scores, of the device's scores, and by the device's weights.
    real: [Vec<f64>; 3],
    /// Of magnitudes, by the real weights of real scores, the weights' bounds, and the device's weights.
    magnitudes: [Vec<f64>; 3],
}

/// Weighted sums of all V.
struct WeightedSums<'a, V> {
    order: ContextOrder,
    v: &'a [V],
    weights: &'a [u16],
    /// The real weights of real scores, those of the device's scores, and the bounds of these.
    factors: [&'a [f64]; 3],
}

impl<V: AsRef<[u16]>> Work for WeightedSums<'_, V> {
    type Made = Sums;

    #[inline(always)]
    fn work(self) -> Sums {
        let Self { order, v, weights, factors: [exact, from_scores, bounds] } = self;
        assert_eq!(v.len(), weights.len(), "a weight for each token");
        let elements = v.first().map_or(0, |v| v.as_ref().len());
        let mut sums = ContextSums::new(order, elements);
        let mut vector = vec![0.0; elements];
        let [mut real, mut magnitudes] = [(); 2].map(|()| [(); 3].map(|()| vec![0.0; elements]));
        let mut wide = [(); AT_ONCE].map(|()| vec![0.0; elements]);
        for (first, v) in v.chunks(AT_ONCE).enumerate().map(|(n, v)| (n * AT_ONCE, v)) {
            let (mut signed, mut unsigned) = ([[0.0; AT_ONCE]; 3], [[0.0; AT_ONCE]; 3]);
            for (n, v) in v.iter().enumerate() {
                let (token, v) = (first + n, v.as_ref());
                assert_eq!(v.len(), elements, "rows of one length");
                numbers(v, &mut vector);
                let weight = number(weights[token]);
                sums.see(weight, &vector);
                for (wide, v) in wide[n].iter_mut().zip(&vector) {
                    *wide = f64::from(*v);
                }
                let (exact, weight) = (exact[token], f64::from(weight));
                let factors = [exact, from_scores[token], weight];
                signed.iter_mut().zip(factors).for_each(|(all, factor)| all[n] = factor);
                let factors = [exact, bounds[token], weight.abs()];
                unsigned.iter_mut().zip(factors).for_each(|(all, factor)| all[n] = factor);
            }
            for (sums, factors) in real.iter_mut().zip(&signed) {
                add_products(sums, &factors[..v.len()], &wide);
            }
            for vector in &mut wide {
                for v in vector.iter_mut() {
                    *v = v.abs();
                }
            }
            for (sums, factors) in magnitudes.iter_mut().zip(&unsigned) {
                add_products(sums, &factors[..v.len()], &wide);
            }
        }
        Sums { sums: sums.finish(), real, magnitudes }
    }
}

impl Sums {
    fn of<V: AsRef<[u16]>>(
        order: ContextOrder,
        v: &[V],
        weights: &[u16],
        factors: [&[f64]; 3],
    ) -> Self {
        on_vectors(WeightedSums { order, v, weights, factors })
    }

    /// The context, and the output from scores and from all, whose scores shift weights by a factor of `shift`.
    fn stages(
        self,
        order: &HeadOrder,
        weights: &[u16],
        softmax: &Softmax,
        shift: f64,
    ) -> (Stage, Stage, Stage) {
        let Self { sums, real: [output, from_scores, mut context], magnitudes } = self;
        let roundings = order.context.roundings(weights.len());
        let mut bounds: Vec<f64> =
            magnitudes[2].iter().map(|magnitudes| roundings.bound(*magnitudes)).collect();
        let mut elements: Vec<u16> = sums.iter().map(|sum| bits(nearest(*sum))).collect();
        if order.late {
            let normalised = |sum: &f32| {
                // A NaN's payload is of no account.
                softmax::normalise(H, GRADUAL, sum.to_bits(), softmax.reciprocal) as u16
            };
            elements = sums.iter().map(normalised).collect();
            let sum: f64 = weights.iter().map(|weight| f64::from(number(*weight))).sum();
            let [of_unit, of_exponentials] = softmax.errors;
            let quotient = match of_unit < 1.0 {
                true => (1.0 + of_exponentials) / (1.0 - of_unit) * (1.0 + RECIPROCAL),
                false => f64::INFINITY,
            };
            for (element, bound) in context.iter_mut().zip(&mut bounds) {
                *element /= sum;
                let off = element.abs() * (quotient - 1.0) + *bound / sum * quotient;
                *bound = rounded(*element, off);
            }
        }
        let of_weights: Vec<f64> = bounds
            .iter()
            .zip(&magnitudes[1])
            .map(|(bound, of_weights)| bound + of_weights)
            .collect();
        let of_all = |(bound, magnitudes): (&f64, &f64)| bound + shift * magnitudes;
        let of_all = of_weights.iter().zip(&magnitudes[0]).map(of_all).collect();
        let stage = |bits, real, bounds| Stage { bits, real, bounds: finite(bounds) };
        (
            stage(elements, context, bounds),
            stage(Vec::new(), from_scores, of_weights),
            stage(Vec::new(), output, of_all),
        )
    }
}

/// Tokens whose products are added to a sum before it is put back.
const AT_ONCE: usize = 4;

/// Adds the vectors, each times its factor, one after the other.
#[inline(always)]
fn add_products(sums: &mut [f64], factors: &[f64], vectors: &[Vec<f64>; AT_ONCE]) {
    let Ok(factors) = <[f64; AT_ONCE]>::try_from(factors) else {
        for (factor, vector) in factors.iter().zip(vectors) {
            for (sum, v) in sums.iter_mut().zip(vector) {
                *sum += factor * v;
            }
        }
        return;
    };
    let vectors = vectors.each_ref().map(|vector| &vector[..sums.len()]);
    for (e, sum) in sums.iter_mut().enumerate() {
        for (factor, vector) in factors.iter().zip(&vectors) {
            *sum += factor * vector[e];
        }
    }
}

/// What is no number bounds nothing.
fn finite(mut bounds: Vec<f64>) -> Vec<f64> {
    bounds.iter_mut().filter(|bound| bound.is_nan()).for_each(|bound| *bound = f64::INFINITY);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings of numbers up to 2 by a linear congruence, all of them finite.
    fn vectors(count: usize, length: usize, seed: u64) -> Vec<Vec<u16>> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u16 & 0xBFFF
        };
        (0..count).map(|_| (0..length).map(|_| next()).collect()).collect()
    }

    /// Work on the machine's vectors has the bits of the same work without them.
    #[test]
    fn vectors_change_no_bits() {
        for (length, wide) in [(1, false), (33, true), (64, false), (128, true), (128, false)] {
            let tokens = 203;
            let (k, query) = (vectors(tokens, length, 5), vectors(1, length, 6).concat());
            let weights = vectors(1, tokens, 7).concat();
            for order in [DotOrder::Chips { wide, tile: 96 }, DotOrder::Beats { part: 64 }] {
                let scores = || Scores { query: Vector::new(order, &query), k: &k };
                let (one, other) = (scores().work(), on_vectors(scores()));
                let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(one.bits, other.bits);
                assert_eq!(bits(&one.real), bits(&other.real));
                assert_eq!(bits(&one.bounds), bits(&other.bounds));
            }
            let factors: Vec<f64> = (0..tokens).map(|n| (n as f64).sin()).collect();
            let groups = ContextOrder::Groups { wide, tokens: 64 };
            for order in [groups, ContextOrder::Beats { part: 48 }] {
                let sums = || WeightedSums {
                    order,
                    v: &k,
                    weights: &weights,
                    factors: [&factors, &factors[..], &factors[..]],
                };
                let (one, other) = (sums().work(), on_vectors(sums()));
                assert_eq!(format!("{:?}", one.sums), format!("{:?}", other.sums));
                assert_eq!(format!("{:?}", one.real), format!("{:?}", other.real));
                assert_eq!(format!("{:?}", one.magnitudes), format!("{:?}", other.magnitudes));
            }
        }
    }
}
