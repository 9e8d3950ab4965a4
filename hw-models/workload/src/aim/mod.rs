// SPDX-License-Identifier: MIT
//! What a module of AiM channels does of operators.
//!
//! * [`attention`]: of a layer's heads, score, softmax and context one after the other.
//! * [`matrix`]: a matrix times a vector.

pub mod attention;
pub mod matrix;

use pimlico_device::aim::{AimLayout, MULTIPLIERS, Word};

/// Bytes that a matrix takes in the banks.
fn bytes(layout: &AimLayout) -> u64 {
    (layout.rows * layout.columns.div_ceil(MULTIPLIERS) * size_of::<Word>()) as u64
}
