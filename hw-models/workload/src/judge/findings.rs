// SPDX-License-Identifier: MIT
//! What was found at the pins.

use super::host_pins::HostFound;
use super::pins::Violation;

/// What was found at the pins.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Rules of the DRAM that were broken at its pins, and the first of them.
    pub violations: (u64, Vec<Violation>),
    /// What was found at the pins of the host, where there are some.
    pub host: Option<HostFound>,
}

impl Findings {
    /// Of two devices.
    pub fn and(mut self, other: Self) -> Self {
        self.violations.0 += other.violations.0;
        self.violations.1.extend(other.violations.1);
        self.host = match (self.host, other.host) {
            (Some(a), Some(b)) => Some(a.and(&b)),
            (a, b) => a.or(b),
        };
        self
    }
}
