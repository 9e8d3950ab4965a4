// SPDX-License-Identifier: MIT
//! GPUs as rooflines, with two sets of constants, and what they tell each other.
//!
//! A matrix of `n` tokens takes the longer of its arithmetic and its memory, and a launch. Weights are cut over the GPUs of a
//! tensor-parallel group. Constants:
//!
//! | set | arithmetic | memory | launch | all-reduce, norms, activation |
//! | --- | --- | --- | --- | --- |
//! | [`GpuModel::Attacc`] | 0.80 | 0.85 | 0 | as in the simulator of AttAcc, which L3 builds on |
//! | [`GpuModel::Measured`] | 0.70 | 0.80 | 10 us | a line through measurements on a DGX A100; norms and activation by their bytes |

use crate::llm::{ELEMENT_BYTES, Llm};
use crate::time::{MICROSECOND, duration, thousandths};

/// A GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Its name on the command line.
    pub name: &'static str,
    /// Dense binary16 operations a second.
    pub flops: u64,
    /// Bytes a second of its memory.
    pub memory_per_s: u64,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// Bytes a second to the other GPUs, in one direction.
    pub link_per_s: u64,
}

impl Gpu {
    /// A100 SXM of 80 GB.
    pub const A100: Self = Self {
        name: "a100",
        flops: 312_000_000_000_000,
        memory_per_s: 2_039_000_000_000,
        memory_bytes: 80 << 30,
        link_per_s: 300_000_000_000,
    };
    /// LoL-PIM's GPU-HBM: AttAcc's A100a.
    pub const A100A: Self = Self { name: "a100a", memory_per_s: 3_352_000_000_000, ..Self::A100 };
    /// LoL-PIM's GPU-GDDR: the memory of a node of eight modules of AiM channels.
    pub const GDDR: Self = Self {
        name: "gddr",
        memory_per_s: 4_096_000_000_000,
        memory_bytes: 64 << 30,
        ..Self::A100
    };
    /// H100 SXM of 80 GB.
    pub const H100: Self = Self {
        name: "h100",
        flops: 989_000_000_000_000,
        memory_per_s: 3_352_000_000_000,
        memory_bytes: 80 << 30,
        link_per_s: 450_000_000_000,
    };
}

/// Which constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuModel {
    /// AttAcc's simulator.
    Attacc,
    /// Kernels measured on an A100.
    Measured,
}

impl GpuModel {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attacc => "attacc",
            Self::Measured => "measured",
        }
    }

    /// Thousandths of the peak of arithmetic and of memory that are reached.
    fn efficiency(self) -> (u64, u64) {
        match self {
            Self::Attacc => (800, 850),
            Self::Measured => (700, 800),
        }
    }

    /// From a kernel to the next.
    fn launch_ps(self) -> u64 {
        match self {
            Self::Attacc => 0,
            Self::Measured => 10 * MICROSECOND,
        }
    }
}

/// GPUs that share the layers of a model out among them (tensor parallelism).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuGroup {
    /// Each of them.
    pub gpu: Gpu,
    /// Constants.
    pub model: GpuModel,
    /// How many.
    pub tp: u64,
}

impl GpuGroup {
    /// Arithmetic of so many operations.
    fn compute_ps(&self, flops: u128) -> u64 {
        let (compute, _) = self.model.efficiency();
        duration(flops, u128::from(self.tp) * thousandths(self.gpu.flops, compute))
    }

    /// Bytes of memory, spread evenly over the GPUs.
    pub fn memory_ps(&self, bytes: u128) -> u64 {
        let (_, memory) = self.model.efficiency();
        duration(bytes, u128::from(self.tp) * thousandths(self.gpu.memory_per_s, memory))
    }

    /// A matrix of which each GPU has `rows` outputs and `columns` inputs, times so many vectors.
    pub fn matrix_ps(&self, rows: u64, columns: u64, tokens: u64) -> u64 {
        if tokens == 0 {
            return 0;
        }
        let [rows, columns, tokens] = [rows, columns, tokens].map(u128::from);
        let of_all = u128::from(self.tp);
        let compute = self.compute_ps(2 * of_all * rows * columns * tokens);
        let bytes = u128::from(ELEMENT_BYTES) * (rows * columns + tokens * (rows + columns));
        compute.max(self.memory_ps(of_all * bytes)) + self.model.launch_ps()
    }

