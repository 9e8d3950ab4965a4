// SPDX-License-Identifier: MIT
//! Lockstep co-simulation: the RTL, through Verilator, against the models of `hw-models`, every
//! port, every cycle, every bit; and both against the references of `golden`.
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`). The benches
//! stand where their units do.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `benches` | [`benches()`]: the benches of all units |
//! | [`cosim`] | long random runs, shrunk and written down when they fail |
//! | [`module`] | benches of what is on a module |
//! | [`channel`] | benches of what is in a channel of an AiM |
//! | [`npu`] | benches of what is in an NPU |
//! | [`rank`] | benches of what is in the rank PU |
//! | [`bank`] | benches of what is at a bank |
//! | [`arith`] | benches of the arithmetic units |
//! | `rig` | a unit on its bench, whatever unit it is |
//! | `judge` | comparing outputs of up to 64 bits with what is expected |
//! | `bench` | [`Bench`]: what is to know of a unit for its test: an oracle that is neither RTL nor model |
//! | [`exhaustive`] | all pairs of operands of an arithmetic unit |
//! | `function` | [`Function`]: an arithmetic unit's RTL as a function |
//! | `lockstep` | [`Lockstep`]: model and RTL together; stops at the first difference |
//! | `watch` | [`Waveforms`]: waveforms of model and RTL, side by side |
//! | `rtl` | [`Rtl`]: Verilated instances of a unit, behind the interface that its models have |
//! | `spool` | a file that Verilated code writes |
//! | [`coverage`] | how much of a unit a run reaches |
//! | [`build`] | the RTL of a unit, Verilated when it is first wanted |
//! | `ffi` | the binding of Verilated units as C sees it |
//! | `due` | what waits for its time in a queue |
//! | `random` | random numbers for stimulus |
//!
//! Without the feature `rtl` this crate is empty: it needs Verilator. The feature `benches` has all that is here but for
//! what runs the RTL: `function`, `lockstep`, `watch`, `rtl`, `spool`, `build` and `ffi`.
#![cfg(feature = "rtl")]

#[cfg(feature = "benches")]
pub mod arith;
#[cfg(feature = "benches")]
pub mod bank;
#[cfg(feature = "benches")]
mod bench;
// The unit tests run none, and would have them all compiled once more.
#[cfg(all(feature = "benches", not(test)))]
mod benches;
pub mod build;
#[cfg(feature = "benches")]
pub mod channel;
#[cfg(feature = "benches")]
pub mod cosim;
#[cfg(feature = "benches")]
pub mod coverage;
#[cfg(feature = "benches")]
mod due;
#[cfg(feature = "benches")]
pub mod exhaustive;
mod ffi;
mod function;
#[cfg(feature = "benches")]
mod judge;
mod lockstep;
#[cfg(feature = "benches")]
pub mod module;
#[cfg(feature = "benches")]
pub mod npu;
#[cfg(feature = "benches")]
mod random;
#[cfg(feature = "benches")]
pub mod rank;
#[cfg(feature = "benches")]
mod rig;
mod rtl;
mod spool;
mod watch;

#[cfg(feature = "benches")]
pub use bench::{Bench, OracleError};
#[cfg(all(feature = "benches", not(test)))]
pub use benches::{AnyBench, benches};
pub use function::Function;
pub use lockstep::Lockstep;
pub use rtl::{Rtl, Window};
pub use watch::{Waveforms, all_or_none, discard_staged};
