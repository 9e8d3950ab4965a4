// SPDX-License-Identifier: MIT
//! A decoder on the host, in float32, whose layers come one by one.
//!
//! ```text
//! start of a pass:   x = embedding[token], for each token of the pass
//! each layer:        of each token in turn: h = norm(x);  q, k, v = W h (+ bias), normed and turned;
//!                    x += W_o attention;  x += W_down (activation(W_gate h) * W_up h)
//! end of the pass:   logits = W_classifier norm(x of the last token)
//! ```
//!
//! Every sum of products has one order, whatever the mode, the loaders and the limit: product *i* goes to partial sum
//! *i* mod 16, in the order of *i*, and the 16 are added in a tree (8 and 8, 4 and 4, ...), all in float32. A matrix
//! stays as it is stored, and its rows are widened one at a time.
//!
//! The tokens of a prompt are one pass: each layer is loaded once for all of them. The classifier may come as one more
//! layer; if it is the embedding too, the embedding's rows are read one by one.

use crate::source::{InSlot, LayerSource, SourceError};
use memmap2::MmapMut;
use pimlico_model::between;
use pimlico_model::checkpoint::places::{Part, Place};
use pimlico_model::checkpoint::{Arithmetic, CheckpointShape};

/// Partial sums of a dot product.
const LANES: usize = 16;

/// A tensor that stays in memory, as it is stored.
struct Resident {
    place: Place,
    memory: MmapMut,
}

impl Resident {
    fn matrix(&self) -> Matrix<'_> {
        Matrix { place: &self.place, bytes: &self.memory[..self.place.bytes()] }
    }
}

/// A matrix as it is stored.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    place: &'a Place,
    bytes: &'a [u8],
}

impl Matrix<'_> {
    /// Widens a row.
    fn row(&self, row: usize, to: &mut [f32]) {
        let bytes = self.place.columns * self.place.stored.bytes();
        self.place.stored.widen(&self.bytes[row * bytes..][..bytes], to);
    }

    /// All its numbers.
    fn numbers(&self) -> Vec<f32> {
        let mut numbers = vec![0.0; self.place.numbers()];
        self.place.stored.widen(self.bytes, &mut numbers);
        numbers
    }

    /// The matrix times vectors, one behind the other in `x`; so are the results.
    fn times(&self, x: &[f32], scratch: &mut Vec<f32>) -> Vec<f32> {
        let Place { rows, columns, .. } = *self.place;
        let vectors = x.len() / columns;
        scratch.resize(columns, 0.0);
        let mut results = vec![0.0; vectors * rows];
        for row in 0..rows {
            self.row(row, scratch);
            for (number, vector) in x.chunks_exact(columns).enumerate() {
                results[number * rows + row] = dot(scratch, vector);
            }
        }
        results
    }
}

/// The sum of products, in the order that the module gives.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(rest_a.iter().zip(rest_b)) {
        *sum += a * b;
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = sums.split_at_mut(half);
        low.iter_mut().zip(high.iter()).for_each(|(low, high)| *low += high);
        half /= 2;
    }
    sums[0]
}

/// A decoder.
pub struct Decoder {
    shape: CheckpointShape,
    arithmetic: Arithmetic,
    /// None if its rows are read when they are wanted.
    embedding: Option<Resident>,
    norm: Vec<f32>,
    /// None if it is the embedding, or streamed.
    classifier: Option<Resident>,
    /// Of each layer K and V of the tokens so far: token by token, `kv_width` each.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    /// Tokens that were taken before this pass.
    position: usize,
    /// Vectors of the tokens of this pass.
    x: Vec<f32>,
    between: Between,
    scratch: Vec<f32>,
}

/// What a layer has computed so far, of each token of the pass.
#[derive(Default)]
struct Between {
    /// What the next matrix multiplies.
    h: Vec<f32>,
    q: Vec<f32>,
    k: Vec<f32>,
    gate: Vec<f32>,
}

/// The matrices of a layer in the order in which they are used.
pub const MATRICES: [Part; 7] =
    [Part::Q, Part::K, Part::V, Part::O, Part::Gate, Part::Up, Part::Down];

impl Decoder {
    /// Reads what stays in memory. There is room for K and V of so many tokens from the beginning.
    pub fn new(source: &LayerSource, tokens: usize) -> Result<Self, SourceError> {
        let places = source.places();
        let resident = |place: &Place| -> Result<Resident, SourceError> {
            Ok(Resident { place: place.clone(), memory: source.tensor(place)? })
        };
        let (shape, embedding) = (places.shape, &places.embedding);
        let embedding = source.embedding_stays().then(|| resident(embedding)).transpose()?;
        let classifier = places.classifier.as_ref().filter(|_| source.streamed_head().is_none());
        let room = || (0..shape.layers).map(|_| Vec::with_capacity(tokens * shape.kv_width()));
        Ok(Self {
            shape,
            arithmetic: places.arithmetic,
            embedding,
            norm: resident(&places.norm)?.matrix().numbers(),
            classifier: classifier.map(resident).transpose()?,
            keys: room().collect(),
            values: room().collect(),
            position: 0,
            x: Vec::new(),
            between: Between::default(),
            scratch: Vec::new(),
        })
    }

