// SPDX-License-Identifier: MIT
//! What a replica of a model has of L3's system: its room for K and V, and the tasks of a sub-batch.

use crate::costs::rank::RankCosts;
use crate::error::ServingError;
use crate::gpu::GpuGroup;
use crate::hardware::Hardware;
use crate::iteration::{Part, SubBatch};
use crate::llm::{ELEMENT_BYTES, Llm};
use crate::memory::KvLayout;
use crate::policy::{Placement, Policy};
use crate::time::{MICROSECOND, duration};
use pimlico_device::Config;
use pimlico_device::mapping::HeadLayout;

/// Bytes a second of PCIe (Gen4 x16) of a GPU, in one direction.
const PCIE_PER_S: u64 = 32_000_000_000;
/// From the end of a transfer to when it is there.
pub const PCIE_LATENCY_PS: u64 = 2 * MICROSECOND;
/// Bytes a second of a channel's pins (DDR4-3200).
const CHANNEL_PER_S: u64 = 25_600_000_000;
/// Thousandths of them that a host reaches which writes K and V through the re-layout path.
const WRITE_EFFICIENCY: u64 = 930;
/// HBM-PIM's bandwidth in that of the GPU: 16 banks at once, without a limit of power, of which nine tenths are reached.
const HBM_PIM_TENTHS: u64 = 16 * 9;
/// Bytes a second of the host's memory for its CPUs (DGX A100), and their operations.
const CPU_PER_S: u64 = 406_000_000_000;

/// What a replica has.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The model.
    pub llm: Llm,
    /// The policy.
    pub policy: Policy,
    /// Its GPUs.
    pub gpus: GpuGroup,
    /// Its channels.
    pub channels: u64,
    /// Ranksets: ranks of a channel.
    pub sets: u64,
    /// K and V heads of the rank that has most.
    pub heads: u64,
    /// Where requests go among the ranksets.
    pub placement: Placement,
    /// Costs of a rank, where ranks compute.
    pub ranks: Option<RankCosts>,
}

/// A decoding request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoding {
    /// Tokens that its new one attends to, itself among them.
    pub context: u64,
    /// Its first rankset.
    pub class: u32,
    /// Iterations that are taken together, in each of which it has a token more; `context` is in the middle of them.
    pub span: u64,
}

impl Decoding {
    /// A request in an iteration by itself.
    pub fn new(context: u64, class: u32) -> Self {
        Self { context, class, span: 1 }
    }

    /// The same in so many iterations from this one on.
    pub fn spanning(self, span: u64) -> Self {
        Self { context: self.context + span / 2, span, ..self }
    }
}

/// A part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its tokens.
    pub tokens: u64,
    /// Tokens of the prompt before it.
    pub finished: u64,
    /// The request's first rankset.
    pub class: u32,
}

impl Replica {
    /// Room for K and V: how they take it, and the capacity of each pool. A model that has none is refused.
    pub fn room(
        &self,
        hardware: &Hardware,
        rank: &Config,
    ) -> Result<(KvLayout, Vec<u64>), ServingError> {
        let weights = self.llm.weight_bytes();
        let there = self.gpus.memory_bytes();
        let of_gpus = there.checked_sub(weights).filter(|left| *left > 0).ok_or_else(|| {
            ServingError::NoRoom {
                what: format!("the weights of {}", self.llm.name),
                wanted: weights,
                of: format!("the {} GPUs of a replica", self.gpus.tp),
                there,
            }
        })?;
        let of_host = self.channels * self.sets * hardware.rank_bytes;
        let per_token = self.llm.kv_bytes();
        let bytes = KvLayout::Bytes { per_token, spreads: false };
        Ok(match self.policy {
            Policy::GpuOnly | Policy::HbmPim => (bytes, vec![of_gpus]),
            Policy::RankPim => {
                let spreads = self.placement.is_even();
                let of_set = self.channels * hardware.rank_bytes;
                (KvLayout::Bytes { per_token, spreads }, vec![of_set; self.sets as usize])
            }
            Policy::CpuOffload => (bytes, vec![of_gpus, of_host]),
            Policy::L3Naive | Policy::L3Interleave | Policy::L3 => {
                let row_bytes = (rank.banks() * rank.organisation.chips) as u64
                    * rank.organisation.page_bytes as u64;
                let layout = self.rows(rank)?;
                (layout, vec![hardware.rank_bytes / row_bytes; self.sets as usize])
            }
        })
    }

