// SPDX-License-Identifier: MIT
//! Layers of a language model streamed through bounded memory: loaded in parallel, used in their order, destroyed.
//!
//! It is PIPELOAD of *Hermes: Memory-Efficient Pipeline Inference for Large Models on Edge Devices*: several loading
//! agents read layers from a file, one agent computes them in order, and a daemon frees them.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`text`] | a text, decoded while layers are streamed |
//! | [`host`] | a decoder in float32 whose layers come one by one |
//! | [`source`] | layers in files |
//! | `file` | files that are read at places: pace, and the rate of their disk |
//! | [`paper`] | the models of the paper, with times that were fitted to it |
//! | [`planner`] | how many loaders, for how much memory |
//! | [`agents`] | a run on threads |
//! | [`simulate`] | the same on a clock, by the times of layers |
//! | [`clock`] | a run on a clock that is computed, of agents that say how long they take |
//! | [`trace`] | a run as spans of time |
//! | [`order`] | who may do what next: the one state machine of both |
//! | [`event`] | what happens in a run |
//! | [`setup`] | what is streamed, by how many loaders, through how much memory |
//! | [`slots`] | memory for layers |
//!
//! ```
//! use pimlico_stream::setup::{Residency, Setup};
//! use pimlico_stream::simulate::{Costs, simulate};
//!
//! // 24 layers of 3 MB whose loading takes ten times as long as computing.
//! let residency = Residency::Pipeload { loaders: 2, slots: 3, pinned: 0 };
//! let setup = Setup { layers: vec![3 << 20; 24], passes: 1, fixed: 0, limit: None, residency };
//! let run = simulate(&setup, &Costs::even(24, 10e6, 1e6, 0.0), &mut |_| ()).expect("it runs");
//! assert_eq!((run.wall_ns, run.peak_bytes), (122e6, 9 << 20));
//! ```

pub mod agents;
pub mod clock;
pub mod event;
mod file;
pub mod host;
pub mod order;
pub mod paper;
pub mod planner;
pub mod setup;
pub mod simulate;
pub mod slots;
pub mod source;
pub mod text;
pub mod trace;
