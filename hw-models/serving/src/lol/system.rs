// SPDX-License-Identifier: MIT
//! The machine of LoL-PIM, its policies, and the room that weights leave for requests.

use crate::error::ServingError;
use crate::gpu::{Gpu, GpuGroup, GpuModel};
use crate::llm::{ELEMENT_BYTES, Llm};
use crate::time::{MICROSECOND, NANOSECOND};
use pimlico_device::Config;
use pimlico_device::gemv::IoBuffers;
use pimlico_workload::batch;
use serde::Serialize;

/// Channels of a module.
pub const CHANNELS: u64 = 16;
/// Modules of a node.
pub const NODE_MODULES: u64 = 8;
/// Modules of a node that has a GPU: half of its memory is the GPU's (section 8.1).
pub const GPU_NODE_MODULES: u64 = 4;
/// Operations a second of the PUs of a module: 65.536 T for a node of eight (Table 5).
pub const MODULE_FLOPS: u64 = 8_192_000_000_000;
/// Stages, at the most: each is a resource of its own.
pub const MOST_STAGES: u64 = 64;
/// Micro-batches, at the most.
pub const MOST_MICRO_BATCHES: u64 = 4096;
/// Passes of the device's softmax unit over the scores.
pub const SOFTMAX_PASSES: u64 = 2;
/// Lanes of the softmax unit, at the most.
pub const MOST_LANES: usize = 64;
/// Lanes of the softmax unit unless others are asked for: the fewest that hide it behind the products of 16K tokens.
pub const LANES: usize = 32;
/// Tokens of a request, at the most, for which static rows are kept, where the model's own limit is not known.
const MAX_CONTEXT: u64 = 32_768;

/// A policy of the system `lol-pim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LolPolicy {
    /// Token parallel, lazy rows, ping-pong buffers.
    LolPim,
    /// The baseline: head first, static rows, single buffers, tensor parallel alone.
    PimHfa,
    /// LoL-PIM beside GPUs that compute the matrices.
    GpuLolPim,
}

/// Where K and V of a head are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// In one channel: head first.
    HeadFirst,
    /// Over all channels of a module: intra-module token parallel.
    TokenParallel,
}

/// Which requests go through the stages together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroBatches {
    /// Each by itself.
    One,
    /// All, in as many micro-batches as there are stages.
    Stages,
    /// All, in so many micro-batches.
    Count(u64),
}

/// When a request has rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// For the longest that the model allows, from the beginning.
    Static,
    /// As it grows.
    Lazy,
}

/// A system.
#[derive(Clone, Debug)]
pub struct LolSystem {
    /// The policy by whose name it goes.
    pub policy: LolPolicy,
    /// The model.
    pub llm: Llm,
    /// Nodes.
    pub nodes: u64,
    /// Modules that share a stage.
    pub tp: u64,
    /// Stages.
    pub pp: u64,
    /// Where K and V are.
    pub partition: Partition,
    /// Which requests go through the stages together.
    pub micro_batches: MicroBatches,
    /// When requests have rows.
    pub allocation: Allocation,
    /// I/O buffers.
    pub io_buffers: IoBuffers,
    /// Lanes of the softmax unit.
    pub lanes: usize,
    /// Passes of the softmax unit over the scores: two of the device, of which the first finds maximum and sum.
    pub softmax_passes: u64,
    /// Tokens of the longest request.
    pub max_context: u64,
    /// From a module to the next of a ring.
    pub hop_ps: u64,
}

/// The machine as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LolHardware {
    /// Nodes.
    pub nodes: u64,
    /// Modules of a node.
    pub node_modules: u64,
    /// Channels of a module.
    pub channels: u64,
    /// Bytes of a module.
    pub module_bytes: u64,
    /// GPUs, which compute the matrices where there are any.
    pub gpus: u64,
    /// Where K and V of a head are: `itpp`, over all channels of a module, or `hfa`, in one.
    pub partition: &'static str,
    /// Which requests go through the stages together: `one` by itself, or all in as many parts as there are `stages`, or as a number
    /// says.
    pub micro_batches: String,
    /// I/O buffers of the channels.
    pub io_buffers: &'static str,
    /// Lanes of the softmax unit.
    pub epu_lanes: u64,
    /// Its passes over the scores.
    pub softmax_passes: u64,
    /// Tokens of the longest request.
    pub max_context: u64,
    /// From a module to the next of a ring.
    pub hop_ns: u64,
}

