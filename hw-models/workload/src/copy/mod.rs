// SPDX-License-Identifier: MIT
//! A study: matrices that lie in banks for PIM, copied by the host into its own order (PIM-SHERPA, section 4.2), timed on the
//! device.
//!
//! On LPDDR5X-PIM the copy goes to the same memory: [`lp5`]. A rank of L3 is read through its memory controller and re-layout,
//! and the copy is elsewhere: [`l3`]. Elements are random bits, and each that arrives in the copy is compared.

pub mod l3;
pub mod lp5;

use crate::judge::Findings;
use serde::Serialize;

/// A matrix that is copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedMatrix {
    /// Its name.
    pub name: String,
    /// Rows: outputs.
    pub rows: u64,
    /// Columns: inputs.
    pub columns: u64,
}

impl CopiedMatrix {
    /// Bytes of its elements.
    pub fn bytes(&self) -> u64 {
        2 * self.rows * self.columns
    }
}

/// The host's threads, on LPDDR5X-PIM.
#[derive(Clone, Debug, Serialize)]
pub struct HostThreads {
    /// What becomes of what was loaded: `write-allocate` or `non-temporal`.
    pub stores: &'static str,
    /// Threads.
    pub threads: usize,
    /// Loads that a thread has under way.
    pub loads: usize,
    /// Lines that are being filled for a thread.
    pub fills: usize,
}

/// What the time of the data lines goes to: shares of all channels' tCK, which add up to 1.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct BusShares {
    /// Loads of matrices.
    pub loads: f64,
    /// Lines that are filled because a part of them is stored to.
    pub fills: f64,
    /// Lines that are written back, or stores past the cache.
    pub writes: f64,
    /// Refresh, with the rows that are closed for it.
    pub refresh: f64,
    /// From data of one direction to the other's.
    pub turnarounds: f64,
    /// Nothing is asked of a channel: other channels work, or threads wait. Of lp5.
    pub host: f64,
    /// Rows that are opened; of l3, waiting for the host too.
    pub other: f64,
}

/// A pass over the matrices.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Pass {
    /// Duration in tCK.
    pub tck: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Bytes of matrices in that time, in GB/s (10^9 bytes).
    pub gb_per_s: f64,
    /// Bytes on the data lines in that time, in GB/s.
    pub moved_gb_per_s: f64,
    /// The same as a share of the peak.
    pub moved_share: f64,
    /// Bursts that are loads of matrices.
    pub load_bursts: u64,
    /// Bursts that fill lines.
    pub fill_bursts: u64,
    /// Bursts that are written.
    pub write_bursts: u64,
    /// What the time goes to.
    pub shares: BusShares,
}

/// What a copy cost, and what arrived.
#[derive(Clone, Debug, Serialize)]
pub struct CopyReport {
    /// Name of the system.
    pub system: &'static str,
    /// Preset of the DRAM.
    pub dram: String,
    /// Clock period in ns.
    pub tck_ns: f64,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// Seed of the data.
    pub seed: u64,
    /// The matrices.
    pub matrices: Vec<CopiedMatrix>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// In which order bursts are read: `row-buffer` or `bank-major`.
    pub order: &'static str,
    /// In which order the copy has the elements, on LPDDR5X-PIM: `column-major` or `row-major`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'static str>,
    /// The host's threads, on LPDDR5X-PIM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostThreads>,
    /// Peak of the data lines of all channels, in GB/s.
    pub peak_gb_per_s: f64,
    /// A pass that reads.
    pub reads: Pass,
    /// The copy, on LPDDR5X-PIM; elsewhere it is that pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<Pass>,
    /// How many such passes the copy takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<f64>,
    /// Elements of the copy that are not the matrices'.
    pub differing: u64,
    /// Rules of the DRAM that were broken at its pins.
    pub pin_violations: u64,
    /// The first of them.
    pub first_violations: Vec<String>,
}

impl CopyReport {
    /// What is wrong, if anything is.
    pub fn wrong(&self) -> Option<String> {
        if let Some(first) = self.first_violations.first() {
            return Some(format!(
                "{} violations at the DRAM's pins, the first: {first}",
                self.pin_violations
            ));
        }
        let differs = || format!("{} elements of the copy differ from the matrix", self.differing);
        (self.differing > 0).then(differs)
    }
}

/// Elements of matrices: 16 random bits for each number.
#[derive(Clone, Copy, Debug)]
struct Elements {
    seed: u64,
    columns: u64,
}

impl Elements {
    /// Of the matrix of a number.
    fn of(seed: u64, number: usize, matrix: &CopiedMatrix) -> Self {
        Self { seed: mixed(seed ^ mixed(number as u64 + 1)), columns: matrix.columns }
    }

    fn at(self, row: u64, column: u64) -> u16 {
        (mixed(self.seed.wrapping_add(row * self.columns + column)) >> 48) as u16
    }
}

/// The bits of a number, mixed: `SplitMix64`'s.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// What was found of all matrices.
fn told(findings: &Findings) -> (u64, Vec<String>) {
    let (count, first) = &findings.violations;
    (*count, first.iter().map(ToString::to_string).collect())
}