    /// An all-reduce of so many bytes.
    pub fn all_reduce_ps(&self, bytes: u64) -> u64 {
        let others = self.tp - 1;
        if others == 0 || bytes == 0 {
            return 0;
        }
        match self.model {
            GpuModel::Attacc => {
                let part = bytes.div_ceil(self.tp);
                // 6.06 us and 0.009 ns a byte, for a link of 600 GB/s both ways.
                let per_byte = 9 * 300_000_000_000 / (self.gpu.link_per_s).max(1);
                let link = duration(u128::from(part), u128::from(self.gpu.link_per_s));
                others * link.max(6_060_000 + per_byte * part)
            }
            // Eight GPUs take 26 to 62 us up to 100 KB, and 122 us for 6.3 MB.
            GpuModel::Measured => 44 * MICROSECOND + bytes * 124 / 10,
        }
    }

    /// Norms and the activation of a layer.
    fn element_wise_ps(&self, llm: &Llm, tokens: u64) -> u64 {
        let norm_bytes = 2 * ELEMENT_BYTES * tokens * llm.hidden();
        let activation_bytes = 2 * ELEMENT_BYTES * tokens * llm.shape.ffn as u64 / self.tp;
        match self.model {
            GpuModel::Attacc => {
                // Constants of AttAcc's fits, for a memory of 1555 GB/s: ps a byte.
                let scaled = |ps_per_thousand: u64, bytes: u64| {
                    let ps = u128::from(ps_per_thousand) * 1_555_000_000_000 * u128::from(bytes);
                    (ps / 1000 / u128::from(self.gpu.memory_per_s)) as u64
                };
                let norm = 6_870_000 + scaled(1600, norm_bytes);
                2 * norm + 8_290_000 + scaled(447, activation_bytes)
            }
            GpuModel::Measured => {
                let bytes = u128::from(self.tp) * u128::from(2 * norm_bytes + activation_bytes);
                3 * self.model.launch_ps() + self.memory_ps(bytes)
            }
        }
    }

    /// The fully-connected operators of a layer for so many tokens, with norms, activation and two all-reduces.
    pub fn layer_ps(&self, llm: &Llm, tokens: u64) -> u64 {
        if tokens == 0 {
            return 0;
        }
        let matrices = [self.qkv(llm), self.projection(llm), self.ffn1(llm), self.ffn2(llm)];
        let matrices =
            matrices.iter().map(|&(rows, columns)| self.matrix_ps(rows, columns, tokens));
        let all_reduce = self.all_reduce_ps(ELEMENT_BYTES * tokens * llm.hidden());
        matrices.sum::<u64>() + 2 * all_reduce + self.element_wise_ps(llm, tokens)
    }

    /// Outputs and inputs of a GPU's share of qkv.
    pub fn qkv(&self, llm: &Llm) -> (u64, u64) {
        ((llm.q_elements() + 2 * llm.kv_elements()).div_ceil(self.tp), llm.hidden())
    }

    /// The same of the projection.
    pub fn projection(&self, llm: &Llm) -> (u64, u64) {
        (llm.hidden(), llm.q_elements().div_ceil(self.tp))
    }

    /// The same of the first matrices of the feed-forward network.
    pub fn ffn1(&self, llm: &Llm) -> (u64, u64) {
        let matrices = if llm.shape.gated { 2 } else { 1 };
        ((matrices * llm.shape.ffn as u64).div_ceil(self.tp), llm.hidden())
    }

    /// The same of its last one.
    pub fn ffn2(&self, llm: &Llm) -> (u64, u64) {
        (llm.hidden(), (llm.shape.ffn as u64).div_ceil(self.tp))
    }

