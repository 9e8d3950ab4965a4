// SPDX-License-Identifier: MIT
//! How a rank works.

pub use pimlico_dpa::clock::Gear;

use serde::{Deserialize, Serialize};

/// How a rank works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// When softmax divides by the sum of the exponentials.
    pub normalise: Normalise,
    /// The format of sums in bank PUs and adder unit.
    pub sums: SumFormat,
    /// tCK in a cycle of the rank PU's core.
    pub gear: Gear,
    /// tCK from one look of the host at the status of a run to the next.
    pub poll_tck: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            refresh: true,
            normalise: Normalise::Early,
            sums: SumFormat::Binary16,
            gear: Gear::DEFAULT,
            poll_tck: 64,
        }
    }
}

/// When softmax divides by the sum of the exponentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Each weight, before it is used: L3's order.
    Early,
    /// The context, once.
    Late,
}

/// The format of sums in bank PUs and adder unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SumFormat {
    /// That of the elements.
    Binary16,
    /// A wider one.
    Binary32,
}

impl Normalise {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Late => "late",
        }
    }
}

impl SumFormat {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary16 => "binary16",
            Self::Binary32 => "binary32",
        }
    }
}
