// SPDX-License-Identifier: MIT
//! Matrices as a systolic array sums them up: the products of an output are added one by one in the order of the inputs, to what
//! the output is so far.
//!
//! ```text
//! s = before;  for k = 0, 1, ...:  s = x[k] * w[k] + s        product and sum rounded each
//! ```
//!
//! A matrix that is cut into tiles of inputs has the same order, as each tile begins with what the one before it came to. How far a
//! sum can be from the exact one follows from the rounding of each operation ([`largest_error`]).

use crate::exact;
use crate::reduction::Precision;

/// An output, in the format of the sums.
///
/// # Panics
///
/// If there are not as many weights as inputs.
pub fn output(precision: &Precision, before: u32, inputs: &[u32], weights: &[u32]) -> u32 {
    assert_eq!(inputs.len(), weights.len(), "a weight for each input");
    let terms = inputs.iter().zip(weights).map(|(x, w)| precision.product(*x, *w));
    terms.fold(before, |sum, term| precision.add(term, sum))
}

/// The exact sum of products of elements, in `f64`, whose roundings are far below those of the sums.
pub fn exact_output(precision: &Precision, inputs: &[u32], weights: &[u32]) -> f64 {
    let number = |element: &u32| exact::to_f64(precision.elements, *element);
    inputs.iter().zip(weights).map(|(x, w)| number(x) * number(w)).sum()
}

/// By how much [`output`] of +0 may differ from [`exact_output`], where nothing overflows: each product is wrong by half a unit of its last place, or of
/// the smallest subnormal number, and each of so many sums by half a unit of the largest partial sum that there can be.
pub fn largest_error(precision: &Precision, inputs: &[u32], weights: &[u32]) -> f64 {
    let number = |element: &u32| exact::to_f64(precision.elements, *element).abs();
    let half_unit = |man_bits: u32| 0.5_f64.powi(man_bits as i32 + 1);
    let elements = precision.elements;
    let bias = (1 << (elements.exp_bits - 1)) - 1;
    let smallest = 0.5_f64.powi(bias - 1 + elements.man_bits as i32);
    let products = inputs.iter().zip(weights).map(|(x, w)| number(x) * number(w));
    let magnitude: f64 = products.clone().sum();
    let of_products: f64 =
        products.map(|product| product * half_unit(elements.man_bits) + smallest / 2.0).sum();
    let terms = inputs.len() as f64;
    of_products + terms * (magnitude + of_products) * 2.0 * half_unit(precision.sums.man_bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Subnormals};

    const H: Format = Format::BINARY16;
    const WIDE: Precision =
        Precision { elements: H, subnormals: Subnormals::Gradual, sums: Format::BINARY32 };

    fn bits(numbers: &[f64]) -> Vec<u32> {
        numbers.iter().map(|x| exact::from_f64(H, Subnormals::Gradual, *x)).collect()
    }

    fn of(before: f32, inputs: &[f64], weights: &[f64]) -> f32 {
        f32::from_bits(output(&WIDE, before.to_bits(), &bits(inputs), &bits(weights)))
    }

    #[test]
    fn inputs_are_added_in_their_order_to_what_was_there() {
        let large = 16_777_216.0;
        assert_eq!(of(1.0, &[2.0, 3.0], &[4.0, 5.0]), 24.0);
        assert_eq!(of(large, &[1.0; 4], &[2.0, 1.0, 1.0, -1.0]), large + 4.0);
        assert_eq!(of(large, &[1.0; 4], &[-1.0, 1.0, 1.0, 2.0]), large + 2.0);
        // In two parts.
        let first = of(0.0, &[0.1, 0.2], &[0.3, 0.4]);
        assert_eq!(of(first, &[0.5], &[0.6]), of(0.0, &[0.1, 0.2, 0.5], &[0.3, 0.4, 0.6]));
    }

    #[test]
    fn products_are_elements() {
        let x = 1.0 + 0.5_f64.powi(10);
        assert_eq!(of(0.0, &[x], &[x]), 1.001_953_1);
        assert_eq!(exact_output(&WIDE, &bits(&[x]), &bits(&[x])), x * x);
    }

    #[test]
    fn no_sum_is_further_from_the_exact_one_than_its_roundings_add_up_to() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        };
        for length in [1, 2, 8, 100, 1000] {
            let [x, w] = [0, 1].map(|_| bits(&(0..length).map(|_| random()).collect::<Vec<_>>()));
            let error =
                f64::from(f32::from_bits(output(&WIDE, 0, &x, &w))) - exact_output(&WIDE, &x, &w);
            let largest = largest_error(&WIDE, &x, &w);
            assert!(error.abs() <= largest && largest < 2e-3 * length as f64, "{error} {largest}");
        }
    }
}
