// SPDX-License-Identifier: MIT
//! The cell arrays of a rank or of channels, behavioural: they hold data and know no time.

use crate::config::Config;
use crate::sizes::Burst;

/// The cells of a rank.
pub type Dram = Cells<Burst>;

/// The cells of all banks, of which a column holds a `B`. Rows that were never written take no memory
/// and read as `B`'s default; so do those beyond the last, as the windows of a module, and keep nothing.
#[derive(Clone, Debug)]
pub struct Cells<B> {
    banks: usize,
    columns: usize,
    /// Rows that keep what is written.
    count: usize,
    /// For each row its bursts, column by column, in a column bank by bank: what an all-bank RD
    /// takes lies together. None before the first is written.
    rows: Vec<Option<Box<[B]>>>,
    /// What an all-bank RD of an unwritten row takes.
    unwritten: Box<[B]>,
}

impl Dram {
    /// Empty arrays.
    pub fn new(config: &Config) -> Self {
        Self::of(config, config.banks())
    }
}

impl<B: Copy + Default> Cells<B> {
    /// Empty arrays of so many banks, each with the rows and columns of the configuration.
    pub fn of(config: &Config, banks: usize) -> Self {
        Self {
            banks,
            columns: config.columns(),
            count: config.organisation.rows,
            rows: Vec::new(),
            unwritten: vec![B::default(); banks].into(),
        }
    }

    /// All rows are as those beyond the last.
    pub fn keep_nothing(&mut self) {
        (self.count, self.rows) = (0, Vec::new());
    }

    /// Whether no row keeps anything.
    pub fn keeps_nothing(&self) -> bool {
        self.count == 0
    }

    /// What a row holds in all banks is of no further use: it takes no memory, and reads as if it were never written.
    pub fn forget(&mut self, row: usize) {
        if let Some(row) = self.rows.get_mut(row) {
            *row = None;
        }
    }

    /// Rows that take memory: those that were written and not forgotten.
    pub fn held(&self) -> usize {
        self.rows.iter().flatten().count()
    }

    /// Writes a column of a bank.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    pub fn write(&mut self, bank: usize, row: usize, column: usize, burst: B) {
        if let Some(cell) = self.cell(bank, row, column) {
            *cell = burst;
        }
    }

    /// A column of a bank, to be written; none in a row that keeps nothing.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    pub fn cell(&mut self, bank: usize, row: usize, column: usize) -> Option<&mut B> {
        assert!(bank < self.banks && column < self.columns);
        let place = column * self.banks + bank;
        Some(&mut self.row(row)?[place])
    }

    /// A row of all banks, to be written: its columns one after the other, in each bank by bank. None, if it keeps nothing.
    pub fn row(&mut self, row: usize) -> Option<&mut [B]> {
        if row >= self.count {
            return None;
        }
        self.rows.resize(self.count, None);
        let size = self.banks * self.columns;
        Some(self.rows[row].get_or_insert_with(|| vec![B::default(); size].into()))
    }

    /// Reads a column of a bank.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    pub fn read(&self, bank: usize, row: usize, column: usize) -> B {
        assert!(bank < self.banks);
        self.read_all_banks(row, column)[bank]
    }

    /// Reads the same row and column of every bank.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn read_all_banks(&self, row: usize, column: usize) -> &[B] {
        assert!(column < self.columns);
        match self.rows.get(row).and_then(Option::as_ref) {
            Some(cells) => &cells[column * self.banks..][..self.banks],
            None => &self.unwritten,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::CHIPS;

    #[test]
    fn what_is_written_is_read() {
        let mut dram = Dram::new(&Config::ddr4_3200());
        dram.write(3, 9, 127, [7; CHIPS]);
        assert_eq!(dram.read(3, 9, 127), [7; CHIPS]);
        assert_eq!(dram.read(4, 9, 127), [0; CHIPS]);
        assert_eq!(dram.read(3, 10, 127), [0; CHIPS]);
        assert_eq!(dram.read_all_banks(9, 127)[3], [7; CHIPS]);
    }

    #[test]
    fn what_is_forgotten_takes_no_memory() {
        let mut dram = Dram::new(&Config::ddr4_3200());
        dram.write(3, 9, 127, [7; CHIPS]);
        dram.write(0, 10, 0, [8; CHIPS]);
        assert_eq!(dram.held(), 2);
        dram.forget(9);
        dram.forget(1 << 16);
        assert_eq!((dram.held(), dram.read(3, 9, 127)), (1, [0; CHIPS]));
        assert_eq!(dram.read(0, 10, 0), [8; CHIPS]);
    }

    #[test]
    fn a_row_beyond_the_last_keeps_nothing() {
        let mut dram = Dram::new(&Config::ddr4_3200());
        dram.write(0, 1 << 16, 0, [1; CHIPS]);
        assert_eq!(dram.read(0, 1 << 16, 0), [0; CHIPS]);
    }
}
