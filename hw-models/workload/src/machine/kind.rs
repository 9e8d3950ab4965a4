// SPDX-License-Identifier: MIT
//! The operators of a language model.

use pimlico_model::checkpoint::CheckpointShape;

/// An operator of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// q, k and v of a layer.
    Qkv,
    /// Score, softmax and context of a layer's heads.
    Attention,
    /// The heads' outputs back to the layer's vector.
    Projection,
    /// The feed-forward network's first matrices.
    Ffn1,
    /// Its last.
    Ffn2,
    /// The logits.
    LmHead,
}

impl Kind {
    /// All of them, in the order in which they run.
    pub const ALL: [Self; 6] =
        [Self::Qkv, Self::Attention, Self::Projection, Self::Ffn1, Self::Ffn2, Self::LmHead];

    /// Those that are a matrix of a layer.
    pub const OF_A_LAYER: [Self; 4] = [Self::Qkv, Self::Projection, Self::Ffn1, Self::Ffn2];

    /// Its place among these.
    ///
    /// # Panics
    ///
    /// If it is none of them: attention has no weights, and the language-model head is in no layer.
    pub fn place(self) -> usize {
        let place = Self::OF_A_LAYER.iter().position(|&kind| kind == self);
        place.unwrap_or_else(|| panic!("{} is no matrix of a layer", self.name()))
    }

    /// The rows of each of its matrices, which stand in one: those of Q, of K and of V, or of the gate and of w3.
    pub fn rows(self, shape: &CheckpointShape) -> Vec<usize> {
        match self {
            Self::Qkv => vec![shape.q_width(), shape.kv_width(), shape.kv_width()],
            Self::Attention => Vec::new(),
            Self::Projection | Self::Ffn2 => vec![shape.dim],
            Self::Ffn1 => vec![shape.hidden; 2],
            Self::LmHead => vec![shape.vocab],
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qkv => "qkv",
            Self::Attention => "attention",
            Self::Projection => "projection",
            Self::Ffn1 => "ffn1",
            Self::Ffn2 => "ffn2",
            Self::LmHead => "lm_head",
        }
    }
}
