// SPDX-License-Identifier: MIT
//! A device of LPDDR5X-PIM, from a file: its DRAM as other devices have it, its PIM blocks, and its address map.

use super::address::AddressMap;
use super::layout::{LANES, OUTPUT_REGISTERS};
use crate::config::{Config, ConfigError, Organisation, Timing};
use serde::{Deserialize, Serialize};

/// The devices that are built in: name, and file.
const BUILT_IN: [(&str, &str); 2] = [
    ("lpddr5x-8533-pim", include_str!("../../presets/lpddr5x-8533-pim.toml")),
    ("lpddr5x-9600-pim", include_str!("../../presets/lpddr5x-9600-pim.toml")),
];

/// A device as a file describes it. Every key is there.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Lp5Spec {
    /// Its name.
    pub name: String,
    /// Where the values come from, in a line.
    pub source: String,
    /// Clock period in ps.
    #[serde(rename = "tCK_ps")]
    pub tck_ps: u64,
    /// The host's address map.
    pub address_map: String,
    /// Banks and rows of a channel's rank.
    pub organisation: Organisation,
    /// Timing parameters.
    pub timing: Timing,
    /// PIM blocks.
    pub blocks: BlockTable,
    /// How many ranks there are.
    pub channels: ChannelTable,
}

/// The PIM blocks.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BlockTable {
    /// Lanes of a block.
    pub lanes: usize,
    /// Registers of 256 bits for inputs.
    pub input_registers: usize,
    /// Registers of 256 bits for sums.
    pub output_registers: usize,
    /// Banks that share a block.
    pub banks_per_block: usize,
}

/// Channels and their ranks.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ChannelTable {
    /// Channels of the host.
    pub count: usize,
    /// Ranks on each.
    pub ranks: usize,
}

impl Lp5Spec {
    /// Names of the built-in devices.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.into_iter().map(|(name, _)| name)
    }

    /// A built-in device, by its name.
    pub fn built_in(name: &str) -> Option<Self> {
        Some(Self::parse(Self::file(name)?).expect("tested below"))
    }

    /// The file of a built-in device, by its name.
    pub fn file(name: &str) -> Option<&'static str> {
        let (_, text) = BUILT_IN.into_iter().find(|(known, _)| *known == name)?;
        Some(text)
    }

    /// Reads a file, and checks that there is such a device.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let spec: Self = toml::from_str(text).map_err(|error| ConfigError::syntax(text, &error))?;
        let config = spec.config();
        config.check()?;
        let Organisation { chips, column_bytes, .. } = spec.organisation;
        let BlockTable { lanes, input_registers, output_registers, banks_per_block } = spec.blocks;
        let registers = OUTPUT_REGISTERS as usize;
        for (key, value, holds, expected) in [
            ("chips", chips, chips == 1, "1: a channel is one die's"),
            ("column_bytes", column_bytes, column_bytes == 2 * LANES, "32, a burst"),
            ("lanes", lanes, lanes == LANES, "16, the elements of a burst"),
            ("input_registers", input_registers, input_registers == registers, "8"),
            ("output_registers", output_registers, output_registers == registers, "8"),
            ("banks_per_block", banks_per_block, banks_per_block == 1, "1: 2 are not built"),
        ] {
            config.require(key, value as u64, holds, expected)?;
        }
        spec.map()?;
        Ok(spec)
    }

    /// The file of it, whole: read again, it is the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain data")
    }

    /// Organisation and timing of its DRAM.
    pub fn config(&self) -> Config {
        Config {
            name: self.name.clone(),
            power: None,
            tck_ps: self.tck_ps,
            link_gb_per_s: None,
            organisation: self.organisation.clone(),
            timing: self.timing.clone(),
        }
    }

    /// Its address map.
    pub fn map(&self) -> Result<AddressMap, ConfigError> {
        let wrong = |error| ConfigError::key(&error);
        let map: AddressMap = self.address_map.parse().map_err(wrong)?;
        let ChannelTable { count, ranks } = self.channels;
        map.check(&self.config(), count, ranks).map_err(wrong)?;
        Ok(map)
    }

    /// GB/s (10^9 bytes) of all channels' pins.
    pub fn bus_gb_per_s(&self) -> f64 {
        let Organisation { column_bytes, .. } = self.organisation;
        let bytes = (column_bytes * self.channels.count) as f64;
        bytes * 1000.0 / (self.timing.burst_tck * self.tck_ps) as f64
    }

    /// GB/s (10^9 bytes) of all PIM blocks, with a MAC in every tCCD_L.
    pub fn peak_gb_per_s(&self) -> f64 {
        self.config().peak_gb_per_s() * self.channels.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_devices_are_as_published() {
        for (name, bus, peak) in
            [("lpddr5x-8533-pim", 68.264, 546.1), ("lpddr5x-9600-pim", 76.8, 614.4)]
        {
            let spec = Lp5Spec::built_in(name).expect("it is there");
            assert_eq!(spec.name, name);
            // tCK is whole ps: 0.05 % off.
            assert!((spec.bus_gb_per_s() / bus - 1.0).abs() < 1e-3, "{}", spec.bus_gb_per_s());
            assert!((spec.peak_gb_per_s() / peak - 1.0).abs() < 1e-3, "{}", spec.peak_gb_per_s());
            let map = spec.map().expect("a map");
            assert_eq!((map.banks(), map.capacity()), (64, 8 << 30));
        }
        assert_eq!(Lp5Spec::built_in("lpddr5x"), None);
    }

    #[test]
    fn a_file_that_is_written_is_read_as_the_same() {
        for spec in Lp5Spec::names().filter_map(Lp5Spec::built_in) {
            assert_eq!(Lp5Spec::parse(&spec.to_toml()).as_ref(), Ok(&spec));
        }
    }

    #[test]
    fn what_is_no_device_is_refused_by_its_key() {
        let text = BUILT_IN[0].1;
        for (from, to, key) in [
            ("banks_per_block = 1", "banks_per_block = 2", "banks_per_block"),
            ("lanes = 16", "lanes = 8", "lanes"),
            ("REFI = 4166", "REFI = 0", "REFI"),
            ("RP = 23", "RP = 23\nRPab = 23", "RPab"),
            ("count = 4", "count = 2", "ch:2"),
            ("row:16", "row:15", "row:15"),
            ("rank:0", "rank:1", "rank:1"),
            ("col:5", "lane:5", "lane:5"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Lp5Spec::parse(&text.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(key), "{to}: {error}");
        }
    }
}
