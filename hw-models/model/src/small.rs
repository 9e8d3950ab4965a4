// SPDX-License-Identifier: MIT
//! Models of a few hundred weights, in all formats.

use half::{bf16, f16};

const DIM: usize = 8;
const HIDDEN: usize = 6;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
/// Tokens that there are.
pub const VOCAB: usize = 11;
/// Tokens of context.
pub const CONTEXT: usize = 5;

const KV: usize = KV_HEADS * DIM / HEADS;
/// What `config.json` says of it.
pub const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 8, "intermediate_size": 6,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 11, "max_position_embeddings": 5, "hidden_act": "silu", "rope_theta": 10000.0,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false}"#;

/// Tensors of the layers, in llama2.c's order: their names elsewhere, rows and columns.
const OF_LAYERS: [(&str, &[usize]); 9] = [
    ("input_layernorm", &[DIM]),
    ("self_attn.q_proj", &[DIM, DIM]),
    ("self_attn.k_proj", &[KV, DIM]),
    ("self_attn.v_proj", &[KV, DIM]),
    ("self_attn.o_proj", &[DIM, DIM]),
    ("post_attention_layernorm", &[DIM]),
    ("mlp.gate_proj", &[HIDDEN, DIM]),
    ("mlp.down_proj", &[DIM, HIDDEN]),
    ("mlp.up_proj", &[HIDDEN, DIM]),
];

/// Numbers of a tensor: other ones for each.
fn numbers(tensor: usize, layer: usize, shape: &[usize]) -> Vec<f32> {
    let number = |i: usize| ((1000 * tensor + 100 * layer + 7 * i) as f32).sin();
    (0..shape.iter().product()).map(number).collect()
}

/// As llama2.c writes it.
pub fn llama2c(own_classifier: bool) -> Vec<u8> {
    let vocab = if own_classifier { -(VOCAB as i32) } else { VOCAB as i32 };
    let sizes = [DIM, HIDDEN, LAYERS, HEADS, KV_HEADS].map(|size| size as i32);
    let header = sizes.into_iter().chain([vocab, CONTEXT as i32]);
    let mut all = numbers(20, 0, &[VOCAB, DIM]);
    for (tensor, (_, shape)) in OF_LAYERS.iter().enumerate() {
        (0..LAYERS).for_each(|layer| all.extend(numbers(tensor, layer, shape)));
    }
    all.extend(numbers(21, 0, &[DIM]));
    all.extend(vec![9.0; CONTEXT * DIM / HEADS]);
    if own_classifier {
        all.extend(numbers(22, 0, &[VOCAB, DIM]));
    }
    header.flat_map(i32::to_le_bytes).chain(all.into_iter().flat_map(f32::to_le_bytes)).collect()
}

/// What `config.json` says of the model with heads that are normed, and wider together than a token's
/// vector.
pub const QWEN3: &str = r#"{"model_type": "qwen3", "hidden_size": 8, "intermediate_size": 6,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
    "vocab_size": 11, "max_position_embeddings": 12, "hidden_act": "silu", "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 100.0, "factor": 4.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 40},
    "tie_word_embeddings": true}"#;

/// A tensor in a safetensors file.
#[derive(Clone)]
pub struct Tensor {
    name: String,
    shape: Vec<usize>,
    numbers: Vec<f32>,
}

/// Those of [`CONFIG`].
pub fn tensors() -> Vec<Tensor> {
    let named = |name: String, number, layer, shape: &[usize]| Tensor {
        name: format!("{name}.weight"),
        shape: shape.to_vec(),
        numbers: numbers(number, layer, shape),
    };
    let mut tensors = vec![named("model.embed_tokens".to_owned(), 20, 0, &[VOCAB, DIM])];
    for layer in 0..LAYERS {
        for (tensor, (name, shape)) in OF_LAYERS.iter().enumerate() {
            tensors.push(named(format!("model.layers.{layer}.{name}"), tensor, layer, shape));
        }
    }
    tensors.push(named("model.norm".to_owned(), 21, 0, &[DIM]));
    tensors.push(named("lm_head".to_owned(), 22, 0, &[VOCAB, DIM]));
    tensors
}

