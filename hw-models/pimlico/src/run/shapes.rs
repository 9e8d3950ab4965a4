// SPDX-License-Identifier: MIT
//! Which keys of a `config.json` an error is about.

use pimlico_device::{aim, mapping};
use pimlico_workload::error::WorkloadError;
use pimlico_workload::l3::attention::AttentionError;
use pimlico_workload::l3::gemv::GemvError;

/// The keys that an error is about; none if it is about shapes of several operators.
pub(super) fn keys(error: &WorkloadError) -> Option<&'static str> {
    match error {
        WorkloadError::Matrix { operator, error: GemvError::Matrix(_) } => Some(of(operator)),
        WorkloadError::Attention(AttentionError::Layout(mapping::HeadLayoutError::HeadDim(_)))
        | WorkloadError::Layout(aim::LayoutError::HeadDim(_)) => Some("head_dim"),
        WorkloadError::Layout(aim::LayoutError::Context { .. }) => None,
        WorkloadError::Layout(_)
        | WorkloadError::NoRoom(_)
        | WorkloadError::NoRows(_)
        | WorkloadError::NoMemory(_) => Some(""),
        _ => None,
    }
}

/// The keys that the matrix of an operator follows from.
fn of(operator: &str) -> &'static str {
    match operator {
        "qkv" => "num_attention_heads, num_key_value_heads, head_dim, hidden_size",
        "projection" => "hidden_size, num_attention_heads, head_dim",
        "ffn1" | "ffn2" => "intermediate_size, hidden_size",
        "lm_head" => "vocab_size, hidden_size",
        _ => "",
    }
}
