// SPDX-License-Identifier: MIT
//! The commands on the chips' pins as signals of a waveform.

use pimlico_dpa::types::Pins;
use pimlico_ports::{U, ports};

ports! {
    /// The rank's commands, as signals.
    unit RankCommands: "rank" {
        inputs RankCommand {
            /// Clock.
            clk: bool,
            /// The command on the chips' pins: a [`PinCommand`](pimlico_dpa::types::PinCommand).
            command: U<4>,
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
        command: U::new(pins.command as u64),
        bank: U::new(pins.bank.get()),
        row: U::new(pins.row.into()),
        column: U::new(pins.column.into()),
        ..Default::default()
    }
}