    /// Attention of a layer for `chunk` tokens of a prompt, behind `finished` ones.
    pub fn prefill_attention_ps(&self, llm: &Llm, chunk: u64, finished: u64) -> u64 {
        // 4 c (f + c / 2) for each element of a query.
        let tokens = 2 * u128::from(chunk) * u128::from(2 * finished + chunk);
        self.compute_ps(tokens * u128::from(llm.q_elements()))
    }

    /// Attention of a layer for one token of each request, by the tokens of all of them.
    pub fn decode_attention_ps(&self, llm: &Llm, tokens: u64) -> u64 {
        self.memory_ps(u128::from(llm.kv_layer_bytes()) * u128::from(tokens))
    }

    /// Bytes of all its memory.
    pub fn memory_bytes(&self) -> u64 {
        self.tp * self.gpu.memory_bytes
    }

    /// Energy of a layer for so many tokens in pJ, by AttAcc's figures: 28.7 pJ a byte of memory, 0.32 a
    /// multiply-accumulate, 10.4 a byte on the link.
    pub fn layer_pj(&self, llm: &Llm, tokens: u64) -> u128 {
        let bytes = u128::from(ELEMENT_BYTES * llm.layer_parameters());
        let macs = u128::from(llm.layer_parameters()) * u128::from(tokens);
        let link =
            u128::from(2 * ELEMENT_BYTES * tokens * llm.hidden() * self.tp.saturating_sub(1));
        self.memory_pj(bytes) + macs * 32 / 100 + link * 104 / 10
    }

    /// Energy of bytes of memory in pJ.
    pub fn memory_pj(&self, bytes: u128) -> u128 {
        bytes * 287 / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llm(name: &str) -> Llm {
        Llm::new(name, pimlico_model::presets()[name].clone())
    }

    fn group(model: GpuModel, tp: u64) -> GpuGroup {
        GpuGroup { gpu: Gpu::A100, model, tp }
    }

    #[test]
    fn a_matrix_is_bound_by_memory_or_by_arithmetic() {
        let gpu = group(GpuModel::Attacc, 1);
        // 32 MiB of weights at 0.85 * 2.039 TB/s.
        let weights = gpu.matrix_ps(4096, 4096, 1);
        assert!((19_300_000..19_400_000).contains(&weights), "{weights}");
        // 2 * 4096^3 operations at 0.8 * 312 T.
        assert_eq!(gpu.matrix_ps(4096, 4096, 4096), duration(2 << 36, 249_600_000_000_000));
        assert_eq!(group(GpuModel::Measured, 1).matrix_ps(1, 1, 0), 0);
    }

    #[test]
    fn prefill_attention_is_half_a_square() {
        let (gpu, llm) = (group(GpuModel::Attacc, 8), llm("gpt-175b"));
        let at_once = gpu.prefill_attention_ps(&llm, 4096, 0);
        let in_parts = [0, 1024, 2048, 3072].map(|f| gpu.prefill_attention_ps(&llm, 1024, f));
        assert!(at_once.abs_diff(in_parts.iter().sum()) < 5);
    }

    #[test]
    fn all_reduces_are_those_of_the_fits() {
        // 42 to 43 us for few bytes and 92 us for 6.3 MB, by AttAcc; 122 us measured.
        let attacc = group(GpuModel::Attacc, 8);
        assert!((42..44).contains(&(attacc.all_reduce_ps(10_000) / MICROSECOND)));
        assert!((91..93).contains(&(attacc.all_reduce_ps(6_300_000) / MICROSECOND)));
        let measured = group(GpuModel::Measured, 8);
        assert!((121..124).contains(&(measured.all_reduce_ps(6_300_000) / MICROSECOND)));
        assert_eq!(group(GpuModel::Attacc, 1).all_reduce_ps(1 << 20), 0);
    }

    #[test]
    fn what_weights_leave_is_l3s() {
        // GiB of eight A100 that the weights leave, by model and replicas.
        for (name, dp, gib) in [("gpt-175b", 1, 316), ("opt-66b", 4, 154), ("gpt-89b", 2, 316)] {
            let left = 8 * Gpu::A100.memory_bytes - dp * llm(name).weight_bytes();
            assert_eq!((left as f64 / (1u64 << 30) as f64).round() as u64, gib, "{name}");
        }
    }
}
