// SPDX-License-Identifier: MIT
//! What the units cost in area, time and power: their RTL synthesised with Yosys against a library of
//! standard cells, the netlist's timing analysed with OpenSTA, and its transitions counted.
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | `estimator` | [`Estimator`]: from a unit to its area |
//! | [`power`] | what the netlists take, by simulation |
//! | [`kept`] | results that stand in the repository |
//! | `cache` | results that have been computed before |
//! | `yosys` | synthesis: from RTL to a netlist of cells |
//! | [`area`] | a unit's area, flip-flops and slack |
//! | `timing` | static timing analysis of a netlist |
//! | [`fo4`] | delays counted in inverters, which carries them to another node |
//! | [`clock`] | the clock of every module |
//! | [`device`] | what a DIMM adds up to |
//! | [`hierarchy`] | what a module consists of, as Yosys elaborates it |
//! | `unit` | [`UnitSpec`]: a unit in one set of parameters |
//! | [`rtl`] | the RTL that is synthesised |
//! | `hash` | hashes by which results and sources are known |
//! | [`tools`] | [`Tools`]: Yosys and OpenSTA on this machine |
//! | `liberty` | [`Library`]: what is to know of a library: its cells and its gate equivalent |
//! | `function` | functions of cells, as a library writes them |
//! | [`memory`] | memories, which no library of standard cells has, by models of area and access time |
//! | [`throughput`] | elements that a unit takes in a clock, ours and the paper's |
//! | [`paper`] | what the papers say |
//!
//! The RTL is part of the program. Results are kept by the content of RTL, parameters, library and flow,
//! so that nothing is synthesised twice.

pub mod area;
mod cache;
pub mod clock;
pub mod device;
mod estimator;
pub mod fo4;
mod function;
mod hash;
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
mod unit;
mod yosys;

pub use area::Area;
pub use estimator::Estimator;
pub use liberty::{CellInfo, FullAdder, Inverter, Library, LibraryError, NANGATE45_AREAS};
pub use timing::Timing;
pub use tools::{DEFAULT_LIBRARY, PYOSYS, SECOND_LIBRARY, ToolError, Tools};
pub use unit::UnitSpec;
pub use yosys::Sizing;
