// SPDX-License-Identifier: MIT
//! The host's side of a module: windows in the rank's addresses, and who owns the chips' pins.

mod ports;
mod unit;

pub use ports::{HostPortIn, HostPortOut, HostPortProbe};
pub use unit::HostPort;
