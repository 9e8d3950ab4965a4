// SPDX-License-Identifier: MIT
//! What a kind of device says of itself, and of which parts a device's file consists.

use super::tables::{BufferTable, TopologyTable, UnitTable};
use crate::config::{Config, ConfigError};

/// A kind of device.
pub struct Rules {
    /// Its name: `system` of a file, and the system's on the command line.
    pub name: &'static str,
    /// The devices that are built in: name, and file.
    pub presets: &'static [(&'static str, &'static str)],
    /// Data lines over which the burst of a column goes.
    pub lines: u64,
    /// Whether there is a device of such parts.
    pub check: fn(&Parts<'_>) -> Result<(), ConfigError>,
}

/// What a file says of a device.
pub struct Parts<'a> {
    /// The DRAM.
    pub config: &'a Config,
    /// The processing units.
    pub units: &'a UnitTable,
    /// Their buffers.
    pub buffers: &'a BufferTable,
    /// How many there are.
    pub topology: &'a TopologyTable,
}

/// A key, its value, whether it may be, and what it may be.
pub type Held = (&'static str, u64, bool, &'static str);

impl Parts<'_> {
    /// Refuses the first value that may not be.
    pub fn require_all(&self, held: &[Held]) -> Result<(), ConfigError> {
        held.iter().try_for_each(|&(key, value, holds, expected)| {
            self.config.require(key, value, holds, expected)
        })
    }
}
