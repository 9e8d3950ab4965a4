// SPDX-License-Identifier: MIT
//! Weights in safetensors files, by the names that Hugging Face's Llama gives them. Numbers are F16, BF16
//! or F32.

use super::config::Config;
use super::index::{self, Index};
use super::json::{self, Once, cut};
use super::places::{Part, Place, Places, Stored};
use super::{Checkpoint, Malformed};
use safetensors::tensor::Metadata;
use safetensors::{Dtype, SafeTensors};
use serde::de::IgnoredAny;
use std::collections::HashMap;

/// Bytes of the header's length, with which a file begins.
const LENGTH_BYTES: usize = 8;

/// Reads a file; its shapes have to be those of `config`.
pub fn read(bytes: &[u8], config: &Config) -> Result<Checkpoint, Malformed> {
    places(bytes, config)?.read(&[bytes])
}

/// Where the tensors of a file are, whose shapes have to be those of `config`. Of the bytes only the header is looked
/// at, and how many there are.
pub fn places(bytes: &[u8], config: &Config) -> Result<Places, Malformed> {
    of_files(&Files { headers: vec![header(bytes, "header")?], index: None }, config)
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
    let files: Vec<_> = shards.iter().map(AsRef::as_ref).collect();
    places_in_shards(shards, index, config)?.read(&files)
}

/// Where the tensors of shards are, which have to be what [`read_shards`] takes. Of the bytes only headers are looked at.
///
/// # Panics
///
/// If there are not as many as the index has.
pub fn places_in_shards(
    shards: &[impl AsRef<[u8]>],
    index: &Index,
    config: &Config,
) -> Result<Places, Malformed> {
    assert_eq!(shards.len(), index.shards().len(), "one file for each shard");
    let mut headers = Vec::with_capacity(shards.len());
    for (name, shard) in index.shards().iter().zip(shards) {
        headers.push(header(shard.as_ref(), &format!("{name}: header"))?);
    }
    check_shards(&headers, index)?;
    of_files(&Files { headers, index: Some(index) }, config)
}

/// Checks that no tensor is in two shards.
fn check_shards(headers: &[Header], index: &Index) -> Result<(), Malformed> {
    let mut seen = HashMap::new();
    for (number, of_shard) in headers.iter().enumerate() {
        for tensor in of_shard.tensors.tensors().into_keys() {
            let own = index.shard_of(&tensor).unwrap_or(number);
            let first = *seen.entry(tensor.clone()).or_insert(own);
            if first != number {
                let (first, second) = (&index.shards()[first], &index.shards()[number]);
                let (place, found) = (index::place(&tensor), format!("in {second}"));
                return Err(Malformed::new(place, found, format!("in {first} only")));
            }
        }
    }
    Ok(())
}

/// What a file says of its tensors.
struct Header {
    tensors: Metadata,
    /// The byte at which they begin.
    start: u64,
}

fn header(bytes: &[u8], place: &str) -> Result<Header, Malformed> {
    let (length, tensors) = SafeTensors::read_metadata(bytes).map_err(|error| {
        Malformed::new(place, cut(&error.to_string(), 200), "that of a safetensors file")
    })?;
    // The crate takes the last of tensors that have one name.
    let header = &bytes[LENGTH_BYTES..][..length];
    match serde_json::from_slice::<Once<IgnoredAny>>(header) {
        Ok(_) => Ok(Header { tensors, start: (LENGTH_BYTES + length) as u64 }),
        Err(error) => Err(Malformed::new(place, json::found(&error), "each tensor once")),
    }
}

