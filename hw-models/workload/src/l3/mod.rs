// SPDX-License-Identifier: MIT
//! What a rank does of operators.
//!
//! * [`attention`]: requests, their programs and their rows.
//! * [`gemv`]: a matrix times a vector.

pub mod attention;
pub mod gemv;
