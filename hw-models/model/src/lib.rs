// SPDX-License-Identifier: MIT
//! Language models: their shapes, their weights, and the data of their operators.
//!
//! * [`Model`]: the shape of a language model; [`presets`] has the built-in ones.
//! * [`checkpoint`]: models with their weights, and the files that hold them.
//! * [`between`]: what is computed between matrices.
//! * [`data`]: seeded synthetic K, V, Q and matrices.
//! * [`synthetic`]: whole models of random weights, as files.
//! * `small`: a model of a few hundred weights in all formats, for tests (feature `small`).
//!
//! The crate knows no device.
//!
//! ```
//! let model = &pimlico_model::presets()["llama-3.2-1b"];
//! assert_eq!((model.layers, model.group(), model.head_dim), (16, 4, 64));
//! ```

pub mod between;
pub mod checkpoint;
pub mod data;
mod normal;
mod shape;
#[cfg(feature = "small")]
pub mod small;
pub mod synthetic;
mod vectors;

pub use shape::{Model, presets};
pub use vectors::Vectors;
