// SPDX-License-Identifier: MIT
//! The flag `--gear`.

use clap::ValueEnum;
use pimlico_dpa::clock::Gear;

/// tCK in a cycle of the core.
#[derive(Clone, Copy, ValueEnum)]
pub enum GearArgument {
    /// A cycle is a tCK
    #[value(name = "1")]
    One,
    /// A cycle is two tCK
    #[value(name = "2")]
    Two,
    /// A cycle is four tCK
    #[value(name = "4")]
    Four,
}

impl From<GearArgument> for Gear {
    fn from(argument: GearArgument) -> Self {
        match argument {
            GearArgument::One => Self::One,
            GearArgument::Two => Self::Two,
            GearArgument::Four => Self::Four,
        }
    }
}

impl GearArgument {
    /// Where nothing is said.
    pub const DEFAULT: Self = match Gear::DEFAULT {
        Gear::One => Self::One,
        Gear::Two => Self::Two,
        Gear::Four => Self::Four,
    };
}