    /// How K and V take rows of a rank. Capacity is the system's, and timing the device's: rows beyond the device's count.
    fn rows(&self, rank: &Config) -> Result<KvLayout, ServingError> {
        let head_dim = self.llm.shape.head_dim;
        let rows_of = |context: u64| {
            HeadLayout::new(rank, head_dim, context as usize, 0).map(|head| head.end_row() as u64)
        };
        let both = rows_of(1).map_err(|error| ServingError::setup(error.to_string()))?;
        // The most tokens for which K and V still take as many rows as for one, by doubling: both are whole chunks.
        let bursts = head_dim.div_ceil(32) as u64;
        let (columns, banks) = (rank.columns() as u64, rank.banks() as u64);
        let k_tokens = columns / bursts * banks;
        let v_tokens = columns * rank.organisation.bank_groups as u64;
        Ok(KvLayout::Rows {
            layers: self.llm.layers(),
            heads: self.heads,
            k_tokens,
            v_rows: both - 1,
            v_tokens,
            rotates: self.placement.is_even(),
        })
    }

    /// The sub-batch of these requests.
    pub fn sub_batch(&self, decoding: &[Decoding], chunks: &[Chunk]) -> SubBatch {
        let Self { llm, gpus, .. } = self;
        let tokens = decoding.len() as u64 + tokens_of_chunks(chunks);
        if tokens == 0 {
            return SubBatch::default();
        }
        let (rows, columns) = gpus.qkv(llm);
        let qkv = gpus.matrix_ps(rows, columns, tokens);
        let layer = self.batch_ps(decoding.len(), chunks);
        let mut attention = self.prompts_ps(chunks);
        let mut parts = Vec::new();
        match self.policy {
            Policy::GpuOnly => {
                attention += gpus.decode_attention_ps(llm, tokens_of(decoding));
            }
            Policy::HbmPim if !decoding.is_empty() => {
                let compute_ps = self.stream_ps(tokens_of(decoding));
                parts.push(Part { compute_ps, ..Part::default() });
            }
            Policy::CpuOffload => {
                let on = |class: u32| {
                    let there = decoding.iter().filter(move |of| of.class == class);
                    there.map(|of| of.context).sum::<u64>()
                };
                attention += gpus.decode_attention_ps(llm, on(0));
                if on(1) > 0 {
                    let compute_ps = self.stream_ps(on(1));
                    parts.push(Part { compute_ps, ..Part::default() });
                }
            }
            _ if decoding.is_empty() => {}
            _ => parts = self.parts(decoding),
        }
        let prompts = if self.policy.has_ranks() { self.prompts(chunks) } else { Vec::new() };
        SubBatch {
            first_ps: qkv + attention,
            each_ps: layer + attention,
            last_ps: layer - qkv,
            parts,
            prompts,
        }
    }

    /// The matrices of a layer of so many decoding requests and chunks on the GPUs, with what goes with them.
    pub fn batch_ps(&self, decoding: usize, chunks: &[Chunk]) -> u64 {
        self.gpus.layer_ps(&self.llm, decoding as u64 + tokens_of_chunks(chunks))
    }

    /// Attention of chunks of prompts in a layer on the GPUs.
    pub fn prompts_ps(&self, chunks: &[Chunk]) -> u64 {
        let of_chunk =
            |chunk: &Chunk| self.gpus.prefill_attention_ps(&self.llm, chunk.tokens, chunk.finished);
        chunks.iter().map(of_chunk).sum()
    }

