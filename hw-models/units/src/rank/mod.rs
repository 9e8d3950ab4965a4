// SPDX-License-Identifier: MIT
//! What stands in the rank PU, on the module's buffer chip.

mod adder_unit;

pub use adder_unit::{AdderUnit, AdderUnitIn, AdderUnitOut, AdderUnitProbe};
