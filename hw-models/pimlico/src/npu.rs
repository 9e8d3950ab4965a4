// SPDX-License-Identifier: MIT
//! Flags of NeuPIMs' NPU and of what feeds its PIMs, as commands have them.

use clap::ValueEnum;
use pimlico_device::neupims::{NeupimsSpec, ReadQueue};
use pimlico_serving::error::ServingError;
use pimlico_serving::neupims::engine::Engines;
use pimlico_serving::neupims::rates::MatrixRates;
use pimlico_serving::neupims::system::{Interleave, NpuAttention};
use std::sync::Arc;

/// The device whose channels are run.
const DEVICE: &str = "hbm2-neupims";
/// Commands in a tCK at the most.
const MOST_ISSUE: u64 = 1024;

/// What feeds the baseline's PIMs: commands in a tCK, or no limit.
#[derive(Clone, Copy)]
pub struct Feed(pub Option<u64>);

/// Whether two sub-batches are interleaved.
#[derive(Clone, Copy, ValueEnum)]
pub enum InterleaveFlag {
    On,
    Off,
    /// From 256 requests on
    #[value(name = "from-256")]
    From256,
    /// Where it is faster
    Auto,
}

/// Where NPU-only computes attention.
#[derive(Clone, Copy, ValueEnum)]
pub enum NpuAttentionFlag {
    /// On the vector units, K and V at full bandwidth
    Bandwidth,
    /// On the systolic arrays
    Arrays,
}

/// What tells PIM's latency.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MhaFlag {
    /// Algorithm 1, rounded up as by the authors, without refresh
    Algorithm,
    /// Commands on channels of hbm2-neupims, with refresh
    Engine,
}

/// What matrices have of the buses.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MatricesFlag {
    /// The peak, without refresh and turns of the data bus
    Peak,
    /// What reads without end have on a channel of hbm2-neupims, 32 of them in its controller, as in the RTL
    #[value(name = "reads-32")]
    Reads32,
    /// The same with 128, as the authors' simulator has for each bank
    #[value(name = "reads-128")]
    Reads128,
}

impl InterleaveFlag {
    /// What it means.
    pub fn interleave(self) -> Interleave {
        match self {
            Self::On => Interleave::On,
            Self::Off => Interleave::Off,
            Self::From256 => Interleave::From256,
            Self::Auto => Interleave::Auto,
        }
    }
}

impl NpuAttentionFlag {
    /// What it means.
    pub fn attention(self) -> NpuAttention {
        match self {
            Self::Bandwidth => NpuAttention::Bandwidth,
            Self::Arrays => NpuAttention::Arrays,
        }
    }
}

fn device() -> NeupimsSpec {
    NeupimsSpec::built_in(DEVICE).expect("a built-in device")
}

impl MhaFlag {
    /// The engines, where they tell the latency.
    pub fn engines(self) -> Option<Arc<Engines>> {
        (self == Self::Engine).then(|| Arc::new(Engines::new(&device())))
    }

    /// What matrices have if that is not asked for.
    pub fn matrices(self) -> MatricesFlag {
        match self {
            Self::Algorithm => MatricesFlag::Peak,
            Self::Engine => MatricesFlag::Reads32,
        }
    }
}

impl MatricesFlag {
    /// The rates, measured on so many threads, where it is not the peak.
    pub fn rates(self, threads: usize) -> Result<Option<MatrixRates>, ServingError> {
        let queue = match self {
            Self::Peak => return Ok(None),
            Self::Reads32 => ReadQueue::Short,
            Self::Reads128 => ReadQueue::Long,
        };
        MatrixRates::measure(&device(), queue, threads).map(Some)
    }
}

/// A feed: commands, or `unlimited`.
pub fn feed(text: &str) -> Result<Feed, String> {
    if text == "unlimited" {
        return Ok(Feed(None));
    }
    let number = text.parse().ok().filter(|number| (1..=MOST_ISSUE).contains(number));
    number
        .map(|number| Feed(Some(number)))
        .ok_or_else(|| format!("expected unlimited, or 1 to {MOST_ISSUE} commands"))
}

/// Gigabytes a second.
pub fn gigabytes(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.001..=1e6).contains(rate));
    rate.ok_or_else(|| "expected gigabytes a second, 0.001 to 1000000".to_owned())
}
