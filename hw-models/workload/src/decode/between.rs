// SPDX-License-Identifier: MIT
//! What the host computes between the device's operators, in float32.

use pimlico_model::checkpoint::{Gate, Pairs};

/// RMSNorm: `x` over the root of its mean square, times `weight`.
pub fn normed(x: &[f32], weight: &[f32], epsilon: f64) -> Vec<f32> {
    let squares: f32 = x.iter().map(|x| x * x).sum();
    let factor = 1.0 / (squares / x.len() as f32 + epsilon as f32).sqrt();
    x.iter().zip(weight).map(|(x, weight)| weight * (factor * x)).collect()
}

/// RoPE: turns each pair of elements of a head's vector by the position times its own rate.
pub fn turn(head: &mut [f32], position: usize, theta: f64, pairs: Pairs) {
    let half = head.len() / 2;
    for pair in 0..half {
        let (first, second) = match pairs {
            Pairs::Neighbours => (2 * pair, 2 * pair + 1),
            Pairs::Halves => (pair, half + pair),
        };
        let rate = theta.powf(-(pair as f64) / half as f64);
        // Of a long context the angle itself needs more digits than float32 has.
        let (sin, cos) = (position as f64 * rate).sin_cos();
        let (sin, cos) = (sin as f32, cos as f32);
        let (x, y) = (head[first], head[second]);
        head[first] = x * cos - y * sin;
        head[second] = y * cos + x * sin;
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