    /// Bytes that a decoder of such a model takes for K and V of so many tokens, and for what it computes with while
    /// `together` of them go through the layers in one pass.
    pub fn bytes_beside(shape: &CheckpointShape, tokens: usize, together: usize) -> u64 {
        let wide = |size: usize| size as u64;
        let caches = 2 * wide(shape.layers) * wide(tokens) * wide(shape.kv_width());
        let (dim, hidden, vocab) = (wide(shape.dim), wide(shape.hidden), wide(shape.vocab));
        let vectors = 4 * dim + 3 * wide(shape.q_width() + 2 * shape.kv_width()) + 4 * hidden;
        let scores = wide(shape.heads) * wide(tokens);
        4 * (caches + wide(together) * vectors + scores + 2 * vocab + dim.max(hidden))
    }

    /// Begins a pass with tokens.
    ///
    /// # Panics
    ///
    /// If there is no such token.
    pub fn begin(&mut self, source: &LayerSource, tokens: &[usize]) -> Result<(), SourceError> {
        self.position += self.x.len() / self.shape.dim;
        let dim = self.shape.dim;
        self.x.resize(tokens.len() * dim, 0.0);
        for (token, x) in tokens.iter().zip(self.x.chunks_exact_mut(dim)) {
            match &self.embedding {
                Some(embedding) => embedding.matrix().row(*token, x),
                None => x.copy_from_slice(&source.row(&source.places().embedding, *token)?),
            }
        }
        Ok(())
    }

    /// Takes the tokens of the pass through a layer.
    pub fn layer(&mut self, number: usize, parts: &[InSlot], slot: &[u8]) {
        let part = |wanted: Part| {
            let part = parts.iter().find(|part| part.part == wanted)?;
            Some(Matrix { place: &part.place, bytes: &slot[part.at..][..part.place.bytes()] })
        };
        let vector = |wanted: Part| part(wanted).map_or(Vec::new(), |part| part.numbers());
        self.begin_layer(&vector);
        for wanted in MATRICES {
            let matrix = part(wanted).expect("a tensor that each layer has");
            let products = matrix.times(&self.between.h, &mut self.scratch);
            self.take(number, wanted, products, &vector);
        }
    }

    /// Begins a layer, whose matrices are multiplied by the caller: for each of [`MATRICES`] in order,
    /// [`input`](Self::input), then [`take`](Self::take). `vector` has the numbers of a tensor of one row, empty where the layer
    /// has none.
    pub fn begin_layer(&mut self, vector: &dyn Fn(Part) -> Vec<f32>) {
        let epsilon = self.arithmetic.epsilon;
        self.between.h = normed(&self.x, &vector(Part::AttentionNorm), epsilon);
    }

    /// What the next matrix multiplies: a vector for each token of the pass, one behind the other.
    pub fn input(&self) -> &[f32] {
        &self.between.h
    }

    /// Takes the products of a matrix with its input, and computes what is between it and the next.
    ///
    /// # Panics
    ///
    /// If the part is no matrix, or the products are none of it.
    pub fn take(
        &mut self,
        number: usize,
        part: Part,
        products: Vec<f32>,
        vector: &dyn Fn(Part) -> Vec<f32>,
    ) {
        let Arithmetic { epsilon, gate, .. } = self.arithmetic;
        match part {
            Part::Q => self.between.q = products,
            Part::K => self.between.k = products,
            Part::V => self.attention(number, products, vector),
            Part::O => {
                between::add(&mut self.x, &products);
                self.between.h = normed(&self.x, &vector(Part::FfnNorm), epsilon);
            }
            Part::Gate => self.between.gate = products,
            Part::Up => {
                let of_gate = std::mem::take(&mut self.between.gate);
                self.between.h = between::gated(&of_gate, &products, gate);
            }
            Part::Down => {
                between::add(&mut self.x, &products);
                self.between.h = Vec::new();
            }
            other => panic!("{other:?} is no matrix"),
        }
    }

