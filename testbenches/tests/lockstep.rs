// SPDX-License-Identifier: MIT
//! A short random co-simulation of every unit, in every set of parameters.

use pimlico_testbenches::benches;
use rayon::prelude::*;

/// Cycles of each unit: `scripts/test` runs more of the same by itself, and `scripts/prove` more still.
const CYCLES: u64 = 5000;

#[test]
fn model_rtl_and_golden_agree() {
    let report = tempfile::tempdir().expect("a temporary folder");
    let benches = benches();
    assert!(benches.len() >= 60);
    benches.into_par_iter().for_each(|bench| {
        let outcome = bench.run(CYCLES, 1, report.path(), &mut |_| {});
        let outcome = outcome.expect("the report can be written");
        if let Some(failure) = &outcome.failure {
            panic!("{}", failure.shrunk);
        }
        assert_eq!(outcome.cycles, CYCLES, "{}", outcome.unit);
        assert!(outcome.checked > CYCLES / 100, "{}: the oracle sleeps", outcome.unit);
    });
}
