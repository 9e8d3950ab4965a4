// SPDX-License-Identifier: MIT
//! Organisation and timing of a rank, as data.

use crate::CHIPS;
use serde::Deserialize;

/// What a rank is made of and how fast it is. Loaded from a preset; see `presets/`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the preset.
    pub name: String,
    /// Clock period in ps.
    #[serde(rename = "tCK_ps")]
    pub tck_ps: u64,
    /// Chips, banks, rows.
    pub organisation: Organisation,
    /// Timing parameters.
    pub timing: Timing,
}

/// Chips, banks and rows of a rank.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// Chips in the rank.
    pub chips: usize,
    /// Bank groups in a chip.
    pub bank_groups: usize,
    /// Banks in a bank group.
    pub banks_per_group: usize,
    /// Bytes of a row of one bank of one chip.
    pub page_bytes: usize,
    /// Rows in a bank.
    pub rows: usize,
}

/// Timing parameters (JESD79-4 section 13), in tCK.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "UPPERCASE")]
pub struct Timing {
    /// Length of a burst on the data bus.
    #[serde(rename = "BL")]
    pub burst_tck: u64,
    /// From one column command to the next in the same bank group, and so from one all-bank RD to
    /// the next: a *slot*.
    #[serde(rename = "CCD_L")]
    pub ccd_l_tck: u64,
}

/// Why a preset is refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not the TOML of a [`Config`].
    #[error("preset {0}")]
    Syntax(String),
    /// A value cannot be.
    #[error("preset {preset}: {key} = {value}, expected {expected}")]
    Value {
        /// Name of the preset.
        preset: String,
        /// The key.
        key: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
}

impl Config {
    /// The rank of L3's DIMM-PIM.
    pub fn ddr4_3200() -> Self {
        Self::parse(include_str!("../presets/ddr4-3200.toml")).expect("tested below")
    }

    /// Reads and checks a preset.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)
            .map_err(|e| ConfigError::Syntax(e.to_string().trim().replace('\n', " ")))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Organisation { chips, bank_groups, banks_per_group, page_bytes, rows } =
            self.organisation;
        let Timing { burst_tck, ccd_l_tck } = self.timing;
        let checks = [
            ("tCK_ps", self.tck_ps, (1..=100_000).contains(&self.tck_ps), "1 to 100000"),
            ("chips", chips as u64, chips == CHIPS, "8, the width of the adder unit"),
            ("bank_groups", bank_groups as u64, bank_groups == 4, "4, weights in a 64-bit word"),
            ("banks_per_group", banks_per_group as u64, banks_per_group == 4, "4"),
            (
                "page_bytes",
                page_bytes as u64,
                page_bytes.is_power_of_two() && (64..=65536).contains(&page_bytes),
                "a power of two from 64 to 65536",
            ),
            ("rows", rows as u64, (1..=1 << 20).contains(&rows), "1 to 1048576"),
            ("BL", burst_tck, burst_tck == 4, "4: eight beats, two in each tCK"),
            (
                "CCD_L",
                ccd_l_tck,
                ccd_l_tck % burst_tck.max(1) == 0 && (burst_tck..=64).contains(&ccd_l_tck),
                "a multiple of BL up to 64",
            ),
        ];
        for (key, value, holds, expected) in checks {
            if !holds {
                let preset = self.name.clone();
                return Err(ConfigError::Value { preset, key, value, expected });
            }
        }
        Ok(())
    }

    /// Logic banks: a bank of the same number in every chip, working together.
    pub fn banks(&self) -> usize {
        self.organisation.bank_groups * self.organisation.banks_per_group
    }

    /// Bursts in a row: columns of 64 bits in each chip.
    pub fn columns(&self) -> usize {
        self.organisation.page_bytes / 8
    }

    /// Bytes that an all-bank RD moves to the bank PUs.
    pub fn all_bank_bytes(&self) -> usize {
        self.banks() * self.organisation.chips * 8
    }

    /// Bandwidth of the bank PUs with an all-bank RD in every slot, in GB/s (10^9 bytes).
    pub fn peak_gb_per_s(&self) -> f64 {
        self.all_bank_bytes() as f64 * 1000.0 / (self.timing.ccd_l_tck * self.tck_ps) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_has_the_bandwidth_of_the_paper() {
        let config = Config::ddr4_3200();
        assert_eq!(config.columns(), 128);
        assert_eq!(config.all_bank_bytes(), 1024);
        assert_eq!(config.peak_gb_per_s(), 204.8);
        // 16 channels of 2 DIMMs of 2 ranks: L3 Table 2 says 13.0 TB/s.
        assert_eq!((config.peak_gb_per_s() * 64.0 / 100.0).round() / 10.0, 13.1);
    }

    #[test]
    fn a_preset_is_refused_with_the_name_of_what_is_wrong() {
        let text = include_str!("../presets/ddr4-3200.toml");
        for (from, to, expected) in [
            ("CCD_L = 8", "CCD_L = 7", "CCD_L = 7"),
            ("CCD_L = 8", "", "missing field `CCD_L`"),
            ("CCD_L = 8", "CCD_L = 8\nCCD_X = 1", "unknown field `CCD_X`"),
            ("tCK_ps = 625", "tCK_ps = 0", "tCK_ps = 0"),
            ("rows = 65536", "rows = -1", "-1"),
            ("chips = 8 ", "chips = 4 ", "chips = 4"),
        ] {
            let error = Config::parse(&text.replace(from, to)).expect_err(to).to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