    /// Of Q, K and V attention, which O multiplies.
    fn attention(&mut self, number: usize, mut v: Vec<f32>, vector: &dyn Fn(Part) -> Vec<f32>) {
        let (shape, epsilon) = (self.shape, self.arithmetic.epsilon);
        let [mut q, mut k] = [&mut self.between.q, &mut self.between.k].map(std::mem::take);
        for (numbers, bias) in [(&mut q, Part::QBias), (&mut k, Part::KBias), (&mut v, Part::VBias)]
        {
            let bias = vector(bias);
            if !bias.is_empty() {
                numbers.chunks_exact_mut(bias.len()).for_each(|of| between::add(of, &bias));
            }
        }
        for (heads, part, width) in
            [(&mut q, Part::QNorm, shape.q_width()), (&mut k, Part::KNorm, shape.kv_width())]
        {
            between::norm_heads(heads, &vector(part), epsilon);
            for (token, heads) in heads.chunks_exact_mut(width).enumerate() {
                for head in heads.chunks_exact_mut(shape.head_dim) {
                    between::turn(head, self.position + token, &self.arithmetic);
                }
            }
        }
        self.keys[number].extend(&k);
        self.values[number].extend(&v);
        let mut context = vec![0.0; q.len()];
        let vectors =
            q.chunks_exact(shape.q_width()).zip(context.chunks_exact_mut(shape.q_width()));
        for (token, (q, context)) in vectors.enumerate() {
            let tokens = self.position + token + 1;
            attend(&shape, q, (&self.keys[number], &self.values[number], tokens), context);
        }
        self.between.h = context;
    }

    /// The logits of the token that follows the last one of the pass, with the classifier that stays.
    ///
    /// # Panics
    ///
    /// If it is streamed.
    pub fn logits(&mut self) -> Vec<f32> {
        let h = self.last_normed();
        let stays = self.classifier.as_ref().or(self.embedding.as_ref());
        stays.expect("a classifier that stays").matrix().times(&h, &mut self.scratch)
    }

    /// The same with a classifier that was streamed into a slot.
    pub fn streamed_logits(&mut self, place: &Place, slot: &[u8]) -> Vec<f32> {
        let classifier = Matrix { place, bytes: &slot[..place.bytes()] };
        classifier.times(&self.last_normed(), &mut self.scratch)
    }

    /// Of each layer K and V of the tokens so far: token by token, `kv_width` numbers each.
    pub fn into_caches(self) -> Vec<(Vec<f32>, Vec<f32>)> {
        self.keys.into_iter().zip(self.values).collect()
    }

    /// The vector of the pass's last token, normed: what the classifier multiplies.
    pub fn last_normed(&self) -> Vec<f32> {
        let last = &self.x[self.x.len() - self.shape.dim..];
        between::normed(last, &self.norm, self.arithmetic.epsilon)
    }
}

/// RMSNorm of each of several vectors.
fn normed(x: &[f32], weight: &[f32], epsilon: f64) -> Vec<f32> {
    x.chunks_exact(weight.len()).flat_map(|x| between::normed(x, weight, epsilon)).collect()
}

/// Attention of a token's heads over so many tokens.
fn attend(
    shape: &CheckpointShape,
    q: &[f32],
    (keys, values, tokens): (&[f32], &[f32], usize),
    context: &mut [f32],
) {
    let (head_dim, width) = (shape.head_dim, shape.kv_width());
    let scale = 1.0 / (head_dim as f32).sqrt();
    let heads = q.chunks_exact(head_dim).zip(context.chunks_exact_mut(head_dim));
    for (head, (q, context)) in heads.enumerate() {
        let at = head / shape.group() * head_dim;
        let of = |token: usize| token * width + at..token * width + at + head_dim;
        let mut scores: Vec<f32> =
            (0..tokens).map(|token| scale * dot(q, &keys[of(token)])).collect();
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        scores.iter_mut().for_each(|score| *score = (*score - most).exp());
        let sum: f32 = scores.iter().sum();
        for (token, score) in scores.iter().enumerate() {
            let weight = score / sum;
            let v = &values[of(token)];
            context.iter_mut().zip(v).for_each(|(context, v)| *context += weight * v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_order_that_is_documented() {
        let number = |n: usize| ((n * 7919 % 1013) as f32 - 500.0) / 97.0;
        for length in [1, 15, 16, 17, 100, 688] {
            let a: Vec<f32> = (0..length).map(number).collect();
            let b: Vec<f32> = (0..length).map(|n| number(n + 3)).collect();
            let mut sums = [0.0f32; 16];
            (0..length).for_each(|n| sums[n % 16] += a[n] * b[n]);
            let eights: Vec<f32> = (0..8).map(|n| sums[n] + sums[n + 8]).collect();
            let fours: Vec<f32> = (0..4).map(|n| eights[n] + eights[n + 4]).collect();
            let expected = (fours[0] + fours[2]) + (fours[1] + fours[3]);
            assert_eq!(dot(&a, &b).to_bits(), expected.to_bits());
        }
    }
}
