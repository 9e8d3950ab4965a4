// SPDX-License-Identifier: MIT
//! A decoder of the Llama family in float64: what the device's text is compared with.
//!
//! ```text
//! x = embedding[token]
//! each layer:  h = norm(x);  q, k, v = W h (+ bias), each head's q and k (normed and) turned by RoPE
//!              x += W_o [ for each head: softmax(q k / sqrt(d_h)) v ]
//!              h = norm(x);  x += W_down (activation(W_gate h) * W_up h)
//! logits = W_classifier norm(x)
//! ```
//!
//! The weights are float32, taken exactly; all else is `f64`, summed in the order of the index.
//! Touvron et al., "LLaMA", section 2.2 (RMSNorm, SwiGLU, RoPE); Ainslie et al., "GQA": query heads in
//! groups share a K and V head. Biases of q, k and v are those of Qwen2, norms of each
//! head's q and k those of Qwen3.
//!
//! [`read`] makes a model of the bytes of a llama2.c checkpoint.

mod read;

use crate::real::{dot, softmax, weighted_sum};

pub use read::read;

/// Sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Elements of the vector that goes from layer to layer.
    pub dim: usize,
    /// Elements between the matrices of the feed-forward network.
    pub hidden: usize,
    /// Decoder layers.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// K and V heads, each shared by as many query heads.
    pub kv_heads: usize,
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Tokens that there are.
    pub vocab: usize,
}

/// How RoPE's angles are made smaller, so that a context longer than that of training has angles that
/// training had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// They are not.
    None,
    /// Divided by a factor (Chen et al., "Extending Context Window of Large Language Models via
    /// Positional Interpolation").
    Linear(f64),
    /// Llama 3.1's: by the turns that a pair makes in the context of training. Pairs of few turns have
    /// all angles divided, those of many turns none; between the two, the quotient's share falls with
    /// the turns.
    ByTurns {
        /// What angles are divided by.
        factor: f64,
        /// Turns up to which the angle is the quotient.
        all_below: f64,
        /// Turns from which on the angle is as it was.
        none_above: f64,
        /// Tokens of context in training.
        context: f64,
    },
}

impl Scaling {
    /// The angle of one position for a pair that would turn by `angle`.
    fn of(self, angle: f64) -> f64 {
        match self {
            Self::None => angle,
            Self::Linear(factor) => angle / factor,
            Self::ByTurns { factor, all_below, none_above, context } => {
                let turns = context * angle / std::f64::consts::TAU;
                let share = ((none_above - turns) / (none_above - all_below)).clamp(0.0, 1.0);
                angle + share * (angle / factor - angle)
            }
        }
    }
}

/// Which elements of a vector RoPE turns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Neighbours: 0 and 1, 2 and 3, ...
    Neighbours,
    /// An element of the first half and that of the second: 0 and d/2, 1 and d/2 + 1, ...
    Halves,
}

/// What the feed-forward network's gate goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// x / (1 + e^-x).
    Silu,
    /// The tanh approximation of x times the normal distribution's cumulative function.
    GeluTanh,
}

/// A layer's weights; matrices row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// `dim`.
    pub attention_norm: Vec<f32>,
    /// `heads * head_dim` rows of `dim`.
    pub q: Vec<f32>,
    /// `kv_heads * head_dim` rows of `dim`.
    pub k: Vec<f32>,
    /// `kv_heads * head_dim` rows of `dim`.
    pub v: Vec<f32>,
    /// Added to q, k and v one behind the other; empty where there is none.
    pub bias: Vec<f32>,
    /// Of the norm of each head's q: `head_dim`; empty where there is no norm.
    pub q_norm: Vec<f32>,
    /// Of the norm of each head's k: `head_dim`; empty where there is no norm.
    pub k_norm: Vec<f32>,
    /// `dim` rows of `heads * head_dim`.
    pub o: Vec<f32>,
    /// `dim`.
    pub ffn_norm: Vec<f32>,
    /// `hidden` rows of `dim`.
    pub gate: Vec<f32>,
    /// `hidden` rows of `dim`.
    pub up: Vec<f32>,
    /// `dim` rows of `hidden`.
    pub down: Vec<f32>,
}

