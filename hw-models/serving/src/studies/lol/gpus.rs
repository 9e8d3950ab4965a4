// SPDX-License-Identifier: MIT
//! GPUs alone beside LoL-PIM (GPU-HBM, GPU-GDDR): rooflines, by how the GPUs serve, which the paper does not say.

use crate::gpu::{Gpu, GpuGroup, GpuModel};
use crate::llm::Llm;

/// Bytes a second of the link between GPUs: that between nodes, the same for all systems (section 8.1).
const LINK_PER_S: u64 = 10_000_000_000;
/// Tokens of the longest request of LoL-PIM's models.
const LONGEST: u64 = 32_768;

/// How GPUs serve: one assumption changed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuServing {
    /// The best of tensor and pipeline parallel, requests in as many micro-batches as there are stages.
    Best,
    /// The same with constants that fit measured kernels.
    Measured,
    /// The same with room for the longest request that the model allows.
    Static,
    /// Tensor parallel alone, as the PIM baseline.
    Tensor,
    /// A GPU to a stage, each request a micro-batch of its own, as on PIM modules: a stage reads its weights for each request.
    OneByOne,
}

impl GpuServing {
    /// All, with what they say.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Best, "best of TP and PP, requests in PP micro-batches"),
        (Self::Measured, "the same, constants of measured kernels"),
        (Self::Static, "the same, room for 32K tokens of each request"),
        (Self::Tensor, "TP alone"),
        (Self::OneByOne, "PP alone, a micro-batch for each request"),
    ];

    /// Tokens a second of GPUs, by the mean of a task's requests; 0 if the weights leave no room for one.
    pub fn tokens_per_s(self, llm: &Llm, gpu: Gpu, gpus: u64, mean: u64) -> f64 {
        let room = (gpus * gpu.memory_bytes).saturating_sub(llm.weight_bytes());
        let of_request = if self == Self::Static { LONGEST.max(mean) } else { mean };
        let batch = room / (of_request * llm.kv_bytes());
        let model = if self == Self::Measured { GpuModel::Measured } else { GpuModel::Attacc };
        let of_spread = |pp: u64| {
            let gpu = Gpu { link_per_s: LINK_PER_S, ..gpu };
            let group = GpuGroup { gpu, model, tp: gpus / pp };
            // Requests of a micro-batch, and micro-batches.
            let (each, micro_batches) = match self {
                Self::OneByOne => (1, batch),
                _ => (batch.div_ceil(pp), pp),
            };
            let layer = group.layer_ps(llm, each) + group.decode_attention_ps(llm, each * mean);
            let stage = layer * llm.layers().div_ceil(pp);
            batch as f64 / (stage * micro_batches.max(pp)) as f64 * 1e12
        };
        let divides = |pp: &u64| gpus.is_multiple_of(*pp) && llm.layers().is_multiple_of(*pp);
        let spreads: Vec<u64> = match self {
            Self::Tensor => vec![1],
            Self::OneByOne => (1..=gpus).filter(divides).max().into_iter().collect(),
            _ => (1..=gpus).filter(divides).collect(),
        };
        match batch {
            0 => 0.0,
            _ => spreads.into_iter().map(of_spread).fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::lab::llm;

    #[test]
    fn a_pipeline_of_single_requests_reads_the_weights_for_each() {
        let llm = llm("qwen1.5-72b").expect("a model");
        let of = |serving: GpuServing| serving.tokens_per_s(&llm, Gpu::GDDR, 16, 16_362);
        // 16 stages of five layers: weights and K and V of one request at 0.85 of 4096 GB/s, and the norms of five layers.
        let bytes = llm.weight_bytes() as f64 / 16.0 + 16_362.0 * llm.kv_bytes() as f64 / 16.0;
        let memory_s = bytes / (0.85 * 4.096e12);
        let ours = 1.0 / of(GpuServing::OneByOne);
        assert!(ours > memory_s && ours < 1.1 * memory_s, "{ours} {memory_s}");
        assert!(of(GpuServing::Best) > 1.5 * of(GpuServing::OneByOne));
        assert!(of(GpuServing::Best) >= of(GpuServing::Tensor));
        assert!(of(GpuServing::Best) >= of(GpuServing::Static));
        // No room for the weights of 72B in two.
        assert_eq!(GpuServing::Best.tokens_per_s(&llm, Gpu::GDDR, 2, 16_362), 0.0);
    }
}
