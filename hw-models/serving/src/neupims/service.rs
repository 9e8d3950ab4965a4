// SPDX-License-Identifier: MIT
//! The system as it serves a trace: its policies, and the room that weights leave for requests.

use super::capacity;
use super::shard::Shard;
use super::system::{Assign, CHANNELS, Interleave, RowBuffers, System};
use crate::error::ServingError;
use crate::llm::Llm;
use crate::trace::MOST_TOKENS;
use serde::Serialize;

/// Stages, at the most: each has a resource for prompts and one for tokens.
pub const MOST_STAGES: u64 = 32;
/// Requests on the devices at once, at the most.
pub const MOST_BATCH: u64 = 1 << 16;
/// Tokens of a request, at the most: 16 times those of GPT-3.
pub const LONGEST_REQUEST: u64 = 16 * 2048;

/// A policy of the system `neupims`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeupimsPolicy {
    /// No PIM: K and V stream to the NPU.
    NpuOnly,
    /// PIM in the row buffers that reads and writes use, requests to channels in turn.
    NpuPim,
    /// Row buffers of PIM's own, Algorithms 2 and 3.
    Neupims,
}

impl NeupimsPolicy {
    /// All that there are, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::NpuOnly, "npu-only"), (Self::NpuPim, "npu-pim"), (Self::Neupims, "neupims")];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(policy, _)| *policy == self).map_or("", |(_, name)| name)
    }

    /// The policy of this name.
    pub fn find(name: &str) -> Result<Self, ServingError> {
        let found = Self::ALL.into_iter().find(|(_, other)| *other == name);
        found.map(|(policy, _)| policy).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            ServingError::setup(format!("--policy {name}: neupims has {names}"))
        })
    }

    /// Its assumptions.
    pub fn system(self) -> System {
        match self {
            Self::NpuOnly => System::NPU_ONLY,
            Self::NpuPim => System::NPU_PIM,
            Self::Neupims => System::NEUPIMS,
        }
    }
}

/// A model on the devices of the system.
#[derive(Clone, Debug)]
pub struct NeupimsService {
    /// The policy by whose name it goes.
    pub policy: NeupimsPolicy,
    /// The model.
    pub llm: Llm,
    /// The part of it on a device.
    pub shard: Shard,
    /// The policy's assumptions.
    pub system: System,
    /// Requests on the devices at once, at the most.
    pub batch: u64,
}

/// Room for K and V on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolRoom {
    /// Pools: channels, each with requests of its own, or all of them as one.
    pub pools: usize,
    /// Bytes of a pool that the weights leave.
    pub bytes: u64,
}

/// The devices as they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NeupimsHardware {
    /// Devices that make tokens; as many compute prompts.
    pub devices: u64,
    /// Channels of a device.
    pub channels: u64,
    /// Bytes of a channel.
    pub channel_bytes: u64,
    /// Row buffers of a bank: `plain` without PIM, `single`, or `dual`.
    pub memory: RowBuffers,
    /// How requests get their channels.
    pub assign: Assign,
    /// Whether sub-batches are interleaved.
    pub interleave: Interleave,
    /// Requests on the devices at once, at the most.
    pub batch: u64,
    /// Commands that reach the PIMs of all channels in a tCK; no limit if there is none.
    pub pim_issue: Option<u64>,
    /// Gigabytes a second of the links; they take no time if there is none.
    pub link_gbps: Option<f64>,
    /// What tells PIM's latency.
    pub mha: &'static str,
    /// Bytes that matrices have of the buses in a tCK.
    pub matrix_bandwidth: u64,
    /// Bytes that matrices have of them beside PIM.
    pub matrix_bandwidth_beside_pim: u64,
}

impl NeupimsService {
    /// Bytes of K and V of a request on a device.
    pub fn request_bytes(&self, tokens: u64) -> u64 {
        match self.system.memory {
            RowBuffers::Plain => self.shard.blocks * self.shard.kv_bytes(tokens),
            _ => capacity::request_bytes(&self.shard, tokens),
        }
    }

    /// Micro-batches: one for each stage, which take turns in it.
    pub fn micro_batches(&self) -> usize {
        self.shard.pp as usize
    }

