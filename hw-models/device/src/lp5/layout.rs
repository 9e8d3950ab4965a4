// SPDX-License-Identifier: MIT
//! Where a matrix lies in the banks: the PIM-aware layout of PIM-SHERPA (section 2.3, Figure 3 c), which is PIMnast's.
//!
//! A matrix of M rows (outputs) and K columns (inputs) is cut into vectors of 16 rows of one column, the 32 bytes of a
//! burst. The vectors of the same 16 rows are in one bank, so that its PIM block makes whole sums of them:
//!
//! ```text
//! v = r / 16       lane = r % 16       vector of rows, and the PIM block's lane
//! B = v % N_b      p = v / N_b         bank of all N_b, the channel's digit lowest, then bank group, bank, rank
//! o = p / 8        q = p % 8           output tile, and output register of the eight
//! s = 8 o K + c Q_o + q                burst of the bank, Q_o = min(8, P' - 8 o)
//! row = first row + s / C              column = s % C        C bursts in a row
//! ```
//!
//! P' are registers that each bank fills: all of ceil(M / 16 / N_b), up to a multiple of 8 above 8. Rows up to M' = 16 N_b P'
//! are padding, and zero.

use super::address::{AddressField, AddressMap, BURST_BYTES, Coordinates};
use std::ops::Range;

/// Lanes of a PIM block: elements of 16 bits in a burst.
pub const LANES: usize = 16;
/// Registers of a PIM block's output file.
pub const OUTPUT_REGISTERS: u64 = 8;
/// Rows or columns of a matrix, at the most.
const LARGEST: u64 = 1 << 31;

/// The order in which the host has a matrix in its cacheable memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostOrder {
    /// Column by column, as Figure 3 b has it: vectors stay whole.
    #[default]
    ColumnMajor,
    /// Row by row.
    RowMajor,
}

impl HostOrder {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ColumnMajor => "column-major",
            Self::RowMajor => "row-major",
        }
    }

    /// The byte at which an element of a matrix of `rows` by `columns` begins.
    pub fn offset(self, (rows, columns): (u64, u64), (row, column): (u64, u64)) -> u64 {
        match self {
            Self::ColumnMajor => 2 * (column * rows + row),
            Self::RowMajor => 2 * (row * columns + column),
        }
    }
}

/// Why a matrix cannot lie there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lp5LayoutError {
    /// Its shape is none.
    #[error("matrix of {rows} x {columns}: expected 1 to 2147483648 rows and columns")]
    Shape {
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
    },
    /// The banks have no room for it.
    #[error(
        "matrix of {rows} x {columns}: it takes {taken} rows of each bank, expected at most {free} from row {first} on"
    )]
    Full {
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
        /// Rows of a bank that it takes.
        taken: u64,
        /// Rows that there are for it.
        free: u64,
        /// The first of them.
        first: u64,
    },
}

/// A matrix in the banks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lp5Layout {
    map: AddressMap,
    /// Rows of the matrix: outputs.
    rows: u64,
    /// Columns of the matrix: inputs.
    columns: u64,
    /// The first row of each bank.
    first_row: u64,
}

impl Lp5Layout {
    /// A matrix from the first of some rows of each bank on.
    pub fn new(
        map: &AddressMap,
        rows: u64,
        columns: u64,
        bank_rows: Range<u64>,
    ) -> Result<Self, Lp5LayoutError> {
        if !(1..=LARGEST).contains(&rows) || !(1..=LARGEST).contains(&columns) {
            return Err(Lp5LayoutError::Shape { rows, columns });
        }
        let layout = Self { map: map.clone(), rows, columns, first_row: bank_rows.start };
        let (taken, first) = (layout.bank_rows(), bank_rows.start);
        let free = bank_rows.end.min(map.count(AddressField::Row)).saturating_sub(first);
        match taken <= free {
            true => Ok(layout),
            false => Err(Lp5LayoutError::Full { rows, columns, taken, free, first }),
        }
    }

    /// Rows and columns of the matrix.
    pub fn shape(&self) -> (u64, u64) {
        (self.rows, self.columns)
    }

    /// The address map.
    pub fn map(&self) -> &AddressMap {
        &self.map
    }

    /// The first row of each bank.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// Vectors of 16 rows, padding aside.
    pub fn vectors(&self) -> u64 {
        self.rows.div_ceil(LANES as u64)
    }

