// SPDX-License-Identifier: MIT
//! What a hardware unit is, apart from what any unit does.
//!
//! * [`Signal`]: a value on a port (its width, its bits, how to draw a random one).
//! * [`Shape`]: what those bits mean: a number, an array, a struct, an enum; `#[derive(Signal)]` makes
//!   ports of structs and enums.
//! * [`Bundle`]: a set of named ports; the [`ports!`] macro declares a unit's bundles, once.
//! * [`Unit`]: the declaration of a unit: RTL module, parameters, inputs, outputs, probes.
//! * [`Model`]: a clocked Rust model of a unit.
//! * [`Instances`]: whatever executes units: the models, the RTL, or both in lockstep.
//! * [`Open`]: what the contract of a unit leaves open; [`Mismatch`]: what differs otherwise.
//! * [`stimulus`]: random input, from the declaration.
//! * [`wave`]: waveforms of a unit, from the declaration.
//!
//! From a unit's one declaration come the types of its model, its random stimulus, the C++ that
//! binds its Verilated twin and the check that both have the same ports, its VCD scope and the
//! report of a mismatch.

// So that what `#[derive(Signal)]` makes compiles here as well.
extern crate self as pimlico_ports;

mod bundle;
mod instances;
mod mismatch;
mod open;
mod shape;
mod show;
mod signal;
pub mod stimulus;
mod unit;
pub mod wave;

#[doc(hidden)]
pub use bundle::field;
pub use bundle::{Bundle, PortInfo, for_each_port, words_of};
pub use instances::{Instances, Models};
pub use mismatch::{InputHistory, Mismatch};
pub use open::{Open, Part};
pub use pimlico_ports_derive::Signal;
pub use shape::{Leaf, Shape};
pub use show::{hex, lines, values};
pub use signal::{BitReader, BitWriter, Enumerated, Signal, U, pack, unpack};
pub use unit::{Model, Unit, UnitInfo};
