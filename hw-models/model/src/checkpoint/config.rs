// SPDX-License-Identifier: MIT
//! `config.json` of Hugging Face: the shapes of a language model, and what it computes between its
//! matrices.
//!
//! What is not understood is an error where it would change the result: shapes are taken of the model
//! types in `TYPES`; weights run with the scalings of RoPE in [`super::RopeScaling`], and without biases but
//! those of q, k, v.

use super::json::{self, Once, cut};
use super::{Arithmetic, CheckpointShape, Gate, Malformed, Pairs, rope};
use crate::shape::Model;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// Model types whose shapes are understood, and whether their feed-forward network is gated.
const TYPES: [(&str, bool); 6] = [
    ("llama", true),
    ("mistral", true),
    ("qwen2", true),
    ("qwen3", true),
    ("opt", false),
    ("gpt_neox", false),
];
/// Of these, the types that run with weights.
const WITH_WEIGHTS: [&str; 4] = ["llama", "mistral", "qwen2", "qwen3"];
/// The largest size that is taken for one.
const LARGEST: u64 = 1 << 24;

/// The keys of an object.
pub(super) type Keys = BTreeMap<String, Value>;

/// A `config.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    keys: Keys,
    gated: bool,
    /// Its shapes; of a model whose heads share no K and V, as many K and V heads as heads.
    pub shape: CheckpointShape,
}

impl Config {
    /// Reads the text of a `config.json`.
    pub fn read(text: &[u8]) -> Result<Self, Malformed> {
        let Once(keys) = json::read(text)?;
        let kind = text_of(&keys, "model_type")?.unwrap_or_default();
        let Some((_, gated)) = TYPES.into_iter().find(|(name, _)| *name == kind) else {
            let known = TYPES.map(|(name, _)| name).join(", ");
            return Err(Malformed::new("model_type", cut(&format!("{kind:?}"), 40), known));
        };
        let shape = shape(&keys)?;
        Ok(Self { keys, gated, shape })
    }

    /// The shapes that operators take.
    pub fn model(&self) -> Model {
        Model { gated: self.gated, ..self.shape.into() }
    }

    /// Whether the classifier is the embedding.
    pub fn ties_embeddings(&self) -> Result<bool, Malformed> {
        let tied = of_type::<bool>(&self.keys, "tie_word_embeddings", "true or false")?;
        Ok(tied.unwrap_or(false))
    }

    /// Whether q, k and v have biases.
    pub fn has_bias(&self) -> bool {
        self.is_of("qwen2")
    }

    /// Whether each head's q and k go through RMSNorm.
    pub fn has_head_norms(&self) -> bool {
        self.is_of("qwen3")
    }

    fn is_of(&self, model_type: &str) -> bool {
        self.keys.get("model_type").is_some_and(|kind| kind == model_type)
    }

    /// What is computed between the matrices, if it is what runs here.
    pub fn arithmetic(&self) -> Result<Arithmetic, Malformed> {
        let keys = &self.keys;
        let kind = text_of(keys, "model_type")?.unwrap_or_default();
        if !WITH_WEIGHTS.contains(&kind) {
            let expected = format!("{} to run with weights", WITH_WEIGHTS.join(", "));
            return Err(Malformed::new("model_type", cut(&format!("{kind:?}"), 40), expected));
        }
        for key in ["attention_bias", "mlp_bias"] {
            if of_type::<bool>(keys, key, "true or false")? == Some(true) {
                return Err(Malformed::new(key, "true", "false"));
            }
        }
        let gate = match text_of(keys, "hidden_act")?.unwrap_or("silu") {
            "silu" | "swish" => Gate::Silu,
            "gelu_new" | "gelu_pytorch_tanh" => Gate::GeluTanh,
            other => {
                let expected = "silu, gelu_new or gelu_pytorch_tanh";
                let found = cut(&format!("{other:?}"), 40);
                return Err(Malformed::new("hidden_act", found, expected));
            }
        };
        let (theta, scaling) = rope::read(keys)?;
        Ok(Arithmetic {
            theta,
            scaling,
            epsilon: positive(keys, "rms_norm_eps")?.unwrap_or(1e-6),
            pairs: Pairs::Halves,
            gate,
        })
    }
}

