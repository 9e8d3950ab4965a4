// SPDX-License-Identifier: MIT
//! What a device makes of attention.

use pimlico_device::{HostTransfer, Normalise, Statistics, SumFormat};

/// Results of the device for the query heads that share K and V.
#[derive(Clone, Debug, Default)]
pub struct Attention {
    /// Of each head, each token's score before scaling.
    pub scores: Vec<Vec<u16>>,
    /// Of each head, each token's weight: normalised, or the exponential.
    pub weights: Vec<Vec<u16>>,
    /// Of each head the context.
    pub context: Vec<Vec<u16>>,
    /// Of each head, how its sums were formed.
    pub summed: Vec<Summed>,
    /// What it cost.
    pub statistics: Statistics,
    /// What crossed the host's channel.
    pub transfers: Vec<HostTransfer>,
}

/// How the sums of a head's attention are formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summed {
    /// On a rank.
    Rank {
        /// When softmax divides.
        normalise: Normalise,
        /// Format of the sums.
        sums: SumFormat,
        /// Tokens of V after which the sums of the banks leave; of a program of its own, one of these.
        tokens: Vec<usize>,
    },
    /// On a module of AiM channels: in parts of so many elements; of a program of its own, of one of these.
    Module {
        /// Elements of K's vectors.
        score: Vec<usize>,
        /// Tokens of V.
        context: Vec<usize>,
    },
}

/// Factor of the scores: 1 / sqrt(d_h).
pub fn scale(head_dim: usize) -> f64 {
    1.0 / (head_dim as f64).sqrt()
}
