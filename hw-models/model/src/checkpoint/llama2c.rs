// SPDX-License-Identifier: MIT
//! Checkpoints of llama2.c (`run.c` of github.com/karpathy/llama2.c, `memory_map_weights`), all numbers
//! little-endian:
//!
//! ```text
//! int32    dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len
//!          vocab_size is negative where the classifier is not the embedding
//! float32  embedding; then of all layers the attention norms, q, k, v, o, the ffn norms, w1 (gate),
//!          w2 (down), w3 (up); the last norm; cosines and sines of RoPE, which nobody reads; classifier
//! ```

use super::{
    Arithmetic, Checkpoint, CheckpointShape, Gate, Layer, Malformed, Pairs, RopeScaling, held,
};

/// Names of the header's numbers.
const HEADER: [&str; 7] =
    ["dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len"];

/// What llama2.c computes between the matrices.
pub const ARITHMETIC: Arithmetic = Arithmetic {
    theta: 10000.0,
    scaling: RopeScaling::None,
    epsilon: 1e-5,
    pairs: Pairs::Neighbours,
    gate: Gate::Silu,
};

/// Reads a checkpoint.
pub fn read(bytes: &[u8]) -> Result<Checkpoint, Malformed> {
    let (shape, own_classifier) = header(bytes)?;
    let CheckpointShape { dim, hidden, layers, vocab, context, head_dim, .. } = shape;
    let weights = &bytes[4 * HEADER.len()..];
    let expected = floats(&shape, own_classifier);
    if weights.len() as u128 != 4 * expected {
        return Err(Malformed::new(
            format!("byte {}", 4 * HEADER.len()),
            format!("{} bytes of weights", weights.len()),
            format!("{} of such a model", 4 * expected),
        ));
    }

    // From here on all lengths are those of parts of the file.
    let mut rest = weights;
    let mut take = |floats: usize| {
        let (taken, behind) = rest.split_at(4 * floats);
        rest = behind;
        taken
    };
    let (q, kv) = (shape.q_width(), shape.kv_width());
    let embedding = numbers(take(vocab * dim));
    let mut of_layers = |floats: usize| (take(layers * floats), floats);
    let attention_norm = of_layers(dim);
    let (wq, wk, wv, wo) =
        (of_layers(q * dim), of_layers(kv * dim), of_layers(kv * dim), of_layers(dim * q));
    let ffn_norm = of_layers(dim);
    let (gate, down, up) =
        (of_layers(hidden * dim), of_layers(dim * hidden), of_layers(hidden * dim));
    let norm = numbers(take(dim));
    take(context * head_dim); // cosines and sines
    let classifier = if own_classifier { numbers(take(vocab * dim)) } else { Vec::new() };

    let layer = |number: usize| {
        let part =
            |(all, floats): (&[u8], usize)| numbers(&all[4 * floats * number..][..4 * floats]);
        let matrix = |name: &str, of_layers, columns| {
            held(part(of_layers), columns, || format!("{name} of layer {number}"))
        };
        Ok(Layer {
            attention_norm: part(attention_norm),
            q: matrix("wq", wq, dim)?,
            k: matrix("wk", wk, dim)?,
            v: matrix("wv", wv, dim)?,
            bias: Vec::new(),
            q_norm: Vec::new(),
            k_norm: Vec::new(),
            o: matrix("wo", wo, q)?,
            ffn_norm: part(ffn_norm),
            gate: matrix("w1", gate, dim)?,
            up: matrix("w3", up, dim)?,
            down: matrix("w2", down, hidden)?,
        })
    };
    let layers = (0..layers).map(layer).collect::<Result<_, Malformed>>()?;
    let (embedding, classifier) = match own_classifier {
        true => (embedding, held(classifier, dim, || "wcls".to_owned())?),
        false => (held(embedding, dim, || "token_embedding_table".to_owned())?, classifier),
    };
    Ok(Checkpoint { shape, arithmetic: ARITHMETIC, embedding, layers, norm, classifier })
}

/// The header, and whether the classifier is not the embedding.
fn header(bytes: &[u8]) -> Result<(CheckpointShape, bool), Malformed> {
    let mut sizes = [0; HEADER.len()];
    for (number, (size, name)) in sizes.iter_mut().zip(HEADER).enumerate() {
        let place = format!("byte {}", 4 * number);
        let Some(word) = bytes.get(4 * number..4 * number + 4) else {
            let found = format!("{} bytes in all", bytes.len());
            return Err(Malformed::new(place, found, format!("{name}, an int32")));
        };
        let value = i32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let is_size = if name == "vocab_size" { value != 0 } else { value > 0 };
        if !is_size {
            return Err(Malformed::new(place, format!("{name} {value}"), "1 or more"));
        }
        *size = i64::from(value);
    }
    let own_classifier = sizes[5] < 0;
    let [dim, hidden, layers, heads, kv_heads, vocab, context] =
        sizes.map(|size| size.unsigned_abs() as usize);
    if !dim.is_multiple_of(heads) {
        let found = format!("dim {dim} and n_heads {heads}");
        return Err(Malformed::new("byte 0", found, "dim a multiple of n_heads"));
    }
    let head_dim = dim / heads;
    let shape = CheckpointShape { dim, hidden, layers, heads, kv_heads, head_dim, vocab, context };
    Ok((shape.check()?, own_classifier))
}

/// Float32 numbers of a model.
fn floats(shape: &CheckpointShape, own_classifier: bool) -> u128 {
    let wide = |size: usize| size as u128;
    let (dim, hidden, vocab) = (wide(shape.dim), wide(shape.hidden), wide(shape.vocab));
    let kv = wide(shape.kv_heads) * wide(shape.head_dim);
    let of_layer = 2 * dim + 2 * dim * dim + 2 * kv * dim + 3 * hidden * dim;
    let classifiers = if own_classifier { 2 } else { 1 };
    let angles = wide(shape.context) * wide(shape.head_dim);
    classifiers * vocab * dim + wide(shape.layers) * of_layer + dim + angles
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let word = |word: &[u8]| f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
    bytes.chunks_exact(4).map(word).collect()
}
