// SPDX-License-Identifier: MIT
//! The tiny model in Hugging Face's format tells the same story.
//!
//! There RoPE turns an element of a head's first half with one of the second, so that the rows of q and k
//! stand in another order: those of even number first.

use crate::common;
use pimlico_model::checkpoint::{Checkpoint, llama2c, tiny};
use std::path::Path;
use std::process::Command;

/// Rows of each head, the even ones first.
fn halves(matrix: &[f32], columns: usize, head_dim: usize) -> Vec<f32> {
    let row = |head: usize, row: usize| &matrix[(head * head_dim + row) * columns..][..columns];
    let heads = 0..matrix.len() / columns / head_dim;
    let even_first = || (0..head_dim).step_by(2).chain((1..head_dim).step_by(2));
    heads.flat_map(|head| even_first().map(move |n| row(head, n))).flatten().copied().collect()
}

/// The file: `u64` length of the header, JSON, float32.
fn safetensors(model: &Checkpoint) -> Vec<u8> {
    let (dim, head_dim) = (model.shape.dim, model.shape.head_dim);
    let mut tensors = vec![("model.embed_tokens".to_owned(), model.embedding.clone())];
    for (number, layer) in model.layers.iter().enumerate() {
        let parts = [
            ("input_layernorm", layer.attention_norm.clone()),
            ("self_attn.q_proj", halves(&layer.q, dim, head_dim)),
            ("self_attn.k_proj", halves(&layer.k, dim, head_dim)),
            ("self_attn.v_proj", layer.v.clone()),
            ("self_attn.o_proj", layer.o.clone()),
            ("post_attention_layernorm", layer.ffn_norm.clone()),
            ("mlp.gate_proj", layer.gate.clone()),
            ("mlp.up_proj", layer.up.clone()),
            ("mlp.down_proj", layer.down.clone()),
        ];
        let named = |(name, numbers)| (format!("model.layers.{number}.{name}"), numbers);
        tensors.extend(parts.map(named));
    }
    tensors.push(("model.norm".to_owned(), model.norm.clone()));
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, numbers) in tensors {
        let columns = if name.contains("down_proj") { model.shape.hidden } else { dim };
        let shape = match name.contains("norm") {
            true => format!("[{}]", numbers.len()),
            false => format!("[{},{columns}]", numbers.len() / columns),
        };
        let from = data.len();
        data.extend(numbers.into_iter().flat_map(f32::to_le_bytes));
        let offsets = format!("[{from},{}]", data.len());
        header.push(format!(
            r#""{name}.weight":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}"#
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[test]
fn the_story_is_the_same() {
    let model = llama2c::read(tiny::WEIGHTS).expect("a checkpoint");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("it can be written");
        file
    };
    let weights = write("model.safetensors", &safetensors(&model));
    let tokenizer = write("tokenizer.bin", tiny::TOKENIZER);
    let config = br#"{"model_type": "llama", "hidden_size": 32, "intermediate_size": 88,
        "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 96, "max_position_embeddings": 192, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": true}"#;
    let config = write("config.json", config);
    let run = |files: &[(&str, &Path)]| -> serde_json::Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
        command.args(["run", "l3", "decode", "--json", "--prompt", tiny::PROMPT]);
        for (flag, file) in files {
            command.arg(flag).arg(file);
        }
        let output = command.output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        common::document(&output.stdout)
    };
    let expected = run(&[]);
    let files = [("--weights", &*weights), ("--config", &*config), ("--tokenizer", &*tokenizer)];
    let got = run(&files);
    assert_eq!(got["text"], expected["text"]);
    assert_eq!(got["agreement"]["equal"], 40);
    assert_eq!(got["total"]["cycles"], expected["total"]["cycles"]);
}
