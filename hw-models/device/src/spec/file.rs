// SPDX-License-Identifier: MIT
//! The file of a device, table by table.

use super::overlay;
use crate::aim::{AimOptions, RTL_LANES};
use crate::config::{Config, ConfigError, Currents, Organisation, Timing};
use crate::kinds::{self, BufferTable, Parts, SystemKind, TopologyTable, UnitTable};
use crate::options::{Gear, Options};
use crate::topology::{Topology, TopologyError};
use serde::{Deserialize, Serialize};

/// A device as a file describes it. Every key is there, but for those of another kind of system, `power` and
/// `link_gb_per_s`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Its name.
    pub name: String,
    /// What kind of device it is.
    pub system: SystemKind,
    /// Where the values come from, in a line.
    pub source: String,
    /// The chips' currents, if they are known: there is no energy without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Currents>,
    /// Clock period in ps.
    #[serde(rename = "tCK_ps")]
    pub tck_ps: u64,
    /// Chips, banks, rows.
    pub organisation: Organisation,
    /// Timing parameters.
    pub timing: Timing,
    /// Processing units.
    pub units: UnitTable,
    /// Their buffers.
    pub buffers: BufferTable,
    /// How many there are.
    pub topology: TopologyTable,
}

impl DeviceSpec {
    /// Names of the built-in devices.
    pub fn names() -> impl Iterator<Item = &'static str> {
        kinds::built_in().map(|(name, _)| name)
    }

    /// A built-in device, by its name.
    pub fn built_in(name: &str) -> Option<Self> {
        kinds::built_in_file(name).map(|text| Self::read(text).expect("tested below"))
    }

    /// Reads a file, and checks that there is such a device.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let spec = Self::read(text)?;
        spec.check()?;
        Ok(spec)
    }

    /// Reads a file, and checks what holds of any DRAM.
    pub(crate) fn read(text: &str) -> Result<Self, ConfigError> {
        let table = toml::from_str(text).map_err(|e| ConfigError::syntax(text, &e))?;
        let spec: Self = match overlay::over_base(table)? {
            Some(table) => table.try_into().map_err(|e| ConfigError::key(&e))?,
            None => toml::from_str(text).map_err(|e| ConfigError::syntax(text, &e))?,
        };
        spec.config().check()?;
        Ok(spec)
    }

    /// Whether there is such a device.
    pub fn check(&self) -> Result<(), ConfigError> {
        let config = &self.config();
        config.check()?;
        self.check_source()?;
        let Self { units, buffers, topology, .. } = self;
        self.system.check(&Parts { config, units, buffers, topology })
    }

    fn check_source(&self) -> Result<(), ConfigError> {
        let is_line = !self.source.chars().any(char::is_control);
        if is_line && (1..=200).contains(&self.source.chars().count()) {
            return Ok(());
        }
        Err(ConfigError::key(&"source: expected a line of 1 to 200 characters"))
    }

    /// The file of it, whole: read again, it is the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain data")
    }

    /// Organisation and timing of its DRAM.
    pub fn config(&self) -> Config {
        Config {
            name: self.name.clone(),
            power: self.power,
            tck_ps: self.tck_ps,
            link_gb_per_s: self.topology.link_gb_per_s,
            organisation: self.organisation.clone(),
            timing: self.timing.clone(),
        }
    }

    /// The gear of its core.
    pub fn gear(&self) -> Gear {
        let is_it = |gear: &Gear| Some(gear.tck() as u64) == self.units.gear;
        Gear::ALL.into_iter().find(is_it).unwrap_or_default()
    }

    /// How a rank works where no option says otherwise.
    pub fn options(&self) -> Options {
        let UnitTable { sums, normalise, .. } = self.units;
        Options { sums, normalise, gear: self.gear(), ..Options::default() }
    }

    /// How a module of AiM channels works where no option says otherwise.
    pub fn aim_options(&self) -> AimOptions {
        let (channels, io_buffers) = (self.topology.channels, self.buffers.io);
        let softmax_lanes = self.units.softmax_lanes.unwrap_or(RTL_LANES);
        AimOptions { channels, io_buffers, softmax_lanes, ..AimOptions::default() }
    }

    /// Where its ranks are.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        let TopologyTable { channels, dimms, ranks, mdq, .. } = self.topology;
        Ok(Topology::new(channels, dimms, ranks)?.with_mdq(mdq))
    }
}
