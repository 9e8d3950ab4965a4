// SPDX-License-Identifier: MIT
//! What serving has to know of a language model: parameters, bytes of K and V, multiply-accumulates.
//!
//! Weights, K and V are binary16. Only the decoder layers count: embeddings and the language-model head are neither stored
//! nor computed here, as in the papers.

use pimlico_model::Model;

/// Bytes of an element.
pub const ELEMENT_BYTES: u64 = 2;

/// A model that is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Llm {
    /// Its name.
    pub name: String,
    /// Its shapes.
    pub shape: Model,
}

impl Llm {
    /// A model by its name and shapes.
    pub fn new(name: &str, shape: Model) -> Self {
        Self { name: name.to_owned(), shape }
    }

    /// Decoder layers.
    pub fn layers(&self) -> u64 {
        self.shape.layers as u64
    }

    /// Elements of the vector that goes from layer to layer.
    pub fn hidden(&self) -> u64 {
        self.shape.hidden as u64
    }

    /// Query heads of a layer.
    pub fn heads(&self) -> u64 {
        self.shape.heads as u64
    }

    /// K and V heads of a layer.
    pub fn kv_heads(&self) -> u64 {
        self.shape.kv_heads.unwrap_or(self.shape.heads) as u64
    }

    /// Elements of a head's vectors.
    pub fn head_dim(&self) -> u64 {
        self.shape.head_dim as u64
    }

    /// Elements of the queries of a token in a layer.
    pub fn q_elements(&self) -> u64 {
        self.heads() * self.head_dim()
    }

    /// Elements of K of a token in a layer, which are as many as of V.
    pub fn kv_elements(&self) -> u64 {
        self.kv_heads() * self.head_dim()
    }

    /// Parameters of the matrices of a layer.
    pub fn layer_parameters(&self) -> u64 {
        let ffn_matrices = if self.shape.gated { 3 } else { 2 };
        self.hidden()
            * (2 * self.q_elements()
                + 2 * self.kv_elements()
                + ffn_matrices * self.shape.ffn as u64)
    }

    /// Bytes of the weights of all layers.
    pub fn weight_bytes(&self) -> u64 {
        ELEMENT_BYTES * self.layers() * self.layer_parameters()
    }

    /// Bytes of K and V of a token in a layer.
    pub fn kv_layer_bytes(&self) -> u64 {
        2 * ELEMENT_BYTES * self.kv_elements()
    }

    /// Bytes of K and V of a token in all layers.
    pub fn kv_bytes(&self) -> u64 {
        self.layers() * self.kv_layer_bytes()
    }

    /// Floating-point operations of a token whose context has so many tokens: 2 for each parameter, and 4 for each token
    /// and element of a query.
    pub fn token_flops(&self, context: u64) -> u64 {
        self.layers() * (2 * self.layer_parameters() + 4 * self.q_elements() * context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn llm(name: &str) -> Llm {
        Llm::new(name, pimlico_model::presets()[name].clone())
    }

    #[test]
    fn bytes_of_a_token_are_those_of_l3() {
        // 4 L d; section 1 of L3: 2.28 requests of 8K tokens of GPT-175B in 80 GiB.
        assert_eq!(llm("opt-66b").kv_bytes(), 2_359_296);
        assert_eq!(llm("gpt-89b").kv_bytes(), 2_359_296);
        assert_eq!(llm("gpt-175b").kv_bytes(), 4_718_592);
        let requests = (80u64 << 30) as f64 / (8000 * llm("gpt-175b").kv_bytes()) as f64;
        assert!((requests - 2.28).abs() < 0.005, "{requests}");
    }

    #[test]
    fn parameters_are_those_of_the_papers() {
        // 12 d^2 of a GPT; 4 d^2 + 3 d ffn of a gated model.
        assert_eq!(llm("gpt-175b").layer_parameters(), 12 * 12288 * 12288);
        assert_eq!(llm("qwen1.5-7b").layer_parameters(), 4 * 4096 * 4096 + 3 * 4096 * 11008);
        // LoL-PIM's Table 8, by its own utilisation: GFLOP of a token of Musique.
        for (name, gflop) in
            [("qwen1.5-7b", 21.530), ("qwen1.5-14b", 38.622), ("qwen1.5-72b", 182.478)]
        {
            let ours = llm(name).token_flops(16_362) as f64 / 1e9;
            assert!((ours - gflop).abs() < 0.001, "{name}: {ours}");
        }
    }
}
