// SPDX-License-Identifier: MIT
//! Shapes of language models.

use serde::Deserialize;
use std::collections::BTreeMap;

/// What the device needs to know of a language model.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Decoder layers.
    pub layers: usize,
    /// Query heads of a layer.
    pub heads: usize,
    /// K and V heads of a layer, each shared by the same number of query heads; absent where none
    /// is shared.
    pub kv_heads: Option<usize>,
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Elements of the vector that goes from layer to layer.
    pub hidden: usize,
    /// Elements between the two matrices of the feed-forward network.
    pub ffn: usize,
    /// Whether another matrix of the first one's shape gates them (SwiGLU).
    #[serde(default)]
    pub gated: bool,
    /// Tokens that there are: outputs of the language-model head.
    pub vocab: usize,
}

impl Model {
    /// Query heads that share K and V.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads.unwrap_or(self.heads)
    }
}

/// The built-in models by name.
pub fn presets() -> BTreeMap<String, Model> {
    toml::from_str(include_str!("../presets/models.toml")).expect("tested below")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_has_its_share_of_a_key_and_value_head() {
        for (name, model) in presets() {
            let kv_heads = model.kv_heads.unwrap_or(model.heads);
            assert_eq!(kv_heads * model.group(), model.heads, "{name}");
        }
    }

    #[test]
    fn presets_have_the_embeddings_of_the_paper() {
        let presets = presets();
        let embedding = |name: &str| presets[name].hidden;
        assert_eq!(embedding("opt-66b"), 9216); // L3 Table 3
        assert_eq!(embedding("gpt-89b"), 12288);
        assert_eq!(embedding("gpt-175b"), 12288);
        // A Qwen3's heads are as wide as its maker likes.
        for (name, model) in presets.into_iter().filter(|(name, _)| !name.starts_with("qwen3-")) {
            assert_eq!(model.heads * model.head_dim, model.hidden, "{name}");
        }
    }
}
