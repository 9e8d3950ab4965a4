// SPDX-License-Identifier: MIT
//! Results of a module of AiM channels beside those of `golden` that are summed up in the contract's order, bit for
//! bit.

use crate::report::Exact;
use pimlico_device::aim::{AimHead, AimOptions, MULTIPLIERS};
use pimlico_golden::dot::{dot, dot_in_parts};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_host::aim::AimAttention;
use pimlico_model::data::Head;

/// Multiply-accumulates that `golden` does for an operator, at the most: about a second.
const GOLDEN_MACS: usize = 1 << 22;

/// The outputs of a matrix times a vector, of rows that are seen once.
pub struct ExactProduct<'a> {
    options: AimOptions,
    vector: &'a [u16],
    rows: usize,
    expected: Vec<Option<u16>>,
}

impl<'a> ExactProduct<'a> {
    /// Of a matrix of so many rows.
    pub fn of(options: AimOptions, vector: &'a [u16], rows: usize) -> Self {
        Self { options, vector, rows, expected: Vec::with_capacity(rows) }
    }

    /// The next row. Every one is compared, or, where that would take long, every so many, and the last.
    pub fn see(&mut self, row: &[u16]) {
        let number = self.expected.len();
        let every = (self.rows * self.vector.len()).div_ceil(GOLDEN_MACS);
        let compared = number.is_multiple_of(every) || number + 1 == self.rows;
        self.expected.push(compared.then(|| self.output(row)));
    }

    /// What `golden` has for an output: a row of the matrix times the vector.
    fn output(&self, row: &[u16]) -> u16 {
        let precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
        if self.options.sums_stay(self.rows) {
            dot(precision, MULTIPLIERS, row, self.vector)
        } else {
            dot_in_parts(precision, MULTIPLIERS, self.options.tile(), row, self.vector)
        }
    }

    /// Compares the outputs.
    pub fn compare(&self, outputs: &[u16]) -> Exact {
        let pairs = outputs.iter().zip(&self.expected);
        let compared = || pairs.clone().filter_map(|(got, golden)| Some((got, (*golden)?)));
        Exact {
            outputs: outputs.len() as u64,
            checked: compared().count() as u64,
            differing: compared().filter(|(got, golden)| **got != *golden).count() as u64,
        }
    }
}

/// Scores and context of a query, the context from the weights that there were.
pub fn query(
    options: AimOptions,
    layout: &AimHead,
    head: &Head,
    query: &[u16],
    result: &AimAttention,
) -> [Exact; 2] {
    let mut scores = ExactProduct::of(options, query, layout.context());
    head.k.iter().for_each(|k| scores.see(k));
    let mut context = ExactProduct::of(options, &result.softmax.values, layout.head_dim());
    for element in 0..layout.head_dim() {
        context.see(&head.v.iter().map(|v| v[element]).collect::<Vec<_>>());
    }
    [scores.compare(&result.score.values), context.compare(&result.context.values)]
}
