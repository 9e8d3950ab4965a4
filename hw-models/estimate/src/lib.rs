// SPDX-License-Identifier: MIT
//! What the units cost in area, time and power: their RTL synthesised with Yosys against a library of
//! standard cells, the netlist's timing analysed with OpenSTA, and its transitions counted.
//!
//! * [`Library`]: what is to know of a library: its cells and its gate equivalent.
//! * [`Tools`]: Yosys and OpenSTA on this machine.
//! * [`area`]: a unit's area, flip-flops and slack.
//! * [`fo4`]: delays counted in inverters, which carries them to another node.
//! * [`clock`]: the clock of every module.
//! * [`hierarchy`]: what a module consists of, as Yosys elaborates it.
//! * [`device`]: what a DIMM adds up to.
//! * [`memory`]: memories, which no library of standard cells has, by models of area and access time.
//! * [`paper`]: what the papers say.
//! * [`throughput`]: elements that a unit takes in a clock, ours and the paper's.
//! * [`power`]: what the netlists take, by simulation.
//!
//! The RTL is part of the program. Results are kept by the content of RTL, parameters, library and flow,
//! so that nothing is synthesised twice.

pub mod area;
mod cache;
pub mod clock;
pub mod device;
pub mod fo4;
mod function;
pub mod hierarchy;
pub mod kept;
mod liberty;
pub mod memory;
pub mod paper;
pub mod power;
pub mod rtl;
pub mod throughput;
mod timing;
pub mod tools;
mod yosys;

pub use area::{Area, Estimator, UnitSpec};

pub use liberty::{CellInfo, FullAdder, Inverter, Library, LibraryError, NANGATE45_AREAS};
pub use timing::Timing;
pub use tools::{DEFAULT_LIBRARY, PYOSYS, SECOND_LIBRARY, ToolError, Tools};
pub use yosys::Sizing;
