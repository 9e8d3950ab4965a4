// SPDX-License-Identifier: MIT
//! The reference's model of a checkpoint's weights.

use pimlico_golden::llama;
use pimlico_model::checkpoint::{
    Arithmetic, Checkpoint, CheckpointShape, Gate, Layer, Pairs, RopeScaling,
};

/// The model that computes in float64 with the same weights.
pub fn reference(checkpoint: &Checkpoint) -> llama::Llama {
    let CheckpointShape { dim, hidden, layers, heads, kv_heads, head_dim, vocab, .. } =
        checkpoint.shape;
    let Arithmetic { theta, scaling, epsilon, pairs, gate } = checkpoint.arithmetic;
    let layer = |layer: &Layer| {
        let Layer { attention_norm, q, k, v, bias, q_norm, k_norm, o, ffn_norm, gate, up, down } =
            layer.clone();
        llama::Layer { attention_norm, q, k, v, bias, q_norm, k_norm, o, ffn_norm, gate, up, down }
    };
    llama::Llama {
        size: llama::Size { dim, hidden, layers, heads, kv_heads, head_dim, vocab },
        theta,
        scaling: match scaling {
            RopeScaling::None => llama::Scaling::None,
            RopeScaling::Linear { factor } => llama::Scaling::Linear(factor),
            RopeScaling::Llama3 { factor, low, high, context } => {
                llama::Scaling::ByTurns { factor, all_below: low, none_above: high, context }
            }
        },
        pairs: match pairs {
            Pairs::Neighbours => llama::Pairs::Neighbours,
            Pairs::Halves => llama::Pairs::Halves,
        },
        epsilon,
        gate: match gate {
            Gate::Silu => llama::Gate::Silu,
            Gate::GeluTanh => llama::Gate::GeluTanh,
        },
        embedding: checkpoint.embedding.clone(),
        layers: checkpoint.layers.iter().map(layer).collect(),
        norm: checkpoint.norm.clone(),
        classifier: checkpoint.classifier.clone(),
    }
}
