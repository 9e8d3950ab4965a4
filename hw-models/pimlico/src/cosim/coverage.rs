// SPDX-License-Identifier: MIT
//! What `cosim --coverage` says.

use super::duts::Dut;
use crate::failure::Failure;
use crate::files::Output;
use pimlico_testbenches::cosim::CosimOutcome;
use pimlico_testbenches::coverage::{Coverage, Share};
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Coverage in a report, in parts of 1; null where a unit has nothing of the kind.
#[derive(Serialize)]
pub struct CoverageDocument {
    line: Option<f64>,
    toggle: Option<f64>,
    functional: Option<f64>,
}

impl CoverageDocument {
    /// Of a unit's run.
    pub fn of(coverage: &Coverage) -> Self {
        Self {
            line: coverage.line().fraction(),
            toggle: coverage.toggle().fraction(),
            functional: coverage.functional().fraction(),
        }
    }
}

/// Headers of the table's columns.
pub const COLUMNS: [&str; 3] = ["line, %", "toggle, %", "functional, %"];

/// A unit's entries in these columns.
pub fn columns(coverage: &Coverage) -> [String; 3] {
    [coverage.line(), coverage.toggle(), coverage.functional()].map(percent)
}

/// In percent, rounded down: what is not complete does not read so.
fn percent(share: Share) -> String {
    let Share { reached, all } = share;
    if all == 0 {
        return "-".to_owned();
    }
    let tenths = reached * 1000 / all;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Writes what each unit's run has not reached to a file in `folder`, which is made if need be. Without
/// `--coverage` it writes nothing.
pub fn write_missing(
    duts: &[Dut],
    outcomes: &[CosimOutcome],
    folder: &Path,
) -> Result<(), Failure> {
    for (dut, outcome) in duts.iter().zip(outcomes) {
        let Some(coverage) = &outcome.coverage else { continue };
        fs::create_dir_all(folder).map_err(|e| Failure::file(folder, &e))?;
        let file = folder.join(format!("{}.coverage.txt", dut.name.replace(':', ".")));
        Output::open(&file)?.write(coverage.missing(&dut.name).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_complete_reads_100_percent() {
        assert_eq!(percent(Share { reached: 1999, all: 2000 }), "99.9");
        assert_eq!(percent(Share { reached: 2000, all: 2000 }), "100.0");
        assert_eq!(percent(Share { reached: 0, all: 0 }), "-");
    }
}
