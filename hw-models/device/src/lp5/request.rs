// SPDX-License-Identifier: MIT
//! What a host asks of a channel, in the order of its program.

use super::blocks::Vector;

/// Where a burst is on a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstPlace {
    /// Bank of the channel: its group times the banks of a group, and the bank in that.
    pub bank: u8,
    /// Row of the bank.
    pub row: u32,
    /// Column of the row.
    pub column: u8,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A load of a burst.
    Read(BurstPlace),
    /// A store of a burst.
    Write(BurstPlace, Vector),
    /// The host waits until all before it is done, closes the rows, and goes on so many tCK later.
    Fence {
        /// How much later.
        tck: u64,
    },
}

impl Request {
    /// Where it is, unless it is a fence.
    pub fn place(&self) -> Option<BurstPlace> {
        match self {
            Self::Read(place) | Self::Write(place, _) => Some(*place),
            Self::Fence { .. } => None,
        }
    }
}
