// SPDX-License-Identifier: MIT
//! Ping-pong I/O buffers of a module of AiM channels against single ones, beside LoL-PIM's figures.
//!
//! * [`compare`]: operator by operator.
//! * [`gains`](mod@gains): the paper's four gains under what it leaves open ([`Assumptions`]).

mod assumptions;
mod comparison;
pub mod gains;

pub use assumptions::{Assumptions, AssumptionsReport};
pub use comparison::{BufferComparison, BufferRow, Side, Study, compare};
