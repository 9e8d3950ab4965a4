// SPDX-License-Identifier: MIT
//! Benches of what is in the rank PU.

mod adder_unit;
mod burst_source;
mod burst_timer;
mod context_queue;
mod operand_path;
mod pim_chip;
mod plans;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;
mod result_path;
mod sequencer;
mod slot_timer;
mod softmax_unit;
mod weight_path;

use pimlico_dpa::types::{DramPins, PinCommand, Pins};
use pimlico_golden::pin_codes::{Code, table};
use pimlico_ports::{Enumerated, U, pack};

/// The command on a chip's pins, by golden's reading of the table of codes.
pub(crate) fn known_code(pins: &DramPins) -> Option<Pins> {
    let Code { command, bank, row, column } = table().decode(pack(pins) as u32)?;
    let of_name = |known: &PinCommand| known.name() == command;
    Some(Pins {
        command: PinCommand::ALL.iter().copied().find(of_name)?,
        bank: U::new(bank.into()),
        row: row as u16,
        column: column as u8,
    })
}
