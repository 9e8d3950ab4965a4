// SPDX-License-Identifier: MIT
//! Results of NeuPIMs' channels beside those of `golden`.

use crate::parallel;
use pimlico_device::neupims::PuSums;
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_golden::{attention, exact, word_dot};
use serde::Serialize;

const H: Format = Format::BINARY16;

/// Results that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Compared {
    /// Results of PIM that were compared bit by bit.
    pub results: u64,
    /// Those that differ.
    pub differing: u64,
    /// The largest error against binary64.
    pub max_error: f64,
    /// Root of the squared errors against binary64 over that of the squared values.
    pub relative_error: f64,
}

/// Errors that are summed up.
#[derive(Clone, Copy, Default)]
struct Errors {
    most: f64,
    squares: f64,
    of_values: f64,
}

impl Errors {
    fn add(&mut self, got: u16, want: f64) {
        let error = exact::to_f64(H, got.into()) - want;
        // A NaN is the worst of errors.
        self.most = if error.is_nan() { f64::INFINITY } else { self.most.max(error.abs()) };
        self.squares += error * error;
        self.of_values += want * want;
    }

    fn and(self, other: Self) -> Self {
        Self {
            most: self.most.max(other.most),
            squares: self.squares + other.squares,
            of_values: self.of_values + other.of_values,
        }
    }

    fn relative(self) -> f64 {
        if self.squares == 0.0 { 0.0 } else { (self.squares / self.of_values).sqrt() }
    }
}

/// What the PUs compute in.
fn precision(sums: PuSums) -> Precision {
    let sums = match sums {
        PuSums::Binary16 => H,
        PuSums::Binary32 => Format::BINARY32,
    };
    Precision { elements: H, subnormals: Subnormals::Gradual, sums }
}

fn decode(bits: &[u16]) -> Vec<f64> {
    bits.iter().map(|&bits| exact::to_f64(H, bits.into())).collect()
}

/// Outputs of a matrix times a vector.
pub fn product(
    sums: PuSums,
    matrix: &[Vec<u16>],
    vector: &[u16],
    outputs: &[u16],
    threads: usize,
) -> Compared {
    let precision = precision(sums);
    let of_vector = decode(vector);
    let rows: Vec<_> = matrix.iter().zip(outputs).collect();
    let judged = |(row, got): &(&Vec<u16>, &u16)| {
        let want: f64 = decode(row).iter().zip(&of_vector).map(|(a, b)| a * b).sum();
        let mut errors = Errors::default();
        errors.add(**got, want);
        (word_dot::dot_of_rows(precision, row, vector) != **got, errors)
    };
    let judged = parallel::each(&rows, threads, judged);
    let errors = judged.iter().fold(Errors::default(), |all, (_, errors)| all.and(*errors));
    let missing = matrix.len().abs_diff(outputs.len()) as u64;
    Compared {
        results: judged.len() as u64,
        differing: judged.iter().filter(|(differs, _)| *differs).count() as u64 + missing,
        max_error: errors.most,
        relative_error: errors.relative(),
    }
}

/// A head of attention as it was computed.
#[derive(Clone, Copy, Debug)]
pub struct HeadOf<'a> {
    /// Rows of K, one for each token.
    pub k: &'a [&'a [u16]],
    /// Rows of V.
    pub v: &'a [&'a [u16]],
    /// The query.
    pub q: &'a [u16],
    /// Factor of the scores.
    pub scale: f64,
    /// Scores that were computed.
    pub scores: &'a [u16],
    /// Weights that were computed.
    pub weights: &'a [u16],
    /// The context that was computed.
    pub context: &'a [u16],
}

