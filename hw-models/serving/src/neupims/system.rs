// SPDX-License-Identifier: MIT
//! The three systems as their assumptions.

use super::estimate::{Algorithm1, MhaLatency};
use super::npu::Npu;
use super::packing::{NewRequest, min_load};
use super::shard::Shard;
use super::workload::{LONGEST, LiveRequest};
use serde::Serialize;

/// Channels of a device (Table 2).
pub const CHANNELS: usize = 32;
/// The smallest batch whose sub-batches the paper interleaves.
pub const INTERLEAVED_FROM: usize = 256;

/// What the memory of a system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowBuffers {
    /// No PIM.
    Plain,
    /// PIM in the row buffers that reads and writes use.
    Single,
    /// PIM with row buffers of its own.
    Dual,
}

/// How requests get their channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assign {
    /// In turn, as they come.
    RoundRobin,
    /// Algorithm 2 as they come.
    MinLoad,
    /// Algorithm 2 for the whole batch, channels empty: a bound, as requests do not move.
    Afresh,
}

/// Whether two sub-batches are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interleave {
    /// Always.
    On,
    /// Never.
    Off,
    /// From 256 requests on.
    #[serde(rename = "from-256")]
    From256,
    /// Where it is faster by the model's own times.
    Auto,
}

/// Where the NPU-only system computes attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NpuAttention {
    /// On the vector units, K and V at the memory's bandwidth.
    Bandwidth,
    /// On the systolic arrays, a full pipeline for each 128 tokens of a head.
    Arrays,
}

/// A system's assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct System {
    /// Its memory.
    pub memory: RowBuffers,
    /// Commands that reach PIMs of all channels in a tCK, with single row buffers; without a limit if there is none.
    pub pim_issue: Option<u64>,
    /// How requests get their channels.
    pub assign: Assign,
    /// Whether sub-batches are interleaved.
    pub interleave: Interleave,
    /// Whether K and V of new tokens take time.
    pub kv_append: bool,
    /// Whether softmax takes time.
    pub softmax: bool,
    /// Where attention is without PIM.
    pub npu_attention: NpuAttention,
    /// Gigabytes a second of the links between devices; links take no time if there is none.
    pub link_gbps: Option<f64>,
    /// PIM's latency.
    pub estimate: Algorithm1,
    /// The NPU.
    pub npu: Npu,
}

impl System {
    /// The NPU-only system.
    pub const NPU_ONLY: Self = Self {
        memory: RowBuffers::Plain,
        pim_issue: None,
        assign: Assign::RoundRobin,
        interleave: Interleave::Off,
        kv_append: false,
        softmax: true,
        npu_attention: NpuAttention::Bandwidth,
        link_gbps: None,
        estimate: Algorithm1::AUTHORS,
        npu: Npu::TABLE_2,
    };
    /// NPU+PIM, with the feed of the authors' simulator.
    pub const NPU_PIM: Self =
        Self { memory: RowBuffers::Single, pim_issue: Some(1), ..Self::NPU_ONLY };
    /// NeuPIMs.
    pub const NEUPIMS: Self = Self {
        memory: RowBuffers::Dual,
        assign: Assign::MinLoad,
        interleave: Interleave::From256,
        ..Self::NPU_ONLY
    };

    /// Tokens of the requests in each channel, in the order in which they came.
    pub fn channels(&self, latency: &[u64], batch: &[LiveRequest]) -> Vec<Vec<u64>> {
        let afresh = || {
            let new = |live: &LiveRequest| NewRequest {
                tokens: live.tokens,
                tck: latency[live.tokens as usize],
            };
            min_load(&mut [0; CHANNELS], &batch.iter().map(new).collect::<Vec<_>>())
        };
        let places: Vec<usize> = match self.assign {
            Assign::RoundRobin => batch.iter().map(|live| live.round_robin).collect(),
            Assign::MinLoad => batch.iter().map(|live| live.min_load).collect(),
            Assign::Afresh => afresh(),
        };
        let mut channels = vec![Vec::new(); CHANNELS];
        for (live, channel) in batch.iter().zip(places) {
            channels[channel].push(live.tokens);
        }
        channels
    }
}

/// The estimate of each length from 0 to the longest.
pub fn latencies(shard: &Shard, latency: &dyn MhaLatency) -> Vec<u64> {
    (0..=LONGEST).map(|tokens| latency.tck(shard, tokens)).collect()
}