    /// Registers that each bank fills: P'.
    pub fn registers(&self) -> u64 {
        let registers = self.vectors().div_ceil(self.map.banks());
        match registers {
            ..=OUTPUT_REGISTERS => registers,
            _ => registers.next_multiple_of(OUTPUT_REGISTERS),
        }
    }

    /// Registers of an output tile: Q_o.
    pub fn tile_registers(&self, tile: u64) -> u64 {
        (self.registers() - OUTPUT_REGISTERS * tile).min(OUTPUT_REGISTERS)
    }

    /// Output tiles.
    pub fn tiles(&self) -> u64 {
        self.registers().div_ceil(OUTPUT_REGISTERS)
    }

    /// Rows of the matrix with padding: M'.
    pub fn padded_rows(&self) -> u64 {
        LANES as u64 * self.map.banks() * self.registers()
    }

    /// Bytes with padding, the rest of the last row of the banks aside.
    pub fn padded_bytes(&self) -> u64 {
        2 * self.padded_rows() * self.columns
    }

    /// Rows of each bank that it takes.
    pub fn bank_rows(&self) -> u64 {
        (self.registers() * self.columns).div_ceil(self.map.count(AddressField::Column))
    }

    /// Where the vector of a register of a bank is, by output tile and register in it.
    pub fn vector_of(&self, bank: u64, (tile, register): (u64, u64), column: u64) -> Coordinates {
        let burst =
            OUTPUT_REGISTERS * tile * self.columns + column * self.tile_registers(tile) + register;
        let in_row = self.map.count(AddressField::Column);
        let row = self.first_row + burst / in_row;
        Coordinates { row, column: burst % in_row, ..self.bank(bank) }
    }

    /// Where the vector of 16 rows of a column begins.
    pub fn vector(&self, vector: u64, column: u64) -> Coordinates {
        let (bank, register) = (vector % self.map.banks(), vector / self.map.banks());
        let register = (register / OUTPUT_REGISTERS, register % OUTPUT_REGISTERS);
        self.vector_of(bank, register, column)
    }

    /// Where an element is, or the padding of a row below M'.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn element(&self, row: u64, column: u64) -> Coordinates {
        assert!(row < self.padded_rows() && column < self.columns, "element {row}, {column}");
        let (vector, lane) = (row / LANES as u64, row % LANES as u64);
        Coordinates { byte: 2 * lane, ..self.vector(vector, column) }
    }

    /// The address of an element.
    pub fn address(&self, row: u64, column: u64) -> u64 {
        self.map.encode(&self.element(row, column))
    }

    /// The address of the first byte of its first row, from which offsets count.
    pub fn base_address(&self) -> u64 {
        self.map.encode(&Coordinates { row: self.first_row, ..Coordinates::default() })
    }

    /// The element of which coordinates are a byte, row and column, if they are of one; padding is of none.
    pub fn element_at(&self, at: Coordinates) -> Option<(u64, u64)> {
        let row = at.row.checked_sub(self.first_row)?;
        let burst = row * self.map.count(AddressField::Column) + at.column;
        let tile = burst / (OUTPUT_REGISTERS * self.columns);
        if tile >= self.tiles() {
            return None;
        }
        let in_tile = burst % (OUTPUT_REGISTERS * self.columns);
        let of_tile = self.tile_registers(tile);
        let (column, register) = (in_tile / of_tile, OUTPUT_REGISTERS * tile + in_tile % of_tile);
        let vector = register * self.map.banks() + self.bank_number(&at);
        let row = vector * LANES as u64 + at.byte / 2;
        (row < self.rows && column < self.columns).then_some((row, column))
    }

    /// A bank of all of them, by its number: the channel's digit is the lowest.
    fn bank(&self, number: u64) -> Coordinates {
        let mut left = number;
        let mut digit = |field| {
            let count = self.map.count(field);
            let digit = left % count;
            left /= count;
            digit
        };
        Coordinates {
            channel: digit(AddressField::Channel),
            bank_group: digit(AddressField::BankGroup),
            bank: digit(AddressField::Bank),
            rank: digit(AddressField::Rank),
            ..Coordinates::default()
        }
    }

    fn bank_number(&self, at: &Coordinates) -> u64 {
        use AddressField::{Bank, BankGroup, Channel, Rank};
        let digits = [Rank, Bank, BankGroup, Channel];
        digits.into_iter().fold(0, |number, field| number * self.map.count(field) + at.field(field))
    }
}

const _: () = assert!(2 * LANES == BURST_BYTES);