fn of_files(files: &Files, config: &Config) -> Result<Places, Malformed> {
    let arithmetic = config.arithmetic()?;
    let shape = config.shape;
    let (dim, hidden, vocab, head_dim) = (shape.dim, shape.hidden, shape.vocab, shape.head_dim);
    let (q, kv) = (shape.q_width(), shape.kv_width());

    let mut parts = vec![
        (Part::AttentionNorm, "input_layernorm.weight", vec![dim]),
        (Part::Q, "self_attn.q_proj.weight", vec![q, dim]),
        (Part::K, "self_attn.k_proj.weight", vec![kv, dim]),
        (Part::V, "self_attn.v_proj.weight", vec![kv, dim]),
        (Part::O, "self_attn.o_proj.weight", vec![dim, q]),
        (Part::FfnNorm, "post_attention_layernorm.weight", vec![dim]),
        (Part::Gate, "mlp.gate_proj.weight", vec![hidden, dim]),
        (Part::Up, "mlp.up_proj.weight", vec![hidden, dim]),
        (Part::Down, "mlp.down_proj.weight", vec![dim, hidden]),
    ];
    if config.has_bias() {
        parts.extend([
            (Part::QBias, "self_attn.q_proj.bias", vec![q]),
            (Part::KBias, "self_attn.k_proj.bias", vec![kv]),
            (Part::VBias, "self_attn.v_proj.bias", vec![kv]),
        ]);
    }
    if config.has_head_norms() {
        parts.extend([
            (Part::QNorm, "self_attn.q_norm.weight", vec![head_dim]),
            (Part::KNorm, "self_attn.k_norm.weight", vec![head_dim]),
        ]);
    }
    // Before room is made for layers: the file has one name or more for each.
    let last = shape.layers - 1;
    files.place(&format!("model.layers.{last}.input_layernorm.weight"), &[dim])?;
    let layer = |number: usize| {
        let place = |(part, name, shape): &(Part, &str, Vec<usize>)| {
            Ok((*part, files.place(&format!("model.layers.{number}.{name}"), shape)?))
        };
        parts.iter().map(place).collect::<Result<Vec<_>, Malformed>>()
    };
    Ok(Places {
        shape,
        arithmetic,
        layers: (0..shape.layers).map(layer).collect::<Result<_, _>>()?,
        embedding: files.place("model.embed_tokens.weight", &[vocab, dim])?,
        norm: files.place("model.norm.weight", &[dim])?,
        classifier: match config.ties_embeddings()? {
            true => None,
            false => Some(files.place("lm_head.weight", &[vocab, dim])?),
        },
    })
}

/// One file, or the shards of an index.
struct Files<'a> {
    headers: Vec<Header>,
    index: Option<&'a Index>,
}

impl Files<'_> {
    /// The shard that holds a tensor, and what stands before its name in messages.
    fn shard(&self, tensor: &str, shape: &[usize]) -> Result<(usize, String), Malformed> {
        let Some(index) = self.index else { return Ok((0, String::new())) };
        let number = index.shard_of(tensor).ok_or_else(|| {
            Malformed::new(index::place(tensor), "absent", format!("shape {shape:?}"))
        })?;
        Ok((number, format!("{}: ", index.shards()[number])))
    }

    /// Where a tensor is that has to have this shape. Its bytes are a part of the file.
    fn place(&self, tensor: &str, shape: &[usize]) -> Result<Place, Malformed> {
        let (file, shard) = self.shard(tensor, shape)?;
        let Header { tensors, start } = &self.headers[file];
        let name = format!("{shard}tensor {tensor}");
        let Some(info) = tensors.info(tensor) else {
            return Err(Malformed::new(name, "absent", format!("shape {shape:?}")));
        };
        if info.shape != shape {
            let (found, expected) = (&info.shape, format!("{shape:?}, as the config says"));
            return Err(Malformed::new(name, format!("shape {found:?}"), expected));
        }
        let stored = match info.dtype {
            Dtype::F32 => Stored::F32,
            Dtype::F16 => Stored::F16,
            Dtype::BF16 => Stored::Bf16,
            other => return Err(Malformed::new(name, format!("{other:?}"), "F16, BF16 or F32")),
        };
        let (rows, columns) = match *shape {
            [rows, columns] => (rows, columns),
            _ => (1, shape.iter().product()),
        };
        let offset = start + info.data_offsets.0 as u64;
        Ok(Place { name, file, offset, rows, columns, stored })
    }
}
