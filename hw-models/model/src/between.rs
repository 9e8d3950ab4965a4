// SPDX-License-Identifier: MIT
//! What a decoder computes between its matrices, in float32.

use crate::checkpoint::{Arithmetic, Gate, Pairs, RopeScaling};
use std::f64::consts::TAU;

/// RMSNorm: `x` over the root of its mean square, times `weight`.
pub fn normed(x: &[f32], weight: &[f32], epsilon: f64) -> Vec<f32> {
    let squares: f32 = x.iter().map(|x| x * x).sum();
    let factor = 1.0 / (squares / x.len() as f32 + epsilon as f32).sqrt();
    x.iter().zip(weight).map(|(x, weight)| weight * (factor * x)).collect()
}

/// RMSNorm of each head's vector for itself; `weight` is that of all of them, or empty where there is none.
pub fn norm_heads(heads: &mut [f32], weight: &[f32], epsilon: f64) {
    if weight.is_empty() {
        return;
    }
    for head in heads.chunks_mut(weight.len()) {
        let normed = normed(head, weight, epsilon);
        head.copy_from_slice(&normed);
    }
}

/// RoPE: turns each pair of elements of a head's vector by the position times its own rate.
pub fn turn(head: &mut [f32], position: usize, arithmetic: &Arithmetic) {
    let half = head.len() / 2;
    for pair in 0..half {
        let (first, second) = match arithmetic.pairs {
            Pairs::Neighbours => (2 * pair, 2 * pair + 1),
            Pairs::Halves => (pair, half + pair),
        };
        let rate = arithmetic.theta.powf(-(pair as f64) / half as f64);
        let rate = scaled(rate, arithmetic.scaling);
        // Of a long context the angle itself needs more digits than float32 has.
        let (sin, cos) = (position as f64 * rate).sin_cos();
        let (sin, cos) = (sin as f32, cos as f32);
        let (x, y) = (head[first], head[second]);
        head[first] = x * cos - y * sin;
        head[second] = y * cos + x * sin;
    }
}

/// A rate of RoPE, an angle for each position, as it is scaled.
fn scaled(rate: f64, scaling: RopeScaling) -> f64 {
    match scaling {
        RopeScaling::None => rate,
        RopeScaling::Linear { factor } => rate / factor,
        RopeScaling::Llama3 { factor, low, high, context } => {
            let wave = TAU / rate;
            if wave < context / high {
                rate
            } else if wave > context / low {
                rate / factor
            } else {
                let kept = (context / wave - low) / (high - low);
                (1.0 - kept) * rate / factor + kept * rate
            }
        }
    }
}

/// The gate of the feed-forward network, through its function, times the other half.
pub fn gated(gate: &[f32], up: &[f32], function: Gate) -> Vec<f32> {
    let through = |x: f32| match function {
        Gate::Silu => x / (1.0 + (-x).exp()),
        Gate::GeluTanh => {
            let root = std::f32::consts::FRAC_2_PI.sqrt();
            0.5 * x * (1.0 + (root * (x + 0.044715 * x.powi(3))).tanh())
        }
    };
    gate.iter().zip(up).map(|(&gate, up)| through(gate) * up).collect()
}

/// Adds `more` to `x`.
pub fn add(x: &mut [f32], more: &[f32]) {
    x.iter_mut().zip(more).for_each(|(x, more)| *x += more);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARITHMETIC: Arithmetic = Arithmetic {
        theta: 500000.0,
        scaling: RopeScaling::Llama3 { factor: 32.0, low: 1.0, high: 4.0, context: 8192.0 },
        epsilon: 1e-5,
        pairs: Pairs::Halves,
        gate: Gate::Silu,
    };

    #[test]
    fn heads_are_normed_one_by_one() {
        // Root mean squares: 5 / sqrt(2) and 13 / sqrt(2).
        let mut heads = [3.0, 4.0, 5.0, -12.0];
        norm_heads(&mut heads, &[1.0, 2.0], 0.0);
        let root = 2f32.sqrt();
        let expected = [0.6 * root, 1.6 * root, 5.0 / 13.0 * root, -24.0 / 13.0 * root];
        for (got, expected) in heads.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
        norm_heads(&mut heads, &[], 0.0);
        assert!((heads[0] - expected[0]).abs() < 1e-6);
    }

    /// Llama 3.2 1B's rates. Figures of Python's float64 by the formula of `modeling_rope_utils` in
    /// Hugging Face's transformers: f = theta^(-i/32), w = 2 pi / f; f where w < context / high, f / factor
    /// where w > context / low, else (1 - s) f / factor + s f with s = (context / w - low) / (high - low).
    #[test]
    fn rates_are_those_of_llama_3() {
        let expected = [
            (0, 1.0),
            (14, 0.0032114459947525913),
            (15, 0.001290547928209264),
            (16, 0.00042955679655936815),
            (17, 9.70828780262767e-05),
            (18, 1.9461638184831125e-05),
            (31, 9.418306725434909e-08),
        ];
        for (pair, expected) in expected {
            let rate = scaled(500000f64.powf(-f64::from(pair) / 32.0), ARITHMETIC.scaling);
            assert!((rate / expected - 1.0).abs() < 1e-12, "{pair} {rate} {expected}");
            let mut head = [0.0; 64];
            head[pair as usize] = 1.0;
            turn(&mut head, 1000, &ARITHMETIC);
            let (sin, cos) = (1000.0 * expected).sin_cos();
            assert!((f64::from(head[pair as usize]) - cos).abs() < 1e-6);
            assert!((f64::from(head[pair as usize + 32]) - sin).abs() < 1e-6);
        }
        assert_eq!(scaled(0.5, RopeScaling::Linear { factor: 4.0 }), 0.125);
        assert_eq!(scaled(0.5, RopeScaling::None), 0.5);
    }
}
