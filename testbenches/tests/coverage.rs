// SPDX-License-Identifier: MIT
//! The plans of the benches: what their inputs reach of them, and that they rule out nothing that happens.

use pimlico_testbenches::benches;
use rayon::prelude::*;

/// Cycles of each unit. `pimlico cosim --coverage` measures the rest.
const CYCLES: u64 = 15_000;

#[test]
fn plans_are_mostly_reached_and_rule_out_nothing_that_happens() {
    // The defaults of each unit: the other sets of parameters share their plans.
    let mut benches = benches();
    benches.retain(|bench| !bench.unit.name.contains(':'));
    benches.into_par_iter().for_each(|bench| {
        let (name, bins) = (&bench.unit.name, bench.reach(CYCLES, 1));
        assert_eq!(bins.surprises().next(), None, "{name}");
        let all = bins.iter().count();
        let hit = bins.iter().filter(|(.., hits)| *hits > 0).count();
        assert!(all > 0, "{name} has no plan");
        assert!(2 * hit > all, "{name}: {hit} of {all}");
    });
}

#[test]
fn a_run_that_is_too_short_does_not_reach_the_plan() {
    for name in ["fp_add", "adder_unit", "sequencer"] {
        let bench = benches().into_iter().find(|bench| bench.unit.name == name);
        let bins = bench.expect("there is such a unit").reach(1, 1); // one episode
        assert!(bins.iter().any(|(.., hits)| hits == 0), "{name}");
    }
}
