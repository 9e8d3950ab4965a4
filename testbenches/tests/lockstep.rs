// SPDX-License-Identifier: MIT
//! A short random co-simulation of every unit, in every set of parameters.
#![cfg(feature = "rtl")]

use pimlico_testbenches::cosim;
use pimlico_units::for_each_unit;

/// Cycles of each unit; `pimlico cosim --all --cycles 1000000` is the long form.
const CYCLES: u64 = 50_000;

#[test]
fn model_rtl_and_golden_agree() {
    let report = tempfile::tempdir().expect("a temporary folder");
    let mut units = 0;
    macro_rules! check {
        ($unit:ty) => {
            let outcome = cosim::run::<$unit>(CYCLES, 1, report.path(), |_| {});
            let outcome = outcome.expect("the report can be written");
            if let Some(failure) = &outcome.failure {
                panic!("{}", failure.shrunk);
            }
            assert_eq!(outcome.cycles, CYCLES, "{}", outcome.unit);
            assert!(outcome.checked > CYCLES / 100, "{}: the oracle sleeps", outcome.unit);
            units += 1;
        };
    }
    for_each_unit!(check);
    assert!(units >= 40);
}
