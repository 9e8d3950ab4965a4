// SPDX-License-Identifier: MIT
//! Matrices times vectors beside float64 of the same operands.

use crate::report::Error;
use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;

/// What is right, row by row: rows are seen once and need not be kept.
pub struct Reference {
    vector: Vec<f64>,
    expected: Vec<f64>,
}

impl Reference {
    /// Of a matrix of so many rows and a vector.
    pub fn of(vector: &[u16], rows: usize) -> Self {
        let vector = vector.iter().map(|&bits| f16::from_bits(bits).to_f64()).collect();
        Self { vector, expected: Vec::with_capacity(rows) }
    }

    /// The next row of the matrix.
    pub fn see(&mut self, row: &[u16]) {
        self.expected.push(dot(row, &self.vector));
    }

    /// How many rows were seen.
    pub fn rows(&self) -> usize {
        self.expected.len()
    }

    /// The results of all rows, beside what is right.
    pub fn beside(self, outputs: Vec<u16>) -> Products {
        Products { outputs, expected: self.expected }
    }
}

/// Results of rows of a matrix beside what is right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Products {
    outputs: Vec<u16>,
    expected: Vec<f64>,
}

impl Products {
    /// Further rows of the matrix.
    pub fn extend(&mut self, more: &Self) {
        self.outputs.extend_from_slice(&more.outputs);
        self.expected.extend_from_slice(&more.expected);
    }

    /// The error of all of them.
    pub fn error(&self) -> Error {
        ErrorReport::new(Format::BINARY16, &self.outputs, &self.expected).into()
    }
}

/// The error of a matrix times a vector.
pub fn product_error(matrix: &[Vec<u16>], vector: &[u16], outputs: &[u16]) -> Error {
    let mut reference = Reference::of(vector, matrix.len());
    matrix.iter().for_each(|row| reference.see(row));
    reference.beside(outputs.to_vec()).error()
}

impl From<ErrorReport> for Error {
    fn from(report: ErrorReport) -> Self {
        let ErrorReport { max_ulp, max_relative, rms_relative } = report;
        Self { max_ulp, max_relative, rms_relative }
    }
}

/// Sums that a dot product is made of, so that no addition waits for the one before.
const SUMS: usize = 8;

/// The dot product of a row of a matrix with a vector, in float64. Products of binary16 numbers are exact.
fn dot(row: &[u16], vector: &[f64]) -> f64 {
    const BATCH: usize = 16 * SUMS;
    let (mut sums, mut wide) = ([0.0; SUMS], [0.0f32; BATCH]);
    for (row, vector) in row.chunks(BATCH).zip(vector.chunks(BATCH)) {
        let row = row.reinterpret_cast::<f16>();
        row.convert_to_f32_slice(&mut wide[..row.len()]);
        wide[row.len()..].fill(0.0);
        for (wide, vector) in wide.chunks_exact(SUMS).zip(vector.chunks(SUMS)) {
            for ((sum, &a), b) in sums.iter_mut().zip(wide).zip(vector) {
                *sum += f64::from(a) * b;
            }
        }
    }
    sums.iter().sum()
}
