// SPDX-License-Identifier: MIT
//! What the commands of a channel of LPDDR5X-PIM do, in the modes that writes to reserved rows change.
//!
//! A bank is a list of rows, of which one is open; a mode is a set of banks that obey. What a MAC multiplies is found by
//! walking through its input tile as a layout fills it: column by column, and in a column register by register.
//!
//! ```
//! use pimlico_golden::lp5_mode::{BlockStep, ChannelModes, ChannelCommand};
//!
//! let mut channel = ChannelModes::new(65536);
//! for (row, columns) in [(65532, 0..1), (7, 0..1)] {
//!     channel.command(ChannelCommand::Activate { bank: 0, row });
//!     for column in columns {
//!         channel.command(ChannelCommand::Write { bank: 0, column, data: 0 });
//!     }
//!     channel.command(ChannelCommand::Precharge { bank: None });
//! }
//! assert!(channel.is_multi());
//! ```

/// Banks of a channel.
const BANKS: usize = 16;
/// Bursts of a row, and rows after which positions repeat.
const COLUMNS: u64 = 64;
const ROWS: u64 = 16;
/// Columns of an input tile.
const INPUTS: u64 = 128;
/// Registers of a block, for inputs and for sums.
const REGISTERS: u64 = 8;

/// A command of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelCommand {
    /// ACT.
    Activate {
        /// Its bank.
        bank: usize,
        /// Its row.
        row: u64,
    },
    /// PRE, of all banks if it names none.
    Precharge {
        /// Its bank.
        bank: Option<usize>,
    },
    /// RD.
    Read {
        /// Its bank.
        bank: usize,
        /// Its column.
        column: u64,
    },
    /// WR.
    Write {
        /// Its bank.
        bank: usize,
        /// Its column.
        column: u64,
        /// The low 16 bits of its data.
        data: u64,
    },
}

/// What banks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankAction {
    /// They activate.
    Activate,
    /// They are closed.
    Precharge,
    /// They are read to the data bus.
    Read,
    /// They are written from the data bus.
    Write,
    /// They are written from their blocks.
    WriteResults,
}

/// What the blocks do in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStep {
    /// Nothing, but that the pipeline moves.
    Empty,
    /// A register takes inputs.
    Write {
        /// The register.
        register: u64,
    },
    /// Products are added.
    Mac {
        /// Register of the sums.
        register: u64,
        /// Element of the inputs.
        element: u64,
        /// To +0.
        first: bool,
    },
    /// A register is read.
    Read {
        /// The register.
        register: u64,
    },
    /// The burst is none of the input tile.
    Outside,
}

/// What a command does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What banks do, and which.
    pub banks: Option<(BankAction, Vec<usize>)>,
    /// What the blocks do.
    pub step: Option<BlockStep>,
    /// A bank or row is in a wrong state for it.
    pub fault: bool,
}

/// A channel.
#[derive(Clone, Debug)]
pub struct ChannelModes {
    /// The first of the four reserved rows.
    reserved: u64,
    multi: bool,
    open: [Option<u64>; BANKS],
    /// The row that all banks were made to open at once.
    common: Option<u64>,
    /// Operands of each position: register, element.
    tile: Vec<Option<(u64, u64)>>,
    first: bool,
}

impl ChannelModes {
    /// One after reset, of banks with so many rows.
    pub fn new(rows: u64) -> Self {
        let (tile, first) = (tile(0, 1), false);
        Self { reserved: rows - 4, multi: false, open: [None; BANKS], common: None, tile, first }
    }

    /// Whether it is in multi-bank mode.
    pub fn is_multi(&self) -> bool {
        self.multi
    }

    /// A bank's open row.
    pub fn row(&self, bank: usize) -> Option<u64> {
        self.open[bank]
    }

    /// The row that all banks have opened in multi-bank mode.
    pub fn common_row(&self) -> Option<u64> {
        self.common
    }

    /// The banks that obey a command to one of them.
    fn obeying(&self, bank: usize) -> Vec<usize> {
        if self.multi { (0..BANKS).collect() } else { vec![bank] }
    }

    /// Obeys a command.
    pub fn command(&mut self, command: ChannelCommand) -> Effect {
        match command {
            ChannelCommand::Activate { bank, row } => {
                let banks = self.obeying(bank);
                let fault = banks.iter().any(|&bank| self.open[bank].is_some());
                banks.iter().for_each(|&bank| self.open[bank] = Some(row));
                self.common = self.multi.then_some(row);
                Effect { banks: Some((BankAction::Activate, banks)), fault, step: None }
            }
            ChannelCommand::Precharge { bank } => {
                let banks = bank.map_or((0..BANKS).collect(), |bank| self.obeying(bank));
                banks.iter().for_each(|&bank| self.open[bank] = None);
                self.common = None;
                Effect { banks: Some((BankAction::Precharge, banks)), ..Effect::default() }
            }
            ChannelCommand::Read { column, .. } if self.multi => self.mac(column),
            ChannelCommand::Write { column, data, .. } if self.multi => {
                self.write_all(column, data)
            }
            ChannelCommand::Read { bank, .. } | ChannelCommand::Write { bank, .. } => {
                let action = match command {
                    ChannelCommand::Read { .. } => BankAction::Read,
                    _ => BankAction::Write,
                };
                match self.open[bank] {
                    None => Effect { fault: true, ..Effect::default() },
                    Some(row) if row == self.reserved && action == BankAction::Write => {
                        self.multi = true;
                        self.common = None;
                        Effect::default()
                    }
                    Some(_) => Effect { banks: Some((action, vec![bank])), ..Effect::default() },
                }
            }
        }
    }

