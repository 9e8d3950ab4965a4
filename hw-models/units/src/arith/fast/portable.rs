// SPDX-License-Identifier: MIT
//! One at a time, on any machine.

use crate::arith::Format;
use half::f16;

/// The smallest magnitude that rounds to a normal number, were the exponent unbounded: half a unit
/// in the last place below 2^-14.
pub const TINY: f32 = 1.0 / 16384.0 - 1.0 / 67108864.0;

/// The smallest normal number.
pub const MIN_NORMAL: f32 = 1.0 / 16384.0;

pub fn mul<F: Format>(a: &[u16], b: &[u16], out: &mut [u16]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = round::<F>(load::<F>(*a) * load::<F>(*b));
    }
}

pub fn add<F: Format>(a: &[u16], b: &[u16], out: &mut [u16]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = round::<F>(load::<F>(*a) + load::<F>(*b));
    }
}

pub fn add_neighbours<F: Format>(a: &[u16], out: &mut [u16]) {
    for (pair, out) in a.chunks_exact(2).zip(out) {
        *out = round::<F>(load::<F>(pair[0]) + load::<F>(pair[1]));
    }
}

pub fn mul_add<F: Format>(a: &[u16], b: &[u16], out: &mut [u16]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        let product = round::<F>(load::<F>(*a) * load::<F>(*b));
        *out = round::<F>(load::<F>(product) + load::<F>(*out));
    }
}

fn load<F: Format>(bits: u16) -> f32 {
    flush::<F>(f16::from_bits(bits).to_f32(), MIN_NORMAL)
}

fn round<F: Format>(value: f32) -> u16 {
    if value.is_nan() {
        return F::NAN as u16;
    }
    f16::from_f32(flush::<F>(value, TINY)).to_bits()
}

fn flush<F: Format>(value: f32, below: f32) -> f32 {
    if !F::SUBNORMALS && value.abs() < below { 0f32.copysign(value) } else { value }
}
