// SPDX-License-Identifier: MIT
//! Benches of what is at a bank.

pub(crate) mod bank_pu;
mod dual_row_buffer;
mod pim_block;
mod pim_mode;
mod pingpong_buffer;
mod tree_pu;
