// SPDX-License-Identifier: MIT
//! Commands and events of the channels of an AiM.

use super::{Bank, Column, Row};
use pimlico_ports::{Signal, U};

/// What a command asks a channel of an AiM for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 3, sv = "aim_kind_e", prefix = "Aim")]
pub enum AimKind {
    /// RD_ALLs of columns that follow each other.
    #[default]
    Mac = 0,
    /// A filling of the global buffer: WR_SHAREDs.
    Fill = 1,
    /// The results of a sum: RD_RESULT.
    Results = 2,
    /// WR: a column of one bank.
    Write = 3,
    /// All banks are closed; a head ends.
    Close = 4,
}

/// A command for a channel of an AiM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "aim_command_t")]
pub struct AimCommand {
    /// Kind of the command.
    pub kind: AimKind,
    /// Bank of a WR.
    pub bank: Bank,
    /// Row of a MAC or WR.
    pub row: Row,
    /// First column of a MAC, or column of a WR.
    pub column: Column,
    /// MAC: word of the global buffer for the first column.
    pub word: U<6>,
    /// Columns of a MAC, or words of a filling: 1 to 64.
    pub count: U<7>,
    /// MAC: the first column begins a sum.
    pub first: bool,
    /// MAC: the last column ends a sum.
    pub last: bool,
    /// MAC: the filling of the global buffer is given back with the last column.
    pub frees: bool,
}

/// A column of one bank that the host writes, in every channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "aim_write_t")]
pub struct AimWrite {
    /// Bank of the column.
    pub bank: Bank,
    /// Row of the column.
    pub row: Row,
    /// Column that is written.
    pub column: Column,
}

/// What happens in a channel of an AiM in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "aim_events_t")]
pub struct AimEvents {
    /// An RD_ALL is on the pins.
    pub read: bool,
    /// A word of the global buffer is written.
    pub written: bool,
    /// The result registers are written.
    pub results: bool,
    /// A read could not be chosen for its row.
    pub lost_row_switch: bool,
    /// A read could not be chosen for a refresh.
    pub lost_refresh: bool,
}