/// Those of [`QWEN3`].
pub fn qwen3_tensors() -> Vec<Tensor> {
    const HEAD_DIM: usize = 4;
    let mut all = tensors();
    all.retain(|tensor| tensor.name != "lm_head.weight");
    for (number, tensor) in all.iter_mut().enumerate() {
        tensor.shape = match tensor.name.rsplit('.').nth(1) {
            Some("q_proj") => vec![HEADS * HEAD_DIM, DIM],
            Some("k_proj" | "v_proj") => vec![KV_HEADS * HEAD_DIM, DIM],
            Some("o_proj") => vec![DIM, HEADS * HEAD_DIM],
            _ => continue,
        };
        tensor.numbers = numbers(30 + number, 0, &tensor.shape);
    }
    for (number, part) in ["q_norm", "k_norm"].into_iter().enumerate() {
        all.extend((0..LAYERS).map(|layer| Tensor {
            name: format!("model.layers.{layer}.self_attn.{part}.weight"),
            shape: vec![HEAD_DIM],
            numbers: numbers(60 + number, layer, &[HEAD_DIM]),
        }));
    }
    all
}

/// The model of [`CONFIG`] as safetensors.
pub fn safetensors(dtype: &str) -> Vec<u8> {
    file(&tensors(), dtype)
}

/// A safetensors file, put together by hand: `u64` length of the header, JSON, numbers.
pub fn file(tensors: &[Tensor], dtype: &str) -> Vec<u8> {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for Tensor { name, shape, numbers } in tensors {
        let from = data.len();
        for &number in numbers {
            match dtype {
                "F32" => data.extend(number.to_le_bytes()),
                "F16" => data.extend(f16::from_f32(number).to_le_bytes()),
                "BF16" => data.extend(bf16::from_f32(number).to_le_bytes()),
                other => panic!("{other}"),
            }
        }
        let shape = format!("{shape:?}").replace(' ', "");
        header.push(format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{from},{}]}}",
            data.len()
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

/// The names of two shards.
pub const SHARDS: [&str; 2] =
    ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

/// Tensors in two shards, and `model.safetensors.index.json`: every other one, so that layers are in both.
pub fn shards(tensors: &[Tensor], dtype: &str) -> (String, [Vec<u8>; 2]) {
    let of_shard = |shard: usize| tensors.iter().skip(shard).step_by(2).cloned();
    let shards = [0, 1].map(|shard| file(&of_shard(shard).collect::<Vec<_>>(), dtype));
    let entry =
        |(i, tensor): (usize, &Tensor)| format!("\"{}\": \"{}\"", tensor.name, SHARDS[i % 2]);
    let entries: Vec<_> = tensors.iter().enumerate().map(entry).collect();
    let index = format!(
        "{{\"metadata\": {{\"total_size\": 1}}, \"weight_map\": {{{}}}}}",
        entries.join(",\n")
    );
    (index, shards)
}

/// A safetensors file with a text of its header replaced.
pub fn replaced(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    let (length, rest) = file.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
    let (header, data) = rest.split_at(length);
    let header = str::from_utf8(header).expect("text");
    assert!(header.contains(from), "{from}");
    let header = header.replace(from, to);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// A tokenizer of single letters in llama2.c's format.
pub fn tokenizer() -> Vec<u8> {
    let texts = ["<unk>", "<s>", "</s>", " ", "a", "b", "c", "d", "ab", "cd", " a"];
    assert_eq!(texts.len(), VOCAB);
    let mut bytes = 5u32.to_le_bytes().to_vec();
    for (number, text) in texts.iter().enumerate() {
        bytes.extend((-(number as f32)).to_le_bytes());
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// A byte-level tokenizer of Hugging Face for the letters a to d, with merges; texts begin with token 0.
pub const TOKENIZER_JSON: &str = r#"{
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
        {"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true},
        {"id": 1, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
        "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
        "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
        "vocab": {"<s>": 0, "</s>": 1, "a": 2, "b": 3, "c": 4, "d": 5, "Ġ": 6, "ab": 7, "cd": 8, "Ġa": 9},
        "merges": ["a b", "c d", "Ġ a"]}}"#;
