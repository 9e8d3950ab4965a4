// SPDX-License-Identifier: MIT
//! The tables of a device's file that are not the DRAM's: units, buffers, topology.

use crate::gemv::IoBuffers;
use crate::options::{Normalise, SumFormat};
use crate::topology::Mdq;
use serde::{Deserialize, Serialize};

/// The processing units: how wide they are, and how they work where no option says otherwise.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct UnitTable {
    /// Multipliers of a bank's PU.
    pub multipliers: usize,
    /// The format of sums in bank PUs and adder unit.
    pub sums: SumFormat,
    /// When softmax divides by the sum of the exponentials.
    pub normalise: Normalise,
    /// tCK in a cycle of the rank PU's core; an AiM has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gear: Option<u64>,
    /// Lanes of an AiM's softmax unit: 2, those of the RTL, where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softmax_lanes: Option<usize>,
}

/// The buffers of the processing units.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BufferTable {
    /// Bytes of a chip's shared buffer, or of a side of a channel's global buffer.
    pub shared_bytes: usize,
    /// Scores that the score buffer holds; an AiM has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<usize>,
    /// How vectors come to the buffers.
    pub io: IoBuffers,
}

/// How many there are of the device, and what they share.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TopologyTable {
    /// Channels of the host, or of an AiM's module.
    pub channels: usize,
    /// Groups of an AiM's channels that work side by side.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub groups: usize,
    /// DIMMs on a channel.
    pub dimms: usize,
    /// Ranks on a DIMM.
    pub ranks: usize,
    /// Which ranks share the data lines between buffer chip and chips.
    pub mdq: Mdq,
    /// GB/s (10^9 bytes) of the link between the host and the hub of an AiM's module, both directions together; without
    /// it there is no limit. It slows down no model: reports set its time beside that of the banks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_gb_per_s: Option<u64>,
}

fn one() -> usize {
    1
}

fn is_one(number: &usize) -> bool {
    *number == 1
}
