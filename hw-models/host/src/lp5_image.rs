// SPDX-License-Identifier: MIT
//! The memory of LPDDR5X-PIM with a model's matrices in it, in the order of physical addresses: what the model converter of
//! PIM-SHERPA makes ahead of time (Figure 8).
//!
//! Each matrix begins with a row of all banks, behind the matrix before it. Elements have 16 bits, little-endian; padding is
//! zero.

use pimlico_device::lp5::address::BURST_BYTES;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{AddressMap, Coordinates, Lp5Layout, Lp5LayoutError};

/// Why matrices make no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Rows of all banks would not be contiguous.
    #[error("address map \"{0}\": expected all bits of the row above all others")]
    Rows(String),
    /// A matrix has no place.
    #[error("{matrix}: {error}")]
    Matrix {
        /// Its name.
        matrix: String,
        /// Why not.
        error: Lp5LayoutError,
    },
}

/// The matrices of an image, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlan {
    map: AddressMap,
    matrices: Vec<(String, Lp5Layout)>,
}

impl ImagePlan {
    /// An image without matrices.
    pub fn new(map: AddressMap) -> Result<Self, ImageError> {
        match map.has_rows_on_top() {
            true => Ok(Self { map, matrices: Vec::new() }),
            false => Err(ImageError::Rows(map.to_string())),
        }
    }

    /// Puts a matrix of rows and columns behind the others.
    pub fn push(&mut self, name: &str, (rows, columns): (u64, u64)) -> Result<(), ImageError> {
        let free = self.rows()..self.map.weight_rows().end;
        let layout = Lp5Layout::new(&self.map, rows, columns, free);
        let layout =
            layout.map_err(|error| ImageError::Matrix { matrix: name.to_owned(), error })?;
        self.matrices.push((name.to_owned(), layout));
        Ok(())
    }

    /// The address map.
    pub fn map(&self) -> &AddressMap {
        &self.map
    }

    /// Names and places of the matrices.
    pub fn matrices(&self) -> &[(String, Lp5Layout)] {
        &self.matrices
    }

    /// Rows of each bank that are taken.
    pub fn rows(&self) -> u64 {
        self.matrices.last().map_or(0, |(_, last)| last.first_row() + last.bank_rows())
    }

    /// Bytes of the image.
    pub fn bytes(&self) -> u64 {
        self.rows() * self.map.row_bytes()
    }
}

/// Fills the memory of one row of all banks with the part of a matrix that lies there. `elements` are the matrix' row by
/// row.
///
/// # Panics
///
/// If there are not as many elements, or bytes.
pub fn pack_row(layout: &Lp5Layout, bank_row: u64, elements: &[u16], memory: &mut [u8]) {
    let (rows, columns) = layout.shape();
    let map = layout.map();
    assert_eq!(elements.len() as u64, rows * columns, "elements of the matrix");
    assert_eq!(memory.len() as u64, map.row_bytes(), "bytes of a row of all banks");
    let first = map.encode(&Coordinates { row: bank_row, ..Coordinates::default() });
    for (burst, to) in memory.chunks_exact_mut(BURST_BYTES).enumerate() {
        to.fill(0);
        let at = map.decode(first + (burst * BURST_BYTES) as u64);
        let Some((row, column)) = layout.element_at(at) else { continue };
        let lanes = (row..rows).take(LANES);
        for (row, to) in lanes.zip(to.chunks_exact_mut(2)) {
            to.copy_from_slice(&elements[(row * columns + column) as usize].to_le_bytes());
        }
    }
}

/// An element of a matrix, from the memory that begins with address 0.
///
/// # Panics
///
/// If the memory ends before.
pub fn element(memory: &[u8], layout: &Lp5Layout, row: u64, column: u64) -> u16 {
    let at = layout.address(row, column) as usize;
    u16::from_le_bytes([memory[at], memory[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_golden::lp5_layout;

    #[test]
    fn memory_holds_every_element_where_golden_finds_it() {
        let text = "row:8 col:2 bank:1 bg:1 ch:1 col:1 byte:5";
        let mut plan = ImagePlan::new(text.parse().expect("a map")).expect("rows on top");
        for (name, shape) in [("a", (300, 5)), ("b", (17, 33)), ("c", (1200, 3))] {
            plan.push(name, shape).expect("it fits");
        }
        let mut memory = vec![0xFF; plan.bytes() as usize];
        let row_bytes = plan.map().row_bytes() as usize;
        let mut elements = 0;
        for (_, layout) in plan.matrices() {
            let (rows, columns) = layout.shape();
            let of_matrix: Vec<u16> = (0..rows * columns).map(|n| n as u16 + 1).collect();
            for row in layout.first_row()..layout.first_row() + layout.bank_rows() {
                let to = &mut memory[row as usize * row_bytes..][..row_bytes];
                pack_row(layout, row, &of_matrix, to);
            }
            elements += of_matrix.len();
        }
        for (name, layout) in plan.matrices() {
            let (rows, columns) = layout.shape();
            let (of_rows, of_columns) = (rows as usize, columns as usize);
            let golden = lp5_layout::addresses(text, of_rows, of_columns, layout.first_row());
            for (n, address) in golden.into_iter().enumerate() {
                let at = address as usize;
                let found = u16::from_le_bytes([memory[at], memory[at + 1]]);
                assert_eq!(found, n as u16 + 1, "{name}, element {n}");
                let (row, column) = (n as u64 / columns, n as u64 % columns);
                assert_eq!(element(&memory, layout, row, column), found);
            }
        }
        let not_zero = memory.chunks_exact(2).filter(|bytes| *bytes != [0, 0]).count();
        assert_eq!(not_zero, elements, "padding is zero");
    }

    #[test]
    fn what_has_no_place_is_named() {
        let map = |text: &str| ImagePlan::new(text.parse().expect("a map"));
        assert!(matches!(map("ch:1 row:4 col:3 byte:5"), Err(ImageError::Rows(_))));
        let mut plan = map("row:3 bank:1 col:3 byte:5").expect("rows on top");
        plan.push("a", (32, 24)).expect("three of four rows");
        let error = plan.push("b", (32, 9)).expect_err("two rows").to_string();
        assert!(error.starts_with("b: matrix of 32 x 9: it takes 2 rows of each bank"), "{error}");
        plan.push("b", (32, 8)).expect("the fourth");
        assert_eq!((plan.rows(), plan.bytes()), (4, 4 * 512));
    }
}
