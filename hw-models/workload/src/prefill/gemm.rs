// SPDX-License-Identifier: MIT
//! The host's GEMM: a matrix of 16-bit elements times the vectors of all tokens, in float32.
//!
//! ```text
//! y[r] = ((w[r, 0] x[0] + w[r, 1] x[1]) + w[r, 2] x[2]) + ...      each product and each sum rounded, from 0 on
//! ```
//!
//! The order is that of the columns, whatever the blocks and threads and wherever the matrix lies, so that the bits are the same
//! for every policy. 16 rows are summed side by side: those of a burst.

use crate::in_banks::BankMatrix;
use half::f16;
use pimlico_device::lp5::HostOrder;
use pimlico_device::lp5::layout::LANES;
use pimlico_model::checkpoint::places::Stored;
use std::num::NonZero;
use std::ops::Range;

/// Columns whose weights are widened at once.
const BLOCK: usize = 64;

/// Where a matrix lies.
#[derive(Clone, Copy)]
pub enum Held<'a> {
    /// In the host's memory, in an order.
    Host(HostOrder, &'a [u8]),
    /// In the banks.
    Banks(&'a BankMatrix<'a>),
}

/// A matrix.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// Rows and columns.
    pub shape: (usize, usize),
    /// Format of its elements, of 16 bits.
    pub elements: Stored,
    /// Where it lies.
    pub held: Held<'a>,
}

/// A matrix times vectors that lie one behind the other in `x`; so do the results.
///
/// # Panics
///
/// If there are no whole vectors, or the memory ends before the matrix.
pub fn product(matrix: Operand<'_>, x: &[f32], threads: NonZero<usize>) -> Vec<f32> {
    let (rows, columns) = matrix.shape;
    let tokens = x.len() / columns;
    assert!(tokens > 0 && x.len() == tokens * columns, "vectors of {columns} elements");
    let bursts = rows.div_ceil(LANES);
    let share = bursts.div_ceil(threads.get().min(bursts));
    let mut sums = vec![[0.0f32; LANES]; bursts * tokens];
    std::thread::scope(|scope| {
        for (number, sums) in sums.chunks_mut(share * tokens).enumerate() {
            let first = number * share;
            let of_thread = first..(first + share).min(bursts);
            scope.spawn(move || sum(matrix, of_thread, (x, tokens), sums));
        }
    });
    let mut results = vec![0.0; tokens * rows];
    for (burst, sums) in sums.chunks_exact(tokens).enumerate() {
        let first = burst * LANES;
        let here = LANES.min(rows - first);
        for (token, sums) in sums.iter().enumerate() {
            results[token * rows + first..][..here].copy_from_slice(&sums[..here]);
        }
    }
    results
}

/// Adds up the rows of some bursts, of all tokens: block after block of columns.
fn sum(
    matrix: Operand<'_>,
    bursts: Range<usize>,
    (x, tokens): (&[f32], usize),
    sums: &mut [[f32; LANES]],
) {
    let (_, columns) = matrix.shape;
    let mut weights = [[0.0f32; LANES]; BLOCK];
    for first in (0..columns).step_by(BLOCK) {
        let block = first..(first + BLOCK).min(columns);
        for (burst, sums) in bursts.clone().zip(sums.chunks_exact_mut(tokens)) {
            let weights = &mut weights[..block.len()];
            matrix.widen(burst, block.clone(), weights);
            let token = |token: usize| &x[token * columns..][block.clone()];
            let (pairs, last) = sums.as_chunks_mut::<2>();
            for (number, sums) in pairs.iter_mut().enumerate() {
                add(weights, [2 * number, 2 * number + 1].map(token), sums);
            }
            if let Some(sums) = last.first_chunk_mut::<1>() {
                add(weights, [token(tokens - 1)], sums);
            }
        }
    }
}

/// Adds the products of a block of columns, of several tokens at once: their sums stay in registers.
fn add<const TOKENS: usize>(
    weights: &[[f32; LANES]],
    x: [&[f32]; TOKENS],
    sums: &mut [[f32; LANES]; TOKENS],
) {
    let x = x.map(|x| &x[..weights.len()]);
    let mut of_tokens = *sums;
    for (column, weights) in weights.iter().enumerate() {
        for (x, sums) in x.iter().zip(&mut of_tokens) {
            for lane in 0..LANES {
                sums[lane] += weights[lane] * x[column];
            }
        }
    }
    *sums = of_tokens;
}

