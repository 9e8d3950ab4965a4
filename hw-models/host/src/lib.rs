// SPDX-License-Identifier: MIT
//! The host driver: makes data, writes it into the device, runs the operators of a language model,
//! reads the results back and compares them with the references of `golden`.
//!
//! * [`model`]: shapes of language models.
//! * [`data`]: seeded synthetic K, V and Q.
//! * [`attention`]: the attention of a layer's heads.
//! * [`report`]: what a run cost and how far it is from the reference.

pub mod attention;
pub mod data;
pub mod model;
pub mod report;
mod softmax;
