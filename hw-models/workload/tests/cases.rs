// SPDX-License-Identifier: MIT
//! How many random cases tests of equality have.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;
use std::env;

/// A few, and the same in every run; others, and more, where `PROPTEST_CASES` asks for them.
pub fn cases(few: u32) -> ProptestConfig {
    let all = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match env::var("PROPTEST_CASES") {
        Ok(_) => all,
        Err(_) => ProptestConfig { cases: few, rng_seed: RngSeed::Fixed(1), ..all },
    }
}
