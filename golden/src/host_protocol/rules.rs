// SPDX-License-Identifier: MIT
//! What the checker has to know of the module, and the windows.

use std::fmt;

/// What the checker has to know of the module, in tCK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRules {
    /// Banks in a group, of which there are four. Bank *b* is in group *b* / `banks_per_group`.
    pub banks_per_group: usize,
    /// A burst on the data bus: BL/2.
    pub burst: u64,
    /// Chips: RD to its data. The host takes them a tCK later.
    pub cl: u64,
    /// Chips: WR to its data. The host drives them a tCK earlier.
    pub cwl: u64,
    /// PREA that gives the pins to the start of a run.
    pub t_rp: u64,
    /// The last REF of a run to its end.
    pub t_rfc: u64,
    /// Whether the caller tells what is on the chips' pins. If not, nothing is said of them.
    pub chips: bool,
    /// The longest that a run may go on without a read of the status; None: for ever.
    pub poll: Option<u64>,
}

/// Row of a bank that is a window.
pub const WINDOW_ROW: usize = 65535;

/// A window of the module in the host's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Of messages.
    Mailbox,
    /// Of operands.
    Operands,
    /// Of the status.
    Status,
    /// Of the results.
    Results,
}

impl Window {
    /// The window of a bank.
    pub(super) fn of(bank: usize, rules: &HostRules) -> Self {
        match (bank % rules.banks_per_group) % 4 {
            0 => Self::Mailbox,
            1 => Self::Operands,
            2 => Self::Status,
            _ => Self::Results,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mailbox => "the mailbox",
            Self::Operands => "the operands",
            Self::Status => "the status",
            Self::Results => "the results",
        })
    }
}
