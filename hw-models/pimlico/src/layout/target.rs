// SPDX-License-Identifier: MIT
//! The order in which the host has a matrix.

use clap::ValueEnum;
use pimlico_device::lp5::HostOrder;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TargetName {
    /// Column behind column: bursts stay whole
    ColumnMajor,
    /// Row behind row: squares of 16 x 16 elements are transposed
    RowMajor,
}

impl TargetName {
    /// The order.
    pub fn order(self) -> HostOrder {
        match self {
            Self::ColumnMajor => HostOrder::ColumnMajor,
            Self::RowMajor => HostOrder::RowMajor,
        }
    }
}
