// SPDX-License-Identifier: MIT
//! The host's side of a module: windows in the rank's addresses, and who owns the chips' pins.

mod decoder;
mod messages;
mod modes;
mod owner;
mod ports;
mod queue;
mod reader;
mod results;
mod status;
#[cfg(test)]
mod tests;
mod unit;
mod windows;

pub use ports::{HostPortIn, HostPortOut, HostPortProbe};
pub use unit::HostPort;
