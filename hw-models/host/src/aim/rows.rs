// SPDX-License-Identifier: MIT
//! Which rows of the banks hold the rows of layouts.
//!
//! Rows of a layout are virtual: a program names them, and the Va2Pa table says where they are (LoL-PIM section 5.4). A
//! matrix gets rows of the banks, any that are free, for what it has come to, and more of them as it grows.
//!
//! ```text
//!   virtual rows     head A: 0  1  2 (room for 3)   head B: 3  4  5 (room for 3)
//!   after A, B, A:           0  2  -                        1  -  -                 rows of the banks
//! ```

use crate::allocator::{Allocator, Policy, RequestId};
use pimlico_device::aim::AimLayout;
use pimlico_dpa::NO_ROW;
use std::ops::Range;

/// The banks have not so many free rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} more row(s) of each bank are wanted, {free} are free")]
pub struct NoFreeRows {
    /// What is wanted more.
    pub wanted: usize,
    /// What there is.
    pub free: usize,
}

/// Which rows of the banks hold the rows of layouts.
#[derive(Debug)]
pub struct RowMap {
    allocator: Allocator,
    /// The row of the banks of each virtual row that has one.
    places: Vec<Option<u16>>,
}

impl RowMap {
    /// Of banks with so many rows, which nobody has. Those that the Va2Pa table cannot name are not given out.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn new(rows: usize) -> Self {
        let rows = rows.min(NO_ROW.into()) as u32;
        let allocator = Allocator::new(rows, 1, Policy::Lazy).expect("banks have rows");
        Self { allocator, places: Vec::new() }
    }

    /// Sees that all rows that matrices have come to are in the banks. Rows that are there stay where they are. A call that
    /// fails changes nothing.
    pub fn hold(&mut self, layouts: &[AimLayout]) -> Result<(), NoFreeRows> {
        let missing: Vec<Vec<usize>> = layouts.iter().map(|layout| self.missing(layout)).collect();
        let (wanted, free) =
            (missing.iter().map(Vec::len).sum(), self.allocator.free_rows() as usize);
        if wanted > free {
            return Err(NoFreeRows { wanted, free });
        }
        for (layout, missing) in layouts.iter().zip(missing) {
            self.give(layout, &missing);
        }
        Ok(())
    }

    /// Virtual rows in use that have no row of the banks.
    fn missing(&self, layout: &AimLayout) -> Vec<usize> {
        layout.used_rows().filter(|&row| self.of(row).is_none()).collect()
    }

    /// Gives rows of the banks to virtual rows, for which there are enough.
    fn give(&mut self, layout: &AimLayout, missing: &[usize]) {
        let (matrix, more) = (matrix(layout), missing.len() as u32);
        let given = match self.allocator.held(matrix) {
            None => self.allocator.admit(matrix, more),
            Some(held) => self.allocator.grow(matrix, held + more),
        };
        for (&row, update) in missing.iter().zip(given.expect("there are enough")) {
            if self.places.len() <= row {
                self.places.resize(row + 1, None);
            }
            self.places[row] = update.physical_row.map(|place| place as u16);
        }
    }

    /// Takes back the rows of matrices, which nothing is read from any more. One that has none is passed over.
    pub fn release(&mut self, layouts: &[AimLayout]) {
        // In the order that gives the next ones of the same kind the same places.
        for layout in layouts.iter().rev() {
            if self.allocator.finish(matrix(layout)).is_ok() {
                let end = self.places.len();
                self.places[layout.first_row().min(end)..layout.end_row().min(end)].fill(None);
            }
        }
    }

    /// The row of the banks of a virtual row.
    pub fn of(&self, row: usize) -> Option<u16> {
        self.places.get(row).copied().flatten()
    }

    /// Entries of the Va2Pa table for virtual rows, up to the last that has a row.
    pub fn entries(&self, rows: Range<usize>) -> &[Option<u16>] {
        let end = self.places.len();
        let entries = &self.places[rows.start.min(end)..rows.end.min(end)];
        let last = entries.iter().rposition(Option::is_some);
        &entries[..last.map_or(0, |last| last + 1)]
    }

    /// Rows of each bank that are given out.
    pub fn in_use(&self) -> usize {
        (self.allocator.rows() - self.allocator.free_rows()) as usize
    }
}

/// The number under which the allocator knows a matrix: no two have the same first row.
fn matrix(layout: &AimLayout) -> RequestId {
    RequestId(layout.first_row() as u32)
}
