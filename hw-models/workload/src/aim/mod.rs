// SPDX-License-Identifier: MIT
//! What a module of AiM channels does of operators.
//!
//! * [`attention`]: of a layer's heads, score, softmax and context one after the other.
//! * [`matrix`]: a matrix times a vector.
//! * [`Reopened`]: what it costs that query heads which share K and V open its rows one after the other.

pub mod attention;
pub mod matrix;
mod reopened;

pub use reopened::Reopened;

use pimlico_device::aim::{AimLayout, MULTIPLIERS, Word};

/// Bytes that a matrix takes in the banks.
fn bytes(layout: &AimLayout) -> u64 {
    (layout.rows * layout.columns.div_ceil(MULTIPLIERS) * size_of::<Word>()) as u64
}