/// A model.
#[derive(Clone, Debug, PartialEq)]
pub struct Llama {
    /// Its sizes.
    pub size: Size,
    /// Base of RoPE's angles.
    pub theta: f64,
    /// How they are made smaller.
    pub scaling: Scaling,
    /// What RoPE turns together.
    pub pairs: Pairs,
    /// Added to the mean of squares in RMSNorm.
    pub epsilon: f64,
    /// What the gate goes through.
    pub gate: Gate,
    /// `vocab` rows of `dim`.
    pub embedding: Vec<f32>,
    /// The layers, the first first.
    pub layers: Vec<Layer>,
    /// `dim`.
    pub norm: Vec<f32>,
    /// `vocab` rows of `dim`; empty where it is the embedding.
    pub classifier: Vec<f32>,
}

/// K and V of the tokens so far, of each layer and K and V head.
#[derive(Clone, Debug, Default)]
pub struct Past {
    keys: Vec<Vec<Vec<f64>>>,
    values: Vec<Vec<Vec<f64>>>,
}

impl Past {
    /// Tokens.
    pub fn tokens(&self) -> usize {
        self.keys.first().map_or(0, Vec::len)
    }
}

impl Llama {
    /// Takes the next token, and returns the logits of the one that follows.
    ///
    /// # Panics
    ///
    /// If there is no such token, or a weight has not the length that [`Layer`] and [`Llama`] give.
    pub fn step(&self, past: &mut Past, token: usize) -> Vec<f64> {
        self.step_on(1, past, token)
    }

    /// The same with rows of large matrices on so many threads: the same logits.
    ///
    /// # Panics
    ///
    /// As [`Llama::step`].
    pub fn step_on(&self, threads: usize, past: &mut Past, token: usize) -> Vec<f64> {
        let Size { dim, layers, .. } = self.size;
        let position = past.tokens();
        past.keys.resize(layers, Vec::new());
        past.values.resize(layers, Vec::new());

        let embedding = &self.embedding[token * dim..][..dim];
        let mut x: Vec<f64> = embedding.iter().map(|&element| element.into()).collect();
        for (number, layer) in self.layers.iter().enumerate() {
            let (keys, values) = (&mut past.keys[number], &mut past.values[number]);
            let h = self.normed(&x, &layer.attention_norm);
            add(&mut x, &self.attention(layer, &h, (position, threads), keys, values));
            let h = self.normed(&x, &layer.ffn_norm);
            add(&mut x, &self.feed_forward(layer, &h, threads));
        }
        let classifier =
            if self.classifier.is_empty() { &self.embedding } else { &self.classifier };
        product(classifier, &self.normed(&x, &self.norm), threads)
    }

    /// `count` tokens behind `prompt`, each the one of the largest logit; fewer if one is in `ends`,
    /// which is not among them.
    ///
    /// # Panics
    ///
    /// As [`Llama::step`], or if the prompt is empty.
    pub fn greedy(&self, prompt: &[usize], count: usize, ends: &[usize]) -> Vec<usize> {
        let mut past = Past::default();
        let mut logits = Vec::new();
        assert!(!prompt.is_empty(), "a prompt of at least one token");
        for &token in prompt {
            logits = self.step(&mut past, token);
        }
        let mut tokens = Vec::new();
        while tokens.len() < count {
            let next = largest(&logits);
            if ends.contains(&next) {
                break;
            }
            tokens.push(next);
            logits = self.step(&mut past, next);
        }
        tokens
    }