    /// K and V of so many tokens of a layer, read as a stream by what computes attention beside the GPUs.
    fn stream_ps(&self, tokens: u64) -> u64 {
        let bytes = u128::from(self.llm.kv_layer_bytes()) * u128::from(tokens);
        let per_s = match self.policy {
            // A rank of each channel.
            Policy::RankPim => u128::from(self.channels * CHANNEL_PER_S),
            Policy::CpuOffload => u128::from(CPU_PER_S) * u128::from(self.channels) / 16,
            _ => {
                let of_gpus = u128::from(self.gpus.tp * self.gpus.gpu.memory_per_s);
                of_gpus * u128::from(HBM_PIM_TENTHS) / 10
            }
        };
        duration(bytes, per_s)
    }

    /// A transfer between GPUs and host.
    fn transfer_ps(&self, bytes: u64) -> u64 {
        let pcie = u128::from(self.gpus.tp * PCIE_PER_S);
        let pins = u128::from(self.channels * CHANNEL_PER_S * WRITE_EFFICIENCY / 1000);
        duration(u128::from(bytes), pcie.min(pins))
    }

    /// Attention of decoding requests by their first rankset, on the ranks of the host's DIMMs.
    pub fn parts(&self, decoding: &[Decoding]) -> Vec<Part> {
        if self.placement == Placement::Spread {
            return self.spread(decoding);
        }
        let mut of_sets = vec![Vec::new(); self.sets as usize];
        for request in decoding {
            of_sets[request.class as usize].push(*request);
        }
        let in_set = of_sets.iter().enumerate().filter(|(_, of)| !of.is_empty());
        in_set.map(|(set, of)| self.part(set as u32, of)).collect()
    }

    /// An equal share of the requests' attention in each rankset.
    fn spread(&self, decoding: &[Decoding]) -> Vec<Part> {
        if decoding.is_empty() {
            return Vec::new();
        }
        let all = self.part(0, decoding);
        let share = |ps: u64| ps.div_ceil(self.sets);
        let part = |set: u64| Part {
            set: set as u32,
            down_ps: share(all.down_ps),
            compute_ps: share(all.compute_ps),
            up_ps: share(all.up_ps),
        };
        (0..self.sets).map(part).collect()
    }

    /// Attention of requests that are in one rankset. Without costs of ranks it is a stream over the pins of the rankset's
    /// ranks, and transfers are hidden (`r-pim`).
    fn part(&self, set: u32, decoding: &[Decoding]) -> Part {
        let Some(ranks) = &self.ranks else {
            let compute_ps = self.stream_ps(tokens_of(decoding));
            return Part { set, compute_ps, ..Part::default() };
        };
        let requests = decoding.len() as u64;
        let head = |of: &Decoding| ranks.head.mean_ps(of.context - of.span / 2, of.span);
        let head_ps: u64 = decoding.iter().map(head).sum();
        let (q, kv) = (self.llm.q_elements(), self.llm.kv_elements());
        let down = self.transfer_ps(ELEMENT_BYTES * (q + 2 * kv) * requests);
        // Banks take single tokens more slowly than the pins bring them.
        let appends = self.heads * requests * ranks.append_ps;
        Part {
            set,
            down_ps: down.max(appends),
            compute_ps: self.heads * head_ps,
            up_ps: self.transfer_ps(ELEMENT_BYTES * q * requests),
        }
    }

    /// K and V of prompts by their first rankset.
    pub fn prompts(&self, chunks: &[Chunk]) -> Vec<(u32, u64)> {
        let mut tokens = vec![0; self.sets as usize];
        match self.placement {
            Placement::Spread => tokens.fill(tokens_of_chunks(chunks).div_ceil(self.sets)),
            _ => chunks.iter().for_each(|chunk| tokens[chunk.class as usize] += chunk.tokens),
        }
        let of_sets = tokens.into_iter().enumerate().filter(|(_, tokens)| *tokens > 0);
        of_sets
            .map(|(set, tokens)| (set as u32, self.transfer_ps(self.llm.kv_layer_bytes() * tokens)))
            .collect()
    }

