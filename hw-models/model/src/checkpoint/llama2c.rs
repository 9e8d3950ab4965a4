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

use super::places::{Part, Place, Places, Stored};
use super::{Arithmetic, Checkpoint, CheckpointShape, Gate, Malformed, Pairs, RopeScaling};

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
    places(bytes, bytes.len() as u64)?.read(&[bytes])
}

/// Bytes of the header, which [`places`] wants.
pub const HEADER_BYTES: usize = 4 * HEADER.len();

/// Where the tensors of a checkpoint of so many bytes are; `start` is its header, or more.
pub fn places(start: &[u8], bytes: u64) -> Result<Places, Malformed> {
    let (shape, own_classifier) = header(start)?;
    let CheckpointShape { dim, hidden, layers, vocab, context, head_dim, .. } = shape;
    let weights = bytes.saturating_sub(HEADER_BYTES as u64);
    let expected = floats(&shape, own_classifier);
    if u128::from(weights) != 4 * expected {
        return Err(Malformed::new(
            format!("byte {HEADER_BYTES}"),
            format!("{weights} bytes of weights"),
            format!("{} of such a model", 4 * expected),
        ));
    }

    // From here on all lengths are those of parts of the file.
    let mut offset = HEADER_BYTES as u64;
    let mut take = |numbers: usize| {
        let taken = offset;
        offset += 4 * numbers as u64;
        taken
    };
    let place = |name: String, offset, [rows, columns]: [usize; 2]| {
        let stored = Stored::F32;
        Place { name, file: 0, offset, rows, columns, stored }
    };
    let (q, kv) = (shape.q_width(), shape.kv_width());
    let table = [vocab, dim];
    let embedding = place("token_embedding_table".to_owned(), take(vocab * dim), table);
    let tensors = [
        (Part::AttentionNorm, "rms_att_weight", [1, dim]),
        (Part::Q, "wq", [q, dim]),
        (Part::K, "wk", [kv, dim]),
        (Part::V, "wv", [kv, dim]),
        (Part::O, "wo", [dim, q]),
        (Part::FfnNorm, "rms_ffn_weight", [1, dim]),
        (Part::Gate, "w1", [hidden, dim]),
        (Part::Down, "w2", [dim, hidden]),
        (Part::Up, "w3", [hidden, dim]),
    ];
    // Each kind of all layers, one behind the other.
    let tensors = tensors.map(|(part, name, shape)| {
        let numbers = shape[0] * shape[1];
        (part, name, shape, take(layers * numbers), 4 * numbers as u64)
    });
    let norm = place("rms_final_weight".to_owned(), take(dim), [1, dim]);
    take(context * head_dim); // cosines and sines
    let classifier = own_classifier.then(|| place("wcls".to_owned(), take(vocab * dim), table));
    let layer = |number: usize| {
        let of_layer = |&(part, name, shape, from, bytes)| {
            let offset = from + number as u64 * bytes;
            (part, place(format!("{name} of layer {number}"), offset, shape))
        };
        tensors.iter().map(of_layer).collect()
    };
    let layers = (0..layers).map(layer).collect();
    Ok(Places { shape, arithmetic: ARITHMETIC, embedding, norm, classifier, layers })
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
