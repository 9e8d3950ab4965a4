// SPDX-License-Identifier: MIT
//! What language models take up, and how long the prompts of a task are.

use super::ELEMENT_BYTES;
use pimlico_model::Model;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a language model's KV cache and weights take up.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// Decoder layers.
    pub layers: u64,
    /// Heads of a layer that have K and V of their own.
    pub kv_heads: u64,
    /// Elements of a head's vectors.
    pub head_dim: u64,
    /// Tokens of the longest context.
    pub max_context: u64,
    /// Parameters in millions.
    pub parameters_m: u64,
}

/// What is known of a model beside its shape.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Served {
    max_context: u64,
    parameters_m: u64,
}

/// The built-in models by name: those of [`pimlico_model::presets`].
pub fn presets() -> BTreeMap<String, Footprint> {
    let served: BTreeMap<String, Served> =
        toml::from_str(include_str!("../../presets/serving.toml")).expect("tested below");
    let footprint = |(name, model): (String, Model)| {
        let Served { max_context, parameters_m } = *served.get(&name)?;
        let [layers, kv_heads, head_dim] =
            [model.layers, model.kv_heads.unwrap_or(model.heads), model.head_dim]
                .map(|size| size as u64);
        Some((name, Footprint { layers, kv_heads, head_dim, max_context, parameters_m }))
    };
    pimlico_model::presets().into_iter().filter_map(footprint).collect()
}

impl Footprint {
    /// K and V of every KV head.
    pub(super) fn streams(&self) -> u64 {
        2 * self.layers * self.kv_heads
    }

    pub(super) fn weight_bytes(&self) -> u64 {
        self.parameters_m * 1_000_000 * ELEMENT_BYTES
    }
}

/// Lengths of a task's prompts in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongBenchTask {
    /// Name of the task.
    pub name: &'static str,
    /// Mean of the normal distribution.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
    /// No prompt is shorter.
    pub min: u64,
    /// No prompt is longer.
    pub max: u64,
}

/// Tasks of LongBench, after LoL-PIM's Table 2.
pub const LONGBENCH: [LongBenchTask; 3] = [
    LongBenchTask { name: "qmsum", mean: 13966.0, deviation: 6182.0, min: 2651, max: 30456 },
    LongBenchTask { name: "hotpotqa", mean: 13465.0, deviation: 3921.0, min: 1917, max: 17674 },
    LongBenchTask { name: "musique", mean: 16362.0, deviation: 1651.0, min: 6820, max: 17917 },
];
