// SPDX-License-Identifier: MIT
//! Cells that every room uses.

mod fifo;

pub(crate) use fifo::Fifo;
