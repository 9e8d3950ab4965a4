// SPDX-License-Identifier: MIT
//! Benches of what is at a bank.

mod bank_pu;
mod pingpong_buffer;
