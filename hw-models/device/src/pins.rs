// SPDX-License-Identifier: MIT
//! The chips' pins, for those who watch them.

use pimlico_dpa::types::Pins;

/// Who drives the chips' data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusDriver {
    /// The chips: read data and results.
    Chips,
    /// The buffer chip: write data and operands.
    BufferChip,
}

/// Watches the chips' pins.
pub trait PinWatch {
    /// A command.
    fn command(&mut self, at_tck: u64, pins: Pins);

    /// Data were on the bus, from one tCK until before another.
    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver);
}
