// SPDX-License-Identifier: MIT
//! A matrix times a vector as the PIM blocks of LPDDR5X-PIM sum it up: every output has a lane and a register of its own,
//! to which the products of its row are added one by one, column after column.
//!
//! ```text
//! sum = +0;  for c = 0, 1, 2, ...:  sum = sum + w[c] * x[c]        product and sum rounded each
//! ```
//!
//! Which lane, register and bank that is makes no difference to an output. Where the format of the sums is the wider one,
//! a product is still rounded to an element, and a sum is rounded to an element once, behind the last column.

use crate::reduction::Precision;

/// The output of a row of the matrix, in the format of the sums.
///
/// # Panics
///
/// If row and vector differ in length, or elements are wider than 16 bits.
pub fn column_sum(precision: &Precision, row: &[u16], inputs: &[u16]) -> u32 {
    assert_eq!(row.len(), inputs.len(), "a row and a vector of one length");
    assert!(precision.elements.width() <= 16, "{:?} is wider than 16 bits", precision.elements);
    row.iter().zip(inputs).fold(precision.sums.zero(false), |sum, (&weight, &input)| {
        precision.add(sum, precision.product(weight.into(), input.into()))
    })
}

/// The outputs of a matrix, whose rows stand one behind the other: elements.
///
/// # Panics
///
/// If the vector is empty, the matrix has no whole rows, or elements are wider than 16 bits.
pub fn column_gemv(precision: &Precision, matrix: &[u16], inputs: &[u16]) -> Vec<u16> {
    assert!(matrix.len().is_multiple_of(inputs.len()), "whole rows of {} columns", inputs.len());
    let element = |row| precision.element(column_sum(precision, row, inputs)) as u16;
    matrix.chunks(inputs.len()).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact;
    use crate::format::{Format, Subnormals};

    const B: Format = Format::BFLOAT16;
    const NARROW: Precision = Precision::uniform(B, Subnormals::Gradual);
    const WIDE: Precision =
        Precision { elements: B, subnormals: Subnormals::Gradual, sums: Format::BINARY32 };

    fn bits(x: f64) -> u16 {
        exact::from_f64(B, Subnormals::Gradual, x) as u16
    }

    fn output(precision: &Precision, row: &[f64], inputs: &[f64]) -> f64 {
        let [row, inputs] =
            [row, inputs].map(|of| of.iter().copied().map(bits).collect::<Vec<_>>());
        let outputs = column_gemv(precision, &row, &inputs);
        assert_eq!(outputs.len(), 1);
        exact::to_f64(B, outputs[0].into())
    }

    #[test]
    fn columns_are_added_in_their_order() {
        // From 256 on, bfloat16 counts in twos: a one is lost that comes behind.
        assert_eq!(output(&NARROW, &[1.0, 1.0, 256.0], &[1.0; 3]), 258.0);
        assert_eq!(output(&NARROW, &[256.0, 1.0, 1.0], &[1.0; 3]), 256.0);
        assert_eq!(output(&WIDE, &[256.0, 1.0, 1.0], &[1.0; 3]), 258.0);
        // A sum of ones stands still at 256.
        assert_eq!(output(&NARROW, &[1.0; 1000], &[1.0; 1000]), 256.0);
        assert_eq!(output(&WIDE, &[1.0; 1024], &[1.0; 1024]), 1024.0);
    }

    #[test]
    fn products_are_rounded_and_wide_sums_once() {
        // 1.0078125^2 is 1.01568603515625, of which bfloat16 keeps 1.015625.
        let x = 1.0078125;
        assert_eq!(output(&WIDE, &[x, -1.015625], &[x, 1.0]), 0.0);
        // 256 + 1 + 2^-15 is nearer to 258 than to 256, 257 rounded is 256.
        assert_eq!(output(&WIDE, &[256.0, 1.0, 1.0], &[1.0, 1.0, 0.5_f64.powi(15)]), 258.0);
        assert_eq!(output(&WIDE, &[256.0, 1.0], &[1.0, 1.0]), 256.0);
    }

    #[test]
    fn a_sum_begins_with_positive_zero() {
        let negative_zero = bits(-0.0);
        assert_eq!(column_gemv(&NARROW, &[negative_zero], &[bits(1.0)]), [0]);
        assert_eq!(column_sum(&NARROW, &[], &[]), 0);
    }

    #[test]
    fn rows_stand_one_behind_the_other() {
        let matrix: Vec<u16> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(bits).to_vec();
        let outputs = column_gemv(&NARROW, &matrix, &[bits(1.0), bits(10.0)]);
        assert_eq!(outputs, [21.0, 43.0, 65.0].map(bits));
    }
}
