// SPDX-License-Identifier: MIT
//! What stands at each bank of each chip.

mod bank_pu;
mod side_by_side;

pub use bank_pu::{BankPu, BankPuIn, BankPuOut, BankPuProbe};
pub use side_by_side::SideBySide;
