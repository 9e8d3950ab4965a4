// SPDX-License-Identifier: MIT
//! The DRAM of a device by the device's name, or of its file.

use super::file::DeviceSpec;
use crate::config::{Config, ConfigError};

impl Config {
    /// Presets for [`of_rank`](Self::of_rank).
    pub const RANKS: [&str; 2] = ["ddr4-3200", "ddr4-3200-16gb"];

    /// The rank of L3's DIMM-PIM.
    pub fn ddr4_3200() -> Self {
        Self::built_in("ddr4-3200").expect("tested below")
    }

    /// A channel of GDDR6-AiM, as in LoL-PIM's module. Not a [`Rank`](crate::Rank).
    pub fn gddr6_aim() -> Self {
        Self::built_in("gddr6-aim").expect("tested below")
    }

    /// A preset of chips that a rank can be built of, by its name.
    pub fn of_rank(name: &str) -> Option<Self> {
        Self::RANKS.contains(&name).then(|| Self::built_in(name)).flatten()
    }

    fn built_in(name: &str) -> Option<Self> {
        DeviceSpec::built_in(name).map(|spec| spec.config())
    }

    /// Reads and checks the DRAM of a device's file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        DeviceSpec::read(text).map(|spec| spec.config())
    }
}
