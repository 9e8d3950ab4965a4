// SPDX-License-Identifier: MIT
//! Attention in real numbers, as far as a type has them: written once, for every type of `num-traits`
//! that can do it.
//!
//! The references take `f64`. In `f32` the same functions tell what a reference of binary32 would say,
//! and [`dot`] and [`weighted_sum`] of integers are exact: binary16 numbers are multiples of 2^-24, and
//! an `i128` holds any sum of their products.
//!
//! Sums are taken in the order of the index.

use num_traits::{Float, Num};
use std::iter::Sum;

/// The sum of the products of `a` and `b`. Elements of `a` may be of a narrower type.
///
/// # Panics
///
/// If the vectors differ in length.
pub fn dot<A, T>(a: &[A], b: &[T]) -> T
where
    A: Copy + Into<T>,
    T: Copy + Num + Sum,
{
    assert_eq!(a.len(), b.len(), "vectors of one length");
    a.iter().zip(b).map(|(&a, &b)| a.into() * b).sum()
}

/// Softmax of `x`. If one of them is NaN or +infinity, or all are -infinity, all results are NaN.
pub fn softmax<T: Float + Sum>(x: &[T]) -> Vec<T> {
    // The maximum passes over NaN, but the sum does not.
    let max = x.iter().copied().fold(T::neg_infinity(), T::max);
    let exps: Vec<T> = x.iter().map(|&x| (x - max).exp()).collect();
    let sum: T = exps.iter().copied().sum();
    exps.into_iter().map(|exp| exp / sum).collect()
}

/// The sum of the rows, each times its weight. Empty if there is no row.
///
/// # Panics
///
/// If there are not as many weights as rows, or these differ in length.
pub fn weighted_sum<T, R>(weights: &[T], rows: impl ExactSizeIterator<Item = R>) -> Vec<T>
where
    T: Copy + Num,
    R: AsRef<[T]>,
{
    assert_eq!(weights.len(), rows.len(), "one weight per row");
    let mut sums = Vec::new();
    for (n, (&weight, row)) in weights.iter().zip(rows).enumerate() {
        let row = row.as_ref();
        if n == 0 {
            sums.resize(row.len(), T::zero());
        }
        assert_eq!(row.len(), sums.len(), "rows of one length");
        for (sum, &value) in sums.iter_mut().zip(row) {
            *sum = *sum + weight * value;
        }
    }
    sums
}

/// Attention of one query over all tokens of a head.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention<T = f64> {
    /// Per token, the dot product of query and key, as it is: *not* scaled.
    pub scores: Vec<T>,
    /// Per token, the softmax of the scaled scores. They sum to 1, unless they are NaN.
    pub weights: Vec<T>,
    /// Per element of the head's dimension, the weighted sum of the values. Empty if there is no
    /// token.
    pub context: Vec<T>,
}

/// Attention of the query `q` over tokens, whose keys and values are rows: as in
/// [`attention`](crate::attention).
///
/// # Panics
///
/// If there are not as many values as keys, a key is not as long as `q`, or values differ in length.
pub fn attention<T, R>(
    q: &[T],
    keys: impl ExactSizeIterator<Item = R>,
    values: impl ExactSizeIterator<Item = R>,
    scale: T,
) -> Attention<T>
where
    T: Float + Sum,
    R: AsRef<[T]>,
{
    assert_eq!(keys.len(), values.len(), "one value per key");
    let scores: Vec<T> = keys.map(|key| dot(q, key.as_ref())).collect();
    let weights = softmax_of_scaled(&scores, scale);
    let context = weighted_sum(&weights, values);
    Attention { scores, weights, context }
}

/// Softmax of these scores times `scale`.
pub fn softmax_of_scaled<T: Float + Sum>(scores: &[T], scale: T) -> Vec<T> {
    softmax(&scores.iter().map(|&score| scale * score).collect::<Vec<_>>())
}
