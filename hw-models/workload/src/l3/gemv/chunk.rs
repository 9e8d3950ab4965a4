// SPDX-License-Identifier: MIT
//! The order in which the host writes a matrix: chunk by chunk, and in a chunk burst by burst over its rows,
//! each in another bank group than the one before.

use pimlico_device::gemv::MatrixLayout;
use pimlico_device::mapping::{self, BURST};
use pimlico_host::memory_controller::Transaction;

/// Rows and bursts of a chunk.
pub fn places(layout: &MatrixLayout, chunk: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (banks, groups) = (layout.banks(), layout.groups());
    let of_bank = move |n: usize| n % groups * (banks / groups) + n / groups;
    let row = move |n: usize| chunk * banks + of_bank(n);
    let rows = layout.rows;
    (0..layout.columns.div_ceil(BURST))
        .flat_map(move |burst| (0..banks).map(move |n| (row(n), burst)))
        .filter(move |&(row, _)| row < rows)
}

/// Writes of a matrix whose rows are made as they are wanted: in the order of the rows, those of a chunk
/// together.
pub struct ChunkWrites<'a, F> {
    layout: &'a MatrixLayout,
    make: F,
    /// The chunk that is being written.
    chunk: usize,
    /// Its rows.
    rows: Vec<u16>,
    /// What of it is left.
    left: Box<dyn Iterator<Item = (usize, usize)>>,
}

impl<'a, F: FnMut(&mut [u16])> ChunkWrites<'a, F> {
    /// Of rows that `make` makes.
    pub fn new(layout: &'a MatrixLayout, make: F) -> Self {
        let mut writes =
            Self { layout, make, chunk: 0, rows: Vec::new(), left: Box::new(std::iter::empty()) };
        writes.begin();
        writes
    }

    /// Begins the chunk.
    fn begin(&mut self) {
        let Self { layout, chunk, .. } = *self;
        let rows = layout.banks().min(layout.rows - chunk * layout.banks());
        self.rows.resize(rows * layout.columns, 0);
        self.rows.chunks_exact_mut(layout.columns).for_each(&mut self.make);
        self.left = Box::new(places(layout, chunk));
    }
}

impl<F: FnMut(&mut [u16])> Iterator for ChunkWrites<'_, F> {
    type Item = Transaction;

    fn next(&mut self) -> Option<Transaction> {
        let Some((row, burst)) = self.left.next() else {
            if self.chunk + 1 >= self.layout.chunks() {
                return None;
            }
            self.chunk += 1;
            self.begin();
            return self.next();
        };
        let MatrixLayout { columns, .. } = *self.layout;
        let of_chunk = row - self.chunk * self.layout.banks();
        let beats = mapping::beats_of(&self.rows[of_chunk * columns..][..columns], burst);
        Some(Transaction::Write(self.layout.place(row, burst), beats))
    }
}

#[cfg(test)]
mod tests {
    use super::super::writes;
    use super::*;
    use pimlico_device::Config;
    use pimlico_model::data::{Operands, Synthetic};

    #[test]
    fn rows_that_are_made_are_written_as_those_of_a_matrix() {
        for (rows, columns) in [(1, 1), (16, 33), (37, 200), (100, 4100)] {
            let layout = MatrixLayout::new(&Config::ddr4_3200(), rows, columns).expect("it fits");
            let Operands { matrix, vector } = Operands::synthetic(rows, columns, 9);
            let mut data = Synthetic::new(columns, 9);
            assert_eq!(data.vector(), vector);
            let made: Vec<_> = ChunkWrites::new(&layout, |row| data.next_row(row)).collect();
            assert_eq!(made, writes(&layout, &matrix).collect::<Vec<_>>());
            assert_eq!(made.len(), rows * columns.div_ceil(BURST));
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
