// SPDX-License-Identifier: MIT
//! A device as a file describes it: the DRAM, and the units, buffers and ranks that come with it.
//!
//! ```toml
//! base = "ddr4-3200"        # what is not said here is as in this preset; without it the file is whole
//! name = "toy"
//!
//! [organisation]
//! rows = 4096
//!
//! [timing]                  # in tCK
//! RCD = 20
//! RCD_WR = 20
//! RCD_MAC = 20
//! ```
//!
//! * `file`: its tables, and what its kind holds them to ([`SystemKind`]).
//! * `overlay`: a file over its base.
//! * `presets`: its DRAM alone, by the name of the device.
//! * `sweep`: the same with another timing.

mod file;
mod overlay;
mod presets;
mod sweep;
#[cfg(test)]
mod tests;

pub use crate::kinds::{BufferTable, SystemKind, TopologyTable, UnitTable};
pub use file::DeviceSpec;
pub use sweep::Sweep;
