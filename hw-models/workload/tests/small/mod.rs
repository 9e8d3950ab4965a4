// SPDX-License-Identifier: MIT
//! A model of a few hundred weights, in all formats.
#![allow(dead_code)] // each test takes what it needs

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

/// As safetensors, put together by hand: `u64` length of the header, JSON, numbers.
pub fn safetensors(dtype: &str) -> Vec<u8> {
    let mut tensors = vec![("model.embed_tokens".to_owned(), 20, 0, vec![VOCAB, DIM])];
    for layer in 0..LAYERS {
        for (tensor, (name, shape)) in OF_LAYERS.iter().enumerate() {
            tensors.push((format!("model.layers.{layer}.{name}"), tensor, layer, shape.to_vec()));
        }
    }
    tensors.push(("model.norm".to_owned(), 21, 0, vec![DIM]));
    tensors.push(("lm_head".to_owned(), 22, 0, vec![VOCAB, DIM]));
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, tensor, layer, shape) in tensors {
        let from = data.len();
        for number in numbers(tensor, layer, &shape) {
            match dtype {
                "F32" => data.extend(number.to_le_bytes()),
                "F16" => data.extend(f16::from_f32(number).to_le_bytes()),
                "BF16" => data.extend(bf16::from_f32(number).to_le_bytes()),
                other => panic!("{other}"),
            }
        }
        let shape = format!("{shape:?}").replace(' ', "");
        header.push(format!(
            "\"{name}.weight\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{from},{}]}}",
            data.len()
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
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

/// A tokenizer of single letters.
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
