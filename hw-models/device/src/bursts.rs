// SPDX-License-Identifier: MIT
//! A host that moves whole bursts to and from a module as memory. When its commands come is its own affair; when data
//! are on the buses follows from that.

use crate::data_bus::Beats;
use pimlico_dpa::types::Pins;

/// When the data of a host's commands are on its data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLatency {
    /// tCK from a WR until the host drives its burst.
    pub write_tck: u64,
    /// tCK from an RD until the host takes its burst.
    pub read_tck: u64,
}

/// What a host does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStep {
    /// A command, with the burst of a WR.
    Command {
        /// When.
        at_tck: u64,
        /// The command: one of JEDEC's, and to no window of the module.
        pins: Pins,
        /// What a WR writes.
        written: Option<Beats>,
    },
    /// It leaves the pins.
    End {
        /// From here on.
        at_tck: u64,
    },
}

/// A host that moves whole bursts. It keeps bursts apart on its data bus, and the two directions of it.
pub trait BurstHost {
    /// When its data are on its data bus.
    fn latency(&self) -> HostLatency;

    /// What it does next, from a tCK on.
    fn next(&mut self, from_tck: u64) -> HostStep;

    /// What the RD that it did last has read.
    fn read(&mut self, beats: Beats);
}
