// SPDX-License-Identifier: MIT
//! Organisation and timing of a device, as data.
//!
//! * [`Timing`]: its times, and what follows from them.
//! * `check`: what the values may be.
//! * [`ConfigError`]: what is said of one that may not.

mod check;
mod error;
#[cfg(test)]
mod tests;
mod timing;

pub use error::ConfigError;
pub use timing::Timing;

use pimlico_dpa::clock::Gear;
use pimlico_dpa::types::BankSize;
use pimlico_ports::U;
use serde::{Deserialize, Serialize};

/// Chips whose currents are known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub enum Currents {
    /// 8 Gb x8 chips at 3200 MT/s: `presets/ddr4-3200-power.toml`.
    #[serde(rename = "ddr4-3200")]
    Ddr4x3200,
}

/// What a device is made of and how fast it is: a rank of a DIMM, or a channel of GDDR6. Part of a
/// [`DeviceSpec`](crate::DeviceSpec); see `presets/`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the preset.
    pub name: String,
    /// The chips' currents, if they are known.
    pub power: Option<Currents>,
    /// Clock period in ps.
    pub tck_ps: u64,
    /// GB/s (10^9 bytes) of the link between the host and an AiM's hub, if it is known. Reports account for it; the
    /// models do not wait for it.
    pub link_gb_per_s: Option<u64>,
    /// Chips, banks, rows.
    pub organisation: Organisation,
    /// Timing parameters.
    pub timing: Timing,
}

/// Chips, banks and rows of a device.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// Chips that work together.
    pub chips: usize,
    /// Bank groups in a chip.
    pub bank_groups: usize,
    /// Banks in a bank group.
    pub banks_per_group: usize,
    /// Bytes of a row of one bank of one chip.
    pub page_bytes: usize,
    /// Bytes that a column command moves in one bank of one chip.
    pub column_bytes: usize,
    /// Rows in a bank.
    pub rows: usize,
}

impl Config {
    /// The same for a rank PU whose core has this gear: bursts and slots begin with a cycle of it, so that CL,
    /// CWL (both are mode registers of the chips) and CCD_L are multiples of its tCK, as RL_MAC is in any case.
    pub fn at_gear(&self, gear: Gear) -> Self {
        let mut config = self.clone();
        let Timing { cl_tck, cwl_tck, cl_reg_tck, cwl_gb_tck, ccd_l_tck, .. } = &mut config.timing;
        for tck in [cl_tck, cwl_tck, cl_reg_tck, cwl_gb_tck, ccd_l_tck] {
            *tck = tck.next_multiple_of(gear.tck() as u64);
        }
        config
    }

    /// Size of a bank, as it is on a port.
    pub fn bank_size(&self) -> BankSize {
        BankSize {
            rows: U::new(self.organisation.rows as u64),
            columns: U::new(self.columns() as u64),
        }
    }

    /// Logic banks: a bank of the same number in every chip, working together.
    pub fn banks(&self) -> usize {
        self.organisation.bank_groups * self.organisation.banks_per_group
    }

    /// Bursts in a row: columns of each chip.
    pub fn columns(&self) -> usize {
        self.organisation.page_bytes / self.organisation.column_bytes
    }

    /// Multipliers of a bank's PU: one for each 16-bit element of a column.
    pub fn multipliers(&self) -> usize {
        self.organisation.column_bytes / 2
    }

    /// Bytes that an all-bank RD moves to the bank PUs.
    pub fn all_bank_bytes(&self) -> usize {
        self.banks() * self.organisation.chips * self.organisation.column_bytes
    }

    /// Bandwidth of the bank PUs with an all-bank RD in every slot, in GB/s (10^9 bytes).
    pub fn peak_gb_per_s(&self) -> f64 {
        self.all_bank_bytes() as f64 * 1000.0 / (self.timing.ccd_l_tck * self.tck_ps) as f64
    }
}
