// SPDX-License-Identifier: MIT
//! The swizzled copy of LPDDR5X-PIM into the host's row-major order: squares of 16 rows by 16 columns, each transposed.
//!
//! A burst is 16 rows of a column, so that a row of the copy takes one element of each. 16 bursts of the same rows are 16 elements
//! of 16 rows: 32 bytes that lie together in either order. Two squares beside each other fill whole lines of 64 bytes.
//!
//! ```text
//!             columns c .. c+15                     rows r .. r+15
//! burst 0     r   r+1  ...  r+15  of c              row r       c  c+1  ...  c+15
//! burst 1     r   r+1  ...  r+15  of c+1     ──▶    row r+1     c  c+1  ...  c+15
//! ```

use super::layout::{PimLayout, ReadOrder};
use pimlico_device::lp5::Lp5Layout;
use pimlico_device::lp5::layout::{LANES, OUTPUT_REGISTERS};
use std::num::NonZero;
use std::ops::Range;

/// Rows and columns of a square.
pub const SQUARE: u64 = LANES as u64;
/// Columns that are copied together: a line of the copy.
pub const LINE_COLUMNS: u64 = 2 * SQUARE;

/// A square: 16 rows, of which the last may be padding, and up to 16 columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Square {
    /// Which 16 rows.
    pub number: u64,
    /// Which columns.
    pub columns: Range<u64>,
}

/// Visits the squares of some vectors of 16 rows: in row-buffer order line by line of the copy, of each all banks in turn; in
/// bank-major order bank after bank.
pub fn visit_squares(
    layout: &Lp5Layout,
    numbers: &Range<u64>,
    order: ReadOrder,
    visit: &mut dyn FnMut(Square),
) {
    let (_, columns) = Lp5Layout::shape(layout);
    let banks = layout.map().banks();
    let numbers = numbers.start..numbers.end.min(layout.vectors());
    let mut of_line = |number: u64, begin: u64| {
        let end = columns.min(begin + LINE_COLUMNS);
        for begin in (begin..end).step_by(SQUARE as usize) {
            visit(Square { number, columns: begin..end.min(begin + SQUARE) });
        }
    };
    let lines = || (0..columns).step_by(LINE_COLUMNS as usize);
    let of_tile = |tile: u64| {
        let first = tile * OUTPUT_REGISTERS * banks;
        first.max(numbers.start)..(first + layout.tile_registers(tile) * banks).min(numbers.end)
    };
    match order {
        ReadOrder::RowBuffer => {
            for (tile, begin) in
                (0..layout.tiles()).flat_map(|tile| lines().map(move |c| (tile, c)))
            {
                of_tile(tile).for_each(|number| of_line(number, begin));
            }
        }
        ReadOrder::BankMajor => {
            for (bank, tile) in
                (0..banks).flat_map(|bank| (0..layout.tiles()).map(move |tile| (bank, tile)))
            {
                let is_of_bank = |number: &u64| number % banks == bank;
                for begin in lines() {
                    of_tile(tile).filter(is_of_bank).for_each(|number| of_line(number, begin));
                }
            }
        }
    }
}

/// Copies a matrix out of `memory`, which begins with its base, into the host's memory, row behind row. Threads share it by rows.
///
/// # Panics
///
/// If the memory ends before the matrix, or the host's is not of its size.
pub fn swizzled_rows(
    layout: &Lp5Layout,
    memory: &[u8],
    order: ReadOrder,
    threads: NonZero<usize>,
    to: &mut [u8],
) {
    let (rows, columns) = Lp5Layout::shape(layout);
    assert_eq!(to.len() as u64, 2 * rows * columns, "bytes of the matrix");
    let share = layout.vectors().div_ceil(threads.get() as u64);
    let share_bytes = (2 * SQUARE * share * columns) as usize;
    std::thread::scope(|scope| {
        for (to, thread) in to.chunks_mut(share_bytes).zip(0..) {
            let numbers = thread * share..(thread + 1) * share;
            scope.spawn(move || {
                visit_squares(layout, &numbers, order, &mut |square| {
                    let first_row = (square.number - numbers.start) * SQUARE;
                    transpose(layout, memory, &square, (first_row, columns), to);
                });
            });
        }
    });
}

/// Copies a square to rows of so many columns, from one of them on.
fn transpose(
    layout: &Lp5Layout,
    memory: &[u8],
    Square { number, columns }: &Square,
    (first_row, row_elements): (u64, u64),
    to: &mut [u8],
) {
    let mut square = [[0u8; 2 * LANES]; LANES];
    for (column, at) in columns.clone().zip((0..).step_by(2)) {
        let from = layout.offset(layout.burst(column, *number)) as usize;
        for (row, element) in square.iter_mut().zip(memory[from..].chunks_exact(2)) {
            row[at..at + 2].copy_from_slice(element);
        }
    }
    let bytes = 2 * (columns.end - columns.start) as usize;
    let begin = 2 * (first_row * row_elements + columns.start) as usize;
    let of_rows = to[begin..].chunks_mut(2 * row_elements as usize);
    for (row, to) in square.iter().zip(of_rows) {
        to[..bytes].copy_from_slice(&row[..bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_golden::lp5_layout;

    /// Each element of the copy is the one that golden finds in the banks, and each burst is read once.
    #[test]
    fn rows_are_goldens_and_squares_are_all() {
        let maps = [
            "row:9 col:2 bank:1 bg:1 ch:1 col:1 byte:5",
            "row:9 col:1 ch:1 bank:1 bg:1 col:2 byte:5",
        ];
        for (text, (rows, columns)) in maps.into_iter().flat_map(|text| {
            [(300, 5), (17, 33), (1200, 3), (1, 1), (33, 64), (2100, 40), (16, 16)]
                .map(|shape| (text, shape))
        }) {
            let map = text.parse().expect("a map");
            let layout = Lp5Layout::new(&map, rows, columns, 3..512).expect("it fits");
            let golden = lp5_layout::addresses(text, rows as usize, columns as usize, 3);
            let element = |n: usize| (n as u16).wrapping_mul(40_503) | 1;
            let mut memory = vec![0; (layout.bank_rows() * map.row_bytes()) as usize];
            let source: Vec<u8> =
                (0..golden.len()).flat_map(|n| element(n).to_le_bytes()).collect();
            for (address, bytes) in golden.iter().zip(source.chunks_exact(2)) {
                let at = (address - layout.base_address()) as usize;
                memory[at..at + 2].copy_from_slice(bytes);
            }
            for (order, threads) in
                [(ReadOrder::RowBuffer, 1), (ReadOrder::RowBuffer, 3), (ReadOrder::BankMajor, 2)]
            {
                let mut copy = vec![0xFF; source.len()];
                let threads = NonZero::new(threads).expect("some");
                swizzled_rows(&layout, &memory, order, threads, &mut copy);
                assert!(copy == source, "{text}: {rows} x {columns}, {order:?}");
                let mut seen = std::collections::BTreeSet::new();
                visit_squares(&layout, &(0..layout.vectors()), order, &mut |square| {
                    for column in square.columns.clone() {
                        assert!(seen.insert((square.number, column)), "{square:?}");
                    }
                    assert_eq!(square.columns.start % SQUARE, 0);
                });
                assert_eq!(seen.len() as u64, layout.vectors() * columns, "{order:?}");
            }
        }
    }
}