impl Operand<'_> {
    /// The weights of 16 rows of some columns, at most [`BLOCK`]; rows behind the last are 0.
    fn widen(&self, burst: usize, columns: Range<usize>, to: &mut [[f32; LANES]]) {
        let (rows, all) = self.shape;
        let first = burst * LANES;
        let mut words = [[0; LANES]; BLOCK];
        let words = &mut words[..columns.len()];
        match self.held {
            Held::Banks(matrix) => matrix.vectors(first, columns, words),
            Held::Host(HostOrder::ColumnMajor, memory) => {
                for (column, words) in columns.zip(words.iter_mut()) {
                    let from = elements(memory, column * rows + first, LANES.min(rows - first));
                    words.iter_mut().zip(from).for_each(|(to, word)| *to = word);
                }
            }
            Held::Host(HostOrder::RowMajor, memory) => {
                for lane in 0..LANES.min(rows - first) {
                    let at = (first + lane) * all + columns.start;
                    let from = elements(memory, at, columns.len());
                    words.iter_mut().zip(from).for_each(|(to, word)| to[lane] = word);
                }
            }
        }
        for (to, words) in to.iter_mut().zip(words) {
            *to = match self.elements {
                Stored::F16 => words.map(|word| f16::from_bits(word).to_f32()),
                _ => words.map(|word| f32::from_bits(u32::from(word) << 16)),
            };
        }
    }
}

/// Some elements of a memory, from one on.
fn elements(memory: &[u8], first: usize, count: usize) -> impl Iterator<Item = u16> {
    let bytes = &memory[2 * first..][..2 * count];
    bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_banks::Banked;
    use pimlico_device::lp5::{AddressMap, Lp5Layout};
    use pimlico_host::lp5_image::pack_row;
    use pimlico_host::swizzle::{ReadOrder, swizzled_copy};

    /// Numbers from 2^-8 to 1 of any sign, as the high half of a float32.
    fn element(n: usize) -> u16 {
        let mixed = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (0x3B80 + (mixed % 0x400) as u16) | (((mixed >> 20) as u16 & 1) << 15)
    }

    #[test]
    fn sums_are_in_the_order_of_columns_wherever_the_matrix_lies() {
        let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
        for (rows, columns, tokens) in [(1, 1, 1), (40, 77, 3), (1100, 130, 2), (16, 64, 5)] {
            let (of_rows, of_columns) = (rows as u64, columns as u64);
            let layout = Lp5Layout::new(&map, of_rows, of_columns, 2..65532).expect("it fits");
            let elements: Vec<u16> = (0..rows * columns).map(element).collect();
            let row_bytes = map.row_bytes() as usize;
            let mut memory = vec![0; layout.bank_rows() as usize * row_bytes];
            for (row, to) in memory.chunks_exact_mut(row_bytes).enumerate() {
                pack_row(&layout, layout.first_row() + row as u64, &elements, to);
            }
            let mut host = vec![0; 2 * rows * columns];
            let threads = |count| NonZero::new(count).expect("some");
            swizzled_copy(&layout, &memory, ReadOrder::RowBuffer, threads(2), &mut host);
            let x: Vec<f32> = (0..tokens * columns).map(|n| (n as f32 * 0.37).sin()).collect();
            let mut expected = Vec::new();
            for vector in x.chunks_exact(columns) {
                for row in elements.chunks_exact(columns) {
                    let mut sum = 0.0f32;
                    for (word, x) in row.iter().zip(vector) {
                        sum += f32::from_bits(u32::from(*word) << 16) * x;
                    }
                    expected.push(sum.to_bits());
                }
            }
            let mut by_rows = Vec::with_capacity(host.len());
            elements.iter().for_each(|element| by_rows.extend(element.to_le_bytes()));
            let in_banks = BankMatrix::whole(Banked::new(layout, memory));
            for held in [
                Held::Host(HostOrder::ColumnMajor, &host),
                Held::Host(HostOrder::RowMajor, &by_rows),
                Held::Banks(&in_banks),
            ] {
                for count in [1, 2, 3, 64] {
                    let matrix = Operand { shape: (rows, columns), elements: Stored::Bf16, held };
                    let found = product(matrix, &x, threads(count));
                    let found: Vec<u32> = found.iter().map(|sum| sum.to_bits()).collect();
                    assert_eq!(found, expected, "{rows} x {columns}, {count} threads");
                }
            }
        }
    }

    #[test]
    fn elements_of_binary16_are_widened_exactly() {
        let words: Vec<u8> =
            [0x3C00u16, 0x0001, 0xC000].iter().flat_map(|w| w.to_le_bytes()).collect();
        let matrix = Operand {
            shape: (3, 1),
            elements: Stored::F16,
            held: Held::Host(HostOrder::ColumnMajor, &words),
        };
        let found = product(matrix, &[2.0], NonZero::<usize>::MIN);
        assert_eq!(found, [2.0, 2f32.powi(-23), -4.0]);
    }
}