    fn attention(
        &self,
        layer: &Layer,
        h: &[f64],
        (position, threads): (usize, usize),
        keys: &mut Vec<Vec<f64>>,
        values: &mut Vec<Vec<f64>>,
    ) -> Vec<f64> {
        let Size { heads, kv_heads, head_dim, .. } = self.size;
        let [mut q, mut k, mut v] = [&layer.q, &layer.k, &layer.v].map(|w| product(w, h, threads));
        if !layer.bias.is_empty() {
            let (of_q, others) = layer.bias.split_at(q.len());
            let (of_k, of_v) = others.split_at(k.len());
            for (sums, bias) in [(&mut q, of_q), (&mut k, of_k), (&mut v, of_v)] {
                sums.iter_mut().zip(bias).for_each(|(sum, &bias)| *sum += f64::from(bias));
            }
        }
        let normed = |head: &[f64], norm: &[f32]| match norm {
            [] => head.to_vec(),
            norm => self.normed(head, norm),
        };
        for (all, norm) in [(&mut q, &layer.q_norm), (&mut k, &layer.k_norm)] {
            *all = all.chunks(head_dim).flat_map(|head| normed(head, norm)).collect();
            all.chunks_mut(head_dim).for_each(|head| self.turn(head, position));
        }
        keys.push(k);
        values.push(v);

        let mut all = Vec::with_capacity(heads * head_dim);
        for (head, q) in q.chunks(head_dim).enumerate() {
            let from = head / (heads / kv_heads) * head_dim;
            let scores: Vec<f64> = keys
                .iter()
                .map(|k| dot(q, &k[from..][..head_dim]) / (head_dim as f64).sqrt())
                .collect();
            let values = values.iter().map(|v| &v[from..][..head_dim]);
            all.extend(weighted_sum(&softmax(&scores), values));
        }
        product(&layer.o, &all, threads)
    }

    fn feed_forward(&self, layer: &Layer, h: &[f64], threads: usize) -> Vec<f64> {
        let (gate, up) = (product(&layer.gate, h, threads), product(&layer.up, h, threads));
        let through = |x: f64| match self.gate {
            Gate::Silu => x / (1.0 + (-x).exp()),
            Gate::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
                x * (1.0 + inner.tanh()) / 2.0
            }
        };
        let gated: Vec<f64> = gate.iter().zip(&up).map(|(&gate, up)| through(gate) * up).collect();
        product(&layer.down, &gated, threads)
    }

    /// RMSNorm.
    fn normed(&self, x: &[f64], weight: &[f32]) -> Vec<f64> {
        let mean = dot(x, x) / x.len() as f64;
        let factor = 1.0 / (mean + self.epsilon).sqrt();
        x.iter().zip(weight).map(|(x, &weight)| f64::from(weight) * (factor * x)).collect()
    }

    /// RoPE: turns each pair of a vector by its own angle.
    fn turn(&self, vector: &mut [f64], position: usize) {
        let d = vector.len();
        for pair in 0..d / 2 {
            let (a, b) = match self.pairs {
                Pairs::Neighbours => (2 * pair, 2 * pair + 1),
                Pairs::Halves => (pair, d / 2 + pair),
            };
            let angle = self.scaling.of(self.theta.powf(-2.0 * pair as f64 / d as f64));
            let angle = position as f64 * angle;
            let (x, y) = (vector[a], vector[b]);
            vector[a] = x * angle.cos() - y * angle.sin();
            vector[b] = x * angle.sin() + y * angle.cos();
        }
    }
}

/// The place of the largest logit; the first of equals.
pub fn largest(logits: &[f64]) -> usize {
    let mut best = 0;
    for (place, &logit) in logits.iter().enumerate() {
        if logit > logits[best] {
            best = place;
        }
    }
    best
}

/// Elements of a matrix for which a thread is worth its start.
const FOR_A_THREAD: usize = 1 << 18;

