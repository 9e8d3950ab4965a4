// SPDX-License-Identifier: MIT
//! The order in which the host writes a matrix: chunk by chunk, and in a chunk burst by burst over its rows,
//! each in another bank group than the one before.

use pimlico_device::BankOrder;
use pimlico_device::data_bus::Beats;
use pimlico_device::gemv::MatrixLayout;
use pimlico_device::mapping::{self, BURST, Place};
use pimlico_host::strips::{Strip, Strips};
use std::collections::VecDeque;

/// Rows and bursts of a chunk.
pub fn places(layout: &MatrixLayout, chunk: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (rows, first, order) = (layout.rows, chunk * layout.banks(), bank_order(layout));
    (0..layout.columns.div_ceil(BURST))
        .flat_map(move |burst| order.clone().map(move |bank| (first + bank, burst)))
        .filter(move |&(row, _)| row < rows)
}

/// All banks, each in another group than the one before.
fn bank_order(layout: &MatrixLayout) -> impl Iterator<Item = usize> + Clone + use<> {
    let (banks, groups) = (layout.banks(), layout.groups());
    (0..banks).map(move |n| n % groups * (banks / groups) + n / groups)
}

/// A matrix as strips, a tile of a chunk each, whose rows are made as they are wanted: in their order, those of a chunk
/// together.
pub struct MatrixStrips<'a, F> {
    layout: &'a MatrixLayout,
    tiles: usize,
    /// Makes a row; without it, all are zeros.
    make: Option<F>,
    /// The last two chunks, with their rows.
    chunks: VecDeque<(usize, Vec<u16>)>,
}

impl<'a, F: FnMut(&mut [u16])> MatrixStrips<'a, F> {
    /// Of rows that `make` makes.
    pub fn new(layout: &'a MatrixLayout, make: F) -> Self {
        Self { make: Some(make), ..Self::zeros(layout) }
    }

    /// Of a matrix without data.
    pub fn zeros(layout: &'a MatrixLayout) -> Self {
        Self { layout, tiles: layout.tiles(), make: None, chunks: VecDeque::with_capacity(2) }
    }

    /// Rows of a chunk.
    fn rows(&self, chunk: usize) -> usize {
        self.layout.banks().min(self.layout.rows - chunk * self.layout.banks())
    }

    fn make(&mut self, chunk: usize) {
        let (columns, size) = (self.layout.columns, self.rows(chunk) * self.layout.columns);
        let Some(make) = &mut self.make else { return };
        let used = if self.chunks.len() == 2 { self.chunks.pop_front() } else { None };
        let mut rows = used.map_or_else(Vec::new, |(_, rows)| rows);
        rows.resize(size, 0);
        rows.chunks_exact_mut(columns).for_each(make);
        self.chunks.push_back((chunk, rows));
    }
}

impl<F: FnMut(&mut [u16])> Strips for MatrixStrips<'_, F> {
    fn strip(&mut self, number: usize) -> Option<Strip> {
        let (chunk, tile) = (number / self.tiles, number % self.tiles);
        if chunk >= self.layout.chunks() {
            return None;
        }
        if tile == 0 {
            self.make(chunk);
        }
        let rows = self.rows(chunk);
        let (row, column) = self.layout.column(tile, chunk, 0);
        let banks = BankOrder::new(bank_order(self.layout).filter(|bank| *bank < rows));
        Some(Strip { row, column, columns: self.layout.bursts(tile), banks })
    }

    fn beats(&self, number: usize, place: Place) -> Beats {
        let (chunk, tile) = (number / self.tiles, number % self.tiles);
        let Some((_, rows)) = self.chunks.iter().find(|(of, _)| *of == chunk) else {
            return Beats::default();
        };
        let columns = self.layout.columns;
        let burst = self.layout.burst(tile, place.column);
        mapping::beats_of(&rows[place.bank * columns..][..columns], burst)
    }

    /// Banks of a column have a row of the chunk each, and the same burst of it.
    fn column_beats(
        &self,
        number: usize,
        (_, column): (usize, usize),
        banks: impl Iterator<Item = usize>,
        mut written: impl FnMut(&Beats),
    ) {
        let (chunk, tile) = (number / self.tiles, number % self.tiles);
        let columns = self.layout.columns;
        let burst = self.layout.burst(tile, column);
        let rows = self.chunks.iter().find(|(of, _)| *of == chunk);
        banks.for_each(|bank| {
            let row = |(_, rows): &'_ (usize, Vec<u16>)| {
                mapping::beats_of(&rows[bank * columns..][..columns], burst)
            };
            written(&rows.map_or_else(Beats::default, row));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::writes;
    use super::*;
    use pimlico_device::Config;
    use pimlico_host::strips;
    use pimlico_model::data::{Operands, Synthetic};

    #[test]
    fn rows_that_are_made_are_written_as_those_of_a_matrix() {
        for (rows, columns) in [(1, 1), (16, 33), (37, 200), (100, 4100)] {
            let layout = MatrixLayout::new(&Config::ddr4_3200(), rows, columns).expect("it fits");
            let Operands { matrix, vector } = Operands::synthetic(rows, columns, 9);
            let mut data = Synthetic::new(columns, 9);
            assert_eq!(data.vector(), vector);
            let strips = MatrixStrips::new(&layout, |row| data.next_row(row));
            let made: Vec<_> = strips::writes(strips).collect();
            assert_eq!(made, writes(&layout, &matrix).collect::<Vec<_>>());
            assert_eq!(made.len(), rows * columns.div_ceil(BURST));
        }
    }

    #[test]
    fn banks_of_a_column_are_written_what_each_of_them_is() {
        for (rows, columns) in [(1, 1), (37, 200), (100, 4100)] {
            let layout = MatrixLayout::new(&Config::ddr4_3200(), rows, columns).expect("it fits");
            let mut data = Synthetic::new(columns, 9);
            let mut strips = MatrixStrips::new(&layout, |row| data.next_row(row));
            let mut number = 0;
            while let Some(Strip { row, column, columns, banks }) = strips.strip(number) {
                for column in column..column + columns {
                    let (mut all, at) = (Vec::new(), (row, column));
                    strips.column_beats(number, at, banks.iter(), |beats| all.push(*beats));
                    let beats = |bank| strips.beats(number, Place { bank, row, column });
                    assert!(banks.iter().map(beats).eq(all), "strip {number}, column {column}");
                }
                number += 1;
            }
            assert!(number > 0);
        }
    }

    #[test]
    fn blocks_have_the_vector_and_rows_of_their_own() {
        let row = |mut data: Synthetic| {
            let mut row = vec![0; 40];
            data.next_row(&mut row);
            row
        };
        let [whole, first, second] =
            [Synthetic::new(40, 3), Synthetic::block(40, 3, 0), Synthetic::block(40, 3, 1)];
        assert_eq!((first.vector(), second.vector()), (whole.vector(), whole.vector()));
        assert_eq!(row(first), row(whole.clone()));
        assert_ne!(row(second), row(whole));
    }
}
