// SPDX-License-Identifier: MIT
//! A device with other values of one timing.

use super::file::DeviceSpec;
use crate::config::ConfigError;
use toml::{Table, Value};

/// Timings that go with another, by the same number of tCK: DDR4 has one tRCD for all that opens a row to use it,
/// a row cycle is RAS + RP, and registers have the latencies of columns.
const GO_ALONG: [(&str, &[&str]); 5] = [
    ("RCD", &["RCD_WR", "RCD_MAC"]),
    ("RAS", &["RC"]),
    ("RP", &["RC"]),
    ("CL", &["CL_REG"]),
    ("CWL", &["CWL_GB"]),
];

/// A device, and the timing that is to have other values.
#[derive(Clone, Debug)]
pub struct Sweep {
    whole: Table,
    key: String,
    go_along: &'static [&'static str],
}

impl Sweep {
    /// By the key of a timing. `alone`, no other goes along.
    pub fn new(spec: &DeviceSpec, key: &str, alone: bool) -> Result<Self, ConfigError> {
        let whole = Table::try_from(spec).expect("plain data");
        let timings = whole["timing"].as_table().expect("a table");
        if !timings.contains_key(key) {
            let keys: Vec<_> = timings.keys().map(String::as_str).collect();
            let message = format!("no such timing: {key:?}; there are {}", keys.join(", "));
            return Err(ConfigError::key(&message));
        }
        let of_key = GO_ALONG.iter().find(|(of, _)| *of == key && !alone);
        let go_along = of_key.map_or(&[][..], |(_, others)| others);
        Ok(Self { whole, key: key.to_owned(), go_along })
    }

    /// Timings that go along.
    pub fn go_along(&self) -> &'static [&'static str] {
        self.go_along
    }

    /// The device with this value.
    pub fn at(&self, value: u64) -> Result<DeviceSpec, ConfigError> {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let mut whole = self.whole.clone();
        let timings = whole["timing"].as_table_mut().expect("a table");
        let was = timings.get(&self.key).and_then(Value::as_integer).unwrap_or_default();
        timings.insert(self.key.clone(), value.into());
        for other in self.go_along {
            let tck = timings.get(*other).and_then(Value::as_integer).unwrap_or_default();
            timings.insert((*other).to_owned(), tck.saturating_add(value - was).into());
        }
        let spec: DeviceSpec = whole.try_into().map_err(|e| ConfigError::key(&e))?;
        spec.check()?;
        Ok(spec)
    }
}
