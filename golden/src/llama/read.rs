// SPDX-License-Identifier: MIT
//! Reads a llama2.c checkpoint: seven 32-bit integers (`dim`, `hidden_dim`, `n_layers`, `n_heads`,
//! `n_kv_heads`, `vocab_size`, `seq_len`), then float32 weights, all little-endian. A negative
//! `vocab_size` says that the classifier is not the embedding.

use super::{Gate, Layer, Llama, Pairs, Scaling, Size};

/// The bytes of the header.
const HEADER: usize = 28;

/// The model in a checkpoint, and the tokens of context that it was made for. `None` if the bytes are
/// no checkpoint, or not as many as its header asks for.
pub fn read(bytes: &[u8]) -> Option<(Llama, usize)> {
    let (header, weights) = bytes.split_at_checked(HEADER)?;
    let header: Vec<i64> = words(header).map(|word| i32::from_le_bytes(word).into()).collect();
    let [dim, hidden, layers, heads, kv_heads, vocab, context] = header[..] else { return None };
    let shared = vocab > 0;
    let vocab = vocab.abs();
    if [dim, hidden, layers, heads, kv_heads, vocab, context].iter().any(|&size| size < 1) {
        return None;
    }
    if dim % (2 * heads) != 0 || heads % kv_heads != 0 || weights.len() % 4 != 0 {
        return None;
    }
    let head_dim = dim / heads;
    let kv = kv_heads * head_dim;

    // All tensors in the order of the file. Those of the layers stand together: all norms, all q, ...
    let of_layers = [dim, dim * dim, kv * dim, kv * dim, dim * dim, dim].into_iter().chain([
        hidden * dim,
        dim * hidden,
        hidden * dim,
    ]);
    let lengths = std::iter::once(i128::from(vocab * dim))
        .chain(of_layers.map(|length| i128::from(length) * i128::from(layers)))
        .chain([i128::from(dim), i128::from(context * (head_dim / 2) * 2)])
        .chain([if shared { 0 } else { i128::from(vocab * dim) }]);
    let lengths: Vec<i128> = lengths.collect();
    if lengths.iter().sum::<i128>() != (weights.len() / 4) as i128 {
        return None;
    }

    let mut numbers = words(weights).map(f32::from_le_bytes);
    let mut tensors =
        lengths.iter().map(|&length| numbers.by_ref().take(length as usize).collect::<Vec<f32>>());
    let mut next = || tensors.next();
    let embedding = next()?;
    let [attention_norm, q, k, v, o, ffn_norm, gate, down, up] =
        [(); 9].map(|()| next().unwrap_or_default());
    let (norm, _angles, classifier) = (next()?, next()?, next()?);

    let layers = layers as usize;
    let part = |all: &Vec<f32>, layer: usize| {
        let length = all.len() / layers;
        all[layer * length..][..length].to_vec()
    };
    let layer = |i: usize| Layer {
        attention_norm: part(&attention_norm, i),
        q: part(&q, i),
        k: part(&k, i),
        v: part(&v, i),
        bias: Vec::new(),
        q_norm: Vec::new(),
        k_norm: Vec::new(),
        o: part(&o, i),
        ffn_norm: part(&ffn_norm, i),
        gate: part(&gate, i),
        up: part(&up, i),
        down: part(&down, i),
    };
    let size = Size {
        dim: dim as usize,
        hidden: hidden as usize,
        layers,
        heads: heads as usize,
        kv_heads: kv_heads as usize,
        head_dim: head_dim as usize,
        vocab: vocab as usize,
    };
    let model = Llama {
        size,
        theta: 10000.0,
        scaling: Scaling::None,
        pairs: Pairs::Neighbours,
        epsilon: 1e-5,
        gate: Gate::Silu,
        embedding,
        layers: (0..layers).map(layer).collect(),
        norm,
        classifier,
    };
    Some((model, context as usize))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> + '_ {
    bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]])
}
