// SPDX-License-Identifier: MIT
//! Comparing outputs of up to 64 bits with what is expected.

use crate::bench::OracleError;

/// Compares a port of a cycle.
pub(crate) fn equal(
    cycle: usize,
    port: &'static str,
    got: impl Into<u64>,
    expected: impl Into<u64>,
    what: impl FnOnce() -> String,
) -> Result<(), OracleError> {
    let (got, expected) = (got.into(), expected.into());
    if got == expected {
        return Ok(());
    }
    // The half that differs; both if only the lower does.
    let lower = got >> 32 == expected >> 32;
    let half = |bits: u64| (if lower { bits } else { bits >> 32 }) as u32;
    let what = if lower { what() } else { format!("upper half; {}", what()) };
    Err(OracleError { cycle: cycle as u64, port, got: half(got), expected: half(expected), what })
}
