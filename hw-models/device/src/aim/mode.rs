// SPDX-License-Identifier: MIT
//! The mode of a channel: its banks' or its registers'.
//!
//! ```text
//! mode        registers          │ change │ banks                      │ change │ registers
//! commands    WR_SHARED ...      └────────▶ PREA, ACT_ALL, RD_ALL ...  └────────▶ RD_RESULT, WR_SHARED ...
//! ```
//!
//! With one queue the hub changes the mode when a command of the other one is at its head and the data of the one before
//! have been on the lines: a command (whose tCK is counted, but which is not on the pins here) and MODCH. The row of a column is opened in the mode of the banks. An
//! operator begins in that mode, as what was before it ended with closed banks; PREA and REF are in either.
//!
//! With two sides in every buffer nothing changes: one side is filled or read while the PUs have the other, and that in
//! itself takes a chip whose two command queues do not wait for each other. So LoL-PIM has it (section 6).

use super::units::AimOptions;
use crate::config::Config;
use pimlico_units::lap::Walk;

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All-bank RDs, and what opens their rows.
    Banks,
    /// WR_SHARED and RD_RESULT.
    Registers,
}

/// The mode of all channels, as the hub knows it.
pub struct Modes {
    mode: Mode,
    /// When its last command was on the pins, and its data past them.
    last_tck: u64,
    /// From that to the first command in the other mode.
    change_tck: u64,
}

impl Modes {
    /// The modes of an operator that begins at `now`.
    pub fn new(config: &Config, options: &AimOptions, now: u64) -> Self {
        let change_tck = if options.changes_mode() { config.timing.mode_change_tck() } else { 0 };
        Self { mode: Mode::Banks, last_tck: now, change_tck }
    }

    /// The first tCK at which a command of a mode may be on the pins.
    pub fn earliest_tck(&self, mode: Mode) -> u64 {
        if mode == self.mode { 0 } else { self.last_tck + self.change_tck }
    }

    /// Goes over all of it, for [laps](pimlico_units::lap), at `now`.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let Self { mode, last_tck, change_tck } = self;
        walk.still(*mode == Mode::Banks);
        let mut from_tck = *last_tck + *change_tck;
        walk.time(&mut from_tck, now);
        *last_tck = from_tck - *change_tck;
    }

    /// A command of a mode was on the pins, and its data, if it has some, will have been at `at_tck`.
    pub fn see(&mut self, mode: Mode, at_tck: u64) {
        (self.mode, self.last_tck) = (mode, at_tck);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemv::IoBuffers;

    #[test]
    fn a_change_is_between_commands_of_two_modes() {
        let config = Config::gddr6_aim();
        let single = AimOptions { io_buffers: IoBuffers::Single, ..AimOptions::default() };
        let mut modes = Modes::new(&config, &single, 10);
        assert_eq!([Mode::Banks, Mode::Registers].map(|mode| modes.earliest_tck(mode)), [0, 43]);
        modes.see(Mode::Registers, 50);
        modes.see(Mode::Registers, 60);
        assert_eq!([Mode::Banks, Mode::Registers].map(|mode| modes.earliest_tck(mode)), [93, 0]);
        for options in [AimOptions { mode_change: false, ..single }, AimOptions::default()] {
            let modes = Modes::new(&config, &options, 10);
            assert_eq!(modes.earliest_tck(Mode::Registers), 10, "{options:?}");
        }
    }
}
