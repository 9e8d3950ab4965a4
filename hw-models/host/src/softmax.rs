// SPDX-License-Identifier: MIT
//! Softmax on the host, as long as the rank PU has no softmax unit.

use half::f16;

/// Weights of binary16 scores, `exp(scale * score)` normalised, in binary32, rounded once to binary16.
pub fn softmax(scores: &[u16], scale: f32) -> Vec<u16> {
    let scores: Vec<f32> = scores.iter().map(|s| f16::from_bits(*s).to_f32() * scale).collect();
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exps: Vec<f32> = scores.iter().map(|s| (s - max).exp()).collect();
    let sum: f32 = exps.iter().sum();
    exps.iter().map(|e| f16::from_f32(e / sum).to_bits()).collect()
}
