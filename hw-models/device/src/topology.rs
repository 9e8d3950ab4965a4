// SPDX-License-Identifier: MIT
//! Where a rank is: channels of the host, DIMMs on a channel, ranks on a DIMM (L3 Table 2: 16 channels of
//! 2 DIMMs of 2 ranks).

use serde::{Deserialize, Serialize};
use std::fmt;

/// Channels, at most.
const MOST_CHANNELS: usize = 64;
/// DIMMs of a channel, and ranks of a DIMM, at most: the four chip selects that a DDR4 slot has, and as
/// many slots as a channel is ever given.
const MOST_DIMMS: usize = 4;
const MOST_RANKS: usize = 4;

/// How many ranks there are, and how they are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    channels: usize,
    dimms: usize,
    ranks: usize,
    mdq: Mdq,
}

/// Which ranks share the data lines between buffer chip and chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mdq {
    /// Each rank has lines of its own.
    #[default]
    Private,
    /// The ranks of a DIMM share one set of them.
    Shared,
}

impl Mdq {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
        }
    }
}

/// Why there is no such device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} {what}: expected 1 to {limit}")]
pub struct TopologyError {
    /// The part whose number is 0 or too large.
    pub what: &'static str,
    /// How many.
    pub value: usize,
    /// How many there may be.
    pub limit: usize,
}

/// A rank's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Channel of the host.
    pub channel: usize,
    /// DIMM of the channel.
    pub dimm: usize,
    /// Rank of the DIMM.
    pub rank: usize,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, dimm, rank } = self;
        write!(f, "channel {channel} DIMM {dimm} rank {rank}")
    }
}

impl Topology {
    /// One rank, with a channel to itself.
    pub const ONE: Self = Self { channels: 1, dimms: 1, ranks: 1, mdq: Mdq::Private };

    /// So many channels, DIMMs on each channel, ranks on each DIMM, with data lines of their own.
    pub fn new(channels: usize, dimms: usize, ranks: usize) -> Result<Self, TopologyError> {
        for (what, value, limit) in [
            ("channels", channels, MOST_CHANNELS),
            ("DIMMs on a channel", dimms, MOST_DIMMS),
            ("ranks on a DIMM", ranks, MOST_RANKS),
        ] {
            if !(1..=limit).contains(&value) {
                return Err(TopologyError { what, value, limit });
            }
        }
        Ok(Self { channels, dimms, ranks, mdq: Mdq::Private })
    }

    /// The same with these data lines on the DIMMs.
    pub fn with_mdq(self, mdq: Mdq) -> Self {
        Self { mdq, ..self }
    }

    /// Channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// DIMMs on a channel.
    pub fn dimms(&self) -> usize {
        self.dimms
    }

    /// Ranks on a DIMM.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Which ranks share the data lines on a DIMM.
    pub fn mdq(&self) -> Mdq {
        self.mdq
    }

    /// Ranks in all.
    pub fn count(&self) -> usize {
        self.channels * self.dimms * self.ranks
    }

    /// The place of a rank by its number. Consecutive ones are on different channels, then on different
    /// DIMMs: so the first few have a channel each.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn address(&self, rank: usize) -> Address {
        assert!(rank < self.count(), "rank {rank} of {}", self.count());
        let of_channel = rank / self.channels;
        Address {
            channel: rank % self.channels,
            dimm: of_channel % self.dimms,
            rank: of_channel / self.dimms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_number_has_a_place_of_its_own() {
        let topology = Topology::new(16, 2, 2).expect("L3's");
        assert_eq!(topology.count(), 64);
        let places: Vec<_> = (0..64).map(|rank| topology.address(rank)).collect();
        assert_eq!(places.iter().collect::<HashSet<_>>().len(), 64);
        assert!(places.iter().all(|at| at.channel < 16 && at.dimm < 2 && at.rank < 2));
        // Channels first, then DIMMs.
        assert_eq!(places[15], Address { channel: 15, dimm: 0, rank: 0 });
        assert_eq!(places[16], Address { channel: 0, dimm: 1, rank: 0 });
        assert_eq!(places[32], Address { channel: 0, dimm: 0, rank: 1 });
    }

    #[test]
    fn what_no_host_has_is_refused() {
        for (channels, dimms, ranks, expected) in [
            (0, 1, 1, "0 channels: expected 1 to 64"),
            (65, 1, 1, "65 channels: expected 1 to 64"),
            (1, 5, 1, "5 DIMMs on a channel: expected 1 to 4"),
            (1, 1, usize::MAX, "ranks on a DIMM: expected 1 to 4"),
        ] {
            let error = Topology::new(channels, dimms, ranks).expect_err(expected).to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }
}
