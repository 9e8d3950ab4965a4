// SPDX-License-Identifier: MIT
//! The flag `--mdq`.

use clap::ValueEnum;
use pimlico_device::Mdq;

/// Whose the data lines between buffer chip and chips are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MdqArgument {
    /// Each rank has lines of its own
    Private,
    /// The ranks of a DIMM share one set of them
    Shared,
}

impl From<MdqArgument> for Mdq {
    fn from(argument: MdqArgument) -> Self {
        match argument {
            MdqArgument::Private => Self::Private,
            MdqArgument::Shared => Self::Shared,
        }
    }
}
