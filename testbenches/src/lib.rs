// SPDX-License-Identifier: MIT
//! Lockstep co-simulation: the RTL, through Verilator, against the models of `hw-models`, every
//! port, every cycle, every bit; and both against the references of `golden`.
//!
//! * [`Rtl`]: Verilated instances of a unit, behind the interface that its models have.
//! * [`build`]: the RTL of a unit, Verilated when it is first wanted.
//! * [`Lockstep`]: model and RTL together; stops at the first difference.
//! * [`Bench`]: what is to know of a unit for its test: an oracle that is neither RTL nor model.
//! * [`benches`](benches()): those of all units.
//! * [`exhaustive`]: all pairs of operands of an arithmetic unit.
//! * [`cosim`]: long random runs, shrunk and written down when they fail.
//! * [`coverage`]: how much of a unit they reach.
//!
//! The benches themselves stand where their units do: [`arith`], [`bank`], [`rank`], [`channel`],
//! [`module`].
//!
//! Without the feature `rtl` this crate is empty: it needs Verilator.
#![cfg(feature = "rtl")]

pub mod arith;
pub mod bank;
mod bench;
mod benches;
pub mod build;
pub mod channel;
pub mod cosim;
pub mod coverage;
mod due;
pub mod exhaustive;
mod ffi;
mod function;
mod lockstep;
pub mod module;
mod random;
pub mod rank;
mod rtl;
mod spool;
mod watch;

pub use bench::{Bench, OracleError};
pub use benches::{AnyBench, benches};
pub use function::Function;
pub use lockstep::Lockstep;
pub use rtl::{Rtl, Window};
pub use watch::{Waveforms, all_or_none, discard_staged};