    /// Energy of an iteration of a sub-batch in pJ, where all of it is known.
    pub fn energy_pj(&self, decoding: &[Decoding], chunks: &[Chunk]) -> Option<u128> {
        let Self { llm, gpus, .. } = self;
        let tokens = decoding.len() as u64 + tokens_of_chunks(chunks);
        if tokens == 0 {
            return Some(0);
        }
        let layers = u128::from(llm.layers());
        let attention = match (&self.ranks, self.policy) {
            (Some(ranks), _) => {
                let of_heads =
                    decoding.iter().map(|of| u128::from(ranks.head.energy_pj(of.context)));
                u128::from(llm.kv_heads()) * of_heads.sum::<u128>()
            }
            (None, Policy::GpuOnly) => {
                let bytes = u128::from(llm.kv_layer_bytes()) * u128::from(tokens_of(decoding));
                gpus.memory_pj(bytes)
            }
            _ => return None,
        };
        let prompts = chunks.iter().map(|chunk| {
            u128::from(llm.q_elements())
                * u128::from(chunk.tokens)
                * u128::from(2 * chunk.finished + chunk.tokens)
        });
        // A multiply-accumulate for each of K and V.
        let prompts = prompts.sum::<u128>() * 32 / 100;
        Some(layers * (gpus.layer_pj(llm, tokens) + attention + prompts))
    }
}

fn tokens_of_chunks(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(|chunk| chunk.tokens).sum()
}

fn tokens_of(decoding: &[Decoding]) -> u64 {
    decoding.iter().map(|request| request.context).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Gpu, GpuModel};

    fn llm(name: &str) -> Llm {
        Llm::new(name, pimlico_model::presets()[name].clone())
    }

    fn replica(name: &str, policy: Policy) -> Replica {
        let llm = llm(name);
        let hardware = Hardware::l3(&llm);
        let channels = hardware.channels / hardware.dp;
        Replica {
            policy,
            gpus: GpuGroup { gpu: Gpu::A100, model: GpuModel::Attacc, tp: hardware.tp },
            channels,
            sets: hardware.sets(),
            heads: llm.kv_heads().div_ceil(channels),
            placement: policy.placement(),
            ranks: None,
            llm,
        }
    }

    #[test]
    fn rows_of_a_token_are_those_of_the_layout() {
        let config = Config::ddr4_3200();
        let replica = replica("gpt-175b", Policy::L3);
        let KvLayout::Rows { k_tokens, v_rows, v_tokens, .. } =
            replica.rows(&config).expect("rows")
        else {
            panic!("ranks have rows");
        };
        for context in [1, 511, 512, 513, 4096, 16_385_u64] {
            let rows = context.div_ceil(k_tokens) + v_rows * context.div_ceil(v_tokens);
            let head = HeadLayout::new(&config, 128, context as usize, 0).expect("it fits");
            assert_eq!(rows, head.end_row() as u64, "{context}");
        }
    }

    #[test]
    fn kv_of_prompts_is_small_beside_the_feed_forward_network() {
        // Section 5.1 of L3: "typically < 16 %", of a long chunk.
        for (name, share) in [("gpt-175b", 0.159), ("gpt-89b", 0.159), ("opt-66b", 0.212)] {
            let replica = replica(name, Policy::L3);
            let tokens = 4096;
            let kv = replica.transfer_ps(replica.llm.kv_layer_bytes() * tokens) as f64;
            let matrices = [replica.gpus.ffn1(&replica.llm), replica.gpus.ffn2(&replica.llm)];
            let ffn: u64 =
                matrices.iter().map(|&(r, c)| replica.gpus.matrix_ps(r, c, tokens)).sum();
            assert!((kv / ffn as f64 - share).abs() < 0.002, "{name}: {}", kv / ffn as f64);
        }
    }

    #[test]
    fn a_model_without_room_is_refused_with_its_bytes() {
        let mut small = replica("gpt-175b", Policy::GpuOnly);
        small.gpus.tp = 4;
        let hardware = Hardware::l3(&small.llm);
        let error = small.room(&hardware, &Config::ddr4_3200()).expect_err("it does not fit");
        assert_eq!(
            error.to_string(),
            "the weights of gpt-175b take 347892350976 bytes; the 4 GPUs of a replica have 343597383680"
        );
    }
}
