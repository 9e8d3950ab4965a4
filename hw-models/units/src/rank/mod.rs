// SPDX-License-Identifier: MIT
//! What stands in the rank PU, on the module's buffer chip.

mod adder_unit;
mod relayout_unit;

pub use adder_unit::{AdderUnit, AdderUnitIn, AdderUnitOut, AdderUnitProbe};
pub use relayout_unit::{
    Direction, RelayoutUnit, RelayoutUnitIn, RelayoutUnitOut, RelayoutUnitProbe,
};
