// SPDX-License-Identifier: MIT
//! What is served on L3's system or a baseline, and how.

use crate::costs::rank::RankCosts;
use crate::gpu::{Gpu, GpuModel};
use crate::hardware::Hardware;
use crate::iteration::Detail;
use crate::llm::Llm;
use crate::policy::{Admission, Placement, Policy, SubBatches};
use crate::predict::Features;
use pimlico_device::Config;

/// What is served, and how.
pub struct Setup<'a> {
    /// The model.
    pub llm: &'a Llm,
    /// The machine.
    pub hardware: Hardware,
    /// Each GPU.
    pub gpu: Gpu,
    /// Constants of the GPUs.
    pub gpu_model: GpuModel,
    /// The policy.
    pub policy: Policy,
    /// When memory is reserved.
    pub admission: Admission,
    /// Where requests go.
    pub placement: Placement,
    /// Whether ranksets compute during transfers.
    pub overlap: bool,
    /// What the two sub-batches have even.
    pub sub_batches: SubBatches,
    /// By what the scheduler learns what sub-batches take; it knows that where there is nothing.
    pub learns: Option<Features>,
    /// How many layers are placed.
    pub detail: Detail,
    /// A rank.
    pub rank: &'a Config,
    /// Its costs, where ranks compute.
    pub costs: Option<&'a RankCosts>,
    /// Iterations that are kept for a picture, by their number on the first replica.
    pub window: std::ops::Range<u64>,
    /// Requests that are there at a time, where one comes when another ends.
    pub closed_loop: Option<u64>,
    /// Requests, by their number, that are not served.
    pub without: &'a [u32],
}