/// Rows of the banks of a channel, which are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Rows that the weights leave.
    pub rows: u64,
    /// Streams of K or V of a request in a channel.
    pub streams: u64,
    /// Tokens of a stream in a row of all banks.
    pub row_tokens: u64,
    /// Bytes of a row of all banks of all channels.
    pub row_bytes: u64,
}

impl Room {
    /// Rows that a request of so many tokens takes.
    pub fn rows_for(&self, tokens: u64) -> u64 {
        self.streams * tokens.div_ceil(self.row_tokens)
    }
}

impl LolPolicy {
    /// All that there are, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::LolPim, "lol-pim"), (Self::PimHfa, "pim-hfa"), (Self::GpuLolPim, "gpu-lol-pim")];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(policy, _)| *policy == self).map_or("", |(_, name)| name)
    }

    /// The policy of this name.
    pub fn find(name: &str) -> Result<Self, ServingError> {
        let found = Self::ALL.into_iter().find(|(_, other)| *other == name);
        found.map(|(policy, _)| policy).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            ServingError::setup(format!("--policy {name}: lol-pim has {names}"))
        })
    }

    /// Whether there are GPUs.
    pub fn has_gpus(self) -> bool {
        self == Self::GpuLolPim
    }

    /// Modules of a node.
    pub fn node_modules(self) -> u64 {
        if self.has_gpus() { GPU_NODE_MODULES } else { NODE_MODULES }
    }
}

impl Partition {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeadFirst => "hfa",
            Self::TokenParallel => "itpp",
        }
    }
}

impl MicroBatches {
    /// Its name on the command line.
    pub fn name(self) -> String {
        match self {
            Self::One => "one".to_owned(),
            Self::Stages => "stages".to_owned(),
            Self::Count(count) => count.to_string(),
        }
    }
}

impl Allocation {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Lazy => "lazy",
        }
    }
}

impl LolSystem {
    /// A policy as it is by default, on so many nodes. The modules of a node share a stage, where the layers can be divided so;
    /// the baseline has one stage.
    pub fn new(llm: &Llm, policy: LolPolicy, nodes: u64) -> Self {
        let is_baseline = policy == LolPolicy::PimHfa;
        let modules = nodes.saturating_mul(policy.node_modules());
        let divides = |pp: &u64| nodes.is_multiple_of(*pp) && llm.layers().is_multiple_of(*pp);
        let most = nodes.min(MOST_STAGES);
        let pp = if is_baseline { 1 } else { (1..=most).rev().find(divides).unwrap_or(1) };
        let limit = batch::presets().get(&llm.name).map(|footprint| footprint.max_context);
        Self {
            policy,
            llm: llm.clone(),
            nodes,
            tp: modules / pp,
            pp,
            partition: if is_baseline { Partition::HeadFirst } else { Partition::TokenParallel },
            micro_batches: if is_baseline || policy.has_gpus() {
                MicroBatches::Stages
            } else {
                MicroBatches::One
            },
            allocation: if is_baseline { Allocation::Static } else { Allocation::Lazy },
            io_buffers: if is_baseline { IoBuffers::Single } else { IoBuffers::PingPong },
            lanes: LANES,
            softmax_passes: SOFTMAX_PASSES,
            max_context: limit.unwrap_or(MAX_CONTEXT),
            hop_ps: MICROSECOND,
        }
    }

    /// Modules of a node.
    pub fn node_modules(&self) -> u64 {
        self.policy.node_modules()
    }

    /// Modules of all nodes.
    pub fn modules(&self) -> u64 {
        self.nodes * self.node_modules()
    }

    /// The GPUs of a stage, where there are any.
    pub fn gpus(&self) -> Option<GpuGroup> {
        let tp = self.tp / self.node_modules();
        let group = GpuGroup { gpu: Gpu::A100A, model: GpuModel::Attacc, tp };
        self.policy.has_gpus().then_some(group)
    }

    /// The machine.
    pub fn hardware(&self, config: &Config) -> LolHardware {
        LolHardware {
            nodes: self.nodes,
            node_modules: self.node_modules(),
            channels: CHANNELS,
            module_bytes: CHANNELS * batch::rank_bytes(config),
            gpus: if self.policy.has_gpus() { self.nodes } else { 0 },
            partition: self.partition.name(),
            micro_batches: self.micro_batches.name(),
            io_buffers: self.io_buffers.name(),
            epu_lanes: self.lanes as u64,
            softmax_passes: self.softmax_passes,
            max_context: self.max_context,
            hop_ns: self.hop_ps / NANOSECOND,
        }
    }

