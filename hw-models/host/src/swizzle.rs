// SPDX-License-Identifier: MIT
//! The swizzled memory copy of PIM-SHERPA (section 4.2): a matrix out of its layout in the banks into the host's order, by
//! the host's own loads and stores.
//!
//! Pieces of 32 bytes, 16 rows of one column, are whole in both, so that a copy is a permutation of them. Threads share it
//! by blocks of columns: those of one row of all banks.

use pimlico_device::lp5::address::BURST_BYTES;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{AddressField, Lp5Layout};
use std::num::NonZero;
use std::ops::Range;

/// In which order bursts are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOrder {
    /// All banks in turn, and of each one row after the other: each read goes to another channel, and hits an open row.
    #[default]
    RowBuffer,
    /// Bank after bank: the bad example, in which one channel works at a time.
    BankMajor,
}

/// A burst of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixBurst {
    /// Its address.
    pub address: u64,
    /// The first of its rows.
    pub row: u64,
    /// Its column.
    pub column: u64,
}

/// A matrix that lies in banks for PIM, in bursts of 16 rows of a column.
pub trait PimLayout: Sync {
    /// Rows and columns.
    fn shape(&self) -> (u64, u64);

    /// The address of the first byte of its memory.
    fn base(&self) -> u64;

    /// Columns that are copied together: those of a row of all banks.
    fn block(&self) -> u64;

    /// The address of the burst that begins with a row, a multiple of 16, of a column.
    fn burst(&self, row: u64, column: u64) -> u64;

    /// Visits the bursts of some columns in order; those of padding alone are left out.
    fn visit(&self, columns: Range<u64>, order: ReadOrder, burst: &mut dyn FnMut(MatrixBurst));
}

impl PimLayout for Lp5Layout {
    fn shape(&self) -> (u64, u64) {
        Self::shape(self)
    }

    fn base(&self) -> u64 {
        self.base_address()
    }

    fn block(&self) -> u64 {
        (self.map().count(AddressField::Column) / self.tile_registers(0)).max(1)
    }

    fn burst(&self, row: u64, column: u64) -> u64 {
        self.address(row, column)
    }

    fn visit(&self, columns: Range<u64>, order: ReadOrder, burst: &mut dyn FnMut(MatrixBurst)) {
        let banks = self.map().banks();
        let mut visit = |register: u64, column: u64, bank: u64| {
            let vector = register * banks + bank;
            if vector < self.vectors() {
                let address = self.map().encode(&self.vector(vector, column));
                burst(MatrixBurst { address, row: vector * LANES as u64, column });
            }
        };
        let registers = |tile: u64| {
            let first = tile * self.tile_registers(0);
            first..first + self.tile_registers(tile)
        };
        match order {
            ReadOrder::RowBuffer => {
                for tile in 0..self.tiles() {
                    for column in columns.clone() {
                        for register in registers(tile) {
                            (0..banks).for_each(|bank| visit(register, column, bank));
                        }
                    }
                }
            }
            ReadOrder::BankMajor => {
                for bank in 0..banks {
                    for tile in 0..self.tiles() {
                        for column in columns.clone() {
                            registers(tile).for_each(|register| visit(register, column, bank));
                        }
                    }
                }
            }
        }
    }
}

/// Copies a matrix out of `memory`, which begins with its base, into the host's memory, column by column.
///
/// # Panics
///
/// If the memory ends before the matrix, or the host's is not of its size.
pub fn swizzled_copy(
    layout: &dyn PimLayout,
    memory: &[u8],
    order: ReadOrder,
    threads: NonZero<usize>,
    to: &mut [u8],
) {
    let (_, columns) = layout.shape();
    swizzled_columns(layout, memory, 0..columns, (order, threads), to);
}