fn shape(keys: &Keys) -> Result<CheckpointShape, Malformed> {
    let wanted = |key: &str| size(keys, key)?.ok_or_else(|| absent(key, "a size"));
    let dim = wanted("hidden_size")?;
    let heads = wanted("num_attention_heads")?;
    let hidden = match size(keys, "intermediate_size")? {
        Some(hidden) => hidden,
        None => size(keys, "ffn_dim")?.ok_or_else(|| absent("intermediate_size", "a size"))?,
    };
    let head_dim = match size(keys, "head_dim")? {
        Some(head_dim) => head_dim,
        // Its heads are wider together than its embedding, or narrower.
        None if text_of(keys, "model_type")? == Some("qwen3") => {
            return Err(absent("head_dim", "a size, as the model is a qwen3"));
        }
        None if dim.is_multiple_of(heads) => dim / heads,
        None => {
            let expected = format!("a multiple of num_attention_heads, which is {heads}");
            return Err(Malformed::new("hidden_size", dim.to_string(), expected));
        }
    };
    // A window of attention that is shorter than the context is the context that runs as it should.
    let window = match of_type::<bool>(keys, "use_sliding_window", "true or false")? {
        Some(false) => None,
        _ => size(keys, "sliding_window")?,
    };
    let context = size(keys, "max_position_embeddings")?.unwrap_or(2048);
    CheckpointShape {
        dim,
        hidden,
        layers: wanted("num_hidden_layers")?,
        heads,
        kv_heads: size(keys, "num_key_value_heads")?.unwrap_or(heads),
        head_dim,
        vocab: wanted("vocab_size")?,
        context: window.map_or(context, |window| window.min(context)),
    }
    .check()
}

fn absent(key: &str, expected: &str) -> Malformed {
    Malformed::new(key, "absent", expected)
}

/// What a key holds, if it is there and not null.
pub(super) fn of_type<T: DeserializeOwned>(
    keys: &Keys,
    key: &str,
    expected: &str,
) -> Result<Option<T>, Malformed> {
    let Some(value) = keys.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    match T::deserialize(value) {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(Malformed::new(key, short(value), expected)),
    }
}

fn size(keys: &Keys, key: &str) -> Result<Option<usize>, Malformed> {
    let expected = format!("a whole number from 1 to {LARGEST}");
    let Some(size) = of_type::<u64>(keys, key, &expected)? else { return Ok(None) };
    if !(1..=LARGEST).contains(&size) {
        return Err(Malformed::new(key, size.to_string(), expected));
    }
    Ok(Some(size as usize))
}

pub(super) fn positive(keys: &Keys, key: &str) -> Result<Option<f64>, Malformed> {
    let expected = "a positive number";
    match of_type::<f64>(keys, key, expected)? {
        Some(number) if number > 0.0 && number.is_finite() => Ok(Some(number)),
        Some(number) => Err(Malformed::new(key, number.to_string(), expected)),
        None => Ok(None),
    }
}

pub(super) fn text_of<'a>(keys: &'a Keys, key: &str) -> Result<Option<&'a str>, Malformed> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(Malformed::new(key, short(other), "text")),
    }
}

/// A value in one line that is not long.
pub(super) fn short(value: &Value) -> String {
    cut(&value.to_string(), 40)
}

#[cfg(test)]
mod tests {
    use super::super::RopeScaling;
    use super::*;

