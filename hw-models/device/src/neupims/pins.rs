// SPDX-License-Identifier: MIT
//! Commands on the pins of a channel.

use pimlico_units::channel::{ChannelCommand, ChannelControllerOut};

/// Commands by their code on the pins.
const COMMANDS: [ChannelCommand; 13] = [
    ChannelCommand::None,
    ChannelCommand::Act,
    ChannelCommand::Pre,
    ChannelCommand::PreAll,
    ChannelCommand::Rd,
    ChannelCommand::Wr,
    ChannelCommand::Ref,
    ChannelCommand::PimActivation,
    ChannelCommand::PimPrecharge,
    ChannelCommand::PimGwrite,
    ChannelCommand::PimDotProduct,
    ChannelCommand::PimGemv,
    ChannelCommand::PimReadResult,
];

/// The pins in a tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelPins {
    /// The command.
    pub command: ChannelCommand,
    /// Its bank, or the first of those that it is for.
    pub bank: u8,
    /// A PIM_PRECHARGE is of all banks.
    pub all: bool,
    /// Row of an ACT or PIM_ACTIVATION.
    pub row: u16,
    /// Column of an RD or WR, or first word of dot products.
    pub column: u8,
    /// Dot products of a GEMV.
    pub count: u8,
    /// A DOTPRODUCT begins a sum.
    pub first: bool,
    /// A DOTPRODUCT ends a sum.
    pub last: bool,
}

impl ChannelPins {
    /// What the controller drives.
    pub(super) fn of(out: &ChannelControllerOut) -> Self {
        let code = out.command_o.get() as usize;
        Self {
            command: COMMANDS.get(code).copied().unwrap_or_default(),
            bank: out.bank_o.get() as u8,
            all: out.all_o,
            row: out.row_o.get() as u16,
            column: out.column_o.get() as u8,
            count: 1 + out.count_o.get() as u8,
            first: out.first_o,
            last: out.last_o,
        }
    }
}

/// Watches the pins of a channel.
pub trait ChannelWatch: Send {
    /// A command.
    fn command(&mut self, at_tck: u64, pins: ChannelPins);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_at_their_codes() {
        for (code, command) in COMMANDS.into_iter().enumerate() {
            assert_eq!(command as usize, code);
        }
    }
}
