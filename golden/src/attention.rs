// SPDX-License-Identifier: MIT
//! Attention of one head in float64: what the device approximates.
//!
//! ```text
//! scores[t]  = sum over e of q[e] * k[t][e]
//! weights[t] = exp(scale * scores[t] - m) / sum over u of exp(scale * scores[u] - m)
//!              with m = max over u of scale * scores[u]
//! context[e] = sum over t of weights[t] * v[t][e]
//! ```
//!
//! `scale` is positive: 1 / sqrt(d_h) in a transformer. Inputs are encodings of a 16-bit format,
//! taken exactly; all else is [`real`] in `f64`, summed in the order of the index. Products of such
//! inputs are exact, so a score is off by at most about `d_h` * 2^-53 of the sum of its products'
//! magnitudes: ten decimal digits finer than binary16 at `d_h` = 256.
//!
//! [`weights_from_scores`] and [`context_from_weights`] start from the *device's* result of the
//! stage before: the error that each stage adds can be told from that which it inherits.
//!
//! **Infinities and NaN** take the way IEEE 754 gives them. A score of -infinity beside a finite
//! one has weight 0: a mask. A score of +infinity or NaN, or nothing but -infinities, makes *every*
//! weight NaN (infinity - infinity), and so the whole context. A weight of 0 times an infinity or
//! NaN in V makes that element NaN.
//!
//! `f64::exp` is the platform's, within about an ulp: results may differ between platforms in their
//! last bits.

use crate::exact;
use crate::format::Format;
use crate::real;

pub use crate::real::Attention;

/// Attention of the query `q` over the tokens whose keys and values are the rows of `k` and `v`.
///
/// # Panics
///
/// If `k` and `v` have different numbers of rows, a row of `k` is not as long as `q`, or the rows
/// of `v` differ in length.
pub fn attention<K: AsRef<[u16]>, V: AsRef<[u16]>>(
    format: Format,
    q: &[u16],
    k: &[K],
    v: &[V],
    scale: f64,
) -> Attention {
    real::attention(&decode(format, q), decoded(format, k), decoded(format, v), scale)
}

/// The weights that follow from these scores (raw dot products, as the device rounded them).
pub fn weights_from_scores(format: Format, scores: &[u16], scale: f64) -> Vec<f64> {
    real::softmax_of_scaled(&decode(format, scores), scale)
}

/// The context that follows from these weights (as the device rounded them, which need not sum to
/// 1).
///
/// # Panics
///
/// If there are not as many weights as rows, or the rows differ in length.
pub fn context_from_weights<V: AsRef<[u16]>>(format: Format, weights: &[u16], v: &[V]) -> Vec<f64> {
    weighted_sum(format, &decode(format, weights), v)
}

fn decode(format: Format, bits: &[u16]) -> Vec<f64> {
    bits.iter().map(|&bits| exact::to_f64(format, bits.into())).collect()
}

fn decoded<R: AsRef<[u16]>>(format: Format, rows: &[R]) -> impl ExactSizeIterator<Item = Vec<f64>> {
    rows.iter().map(move |row| decode(format, row.as_ref()))
}

/// The weighted sum of the values.
///
/// # Panics
///
/// If there are not as many weights as rows of `v`, or these differ in length.
pub fn weighted_sum<V: AsRef<[u16]>>(format: Format, weights: &[f64], v: &[V]) -> Vec<f64> {
    real::weighted_sum(weights, decoded(format, v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Subnormals;

    const H: Format = Format::BINARY16;

    fn bits(x: f64) -> u16 {
        exact::from_f64(H, Subnormals::Gradual, x) as u16
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-15 * want.abs(), "{got} {want}");
    }

    #[test]
    fn two_tokens() {
        // Scores 6 and 2, scaled 3 and 1: weights e^2 : 1.
        let q = [bits(1.0), bits(2.0)];
        let k = [[bits(2.0), bits(2.0)], [bits(4.0), bits(-1.0)]];
        let v = [[bits(1.0), bits(0.0)], [bits(0.0), bits(-8.0)]];
        let a = attention(H, &q, &k, &v, 0.5);
        assert_eq!(a.scores, [6.0, 2.0]);
        let e2 = 1f64.exp() * 1f64.exp();
        near(a.weights[0], e2 / (e2 + 1.0));
        near(a.weights[1], 1.0 / (e2 + 1.0));
        near(a.context[0], a.weights[0]);
        near(a.context[1], -8.0 * a.weights[1]);
    }

    #[test]
    fn equal_scores_weigh_equally() {
        let a = attention(H, &[bits(3.0)], &[[bits(5.0)]; 7], &[[bits(2.0)]; 7], 1.0);
        for &weight in &a.weights {
            near(weight, 1.0 / 7.0);
        }
        near(a.context[0], 2.0);
    }

    #[test]
    fn large_scores_do_not_overflow() {
        let weights = weights_from_scores(H, &[bits(65504.0), bits(65472.0), bits(-65504.0)], 1.0);
        near(weights[0], 1.0 / (1.0 + (-32f64).exp()));
        near(weights[1], 1.0 / (1.0 + 32f64.exp()));
        assert_eq!(weights[2], 0.0);
    }

    #[test]
    fn stages_from_rounded_inputs() {
        assert_eq!(weights_from_scores(H, &[bits(1.0), bits(1.0)], 1.0), [0.5, 0.5]);
        let context = context_from_weights(
            H,
            &[bits(0.5), bits(0.25)],
            &[[bits(2.0), bits(4.0)], [bits(4.0), bits(8.0)]],
        );
        assert_eq!(context, [2.0, 4.0]);
    }

    #[test]
    fn infinities_and_nan() {
        let (inf, minus_inf, nan) = (0x7C00, 0xFC00, 0x7E00);
        let all_nan = |weights: Vec<f64>| weights.iter().all(|weight| weight.is_nan());
        assert_eq!(weights_from_scores(H, &[minus_inf, bits(1.0)], 1.0), [0.0, 1.0]);
        assert!(all_nan(weights_from_scores(H, &[inf, bits(1.0)], 1.0)));
        assert!(all_nan(weights_from_scores(H, &[nan, bits(1.0)], 1.0)));
        assert!(all_nan(weights_from_scores(H, &[minus_inf, minus_inf], 1.0)));
        assert!(context_from_weights(H, &[0], &[[inf]])[0].is_nan());
    }

    #[test]
    fn no_tokens() {
        let none: [[u16; 1]; 0] = [];
        assert_eq!(
            attention(H, &[bits(1.0)], &none, &none, 1.0),
            Attention { scores: vec![], weights: vec![], context: vec![] }
        );
    }
}
