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
//! * `file`: its tables.
//! * `built_in`: the files that come with the crate.
//! * `check`: whether there is such a device.
//! * `overlay`: a file over its base.
//! * `presets`: its DRAM alone, by the name of the device.
//! * `tables`: what is not the DRAM's.
//! * `sweep`: the same with another timing.

mod built_in;
mod check;
mod file;
mod overlay;
mod presets;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;

pub use file::DeviceSpec;
pub use sweep::Sweep;
pub use tables::{BufferTable, SystemKind, TopologyTable, UnitTable};