    /// An RD of multi-bank mode.
    fn mac(&self, column: u64) -> Effect {
        let step = self.common.map(|row| {
            if (self.reserved..self.reserved + 4).contains(&row) {
                return BlockStep::Empty;
            }
            let position = row % ROWS * COLUMNS + column;
            let operands = self.tile[position as usize];
            operands.map_or(BlockStep::Outside, |(register, element)| {
                let first = self.first && element == 0;
                BlockStep::Mac { register, element, first }
            })
        });
        Effect { banks: None, fault: step.is_none(), step }
    }

    /// A WR of multi-bank mode.
    fn write_all(&mut self, column: u64, data: u64) -> Effect {
        let empty = Effect { step: Some(BlockStep::Empty), ..Effect::default() };
        let of_register = column < REGISTERS;
        let Some(row) = self.common else {
            return Effect { fault: true, ..Effect::default() };
        };
        match row.checked_sub(self.reserved).filter(|reserved| *reserved < 4) {
            Some(0) => empty,
            Some(1) => {
                self.multi = false;
                empty
            }
            Some(2) if of_register => Effect {
                banks: Some((BankAction::WriteResults, (0..BANKS).collect())),
                step: Some(BlockStep::Read { register: column }),
                fault: false,
            },
            None if of_register => {
                Effect { step: Some(BlockStep::Write { register: column }), ..empty }
            }
            None if column == REGISTERS => {
                self.tile = tile(data % (ROWS * COLUMNS), data / (ROWS * COLUMNS) % REGISTERS + 1);
                self.first = data / (ROWS * COLUMNS * REGISTERS) % 2 == 1;
                empty
            }
            _ => Effect { fault: true, ..empty },
        }
    }
}

/// Operands of the bursts of an input tile, by position: the tile is filled from its start on.
fn tile(start: u64, registers: u64) -> Vec<Option<(u64, u64)>> {
    let mut operands = vec![None; (ROWS * COLUMNS) as usize];
    let mut position = start;
    for element in 0..INPUTS {
        for register in 0..registers {
            operands[position as usize] = Some((register, element));
            position = (position + 1) % (ROWS * COLUMNS);
        }
    }
    operands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp5_layout::{FIELDS, Odometer, addresses};
    use std::collections::HashMap;

    fn act(row: u64) -> ChannelCommand {
        ChannelCommand::Activate { bank: 0, row }
    }

    fn write(column: u64, data: u64) -> ChannelCommand {
        ChannelCommand::Write { bank: 0, column, data }
    }

    /// In multi-bank mode, all banks closed.
    fn multi() -> ChannelModes {
        let mut channel = ChannelModes::new(65536);
        channel.command(act(65532));
        channel.command(write(0, 0));
        channel.command(ChannelCommand::Precharge { bank: Some(9) });
        channel
    }

    #[test]
    fn modes_change_by_the_reserved_rows() {
        let mut channel = multi();
        assert!(channel.is_multi() && channel.row(0).is_none());
        let effect = channel.command(act(65533));
        assert_eq!(effect.banks.map(|(_, banks)| banks.len()), Some(BANKS));
        assert_eq!(channel.command(write(3, 0)).banks, None);
        assert!(!channel.is_multi());
        // All have the row open.
        assert!(channel.command(act(1)).fault);
    }

    /// A matrix of two output tiles in one bank, the second of which starts within a row: what each MAC multiplies is what
    /// the layout has there.
    #[test]
    fn macs_multiply_what_the_layout_has_there() {
        const MAP: &str = "row:10 col:6 byte:5";
        let (rows, columns) = (16 * 16, 140);
        let places: HashMap<u64, (u64, u64)> = {
            let addresses = addresses(MAP, rows, columns, 3);
            let elements = (0..rows * columns).filter(|n| n / columns % 16 == 0);
            let element = |n: usize| ((n / columns) as u64, (n % columns) as u64);
            elements.map(|n| (addresses[n], element(n))).collect()
        };
        let odometer = Odometer::new(MAP);
        let mut channel = multi();
        let mut found = 0;
        for (tile, first) in [(0, 0), (0, 128), (1, 0), (1, 128)] {
            let start = 8 * tile * 140 + 8 * first + 3 * COLUMNS;
            channel.command(ChannelCommand::Precharge { bank: None });
            channel.command(act(start / COLUMNS));
            let is_first = u64::from(first == 0);
            channel.command(write(8, start % 1024 + 7 * 1024 + is_first * 8192));
            let bursts = 8 * (columns as u64 - first).min(INPUTS);
            for burst in start..start + bursts {
                let (row, column) = (burst / COLUMNS, burst % COLUMNS);
                channel.command(ChannelCommand::Precharge { bank: None });
                channel.command(act(row));
                let step = channel.command(ChannelCommand::Read { bank: 0, column }).step;
                let place = FIELDS.map(|field| match field {
                    "row" => row,
                    "col" => column,
                    _ => 0,
                });
                let (of_row, of_column) = places[&odometer.address(&place)];
                let register = of_row / 16 % 8;
                assert_eq!(of_row / 128, tile);
                let (element, first) = (of_column - first, of_column == 0);
                assert_eq!(step, Some(BlockStep::Mac { register, element, first }));
                found += 1;
            }
        }
        assert_eq!(found, 16 * columns);
    }
}
