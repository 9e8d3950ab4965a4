// SPDX-License-Identifier: MIT
//! The DRAM's pins.

use super::{Bank, Column, Row};
use pimlico_ports::Signal;

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