    /// Whether the numbers go together.
    fn check(&self) -> Result<(), ServingError> {
        let Self { llm, nodes, tp, pp, lanes, .. } = self;
        let wrong = |what: String| Err(ServingError::Setup(what));
        for (flag, number, most) in [
            ("--nodes", *nodes, 1 << 12),
            ("--tp", *tp, 1 << 16),
            ("--pp", *pp, MOST_STAGES),
            ("--max-context", self.max_context, crate::trace::MOST_TOKENS),
        ] {
            if !(1..=most).contains(&number) {
                return wrong(format!("{flag} {number}: expected 1 to {most}"));
            }
        }
        if !(lanes.is_power_of_two() && *lanes <= MOST_LANES) {
            return wrong(format!(
                "--epu-lanes {lanes}: expected a power of two, {MOST_LANES} at most"
            ));
        }
        if !(1..=SOFTMAX_PASSES).contains(&self.softmax_passes) {
            let passes = self.softmax_passes;
            return wrong(format!("--softmax-passes {passes}: expected 1 or {SOFTMAX_PASSES}"));
        }
        if let MicroBatches::Count(count) = self.micro_batches
            && !(1..=MOST_MICRO_BATCHES).contains(&count)
        {
            return wrong(format!(
                "--micro-batches {count}: expected one, stages, or 1 to {MOST_MICRO_BATCHES}"
            ));
        }
        let modules = self.modules();
        if tp * pp != modules {
            return wrong(format!("--tp {tp} --pp {pp}: there are {modules} modules"));
        }
        let layers = llm.layers();
        if !layers.is_multiple_of(*pp) {
            return wrong(format!("--pp {pp}: {layers} layers cannot be divided evenly"));
        }
        let of_node = self.node_modules();
        if self.policy.has_gpus() && !tp.is_multiple_of(of_node) {
            let name = self.policy.name();
            return wrong(format!("--tp {tp}: a stage of {name} has whole nodes of {of_node}"));
        }
        Ok(())
    }

    /// Rows that the weights leave, and those that requests take. Where weights, or static rows of a request, have no room,
    /// that is an error with the bytes that they take and those that there are.
    pub fn room(&self, config: &Config) -> Result<Room, ServingError> {
        self.check()?;
        let Self { llm, max_context, .. } = self;
        let modules = self.modules();
        let refused = |what: String, wanted: u64, of: String, there: u64| {
            Err(ServingError::NoRoom { what, wanted, of, there })
        };
        let what = format!("the weights of {}", llm.name);
        if self.policy.has_gpus() {
            let (wanted, there) = (llm.weight_bytes(), self.nodes * Gpu::A100A.memory_bytes);
            if wanted > there {
                return refused(what, wanted, format!("{} GPUs", self.nodes), there);
            }
        }
        let weights = if self.policy.has_gpus() { 0 } else { weight_bytes(llm) };
        let channels = modules * CHANNELS;
        let channel_bytes = batch::rank_bytes(config);
        let of_bank = config.organisation.rows as u64;
        let row_bytes = channel_bytes / of_bank;
        let of_weights = weights.div_ceil(channels).div_ceil(row_bytes);
        if of_weights >= of_bank {
            return refused(what, weights, format!("{modules} modules"), channels * channel_bytes);
        }
        let room = Room {
            rows: of_bank - of_weights,
            streams: (2 * llm.layers() * llm.kv_heads()).div_ceil(channels),
            row_tokens: row_bytes / (ELEMENT_BYTES * llm.head_dim()),
            row_bytes: row_bytes * channels,
        };
        let longest = room.rows_for(*max_context);
        if self.allocation == Allocation::Static && longest > room.rows {
            let what = format!("K and V of a request of {max_context} tokens of {}", llm.name);
            let of = format!("what the weights leave of {modules} modules");
            return refused(what, longest * room.row_bytes, of, room.rows * room.row_bytes);
        }
        Ok(room)
    }
}

