// SPDX-License-Identifier: MIT
//! The part of a model that a device has.

use crate::error::ServingError;
use crate::llm::{ELEMENT_BYTES, Llm};

/// The part of a model on each of `tp` devices of one of `pp` stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Elements of the vector that goes from block to block.
    pub hidden: u64,
    /// Heads on the device that has most.
    pub heads: u64,
    /// Elements of a head.
    pub head_dim: u64,
    /// Elements of the feed-forward network's inner vector on this device.
    pub ffn: u64,
    /// Decoder blocks.
    pub blocks: u64,
    /// Devices in tensor parallel.
    pub tp: u64,
    /// Stages.
    pub pp: u64,
}

impl Shard {
    /// The part of a model; heads that do not divide evenly are those of the device that has most.
    pub fn new(llm: &Llm, tp: u64, pp: u64) -> Result<Self, ServingError> {
        let wrong = |what: String| Err(ServingError::setup(format!("{}: {what}", llm.name)));
        if tp == 0 || tp > llm.heads() || !(llm.shape.ffn as u64).is_multiple_of(tp) {
            return wrong(format!("{} heads cannot be divided over {tp} devices", llm.heads()));
        }
        if pp == 0 || !llm.layers().is_multiple_of(pp) {
            return wrong(format!("{} blocks cannot be divided into {pp} stages", llm.layers()));
        }
        if llm.kv_heads() != llm.heads() || llm.shape.gated {
            return wrong(
                "expected a model of one K and V head per query head, without gates".into(),
            );
        }
        Ok(Self {
            hidden: llm.hidden(),
            heads: llm.heads().div_ceil(tp),
            head_dim: llm.head_dim(),
            ffn: llm.shape.ffn as u64 / tp,
            blocks: llm.layers() / pp,
            tp,
            pp,
        })
    }

    /// Elements of K of a token on this device: the paper's E.
    pub fn embedding(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Inputs and outputs of the QKV matrix.
    pub fn qkv(&self) -> [(u64, u64); 1] {
        [(self.hidden, 3 * self.embedding())]
    }

    /// Inputs and outputs of the projection and of the feed-forward network's two matrices.
    pub fn projection_ffn(&self) -> [(u64, u64); 3] {
        [(self.embedding(), self.hidden), (self.hidden, self.ffn), (self.ffn, self.hidden)]
    }

    /// Weights of a block.
    pub fn block_weights(&self) -> u64 {
        let all = self.qkv().into_iter().chain(self.projection_ffn());
        all.map(|(inputs, outputs)| inputs * outputs).sum()
    }

    /// Bytes of the weights of all blocks.
    pub fn weight_bytes(&self) -> u64 {
        ELEMENT_BYTES * self.blocks * self.block_weights()
    }

    /// Bytes of K and V of so many tokens in a block.
    pub fn kv_bytes(&self, tokens: u64) -> u64 {
        2 * ELEMENT_BYTES * self.embedding() * tokens
    }
}

/// Table 3's division of each model.
pub const MODELS: [(&str, u64, u64); 4] =
    [("gpt3-7b", 4, 1), ("gpt3-13b", 4, 1), ("gpt3-30b", 4, 2), ("gpt-175b", 8, 4)];

#[cfg(test)]
mod tests {
    use super::*;

    fn llm(name: &str) -> Llm {
        Llm::new(name, pimlico_model::presets()[name].clone())
    }

    #[test]
    fn shards_are_those_of_table_3() {
        let of = |(name, tp, pp): (&str, u64, u64)| {
            let shard = Shard::new(&llm(name), tp, pp).expect("it divides");
            (shard.embedding(), shard.heads, shard.blocks)
        };
        assert_eq!(MODELS.map(of), [(1024, 8, 32), (1280, 10, 40), (1792, 14, 24), (1536, 12, 24)]);
        // 30B: 602 112 tCK for the weights of a block read twice, at 512 of them in a tCK.
        let shard = Shard::new(&llm("gpt3-30b"), 4, 2).expect("it divides");
        assert_eq!(2 * shard.block_weights() / 512, 602_112);
        assert_eq!(Shard::new(&llm("gpt3-30b"), 16, 1).expect("four of 3.5 heads").heads, 4);
        assert!(Shard::new(&llm("gpt3-7b"), 4, 3).is_err());
        assert!(Shard::new(&llm("gpt3-7b"), 0, 1).is_err());
    }
}