/// Scores, and contexts from the weights that were used, bit by bit; weights to a unit of their last place; contexts against binary64.
pub fn heads(sums: PuSums, heads: &[HeadOf<'_>], threads: usize) -> Compared {
    let judged = parallel::each(heads, threads, |head| judge(precision(sums), head));
    let errors = judged.iter().fold(Errors::default(), |all, (.., errors)| all.and(*errors));
    Compared {
        results: judged.iter().map(|(results, ..)| results).sum(),
        differing: judged.iter().map(|(_, differing, _)| differing).sum(),
        max_error: errors.most,
        relative_error: errors.relative(),
    }
}

fn judge(precision: Precision, head: &HeadOf<'_>) -> (u64, u64, Errors) {
    let HeadOf { k, v, q, scale, scores, weights, context } = *head;
    let mut differing = (scores.len().abs_diff(k.len())
        + weights.len().abs_diff(v.len())
        + context.len().abs_diff(q.len())) as u64;
    if differing > 0 {
        return (0, differing, Errors { most: f64::INFINITY, squares: 1.0, of_values: 1.0 });
    }
    for (key, got) in k.iter().zip(scores) {
        differing += u64::from(word_dot::dot(precision, key, q) != *got);
    }
    let wanted = attention::weights_from_scores(H, scores, scale);
    for (want, got) in wanted.iter().zip(weights) {
        let want = exact::from_f64(H, Subnormals::Gradual, *want) as u16;
        differing += u64::from(want.abs_diff(*got) > 1);
    }
    let reference = attention::attention(H, q, k, v, scale).context;
    let mut errors = Errors::default();
    for (e, got) in context.iter().enumerate() {
        let column: Vec<u16> = v.iter().map(|value| value[e]).collect();
        differing += u64::from(word_dot::dot_of_rows(precision, &column, weights) != *got);
        errors.add(*got, reference[e]);
    }
    ((scores.len() + weights.len() + context.len()) as u64, differing, errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_differs_by_a_bit_is_found() {
        let (matrix, vector) = (vec![vec![0x3C00; 20]; 3], vec![0x3C00; 20]);
        let twenty = exact::from_f64(H, Subnormals::Gradual, 20.0) as u16;
        let good = product(PuSums::Binary16, &matrix, &vector, &[twenty; 3], 1);
        assert_eq!(good, Compared { results: 3, ..Compared::default() });
        let outputs = [twenty, twenty + 1, twenty];
        let bad = product(PuSums::Binary16, &matrix, &vector, &outputs, 2);
        assert_eq!((bad.differing, bad.max_error), (1, 1.0 / 64.0));
        assert_eq!(product(PuSums::Binary16, &matrix, &vector, &outputs[..1], 1).differing, 2);
    }

    #[test]
    fn each_stage_of_a_head_is_judged() {
        let bits = |x| exact::from_f64(H, Subnormals::Gradual, x) as u16;
        let (k, v) =
            ([[bits(1.0), bits(2.0)], [bits(1.0), bits(2.0)]], [[bits(3.0), 0], [bits(5.0), 0]]);
        let (k, v) = ([&k[0][..], &k[1]], [&v[0][..], &v[1]]);
        let q = [bits(2.0), bits(1.0)];
        let (scores, weights) = ([bits(4.0); 2], [bits(0.5); 2]);
        let context = [bits(4.0), 0];
        let head = HeadOf {
            k: &k,
            v: &v,
            q: &q,
            scale: 0.5,
            scores: &scores,
            weights: &weights,
            context: &context,
        };
        let good = heads(PuSums::Binary16, &[head], 1);
        assert_eq!(good, Compared { results: 6, ..Compared::default() });
        let wrong_scores = [bits(4.0), bits(4.5)];
        let wrong_weights = [bits(0.5), bits(0.5) + 2];
        let wrong_context = [bits(4.0) + 1, 0];
        let differing = |head| heads(PuSums::Binary16, &[head], 1).differing;
        assert!(differing(HeadOf { scores: &wrong_scores, ..head }) > 0);
        assert!(differing(HeadOf { weights: &wrong_weights, ..head }) > 0);
        assert_eq!(differing(HeadOf { context: &wrong_context, ..head }), 1);
        assert_eq!(differing(HeadOf { context: &wrong_context[..1], ..head }), 1);
    }
}