/// A matrix times a vector: each row's sum by one thread.
fn product(matrix: &[f32], vector: &[f64], threads: usize) -> Vec<f64> {
    assert!(matrix.len().is_multiple_of(vector.len()), "whole rows");
    let (columns, rows) = (vector.len(), matrix.len() / vector.len());
    let threads = threads.min(matrix.len() / FOR_A_THREAD).max(1);
    let of = |part: &[f32]| part.chunks(columns).map(|row| dot(row, vector)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let mut parts = matrix.chunks(columns * rows.div_ceil(threads));
        let first = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || of(part))).collect();
        let mut sums = of(first);
        for other in others {
            sums.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        sums
    })
}

fn add(x: &mut [f64], more: &[f64]) {
    x.iter_mut().zip(more).for_each(|(x, more)| *x += more);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tokens, one head of two elements; attention gives back v, the network nothing.
    fn by_hand() -> Llama {
        let unit = vec![1.0, 0.0, 0.0, 1.0];
        let size =
            Size { dim: 2, hidden: 1, layers: 1, heads: 1, kv_heads: 1, head_dim: 2, vocab: 2 };
        let layer = Layer {
            attention_norm: vec![1.0, 2.0],
            q: unit.clone(),
            k: vec![0.0; 4],
            v: unit.clone(),
            bias: vec![],
            q_norm: vec![],
            k_norm: vec![],
            o: unit,
            ffn_norm: vec![1.0; 2],
            gate: vec![0.0; 2],
            up: vec![1.0; 2],
            down: vec![1.0; 2],
        };
        Llama {
            size,
            theta: 10000.0,
            scaling: Scaling::None,
            pairs: Pairs::Neighbours,
            epsilon: 0.0,
            gate: Gate::Silu,
            embedding: vec![3.0, 4.0, -4.0, 3.0],
            layers: vec![layer],
            norm: vec![1.0; 2],
            classifier: vec![1.0, 0.0, 0.0, 1.0],
        }
    }

    #[test]
    fn a_case_by_hand() {
        // The norm of (3, 4) divides by 5 / sqrt(2): v = (3, 8) sqrt(2) / 5. One token has all weight.
        let mut past = Past::default();
        let logits = by_hand().step(&mut past, 0);
        let root = 2f64.sqrt();
        let x = [3.0 + 0.6 * root, 4.0 + 1.6 * root];
        let rms = ((x[0] * x[0] + x[1] * x[1]) / 2.0).sqrt();
        for (got, x) in logits.iter().zip(x) {
            assert!((got - x / rms).abs() < 1e-14, "{got}");
        }
        // The second token's k is zero too, so both v weigh a half: (3, 8) and (-4, 6), sqrt(2) / 5 each.
        let logits = by_hand().step(&mut past, 1);
        let x = [-4.0 - 0.1 * root, 3.0 + 1.4 * root];
        let rms = ((x[0] * x[0] + x[1] * x[1]) / 2.0).sqrt();
        for (got, x) in logits.iter().zip(x) {
            assert!((got - x / rms).abs() < 1e-14, "{got}");
        }
        assert_eq!(past.tokens(), 2);
    }

    #[test]
    fn rows_on_threads_have_the_same_sums() {
        let columns = 300;
        let element = |n: usize| ((n * 7919 % 1013) as f32 - 500.0) / 97.0;
        let vector: Vec<f64> = (0..columns).map(|n| f64::from(element(n + 5))).collect();
        for rows in [1, 5 * FOR_A_THREAD / columns] {
            let matrix: Vec<f32> = (0..rows * columns).map(element).collect();
            let alone = product(&matrix, &vector, 1);
            assert_eq!(alone.len(), rows);
            for threads in [2, 3, 64] {
                assert_eq!(product(&matrix, &vector, threads), alone);
            }
        }
    }

    #[test]
    fn a_norm_of_each_head_takes_its_length() {
        let mut model = by_hand();
        let layer = &mut model.layers[0];
        // h of the second token is (-4, 6) sqrt(2) / 5, of the first (3, 8) sqrt(2) / 5.
        layer.q = vec![0.1, 0.0, 0.0, 0.1];
        layer.k = vec![0.0, 7.0, 0.0, 0.0];
        (layer.q_norm, layer.k_norm) = (vec![1.0, 0.5], vec![1.0, 1.0]);
        model.theta = 1.0;
        let mut past = Past::default();
        model.step(&mut past, 0);
        let logits = model.step(&mut past, 1);
        // k is (8, 0) and (6, 0) times something, normed (sqrt(2), 0) both. The first is at position 0,
        // where RoPE turns nothing; q and the second turn by one radian, together. So the scores are
        // the first elements of q turned, and of q as it is.
        // q: (-4, 6) normed is sqrt(2 / 52) (-4, 6), times (1, 0.5).
        let factor = (2.0 / 52f64).sqrt();
        let q = [-4.0 * factor, 3.0 * factor];
        let scores = [q[0] * 1f64.cos() - q[1] * 1f64.sin(), q[0]];
        let first = 1.0 / (1.0 + (scores[1] - scores[0]).exp());
        let root = 2f64.sqrt() / 5.0;
        let v = [3.0 * first - 4.0 * (1.0 - first), 8.0 * first + 6.0 * (1.0 - first)];
        let x = [-4.0 + root * v[0], 3.0 + root * v[1]];
        let rms = ((x[0] * x[0] + x[1] * x[1]) / 2.0).sqrt();
        for (got, x) in logits.iter().zip(x) {
            assert!((got - x / rms).abs() < 1e-14, "{got} {}", x / rms);
        }
    }

    #[test]
    fn rope_turns_pairs() {
        let mut model = by_hand();
        let mut vector = [1.0, 2.0, 0.0, 0.0];
        model.turn(&mut vector, 1);
        let (sin, cos) = 1f64.sin_cos();
        assert_eq!(vector, [cos - 2.0 * sin, sin + 2.0 * cos, 0.0, 0.0]);
        model.pairs = Pairs::Halves;
        let mut vector = [1.0, 0.0, 2.0, 1.0];
        model.turn(&mut vector, 1);
        assert_eq!([vector[0], vector[2]], [cos - 2.0 * sin, sin + 2.0 * cos]);
        // The second pair: 10000^(-2/4).
        assert_eq!([vector[1], vector[3]], [-(0.01f64.sin()), 0.01f64.cos()]);
    }

    /// Worked out for heads of 128 with Llama 3.1's numbers (base 500000, factor 8, 1 and 4 turns of 8192
    /// tokens) in Python's float64, by wavelengths as `modeling_rope_utils` of Hugging Face's transformers
    /// has it: f = base^(-i/64), w = 2 pi / f; f where w < 8192 / 4, f / 8 where w > 8192 / 1, else
    /// (1 - s) f / 8 + s f, where s = (8192 / w - 1) / (4 - 1).
    #[test]
    fn long_contexts_have_smaller_angles() {
        let llama_3_1 =
            Scaling::ByTurns { factor: 8.0, all_below: 1.0, none_above: 4.0, context: 8192.0 };
        let expected = [
            (1, 0.8146172338565447),
            (28, 0.0032114459947525913),
            (29, 0.002166570763503359),
            (32, 0.0005248461609929547),
            (34, 0.00017850781276799638),
            (35, 9.556212353964683e-05),
            (63, 3.068925988914511e-07),
        ];
        for (pair, expected) in expected {
            let angle = llama_3_1.of(500000f64.powf(-2.0 * f64::from(pair) / 128.0));
            assert!((angle - expected).abs() < 1e-12 * expected, "{pair}: {angle}");
        }
        let mut model = by_hand();
        model.scaling = Scaling::Linear(4.0);
        let mut vector = [1.0, 0.0];
        model.turn(&mut vector, 2);
        assert_eq!(vector, [0.5f64.cos(), 0.5f64.sin()]);
    }

    #[test]
    fn the_largest_is_the_first_of_equals() {
        assert_eq!(largest(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(largest(&[-1.0]), 0);
    }
}
