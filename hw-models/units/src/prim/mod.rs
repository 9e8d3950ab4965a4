// SPDX-License-Identifier: MIT
//! Cells that every room uses.

mod ddr_out;
mod delay;
mod fifo;

pub(crate) use ddr_out::DdrOut;
pub(crate) use delay::Delay;
pub(crate) use fifo::Fifo;