    /// Llama 3.2 1B's.
    const LLAMA: &str = r#"{
        "architectures": ["LlamaForCausalLM"], "attention_bias": false, "head_dim": 64,
        "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192,
        "max_position_embeddings": 131072, "model_type": "llama", "num_attention_heads": 32,
        "num_hidden_layers": 16, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
        "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
        "sliding_window": null, "tie_word_embeddings": true, "vocab_size": 128256
    }"#;

    fn with(from: &str, to: &str) -> Result<Config, Malformed> {
        assert!(LLAMA.contains(from), "{from}");
        Config::read(LLAMA.replace(from, to).as_bytes())
    }

    #[test]
    fn shapes_are_those_of_the_preset() {
        let config = Config::read(LLAMA.as_bytes()).expect("a config");
        let preset = &crate::shape::presets()["llama-3.2-1b"];
        assert_eq!(&config.model(), preset);
        assert_eq!(config.shape.context, 131072);
        assert_eq!(config.ties_embeddings(), Ok(true));
        let arithmetic = config.arithmetic().expect("it runs");
        assert_eq!((arithmetic.theta, arithmetic.epsilon), (500000.0, 1e-5));
        let scaling = RopeScaling::Llama3 { factor: 32.0, low: 1.0, high: 4.0, context: 8192.0 };
        assert_eq!(arithmetic.scaling, scaling);
        assert_eq!((arithmetic.pairs, arithmetic.gate), (Pairs::Halves, Gate::Silu));
        assert!(!config.has_bias());
    }

    #[test]
    fn what_is_absent_follows_from_the_rest() {
        let config = with("\"head_dim\": 64,", "").expect("a config");
        assert_eq!(config.shape.head_dim, 64);
        let config = with("\"num_key_value_heads\": 8,", "").expect("a config");
        assert_eq!(config.shape.kv_heads, 32);
        let opt = br#"{"model_type": "opt", "hidden_size": 9216, "ffn_dim": 36864,
            "num_attention_heads": 72, "num_hidden_layers": 64, "vocab_size": 50272}"#;
        let mut preset = crate::shape::presets()["opt-66b"].clone();
        preset.kv_heads = Some(72);
        let config = Config::read(opt).expect("a config");
        assert_eq!(config.model(), preset);
        assert!(config.arithmetic().is_err());
        let window =
            with("\"sliding_window\": null", "\"sliding_window\": 4096").expect("a config");
        assert_eq!(window.shape.context, 4096);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let refused = |from, to| with(from, to).expect_err("refused").to_string();
        assert_eq!(
            refused("\"vocab_size\": 128256", "\"vocab_size\": -1"),
            "vocab_size: -1, expected a whole number from 1 to 16777216"
        );
        assert!(refused("8192", "1e99").contains("intermediate_size: 1e+99"));
        assert!(refused("8192", "0").contains("intermediate_size: 0"));
        assert!(refused("\"hidden_size\": 2048,", "").contains("hidden_size: absent"));
        assert!(refused("\"llama\"", "\"bert\"").contains("model_type: \"bert\", expected llama"));
        assert!(refused("\"llama\"", "3").contains("model_type: 3, expected text"));
        assert!(refused("s\": 8", "s\": 7").contains("32 heads and 7 K and V heads"));
        assert!(refused("m\": 64", "m\": 63").contains("63 elements of a head"));
        assert!(refused("s\": 32", "s\": 48,\"hidden_size\":5").contains("\"hidden_size\" twice"));
        let qwen3 = LLAMA.replace("\"llama\"", "\"qwen3\"").replace("\"head_dim\": 64,", "");
        let absent = Config::read(qwen3.as_bytes()).expect_err("refused").to_string();
        assert_eq!(absent, "head_dim: absent, expected a size, as the model is a qwen3");
        let text = Config::read(b"{\"a\": ").expect_err("refused").to_string();
        assert!(text.starts_with("line 1 column"), "{text}");
        assert!(Config::read("[".repeat(100_000).as_bytes()).is_err());

        let runs = |from, to| with(from, to).expect("a config").arithmetic();
        assert!(runs("\"silu\"", "\"gelu\"").is_err());
        assert!(runs("\"llama3\"", "\"yarn\"").is_err());
        assert!(runs("500000.0", "-1").is_err());
        assert!(runs("\"attention_bias\": false", "\"attention_bias\": true").is_err());
        assert!(runs("\"llama\"", "\"opt\"").is_err());
        assert!(runs("\"llama\"", "\"qwen3\"").is_ok());
        assert!(runs("\"silu\"", "\"gelu_pytorch_tanh\"").is_ok());
    }
}
