// SPDX-License-Identifier: MIT
//! What a report is of: a rank, several, or a module of channels.

use pimlico_device::{Config, Gear, Options, Topology};
use serde::Serialize;

/// What ran a job, for its report.
#[derive(Clone, Copy, Debug)]
pub struct SystemDescription<'a> {
    /// Its name on the command line.
    pub name: &'static str,
    /// Organisation and timing of a rank or a channel.
    pub config: &'a Config,
    /// The module, if it has several channels.
    pub module: Option<ModuleReport>,
    /// The ranks, if it is made of ranks.
    pub topology: Option<Topology>,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// When softmax divides.
    pub normalise: &'static str,
    /// Format of sums.
    pub sums: &'static str,
    /// tCK in a cycle of the rank PU's core, where there is one.
    pub gear: Option<Gear>,
}

impl<'a> SystemDescription<'a> {
    /// L3's rank.
    pub fn rank(config: &'a Config, options: Options) -> Self {
        Self::ranks(config, options, Topology::ONE)
    }

    /// L3's ranks.
    pub fn ranks(config: &'a Config, options: Options, topology: Topology) -> Self {
        Self {
            name: "l3",
            config,
            module: None,
            topology: Some(topology),
            refresh: options.refresh,
            normalise: options.normalise.name(),
            sums: options.sums.name(),
            gear: Some(options.gear),
        }
    }
}

/// A module of several channels.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ModuleReport {
    /// Channels.
    pub channels: usize,
    /// Groups of them that work side by side, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// I/O buffers of the channels: `ping-pong` or `single`.
    pub io_buffers: &'static str,
    /// Whether the channels change between the modes of banks and registers.
    pub mode_change: bool,
    /// Clocks from a beat of a PU to its result, if they are not those of the RTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pu_clocks: Option<u64>,
    /// Lanes of the softmax unit, if they are not those of the RTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softmax_lanes: Option<usize>,
    /// Whether softmax is beside score and context of other queries.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub head_pipeline: bool,
    /// Whether queries that share K and V run on a row while it is open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared_rows: bool,
}
