// SPDX-License-Identifier: MIT
//! What stands at each bank of each chip.

mod bank_pu;

pub use bank_pu::{BankPu, BankPuIn, BankPuOut, BankPuProbe};
