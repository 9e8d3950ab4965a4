// SPDX-License-Identifier: MIT
//! The kinds of devices: which units are at the DRAM, what a device's file may say of them, and which are built in.
//!
//! A kind is a file here, with its [`Rules`], and a line of [`SystemKind::rules`]; a device of its own stands in a
//! folder of the same name. Whoever matches kinds elsewhere has an arm for those that it does not know.
//!
//! * [`l3`]: ranks of DDR4; [`aim`]: a module of GDDR6-AiM channels.
//! * [`rules`]: what a kind says.
//! * [`tables`]: the tables of a device's file that are not the DRAM's.

mod aim;
mod l3;
mod rules;
mod tables;

pub use tables::{BufferTable, TopologyTable, UnitTable};

pub(crate) use rules::Parts;

use crate::config::ConfigError;
use rules::Rules;
use serde::{Deserialize, Serialize};

/// What kind of device it is: which units are at its DRAM.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SystemKind {
    /// L3's DIMM-PIM: ranks of DDR4.
    L3,
    /// LoL-PIM's module: channels of GDDR6-AiM behind a hub.
    Aim,
}

impl SystemKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::L3, Self::Aim];

    fn rules(self) -> &'static Rules {
        match self {
            Self::L3 => &l3::RULES,
            Self::Aim => &aim::RULES,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// The default device of the system: its first built-in one.
    pub fn default_device(self) -> &'static str {
        self.rules().presets[0].0
    }

    /// Data lines over which the burst of a column goes.
    pub fn lines(self) -> u64 {
        self.rules().lines
    }

    /// Whether there is such a device.
    pub(crate) fn check(self, parts: &Parts<'_>) -> Result<(), ConfigError> {
        (self.rules().check)(parts)
    }
}

/// Built-in devices of all kinds: name, and file.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    SystemKind::ALL.into_iter().flat_map(|kind| kind.rules().presets.iter().copied())
}

/// The file of a built-in device.
pub fn built_in_file(name: &str) -> Option<&'static str> {
    built_in().find(|(known, _)| *known == name).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_the_name_that_files_have_and_a_device() {
        for kind in SystemKind::ALL {
            let value = toml::Value::String(kind.name().to_owned());
            assert_eq!(value.try_into(), Ok(kind));
            assert!(!kind.rules().presets.is_empty(), "{kind:?}");
        }
    }
}
