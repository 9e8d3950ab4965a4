// SPDX-License-Identifier: MIT
//! Matrices times vectors beside `golden`'s of the same operands: each bit, and how far each output may be from float64.

use super::results::{Beside, judgement};
use crate::parallel;
use crate::report::Verdict;
use pimlico_device::aim::AimOptions;
use pimlico_device::gemv::tile_words;
use pimlico_device::mapping::BURST;
use pimlico_device::{Config, SumFormat};
use pimlico_golden::format::Format;
use pimlico_golden::native::DotOrder;
use pimlico_golden::product::{Output, Vector};

/// The order in which outputs are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductOrder(pub(super) DotOrder);

impl ProductOrder {
    /// On a rank.
    pub fn on_rank(config: &Config, sums: SumFormat) -> Self {
        let wide = sums == SumFormat::Binary32;
        Self(DotOrder::Chips { wide, tile: tile_words(config.columns()) * BURST })
    }

    /// On a module of AiM channels, of a matrix of so many rows.
    pub fn on_module(options: &AimOptions, rows: usize) -> Self {
        let part = if options.sums_stay(rows) { usize::MAX } else { options.tile() };
        Self(DotOrder::Beats { part })
    }

    /// That of a program of one's own on a module of AiM channels, where it is not that of the operator: sums leave with
    /// each tile, or stay in the PUs over all of them.
    pub fn other_on_module(self, options: &AimOptions) -> Self {
        let stay = self == Self(DotOrder::Beats { part: usize::MAX });
        Self(DotOrder::Beats { part: if stay { options.tile() } else { usize::MAX } })
    }
}

/// Elements of rows for which a thread is worth its start.
const FOR_A_THREAD: usize = 1 << 16;

/// What is right, row by row: rows are seen once and need not be kept.
pub struct Reference {
    vector: Vector,
    expected: Vec<Output>,
    /// The same in another order, which the results may have as well.
    other: Option<Box<Self>>,
}

impl Reference {
    /// Of a matrix of so many rows and a vector.
    pub fn of(order: ProductOrder, vector: &[u16], rows: usize) -> Self {
        let expected = Vec::with_capacity(rows);
        Self { vector: Vector::new(order.0, vector), expected, other: None }
    }

    /// The same, of which all results may have another order as well.
    pub fn or(self, other: Self) -> Self {
        Self { other: Some(Box::new(other)), ..self }
    }

    /// The next row of the matrix.
    pub fn see(&mut self, row: &[u16]) {
        self.expected.push(self.vector.times(row));
        if let Some(other) = &mut self.other {
            other.see(row);
        }
    }

    /// The next rows, on so many threads.
    pub fn see_all(&mut self, rows: &[Vec<u16>], threads: usize) {
        let columns = rows.first().map_or(0, Vec::len);
        let threads = threads.min(rows.len() * columns / FOR_A_THREAD).max(1);
        let parts: Vec<_> = rows.chunks(rows.len().div_ceil(threads).max(1)).collect();
        let times = |part: &&[Vec<u16>]| {
            let mut vector = self.vector.clone();
            part.iter().map(|row| vector.times(row)).collect::<Vec<_>>()
        };
        let seen = parallel::each(&parts, threads, times);
        self.expected.extend(seen.into_iter().flatten());
        if let Some(other) = &mut self.other {
            other.see_all(rows, threads);
        }
    }

    /// How many rows were seen.
    pub fn rows(&self) -> usize {
        self.expected.len()
    }

    /// The results of all rows, beside what is right.
    pub fn beside(self, outputs: Vec<u16>) -> Products {
        let Self { expected, other, .. } = self;
        let is_right =
            |expected: &[Output]| expected.iter().map(|it| it.bits).eq(outputs.iter().copied());
        let expected = match other {
            Some(other) if !is_right(&expected) && is_right(&other.expected) => other.expected,
            _ => expected,
        };
        Products { outputs, expected }
    }
}

/// Results of rows of a matrix beside what is right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Products {
    outputs: Vec<u16>,
    expected: Vec<Output>,
}

impl Products {
    /// Further rows of the matrix.
    pub fn extend(&mut self, more: &Self) {
        self.outputs.extend_from_slice(&more.outputs);
        self.expected.extend_from_slice(&more.expected);
    }

    /// What all of them are.
    pub fn judgement(&self) -> Verdict {
        let of = |part: fn(&Output) -> f64| self.expected.iter().map(part).collect::<Vec<f64>>();
        let bits: Vec<u16> = self.expected.iter().map(|output| output.bits).collect();
        let (real, bounds) = (of(|output| output.real), of(|output| output.bound));
        let beside = Beside {
            result: "output",
            head: None,
            format: Format::BINARY16,
            bits: &bits,
            real: &real,
            bounds: &bounds,
        };
        judgement(&self.outputs, &beside)
    }
}

/// What the outputs of a matrix times a vector are, found out on so many threads.
pub fn product(
    order: ProductOrder,
    matrix: &[Vec<u16>],
    vector: &[u16],
    outputs: &[u16],
    threads: usize,
) -> Verdict {
    let mut reference = Reference::of(order, vector, matrix.len());
    reference.see_all(matrix, threads);
    reference.beside(outputs.to_vec()).judgement()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_model::data::Operands;

    #[test]
    fn rows_on_threads_are_judged_as_one_by_one() {
        let (rows, columns) = (5, FOR_A_THREAD / 2);
        let Operands { matrix, vector } = Operands::synthetic(rows, columns, 3);
        let [here, there] = [4096, usize::MAX].map(|part| ProductOrder(DotOrder::Beats { part }));
        let new = || Reference::of(here, &vector, rows).or(Reference::of(there, &vector, rows));
        let mut one_by_one = new();
        matrix.iter().for_each(|row| one_by_one.see(row));
        for threads in [1, 2, 3, 100] {
            let mut seen = new();
            seen.see_all(&matrix[..2], threads);
            seen.see_all(&matrix[2..], threads);
            assert_eq!(seen.rows(), rows);
            assert_eq!(seen.expected, one_by_one.expected);
            let others = |reference: Reference| reference.other.expect("two orders").expected;
            let expected = matrix.iter().map(|row| Vector::new(there.0, &vector).times(row));
            assert_eq!(others(seen), expected.collect::<Vec<_>>());
        }
    }
}
