// SPDX-License-Identifier: MIT
//! What an operator cost: slots used and lost, and how busy the parts of the rank were.

/// All-bank RD slots that stayed empty, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Another row had to be opened.
    pub row_switch: u64,
    /// A refresh was under way.
    pub refresh: u64,
    /// Before the first RD (operands on their way in) or after the last (results on their way out).
    pub fill_drain: u64,
    /// Between two RDs, for no such reason.
    pub bubble: u64,
}

impl Lost {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.row_switch + self.refresh + self.fill_drain + self.bubble
    }
}

/// Counts of an operator. A slot is tCCD_L.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Duration in tCK.
    pub cycles: u64,
    /// Slots with an all-bank RD.
    pub used: u64,
    /// Slots without one.
    pub lost: Lost,
    /// Bursts from the rank PU to the shared buffers.
    pub fills: u64,
    /// Cycles in which results went from the bank PUs to the rank PU: a quarter burst each.
    pub drains: u64,
    /// Cycles in which the data bus was in use.
    pub bus_cycles: u64,
    /// Cycles in which the adder unit took an input.
    pub adder_unit_cycles: u64,
}

impl Statistics {
    /// Counts of two operators, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            used: self.used + other.used,
            lost: Lost {
                row_switch: self.lost.row_switch + other.lost.row_switch,
                refresh: self.lost.refresh + other.lost.refresh,
                fill_drain: self.lost.fill_drain + other.lost.fill_drain,
                bubble: self.lost.bubble + other.lost.bubble,
            },
            fills: self.fills + other.fills,
            drains: self.drains + other.drains,
            bus_cycles: self.bus_cycles + other.bus_cycles,
            adder_unit_cycles: self.adder_unit_cycles + other.adder_unit_cycles,
        }
    }
}