/// The same of some columns, which lie one behind the other in the host's memory.
///
/// # Panics
///
/// If there are no such columns, the memory ends before them, or the host's is not of their size.
pub fn swizzled_columns(
    layout: &dyn PimLayout,
    memory: &[u8],
    columns: Range<u64>,
    (order, threads): (ReadOrder, NonZero<usize>),
    to: &mut [u8],
) {
    let (rows, all) = layout.shape();
    assert!(columns.start <= columns.end && columns.end <= all, "columns of {all}");
    let count = columns.end - columns.start;
    let column_bytes = 2 * rows;
    assert_eq!(to.len() as u64, count * column_bytes, "bytes of the columns");
    if to.is_empty() {
        return;
    }
    // Whole blocks of columns to each thread.
    let blocks = count.div_ceil(layout.block()).div_ceil(threads.get() as u64);
    let share = blocks * layout.block();
    std::thread::scope(|scope| {
        let parts = to.chunks_mut((share * column_bytes) as usize).zip(0u64..);
        for (to, number) in parts {
            let first = columns.start + number * share;
            let of_part = first..(first + share).min(columns.end);
            scope.spawn(move || {
                layout.visit(of_part, order, &mut |burst| {
                    let bytes = BURST_BYTES.min((2 * (rows - burst.row)) as usize);
                    let from = (burst.address - layout.base()) as usize;
                    let at = ((burst.column - first) * column_bytes + 2 * burst.row) as usize;
                    to[at..at + bytes].copy_from_slice(&memory[from..from + bytes]);
                });
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp5_image::pack_row;
    use pimlico_device::lp5::{AddressMap, HostOrder};
    use std::collections::BTreeMap;

    fn layout(rows: u64, columns: u64) -> Lp5Layout {
        let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
        Lp5Layout::new(&map, rows, columns, 3..65532).expect("it fits")
    }

    /// Elements of which neighbours differ, and the memory of the banks with them.
    fn matrix(layout: &Lp5Layout) -> (Vec<u16>, Vec<u8>) {
        let (rows, columns) = layout.shape();
        let of = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16;
        let elements: Vec<u16> = (0..rows * columns).map(of).collect();
        let row_bytes = layout.map().row_bytes() as usize;
        let mut memory = vec![0; layout.bank_rows() as usize * row_bytes];
        for (row, to) in memory.chunks_exact_mut(row_bytes).enumerate() {
            pack_row(layout, layout.first_row() + row as u64, &elements, to);
        }
        (elements, memory)
    }

    #[test]
    fn a_copy_is_the_source() {
        let cases = [(8192, 2048), (100, 77), (1040, 9), (9000, 65), (1, 1)];
        for (rows, columns) in cases {
            let layout = layout(rows, columns);
            let (elements, memory) = matrix(&layout);
            let mut source = vec![0; 2 * elements.len()];
            for (n, element) in (0u64..).zip(&elements) {
                let at = HostOrder::ColumnMajor.offset((rows, columns), (n / columns, n % columns));
                source[at as usize..][..2].copy_from_slice(&element.to_le_bytes());
            }
            for (order, threads) in
                [(ReadOrder::RowBuffer, 1), (ReadOrder::RowBuffer, 3), (ReadOrder::BankMajor, 4)]
            {
                let mut copy = vec![0; source.len()];
                let threads = NonZero::new(threads).expect("some");
                swizzled_copy(&layout, &memory, order, threads, &mut copy);
                assert!(copy == source, "{rows} x {columns}, {order:?}, {threads} threads");
            }
        }
    }

    #[test]
    fn quarters_of_the_columns_are_the_whole() {
        for (rows, columns) in [(100, 77), (1040, 9), (33, 3), (9000, 65)] {
            let layout = layout(rows, columns);
            let (_, memory) = matrix(&layout);
            let threads = NonZero::new(2).expect("some");
            let mut whole = vec![0; (2 * rows * columns) as usize];
            swizzled_copy(&layout, &memory, ReadOrder::RowBuffer, threads, &mut whole);
            let mut quarters = vec![0xFF; whole.len()];
            for quarter in 0..4 {
                let of_quarter = columns * quarter / 4..columns * (quarter + 1) / 4;
                let [from, to] =
                    [of_quarter.start, of_quarter.end].map(|c| (2 * rows * c) as usize);
                let how = (ReadOrder::RowBuffer, threads);
                swizzled_columns(&layout, &memory, of_quarter, how, &mut quarters[from..to]);
            }
            assert!(quarters == whole, "{rows} x {columns}");
        }
    }

    #[test]
    fn row_buffer_order_opens_each_row_once_and_changes_channels() {
        let layout = layout(8192, 256);
        let map = layout.map();
        let opened = |order: ReadOrder| {
            let (mut open, mut opens, mut same_channel, mut last) = (BTreeMap::new(), 0, 0, None);
            layout.visit(0..256, order, &mut |burst| {
                let at = map.decode(burst.address);
                let bank = (at.channel, at.rank, at.bank_group, at.bank);
                opens += u64::from(open.insert(bank, at.row) != Some(at.row));
                same_channel += u64::from(last.replace(at.channel) == Some(at.channel));
            });
            (opens, same_channel)
        };
        // 64 banks of 32 rows; 8192 * 256 / 16 bursts.
        assert_eq!(opened(ReadOrder::RowBuffer), (64 * 32, 0));
        assert_eq!(opened(ReadOrder::BankMajor), (64 * 32, 131_072 - 64));
    }
}
