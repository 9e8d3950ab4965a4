// SPDX-License-Identifier: MIT
//! The two modes of a channel, and what an address means in that of all banks.
//!
//! The last four rows of every bank are no memory (R is the first of them):
//!
//! | row | WR, single banks | WR, all banks | RD, all banks |
//! | --- | --- | --- | --- |
//! | R, enter | into the mode of all banks | nothing | nothing |
//! | R + 1, exit | as memory | into the mode of single banks | nothing |
//! | R + 2, results | as memory | output register `column` of each block into that column of its bank | nothing: a drain |
//! | R + 3 | as memory | fault | nothing |
//! | below | as memory | column 0 to 7: input register of all blocks; column 8: [`Setup`]; others: fault | MAC |
//!
//! Weights stay as they are in the mode of all banks: a WR to their rows is one to registers, so that inputs come while
//! a row of weights is open. Operands of a MAC are named by its address and the [`Setup`] of the input tile alone, so that no order of
//! reads gives a MAC other operands.

use super::address::RESERVED_ROWS;
use super::layout::{LANES, OUTPUT_REGISTERS};

/// Registers of a block's input file.
pub const INPUT_REGISTERS: usize = 8;
/// Columns of an input tile: elements of the input registers.
pub const TILE_COLUMNS: u64 = (INPUT_REGISTERS * LANES) as u64;
/// Column commands in the mode of all banks after which a MAC is in its output register.
pub const DRAIN: usize = 5;
/// The column of a WR that is a [`Setup`].
pub const SETUP_COLUMN: u8 = 8;
/// Bursts from which a setup's start is counted: those of 16 rows.
const STARTS: u64 = 1024;

/// What a row is in which a command of all banks is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUse {
    /// It holds weights.
    Memory,
    /// It leads into the mode of all banks.
    Enter,
    /// It leads out of that.
    Exit,
    /// It takes results, and drains the blocks.
    Results,
    /// It is of no use.
    Spare,
}

/// The reserved rows of banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedRows {
    first: u32,
}

impl ReservedRows {
    /// Of banks with so many rows.
    ///
    /// # Panics
    ///
    /// If there are fewer than four.
    pub fn of(rows: usize) -> Self {
        let first = (rows as u64).checked_sub(RESERVED_ROWS).expect("four rows or more");
        Self { first: first as u32 }
    }

    /// The row that leads into the mode of all banks.
    pub fn enter(self) -> u32 {
        self.first
    }

    /// The row that leads out of it.
    pub fn exit(self) -> u32 {
        self.first + 1
    }

    /// The row of results.
    pub fn results(self) -> u32 {
        self.first + 2
    }

    /// What a row is.
    pub fn role(self, row: u32) -> RowUse {
        match row.checked_sub(self.first) {
            None => RowUse::Memory,
            Some(0) => RowUse::Enter,
            Some(1) => RowUse::Exit,
            Some(2) => RowUse::Results,
            Some(_) => RowUse::Spare,
        }
    }
}

/// Where an input tile lies, from which the operands of its MACs follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The burst of a bank with which it starts, modulo 1024: 64 of a row, with the low 4 bits of the row above.
    pub start: u64,
    /// Output registers in use: 1 to 8.
    pub registers: u64,
    /// Its first column is the first of the matrix: sums begin with it.
    pub first: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { start: 0, registers: 1, first: false }
    }
}

/// The operands of a MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacOperands {
    /// Element of the input registers.
    pub element: usize,
    /// Output register.
    pub register: usize,
    /// The sum begins with it.
    pub first: bool,
}

impl Setup {
    /// That of a tile that starts with a burst of a bank: 64 times its row, and its column.
    pub fn new(burst: u64, registers: u64, first: bool) -> Self {
        Self { start: burst % STARTS, registers, first }
    }

    /// As it is in the low bits of a WR's data.
    pub fn to_bits(self) -> u16 {
        (self.start | (self.registers - 1) << 10 | u64::from(self.first) << 13) as u16
    }

    /// What such bits say.
    pub fn from_bits(bits: u16) -> Self {
        let bits = u64::from(bits);
        Self {
            start: bits % STARTS,
            registers: 1 + (bits >> 10) % OUTPUT_REGISTERS,
            first: bits >> 13 & 1 != 0,
        }
    }

    /// The operands of a MAC at a column of a row; none if it is outside of the tile.
    pub fn operands(self, row: u32, column: u8) -> Option<MacOperands> {
        let burst = u64::from(row) % 16 * 64 + u64::from(column);
        let in_tile = (burst + STARTS - self.start) % STARTS;
        let element = in_tile / self.registers;
        (element < TILE_COLUMNS).then(|| MacOperands {
            element: element as usize,
            register: (in_tile % self.registers) as usize,
            first: self.first && element == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp5::{AddressMap, Lp5Layout};

    #[test]
    fn a_setup_is_as_its_bits_say() {
        for (start, registers, first) in [(0, 1, false), (1023, 8, true), (517, 3, true)] {
            let setup = Setup { start, registers, first };
            assert_eq!(Setup::from_bits(setup.to_bits()), setup);
        }
        assert_eq!(Setup { start: 1023, registers: 8, first: true }.to_bits(), 0x3FFF);
    }

    /// Every MAC of a matrix has the operands that the layout says, from its address.
    #[test]
    fn operands_follow_from_the_address() {
        let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
        for (rows, columns, first_row) in
            [(1, 1, 0), (3000, 300, 7), (8192, 129, 1), (20_000, 77, 3)]
        {
            let layout = Lp5Layout::new(&map, rows, columns, first_row..65_532).expect("it fits");
            for tile in 0..layout.tiles() {
                let registers = layout.tile_registers(tile);
                for begin in (0..columns).step_by(TILE_COLUMNS as usize) {
                    let place = layout.vector_of(0, (tile, 0), begin);
                    let setup = Setup::new(place.row * 64 + place.column, registers, begin == 0);
                    let setup = Setup::from_bits(setup.to_bits());
                    let end = columns.min(begin + TILE_COLUMNS);
                    for (column, register) in
                        (begin..end).flat_map(|column| (0..registers).map(move |q| (column, q)))
                    {
                        let place = layout.vector_of(0, (tile, register), column);
                        let found = setup.operands(place.row as u32, place.column as u8);
                        let expected = MacOperands {
                            element: (column - begin) as usize,
                            register: register as usize,
                            first: column == 0,
                        };
                        assert_eq!(
                            found,
                            Some(expected),
                            "{rows} x {columns}: {column}, {register}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_outside_of_a_tile_has_no_operands() {
        let setup = Setup::new(1000, 2, true);
        assert!(setup.operands(15, 40).is_some_and(|operands| operands.first));
        assert_eq!(setup.operands(15, 39), None);
        // 24 bursts of rows below 16, and 232 of those from 16 on.
        assert!(setup.operands(16 + 3, 39).is_some_and(|operands| operands.element == 127));
        assert_eq!(setup.operands(16 + 3, 40), None);
    }

    #[test]
    fn the_last_four_rows_are_reserved() {
        let rows = ReservedRows::of(65_536);
        assert_eq!([rows.enter(), rows.exit(), rows.results()], [65_532, 65_533, 65_534]);
        let role = |row| rows.role(row);
        assert_eq!([role(0), role(65_531)], [RowUse::Memory; 2]);
        assert_eq!([role(65_532), role(65_533)], [RowUse::Enter, RowUse::Exit]);
        assert_eq!([role(65_534), role(65_535)], [RowUse::Results, RowUse::Spare]);
    }
}
