// SPDX-License-Identifier: MIT
//! The commands on the chips' pins as signals of a waveform.

use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_ports::{U, ports};

ports! {
    /// The rank's commands, as signals.
    unit RankCommands: "rank" {
        inputs RankCommand {
            /// Clock.
            clk: bool,
            /// The command on the chips' pins.
            command: PinCommand,
            /// Its bank.
            bank: U<6>,
            /// Its row.
            row: U<20>,
            /// Its column, its word of the shared buffers, or the address of its results.
            column: U<13>,
        }
        outputs RankNothing {}
        probes RankNoProbe {}
    }
}

/// A command as signals.
pub fn command_signals(pins: Pins) -> RankCommand {
    RankCommand {
        command: pins.command,
        bank: U::new(pins.bank.get()),
        row: U::new(pins.row.into()),
        column: U::new(pins.column.into()),
        ..Default::default()
    }
}
