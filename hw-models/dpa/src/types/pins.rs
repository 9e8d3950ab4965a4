// SPDX-License-Identifier: MIT
//! The DRAM's pins.

use super::{Bank, Column, ResultAddress, Row};
use pimlico_ports::{Signal, U};

/// Command on the pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 4, sv = "pin_command_e", prefix = "Pin")]
pub enum PinCommand {
    /// No command.
    #[default]
    None = 0,
    /// Opens a row of a bank.
    Act = 1,
    /// Opens a row of all banks.
    ActAll = 2,
    /// Closes a bank.
    Pre = 3,
    /// Closes all banks.
    PreAll = 4,
    /// Reads a column of a bank to the data bus.
    Rd = 5,
    /// Writes a column of a bank from the data bus.
    Wr = 6,
    /// Reads a column of all banks to the bank PUs.
    RdAll = 7,
    /// Reads result registers to the data bus.
    RdResult = 8,
    /// Writes the shared buffers from the data bus.
    WrShared = 9,
    /// Refreshes.
    Ref = 10,
}

/// The command pins of a rank. What a command has no use for is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "pins_t")]
pub struct Pins {
    /// Command on the pins.
    pub command: PinCommand,
    /// Bank of the command.
    pub bank: Bank,
    /// Row of the command.
    pub row: Row,
    /// Column of the command; RD_RESULT: which results; WR_SHARED: which word.
    pub column: Column,
}

impl PinCommand {
    /// All commands but none.
    pub const COMMANDS: [Self; 10] = [
        Self::Act,
        Self::ActAll,
        Self::Pre,
        Self::PreAll,
        Self::Rd,
        Self::Wr,
        Self::RdAll,
        Self::RdResult,
        Self::WrShared,
        Self::Ref,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Act => "ACT",
            Self::ActAll => "ACT_ALL_BANK",
            Self::Pre => "PRE",
            Self::PreAll => "PREA",
            Self::Rd => "RD",
            Self::Wr => "WR",
            Self::RdAll => "RD_ALL_BANK",
            Self::RdResult => "RD_RESULT",
            Self::WrShared => "WR_SHARED",
            Self::Ref => "REF",
        }
    }
}

impl Pins {
    /// No command.
    pub const NONE: Self = Self::of(PinCommand::None, 0, 0, 0);
    /// PREA: all banks are closed.
    pub const PRE_ALL: Self = Self::of(PinCommand::PreAll, 0, 0, 0);
    /// REF.
    pub const REF: Self = Self::of(PinCommand::Ref, 0, 0, 0);

    const fn of(command: PinCommand, bank: usize, row: usize, column: usize) -> Self {
        Self { command, bank: U::new(bank as u64), row: row as Row, column: column as Column }
    }

    /// ACT: a row is opened.
    pub const fn act(bank: usize, row: usize) -> Self {
        Self::of(PinCommand::Act, bank, row, 0)
    }

    /// ACT_ALL: a row is opened in all banks.
    pub const fn act_all(row: usize) -> Self {
        Self::of(PinCommand::ActAll, 0, row, 0)
    }

    /// PRE: a bank is closed.
    pub const fn pre(bank: usize) -> Self {
        Self::of(PinCommand::Pre, bank, 0, 0)
    }

    /// RD: a column is read.
    pub const fn rd(bank: usize, column: usize) -> Self {
        Self::of(PinCommand::Rd, bank, 0, column)
    }

    /// WR: a column is written.
    pub const fn wr(bank: usize, column: usize) -> Self {
        Self::of(PinCommand::Wr, bank, 0, column)
    }

    /// RD_ALL: a column of every bank is read to its PU.
    pub const fn rd_all(column: usize) -> Self {
        Self::of(PinCommand::RdAll, 0, 0, column)
    }

    /// WR_SHARED: a word of the shared buffers is written.
    pub const fn wr_shared(word: usize) -> Self {
        Self::of(PinCommand::WrShared, 0, 0, word)
    }

    /// Whether there is a command.
    pub fn is_some(&self) -> bool {
        self.command != PinCommand::None
    }

    /// Bank, for an index.
    pub fn bank(&self) -> usize {
        self.bank.get() as usize
    }

    /// Row, for an index.
    pub fn row(&self) -> usize {
        self.row.into()
    }

    /// Column, or word of the shared buffers, for an index.
    pub fn column(&self) -> usize {
        self.column.into()
    }

    /// Which results an RD_RESULT reads.
    pub fn results(&self) -> ResultAddress {
        ResultAddress::of_bits(self.column)
    }
}
