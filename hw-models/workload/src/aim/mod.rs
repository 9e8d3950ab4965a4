// SPDX-License-Identifier: MIT
//! What a module of AiM channels does of operators.
//!
//! * [`attention`]: of a layer's heads, score, softmax and context one after the other.
//! * [`matrix`]: a matrix times a vector.
//! * [`Groups`]: the module's channels, in groups that work side by side.
//! * [`Reopened`]: what it costs that query heads which share K and V open its rows one after the other.

pub mod attention;
mod groups;
pub mod matrix;
mod reopened;

pub use reopened::Reopened;

pub use groups::{Groups, head_in, idle_note, in_part, matrix_in};

use pimlico_device::aim::{MULTIPLIERS, Word};

/// Bytes that a matrix takes in the banks.
fn bytes(rows: usize, columns: usize) -> u64 {
    (rows * columns.div_ceil(MULTIPLIERS) * size_of::<Word>()) as u64
}
