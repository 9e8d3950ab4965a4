// SPDX-License-Identifier: MIT
//! The time to the first token by how weights come to the host's GEMM, in closed form.
//!
//! ```text
//! G = 2 M K tokens / GEMM's rate      b = bytes of a matrix      R = rate of the swizzled copy
//!
//! WD, FACIL-O    sum G
//! OWR            sum (b / R4 + G)
//! DDB            b(g0) / R2 + sum over layers of
//!                  sum over Q, K, V, O of max(G, b(g1) / 4 / R2) + max(G(FF0), b(g2) / R2) + ..., where FF2 copies g0 of
//!                  the next layer, and nothing in the last
//! NC-GEMM        tokens * bytes / rate of reads that no cache holds
//! ```
//!
//! Attention, norms and the language-model head are not counted: the paper says nothing of them.

use super::phone::{FittedModel, Phone};
use super::weights::{ModelWeights, Shape, bytes};

/// DRAM passes of a swizzled copy: a read of the banks, a read of the destination into the cache, and its write (3.3).
pub const COPY_PASSES: f64 = 3.0;

/// How weights come to the host's GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// They are there: duplicated, or as FACIL's memory controller shows them.
    Present,
    /// Two buffers: the next group is copied beside GEMM (DDB).
    DoubleBuffered,
    /// One buffer: a matrix is copied before its GEMM (OWR).
    InTurns,
    /// Read where they are, past all caches (NC-GEMM).
    NonCacheable,
}

/// A prefill on a phone.
#[derive(Clone, Copy, Debug)]
pub struct Prefill<'a> {
    /// The phone.
    pub phone: &'a Phone,
    /// Its rates with the model.
    pub rates: &'a FittedModel,
    /// The model's weights.
    pub weights: &'a ModelWeights,
    /// Tokens of the prompt, of one request.
    pub tokens: u64,
    /// How many times as long GEMM takes while weights are copied beside it.
    pub contention: f64,
}

impl Prefill<'_> {
    /// Seconds to the first token.
    pub fn seconds(&self, policy: Policy) -> f64 {
        let weights = self.weights;
        let layers = weights.layers as f64;
        let of_layer = || weights.groups.iter().flatten();
        let gemm: f64 = layers * of_layer().map(|shape| self.gemm(shape)).sum::<f64>();
        let matrices = weights.layers * weights.layer_bytes();
        match policy {
            Policy::Present => gemm,
            Policy::InTurns => gemm + matrices as f64 / (1e9 * self.rates.copy4_gb_per_s),
            Policy::NonCacheable => {
                let read = (self.tokens * matrices) as f64;
                read / (1e9 * self.phone.fitted.non_cacheable_gb_per_s)
            }
            Policy::DoubleBuffered => self.double_buffered(),
        }
    }

    /// Seconds of a product with all tokens.
    pub fn gemm(&self, &(rows, columns): &Shape) -> f64 {
        (2 * rows * columns * self.tokens) as f64 / (1e9 * self.rates.gemm_gflops)
    }

    /// Seconds of a copy beside GEMM.
    pub fn copy(&self, group: &[Shape]) -> f64 {
        bytes(group) as f64 / (1e9 * self.phone.fitted.copy_gb_per_s)
    }

    fn double_buffered(&self) -> f64 {
        let groups = &self.weights.groups;
        let first = self.copy(&groups[0]);
        // A group beside which so many seconds of copies go, an equal part beside each of its matrices.
        let stage = |group: &[Shape], copy: f64| -> f64 {
            let part = copy / group.len() as f64;
            let slower = if part > 0.0 { self.contention } else { 1.0 };
            group.iter().map(|shape| (slower * self.gemm(shape)).max(part)).sum()
        };
        let (last, others) = groups.split_last().expect("a layer has groups");
        let inner: f64 = others
            .iter()
            .zip(&groups[1..])
            .map(|(group, next)| stage(group, self.copy(next)))
            .sum();
        let layers = self.weights.layers as f64;
        first + layers * inner + (layers - 1.0) * stage(last, first) + stage(last, 0.0)
    }
}

/// A row of Table 2: times in DRAM passes over the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRow {
    /// Tokens of the prompt.
    pub tokens: u64,
    /// GEMM's.
    pub gemm: f64,
    /// GEMM and the copy one behind the other.
    pub sum: f64,
    /// GEMM and the copy side by side.
    pub max: f64,
}

impl TableRow {
    /// That of so many tokens, on a host with so many operations for a byte.
    pub fn new(tokens: u64, flop_per_byte: f64) -> Self {
        let gemm = (tokens as f64 / flop_per_byte).max(1.0);
        Self { tokens, gemm, sum: gemm + COPY_PASSES, max: gemm.max(COPY_PASSES) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_golden::prefill::{Matrix, double_buffered, in_turns};

    #[test]
    fn clocks_that_wait_for_each_other_end_at_the_same_time() {
        let phone = Phone::galaxy_s24();
        for (name, model) in pimlico_model::presets() {
            let weights = ModelWeights::new(&model);
            let rates = phone.fitted.models.values().next().expect("a model");
            for (tokens, contention) in [(1, 1.0), (32, 1.0), (64, 1.4), (96, 1.0), (500, 2.0)] {
                let prefill =
                    Prefill { phone: &phone, rates, weights: &weights, tokens, contention };
                let matrices = |slower: f64, copy_rate: f64| {
                    let matrix = |shape: &Shape| Matrix {
                        multiply: slower * prefill.gemm(shape),
                        copy: bytes(&[*shape]) as f64 / (1e9 * copy_rate),
                    };
                    let group = |group: &Vec<Shape>| group.iter().map(matrix).collect();
                    let layer: Vec<Vec<Matrix>> = weights.groups.iter().map(group).collect();
                    vec![layer; model.layers].concat()
                };
                let mut groups = matrices(contention, phone.fitted.copy_gb_per_s);
                // Nothing is copied beside the last.
                for matrix in groups.last_mut().expect("groups") {
                    matrix.multiply /= contention;
                }
                let golden = double_buffered(&groups);
                let ours = prefill.seconds(Policy::DoubleBuffered);
                assert!((ours / golden - 1.0).abs() < 1e-9, "{name}, {tokens}: {ours}, {golden}");
                let golden = in_turns(&matrices(1.0, rates.copy4_gb_per_s));
                let ours = prefill.seconds(Policy::InTurns);
                assert!((ours / golden - 1.0).abs() < 1e-9, "{name}, {tokens}: {ours}, {golden}");
            }
        }
    }

    #[test]
    fn table_2() {
        for (tokens, sum, max) in [
            (1, 400.0, 300.0),
            (4, 400.0, 300.0),
            (8, 250.0, 150.0),
            (16, 175.0, 100.0),
            (32, 138.0, 100.0),
            (64, 119.0, 100.0),
            (128, 109.0, 100.0),
            (192, 106.0, 100.0),
        ] {
            let row = TableRow::new(tokens, 4.0);
            let percent = |time: f64| (100.0 * time / row.gemm).round();
            assert_eq!([percent(row.sum), percent(row.max)], [sum, max], "{tokens}");
        }
        for flop_per_byte in [207.0, 241.0] {
            assert_eq!(TableRow::new(128, flop_per_byte).max, 3.0, "section 7");
        }
    }
}
