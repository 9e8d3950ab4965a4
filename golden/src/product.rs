// SPDX-License-Identifier: MIT
//! A row of a matrix times a vector: the bits, the real number, and how far the two may be apart.

use crate::bound::Roundings;
use crate::native::{DotOrder, number, numbers};
use crate::vectors::{Work, on_vectors};

/// What an output is, and is near to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Output {
    /// The bits, summed up in the contract's order.
    pub bits: u16,
    /// The sum in float64.
    pub real: f64,
    /// By how much the bits may miss it ([`bound`](crate::bound)).
    pub bound: f64,
}

/// A vector, by which rows of a matrix are multiplied.
#[derive(Clone, Debug)]
pub struct Vector {
    order: DotOrder,
    roundings: Roundings,
    elements: Vec<f32>,
    row: Vec<f32>,
}

impl Vector {
    /// Of binary16 elements.
    pub fn new(order: DotOrder, elements: &[u16]) -> Self {
        let numbers = elements.iter().map(|bits| number(*bits)).collect();
        let row = vec![0.0; elements.len()];
        Self { order, roundings: order.roundings(elements.len()), elements: numbers, row }
    }

    /// A row times the vector.
    ///
    /// # Panics
    ///
    /// If the two are not of one length.
    pub fn times(&mut self, row: &[u16]) -> Output {
        on_vectors(Times { vector: self, row })
    }

    /// The same on the vectors of the caller.
    #[inline(always)]
    pub(crate) fn times_here(&mut self, row: &[u16]) -> Output {
        assert_eq!(row.len(), self.elements.len(), "vectors of one length");
        numbers(row, &mut self.row);
        let (real, magnitudes) = real_dot(&self.row, &self.elements);
        let bits = self.order.dot(&self.row, &self.elements);
        Output { bits, real, bound: self.roundings.bound(magnitudes) }
    }
}

/// A row times a vector.
struct Times<'a> {
    vector: &'a mut Vector,
    row: &'a [u16],
}

impl Work for Times<'_> {
    type Made = Output;

    #[inline(always)]
    fn work(self) -> Output {
        self.vector.times_here(self.row)
    }
}

/// Sums that a dot product is made of, so that no addition waits for the one before.
const SUMS: usize = 8;

/// The dot product of binary16 numbers in float64, and that of their magnitudes. Products are exact in binary32 already.
#[inline(always)]
fn real_dot(a: &[f32], b: &[f32]) -> (f64, f64) {
    let (mut sums, mut magnitudes) = ([0.0; SUMS], [0.0; SUMS]);
    let ((whole_a, rest_a), (whole_b, rest_b)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in whole_a.iter().zip(whole_b) {
        for n in 0..SUMS {
            let product = f64::from(a[n] * b[n]);
            sums[n] += product;
            magnitudes[n] += product.abs();
        }
    }
    for (n, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        let product = f64::from(a * b);
        sums[n] += product;
        magnitudes[n] += product.abs();
    }
    (sums.iter().sum(), magnitudes.iter().sum())
}
