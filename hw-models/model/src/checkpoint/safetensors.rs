// SPDX-License-Identifier: MIT
//! Weights in safetensors files, by the names that Hugging Face's Llama gives them. Numbers are F16, BF16
//! or F32.

use super::config::Config;
use super::index::{self, Index};
use super::json::{self, Once, cut};
use super::{Checkpoint, Layer, Malformed, held};
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};
use serde::de::IgnoredAny;
use std::collections::HashMap;

/// Reads a file; its shapes have to be those of `config`.
pub fn read(bytes: &[u8], config: &Config) -> Result<Checkpoint, Malformed> {
    let tensors = deserialize(bytes, "header")?;
    checkpoint(&Files { tensors: vec![tensors], index: None }, config)
}

/// Reads the shards of an index, in the order of [`Index::shards`]; the tensors' shapes have to be those
/// of `config`. A tensor is found in its shard and in no other one.
///
/// # Panics
///
/// If there are not as many as the index has.
pub fn read_shards(
    shards: &[impl AsRef<[u8]>],
    index: &Index,
    config: &Config,
) -> Result<Checkpoint, Malformed> {
    assert_eq!(shards.len(), index.shards().len(), "one file for each shard");
    let mut tensors = Vec::with_capacity(shards.len());
    for (name, shard) in index.shards().iter().zip(shards) {
        tensors.push(deserialize(shard.as_ref(), &format!("{name}: header"))?);
    }
    check_shards(&tensors, index)?;
    checkpoint(&Files { tensors, index: Some(index) }, config)
}

/// Checks that no tensor is in two shards.
fn check_shards(tensors: &[SafeTensors], index: &Index) -> Result<(), Malformed> {
    let mut seen = HashMap::new();
    for (number, of_shard) in tensors.iter().enumerate() {
        for tensor in of_shard.names() {
            let first = *seen.entry(tensor).or_insert(index.shard_of(tensor).unwrap_or(number));
            if first != number {
                let (first, second) = (&index.shards()[first], &index.shards()[number]);
                let (place, found) = (index::place(tensor), format!("in {second}"));
                return Err(Malformed::new(place, found, format!("in {first} only")));
            }
        }
    }
    Ok(())
}

fn deserialize<'a>(bytes: &'a [u8], place: &str) -> Result<SafeTensors<'a>, Malformed> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| {
        Malformed::new(place, cut(&error.to_string(), 200), "that of a safetensors file")
    })?;
    // The crate takes the last of tensors that have one name.
    let (length, rest) = bytes.split_first_chunk().expect("the length was read");
    let header = &rest[..u64::from_le_bytes(*length) as usize];
    match serde_json::from_slice::<Once<IgnoredAny>>(header) {
        Ok(_) => Ok(tensors),
        Err(error) => Err(Malformed::new(place, json::found(&error), "each tensor once")),
    }
}

fn checkpoint(files: &Files, config: &Config) -> Result<Checkpoint, Malformed> {
    let arithmetic = config.arithmetic()?;
    let shape = config.shape;
    let (dim, hidden, vocab) = (shape.dim, shape.hidden, shape.vocab);
    let (q, kv) = (shape.q_width(), shape.kv_width());

    // Before room is made for layers: the file has one name or more for each.
    let last = shape.layers - 1;
    files.numbers(&format!("model.layers.{last}.input_layernorm.weight"), &[dim])?;

    let layer = |number: usize| -> Result<Layer, Malformed> {
        let name = |part: &str| format!("model.layers.{number}.{part}");
        let matrix = |part: &str, rows, columns| {
            files.matrix(&name(&format!("{part}.weight")), [rows, columns])
        };
        let mut bias = Vec::new();
        if config.has_bias() {
            for (part, length) in [("q", q), ("k", kv), ("v", kv)] {
                let part = name(&format!("self_attn.{part}_proj.bias"));
                bias.extend(files.numbers(&part, &[length])?);
            }
        }
        let head_norm = |part: &str| match config.has_head_norms() {
            true => files.numbers(&name(&format!("self_attn.{part}.weight")), &[shape.head_dim]),
            false => Ok(Vec::new()),
        };
        Ok(Layer {
            attention_norm: files.numbers(&name("input_layernorm.weight"), &[dim])?,
            q: matrix("self_attn.q_proj", q, dim)?,
            k: matrix("self_attn.k_proj", kv, dim)?,
            v: matrix("self_attn.v_proj", kv, dim)?,
            bias,
            q_norm: head_norm("q_norm")?,
            k_norm: head_norm("k_norm")?,
            o: matrix("self_attn.o_proj", dim, q)?,
            ffn_norm: files.numbers(&name("post_attention_layernorm.weight"), &[dim])?,
            gate: matrix("mlp.gate_proj", hidden, dim)?,
            up: matrix("mlp.up_proj", hidden, dim)?,
            down: matrix("mlp.down_proj", dim, hidden)?,
        })
    };
    let (embedding, is_tied) = ("model.embed_tokens.weight", config.ties_embeddings()?);
    Ok(Checkpoint {
        shape,
        arithmetic,
        embedding: match is_tied {
            true => files.matrix(embedding, [vocab, dim])?,
            false => files.numbers(embedding, &[vocab, dim])?,
        },
        layers: (0..shape.layers).map(layer).collect::<Result<_, _>>()?,
        norm: files.numbers("model.norm.weight", &[dim])?,
        classifier: match is_tied {
            true => Vec::new(),
            false => files.matrix("lm_head.weight", [vocab, dim])?,
        },
    })
}

/// One file, or the shards of an index.
struct Files<'a> {
    tensors: Vec<SafeTensors<'a>>,
    index: Option<&'a Index>,
}

impl Files<'_> {
    /// The shard that holds a tensor, and what stands before its name in messages.
    fn shard(
        &self,
        tensor: &str,
        shape: &[usize],
    ) -> Result<(&SafeTensors<'_>, String), Malformed> {
        let Some(index) = self.index else { return Ok((&self.tensors[0], String::new())) };
        let number = index.shard_of(tensor).ok_or_else(|| {
            Malformed::new(index::place(tensor), "absent", format!("shape {shape:?}"))
        })?;
        Ok((&self.tensors[number], format!("{}: ", index.shards()[number])))
    }

    /// The weights of a matrix of the device that has to have this shape.
    fn matrix(&self, name: &str, [rows, columns]: [usize; 2]) -> Result<Vec<f32>, Malformed> {
        let shape = [rows, columns];
        let place = || match self.shard(name, &shape) {
            Ok((_, shard)) => format!("{shard}tensor {name}"),
            Err(_) => format!("tensor {name}"),
        };
        held(self.numbers(name, &shape)?, columns, place)
    }

    /// The numbers of a tensor that has to have this shape. They are parts of the file, so there are
    /// at most half as many as bytes.
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Malformed> {
        let (tensors, shard) = self.shard(name, shape)?;
        let place = || format!("{shard}tensor {name}");
        let tensor = tensors
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
