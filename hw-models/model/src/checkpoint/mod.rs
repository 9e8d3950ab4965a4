// SPDX-License-Identifier: MIT
//! Language models with their weights, and the files that hold them.
//!
//! * [`llama2c`]: checkpoints of llama2.c.
//! * [`safetensors`]: safetensors files of Hugging Face, whose shapes [`config`] tells.
//! * [`index`]: of several such files, which holds what.
//! * [`places`]: where in files the tensors are.
//! * [`config`]: `config.json` of Hugging Face.
//! * [`tokenizer`]: tokenizers of llama2.c, and of Hugging Face with the feature `hf-tokenizers`.
//! * [`tiny`]: the model that is built in.
//!
//! Files are taken as bytes. Their sizes are compared with what their headers ask for before anything
//! is allocated: no reader keeps more than a few times the bytes that there are.

pub mod config;
pub mod index;
mod json;
pub mod llama2c;
pub mod places;
mod rope;
pub mod safetensors;
pub mod tiny;
pub mod tokenizer;

use crate::shape::Model;
use half::f16;
use serde::Serialize;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {found}, expected {expected}")]
pub struct Malformed {
    /// Where in the file.
    pub place: String,
    /// What is there.
    pub found: String,
    /// What should be.
    pub expected: String,
}

impl Malformed {
    /// At a place something was found where something else was expected.
    pub fn new(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self { place: place.into(), found: found.into(), expected: expected.into() }
    }
}

/// Sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointShape {
    /// Elements of the vector that goes from layer to layer.
    pub dim: usize,
    /// Elements between the matrices of the feed-forward network.
    pub hidden: usize,
    /// Decoder layers.
    pub layers: usize,
    /// Query heads of a layer.
    pub heads: usize,
    /// K and V heads of a layer, each shared by as many query heads.
    pub kv_heads: usize,
    /// Elements of a head's vectors: an even number.
    pub head_dim: usize,
    /// Tokens that there are.
    pub vocab: usize,
    /// Tokens of context that the model was made for.
    pub context: usize,
}

impl CheckpointShape {
    /// Elements of the query heads' vectors together.
    pub fn q_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Elements of the K heads' vectors together, or of the V heads'.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Query heads that share K and V.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Checks that heads have their share of a K and V head, and pairs of elements for RoPE.
    fn check(self) -> Result<Self, Malformed> {
        let Self { heads, kv_heads, head_dim, .. } = self;
        if !heads.is_multiple_of(kv_heads) {
            let found = format!("{heads} heads and {kv_heads} K and V heads");
            return Err(Malformed::new("heads", found, "a multiple of the K and V heads"));
        }
        if !head_dim.is_multiple_of(2) {
            let found = format!("{head_dim} elements of a head");
            return Err(Malformed::new("heads", found, "an even number"));
        }
        Ok(self)
    }
}

impl From<CheckpointShape> for Model {
    fn from(shape: CheckpointShape) -> Self {
        let CheckpointShape { dim, hidden, layers, heads, kv_heads, head_dim, vocab, .. } = shape;
        Self {
            layers,
            heads,
            kv_heads: Some(kv_heads),
            head_dim,
            hidden: dim,
            ffn: hidden,
            gated: true,
            vocab,
        }
    }
}

/// The weights of a matrix that runs on the device, if binary16 holds each of them; `place` names the matrix.
fn held(
    weights: Vec<f32>,
    columns: usize,
    place: impl FnOnce() -> String,
) -> Result<Vec<f32>, Malformed> {
    let is_held = |&weight: &f32| f16::from_f32(weight).is_finite();
    match weights.iter().position(|weight| !is_held(weight)) {
        None => Ok(weights),
        Some(at) => {
            let place = format!("{}, row {}, column {}", place(), at / columns, at % columns);
            let found = format!("weight {:?}", weights[at]);
            Err(Malformed::new(place, found, "one that binary16 holds"))
        }
    }
}

/// What is computed between the matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// Base of RoPE's angles.
    pub theta: f64,
    /// How RoPE's rates are scaled.
    pub scaling: RopeScaling,
    /// Added to the mean of squares in RMSNorm.
    pub epsilon: f64,
    /// Which elements RoPE turns together.
    pub pairs: Pairs,
    /// What the feed-forward network's gate goes through.
    pub gate: Gate,
}

/// How RoPE's rates are scaled for contexts that are longer than those of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// They are not.
    None,
    /// All are divided by the factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Llama 3.1's: rates of long waves are divided by the factor, those of short waves stay, and
    /// between the two they go over.
    Llama3 {
        /// The factor.
        factor: f64,
        /// Waves are long from the context over this on: `low_freq_factor`.
        low: f64,
        /// Waves are short up to the context over this: `high_freq_factor`.
        high: f64,
        /// Tokens of context in training: `original_max_position_embeddings`.
        context: f64,
    },
}

/// Which elements of a vector RoPE turns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Neighbours, in llama2.c.
    Neighbours,
    /// One of the first half and one of the second, in Hugging Face's files.
    Halves,
}

/// What the feed-forward network's gate goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// SiLU.
    Silu,
    /// GELU in the tanh approximation.
    GeluTanh,
}

/// A layer's weights; matrices row by row, a row for each output.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Of RMSNorm before attention: `dim`.
    pub attention_norm: Vec<f32>,
    /// `heads * head_dim` x `dim`.
    pub q: Vec<f32>,
    /// `kv_heads * head_dim` x `dim`.
    pub k: Vec<f32>,
    /// `kv_heads * head_dim` x `dim`.
    pub v: Vec<f32>,
    /// Added to q, k and v, one after the other; empty where there is none.
    pub bias: Vec<f32>,
    /// Of RMSNorm of each head's q, before RoPE: `head_dim`; empty where there is none.
    pub q_norm: Vec<f32>,
    /// Of RMSNorm of each head's k, before RoPE: `head_dim`; empty where there is none.
    pub k_norm: Vec<f32>,
    /// `dim` x `heads * head_dim`.
    pub o: Vec<f32>,
    /// Of RMSNorm before the feed-forward network: `dim`.
    pub ffn_norm: Vec<f32>,
    /// `hidden` x `dim`.
    pub gate: Vec<f32>,
    /// `hidden` x `dim`.
    pub up: Vec<f32>,
    /// `dim` x `hidden`.
    pub down: Vec<f32>,
}

/// A model with its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Its sizes.
    pub shape: CheckpointShape,
    /// What it computes between the matrices.
    pub arithmetic: Arithmetic,
    /// `vocab` x `dim`.
    pub embedding: Vec<f32>,
    /// The layers, the first first.
    pub layers: Vec<Layer>,
    /// Of RMSNorm before the classifier: `dim`.
    pub norm: Vec<f32>,
    /// `vocab` x `dim`; empty where it is the embedding.
    pub classifier: Vec<f32>,
}
