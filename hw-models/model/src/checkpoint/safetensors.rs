// SPDX-License-Identifier: MIT
//! Weights in a safetensors file, by the names that Hugging Face's Llama gives them. Numbers are F16,
//! BF16 or F32.

use super::config::Config;
use super::{Checkpoint, Layer, Malformed};
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

/// Reads a file; its shapes have to be those of `config`.
pub fn read(bytes: &[u8], config: &Config) -> Result<Checkpoint, Malformed> {
    let arithmetic = config.arithmetic()?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| {
        Malformed::new("header", error.to_string(), "that of a safetensors file")
    })?;
    let file = File { tensors };
    let shape = config.shape;
    let (dim, hidden, vocab) = (shape.dim, shape.hidden, shape.vocab);
    let (q, kv) = (shape.q_width(), shape.kv_width());

    // Before room is made for layers: the file has one name or more for each.
    let last = shape.layers - 1;
    file.numbers(&format!("model.layers.{last}.input_layernorm.weight"), &[dim])?;

    let layer = |number: usize| -> Result<Layer, Malformed> {
        let name = |part: &str| format!("model.layers.{number}.{part}");
        let matrix = |part: &str, rows, columns| {
            file.numbers(&name(&format!("{part}.weight")), &[rows, columns])
        };
        let mut bias = Vec::new();
        if config.has_bias() {
            for (part, length) in [("q", q), ("k", kv), ("v", kv)] {
                let part = name(&format!("self_attn.{part}_proj.bias"));
                bias.extend(file.numbers(&part, &[length])?);
            }
        }
        Ok(Layer {
            attention_norm: file.numbers(&name("input_layernorm.weight"), &[dim])?,
            q: matrix("self_attn.q_proj", q, dim)?,
            k: matrix("self_attn.k_proj", kv, dim)?,
            v: matrix("self_attn.v_proj", kv, dim)?,
            bias,
            o: matrix("self_attn.o_proj", dim, q)?,
            ffn_norm: file.numbers(&name("post_attention_layernorm.weight"), &[dim])?,
            gate: matrix("mlp.gate_proj", hidden, dim)?,
            up: matrix("mlp.up_proj", hidden, dim)?,
            down: matrix("mlp.down_proj", dim, hidden)?,
        })
    };
    Ok(Checkpoint {
        shape,
        arithmetic,
        embedding: file.numbers("model.embed_tokens.weight", &[vocab, dim])?,
        layers: (0..shape.layers).map(layer).collect::<Result<_, _>>()?,
        norm: file.numbers("model.norm.weight", &[dim])?,
        classifier: if config.ties_embeddings()? {
            Vec::new()
        } else {
            file.numbers("lm_head.weight", &[vocab, dim])?
        },
    })
}

struct File<'a> {
    tensors: SafeTensors<'a>,
}

impl File<'_> {
    /// The numbers of a tensor that has to have this shape. They are parts of the file, so there are
    /// at most half as many as bytes.
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Malformed> {
        let place = || format!("tensor {name}");
        let tensor = self
            .tensors
            .tensor(name)
            .map_err(|_| Malformed::new(place(), "absent", format!("shape {shape:?}")))?;
        if tensor.shape() != shape {
            let (found, expected) = (tensor.shape(), format!("{shape:?}, as the config says"));
            return Err(Malformed::new(place(), format!("shape {found:?}"), expected));
        }
        let data = tensor.data();
        let pair = |b: &[u8]| [b[0], b[1]];
        Ok(match tensor.dtype() {
            Dtype::F32 => {
                let number = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                data.chunks_exact(4).map(number).collect()
            }
            Dtype::F16 => {
                data.chunks_exact(2).map(|b| f16::from_le_bytes(pair(b)).to_f32()).collect()
            }
            Dtype::BF16 => {
                data.chunks_exact(2).map(|b| bf16::from_le_bytes(pair(b)).to_f32()).collect()
            }
            other => {
                return Err(Malformed::new(place(), format!("{other:?}"), "F16, BF16 or F32"));
            }
        })
    }
}
