// SPDX-License-Identifier: MIT
//! Windows in the rank's addresses: which are open, and what is read and written.

use pimlico_dpa::types::{BANKS, PinCommand, Pins};

/// The row that is a window.
const ROW: u16 = u16::MAX;

/// What stands behind a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Mailbox,
    Operands,
    Status,
    /// Results, with the bank group and the column of a burst.
    Results(usize, usize),
}

impl Window {
    /// The window of a WR or RD.
    fn of(pins: &Pins) -> Self {
        match pins.bank() % 4 {
            0 => Self::Mailbox,
            1 => Self::Operands,
            2 => Self::Status,
            _ => Self::Results(pins.bank() / 4, pins.column() % 32),
        }
    }
}

/// The windows, and a register for the host's command in front of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    command: Pins,
    /// Banks whose window is open.
    open: [bool; BANKS],
}

impl Windows {
    /// The window that is written in this tCK.
    pub(super) fn written(&self) -> Option<Window> {
        self.window(PinCommand::Wr)
    }

    /// The window that is read in this tCK.
    pub(super) fn read(&self) -> Option<Window> {
        self.window(PinCommand::Rd)
    }

    /// No window is open, nor is one being opened.
    pub(super) fn are_closed(&self) -> bool {
        let opens = self.command.command == PinCommand::Act && self.command.row == ROW;
        !opens && self.open == [false; BANKS]
    }

    /// No command is in the register.
    pub(super) fn rest(&self) -> bool {
        self.command.command == PinCommand::None
    }

    fn window(&self, command: PinCommand) -> Option<Window> {
        let is_of_window = self.command.command == command && self.open[self.command.bank()];
        is_of_window.then(|| Window::of(&self.command))
    }

    /// The end of a tCK with this command on the host's pins.
    pub(super) fn clock(&mut self, command: Pins) {
        match self.command.command {
            PinCommand::Act => self.open[self.command.bank()] = self.command.row == ROW,
            PinCommand::Pre => self.open[self.command.bank()] = false,
            PinCommand::PreAll => self.open = [false; BANKS],
            _ => {}
        }
        self.command = command;
    }
}
