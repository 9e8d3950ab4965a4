// SPDX-License-Identifier: MIT
//! What a device makes of attention.

use pimlico_device::{HostTransfer, Statistics};

/// What the device made of the query heads that share K and V.
#[derive(Clone, Debug, Default)]
pub struct Attention {
    /// Of each head, each token's score before scaling.
    pub scores: Vec<Vec<u16>>,
    /// Of each head, each token's weight: normalised, or the exponential.
    pub weights: Vec<Vec<u16>>,
    /// Of each head the context.
    pub context: Vec<Vec<u16>>,
    /// What it cost.
    pub statistics: Statistics,
    /// What crossed the host's channel.
    pub transfers: Vec<HostTransfer>,
}

/// Factor of the scores: 1 / sqrt(d_h).
pub fn scale(head_dim: usize) -> f64 {
    1.0 / (head_dim as f64).sqrt()
}
