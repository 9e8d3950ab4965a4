// SPDX-License-Identifier: MIT
//! Dispatcher of a module: expands programs of direct PIM access (DPA) into commands.

mod decoder;
mod model;
mod nest;
mod ports;
mod sequence;
mod stage;
#[cfg(test)]
mod tests;

pub use model::{Dispatcher, Taken};
pub use ports::{DispatcherIn, DispatcherOut, DispatcherProbe};