    /// Requests of a micro-batch at the most.
    pub fn micro_batch(&self) -> usize {
        self.batch.div_ceil(self.shard.pp) as usize
    }

    /// Room for requests. Weights that have none are an error, and numbers that do not go together.
    pub fn room(&self) -> Result<PoolRoom, ServingError> {
        let Self { shard, batch, llm, .. } = self;
        for (flag, number, most) in
            [("--pp", shard.pp, MOST_STAGES), ("--batch", *batch, MOST_BATCH)]
        {
            if !(1..=most).contains(&number) {
                return Err(ServingError::setup(format!("{flag} {number}: expected 1 to {most}")));
            }
        }
        if *batch < shard.pp {
            let what = format!("--batch {batch}: {} stages have a request each", shard.pp);
            return Err(ServingError::Setup(what));
        }
        let left = capacity::left_by_weights(shard, &format!("the weights of {}", llm.name))?;
        Ok(match self.system.memory {
            RowBuffers::Plain => PoolRoom { pools: 1, bytes: CHANNELS as u64 * left },
            _ => PoolRoom { pools: CHANNELS, bytes: left },
        })
    }

    /// The longest request that there may be.
    pub fn longest(&self) -> u64 {
        LONGEST_REQUEST.min(MOST_TOKENS)
    }

    /// The devices.
    pub fn hardware(&self, mha: &'static str) -> NeupimsHardware {
        let Self { shard, system, .. } = self;
        NeupimsHardware {
            devices: shard.tp * shard.pp,
            channels: CHANNELS as u64,
            channel_bytes: capacity::CHANNEL_BYTES,
            memory: system.memory,
            assign: system.assign,
            interleave: system.interleave,
            batch: self.batch,
            pim_issue: system.pim_issue.filter(|_| system.memory == RowBuffers::Single),
            link_gbps: system.link_gbps,
            mha,
            matrix_bandwidth: system.npu.bandwidth,
            matrix_bandwidth_beside_pim: system.npu.beside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, policy: NeupimsPolicy, tp: u64, pp: u64) -> NeupimsService {
        let llm = Llm::new(name, pimlico_model::presets()[name].clone());
        let shard = Shard::new(&llm, tp, pp).expect("it divides");
        NeupimsService { policy, llm, shard, system: policy.system(), batch: 256 }
    }

    #[test]
    fn policies_have_names_and_room() {
        for (policy, name) in NeupimsPolicy::ALL {
            assert_eq!(NeupimsPolicy::find(name).expect("one"), policy);
        }
        let error = NeupimsPolicy::find("l3").expect_err("of another system").to_string();
        assert_eq!(error, "--policy l3: neupims has npu-only, npu-pim, neupims");
        let with_pim = service("gpt3-7b", NeupimsPolicy::Neupims, 4, 1);
        let room = with_pim.room().expect("it fits");
        // 32 blocks of 4096 x 12288 / 4 weights of 2 bytes, and twice that of the feed-forward network, over 32 channels.
        let weights = 32 * 2 * (4096 * 3072 + 1024 * 4096 + 2 * 4096 * 4096) / 32;
        assert_eq!(room, PoolRoom { pools: 32, bytes: (1 << 30) - weights });
        let without = service("gpt3-7b", NeupimsPolicy::NpuOnly, 4, 1);
        assert_eq!(without.room().expect("it fits").bytes, 32 * room.bytes);
        // Pages of 32 and 512 tokens take more than the tokens.
        assert!(with_pim.request_bytes(300) > without.request_bytes(300));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |of: NeupimsService| of.room().expect_err("refused").to_string();
        let large = refused(service("gpt-175b", NeupimsPolicy::Neupims, 8, 1));
        assert!(large.starts_with("the weights of gpt-175b take"), "{large}");
        let none = NeupimsService { batch: 0, ..service("gpt3-7b", NeupimsPolicy::Neupims, 4, 1) };
        assert_eq!(refused(none), "--batch 0: expected 1 to 65536");
        let few = NeupimsService { batch: 1, ..service("gpt3-30b", NeupimsPolicy::Neupims, 4, 2) };
        assert_eq!(refused(few), "--batch 1: 2 stages have a request each");
    }
}