/// Bytes of all parameters, embeddings too, where their number is known.
fn weight_bytes(llm: &Llm) -> u64 {
    let footprint = batch::presets().remove(&llm.name);
    let all = |footprint: batch::Footprint| footprint.parameters_m * 1_000_000 * ELEMENT_BYTES;
    footprint.map_or(llm.weight_bytes(), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(name: &str, nodes: u64) -> LolSystem {
        let llm = Llm::new(name, pimlico_model::presets()[name].clone());
        LolSystem::new(&llm, LolPolicy::LolPim, nodes)
    }

    #[test]
    fn policies_are_the_papers() {
        let lol = system("qwen1.5-7b", 4);
        assert_eq!((lol.tp, lol.pp, lol.max_context), (8, 4, 32_768));
        let of = |policy, nodes| LolSystem::new(&lol.llm, policy, nodes);
        let baseline = of(LolPolicy::PimHfa, 4);
        assert_eq!((baseline.tp, baseline.pp, baseline.gpus()), (32, 1, None));
        let with_gpus = of(LolPolicy::GpuLolPim, 4);
        assert_eq!((with_gpus.tp, with_gpus.pp, with_gpus.modules()), (4, 4, 16));
        assert_eq!(with_gpus.gpus().map(|gpus| gpus.tp), Some(1));
        for (policy, name) in LolPolicy::ALL {
            assert_eq!(LolPolicy::find(name).expect("one"), policy);
        }
        let error = LolPolicy::find("l3").expect_err("of another system").to_string();
        assert_eq!(error, "--policy l3: lol-pim has lol-pim, pim-hfa, gpu-lol-pim");
        // A node has 65.536 T operations a second (Table 5).
        assert_eq!(NODE_MODULES * MODULE_FLOPS, 65_536_000_000_000);
    }

    #[test]
    fn requests_have_the_rows_of_the_batch_study() {
        let config = Config::gddr6_aim();
        // 256 GiB: 15 requests of 32K, and 30 of Musique's mean.
        let room = system("qwen1.5-7b", 4).room(&config).expect("it fits");
        assert_eq!((room.streams, room.row_tokens), (4, 128));
        assert_eq!(room.rows / room.rows_for(32_768), 15);
        assert_eq!(room.rows / room.rows_for(16_378), 30);
        assert_eq!(room.row_bytes, 512 * 32_768);
    }

    #[test]
    fn what_has_no_room_is_refused_with_its_bytes() {
        let config = Config::gddr6_aim();
        let refused = |system: LolSystem| system.room(&config).expect_err("refused").to_string();
        assert_eq!(
            refused(system("qwen1.5-72b", 2)),
            "the weights of qwen1.5-72b take 144576000000 bytes; 16 modules have 137438953472"
        );
        let fixed = LolSystem { allocation: Allocation::Static, ..system("qwen1.5-7b", 2) };
        let long = refused(LolSystem { max_context: 1 << 17, nodes: 1, tp: 8, pp: 1, ..fixed });
        assert!(
            long.starts_with("K and V of a request of 131072 tokens of qwen1.5-7b take"),
            "{long}"
        );
        let uneven = LolSystem { tp: 8, pp: 3, nodes: 3, ..system("qwen1.5-7b", 3) };
        assert_eq!(refused(uneven), "--pp 3: 32 layers cannot be divided evenly");
        let few = LolSystem { tp: 8, pp: 1, ..system("qwen1.5-7b", 4) };
        assert_eq!(refused(few), "--tp 8 --pp 1: there are 32 modules");
        let passes = LolSystem { softmax_passes: 3, ..system("qwen1.5-7b", 4) };
        assert_eq!(refused(passes), "--softmax-passes 3: expected 1 or 2");
        let none = LolSystem { micro_batches: MicroBatches::Count(0), ..system("qwen1.5-7b", 4) };
        assert_eq!(refused(none), "--micro-batches 0: expected one, stages, or 1 to 4096");
        let lanes = LolSystem { lanes: 3, ..system("qwen1.5-7b", 4) };
        assert_eq!(refused(lanes), "--epu-lanes 3: expected a power of two, 64 at most");
        let gpus = LolSystem::new(&system("qwen1.5-7b", 4).llm, LolPolicy::GpuLolPim, 4);
        assert_eq!(
            refused(LolSystem { tp: 2, pp: 8, ..gpus }),
            "--tp 2: a stage of gpu-lol-pim has whole nodes of 4"
        );
    }
}
