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
    /// Elements of a head's vectors.
    pub head_dim: usize,
}

/// The built-in models by name.
pub fn presets() -> BTreeMap<String, Model> {
    toml::from_str(include_str!("../presets/models.toml")).expect("tested below")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_embeddings_of_the_paper() {
        let presets = presets();
        let embedding = |name: &str| presets[name].heads * presets[name].head_dim;
        assert_eq!(embedding("opt-66b"), 9216); // L3 Table 3
        assert_eq!(embedding("gpt-89b"), 12288);
        assert_eq!(embedding("gpt-175b"), 12288);
    }
}
