// SPDX-License-Identifier: MIT
//! The units as the command line names them.

use super::CosimArguments;
use pimlico_testbenches::cosim::{self, Progress};
use pimlico_testbenches::{AnyBench, benches};
use std::collections::BTreeMap;
use std::io;

/// A device under test: a unit in one set of parameters, and its bench.
pub struct Dut {
    /// Name of the RTL module.
    pub unit: &'static str,
    /// Name of the parameter set.
    pub name: String,
    /// Its bench.
    pub bench: AnyBench,
}

impl Dut {
    /// Parameters of the RTL module.
    pub fn parameters(&self) -> BTreeMap<&'static str, i64> {
        self.bench.unit.parameters.iter().copied().collect()
    }

    /// Random co-simulation. `progress` is told how many more cycles have been compared, and in one line of
    /// a failure before that is shrunk.
    pub fn random(
        &self,
        arguments: &CosimArguments,
        progress: &(dyn Fn(u64, Option<String>) + Sync),
    ) -> io::Result<cosim::CosimOutcome> {
        let CosimArguments { cycles, seed, report, coverage, .. } = arguments;
        let mut done = 0;
        let run = if *coverage { AnyBench::run_covered } else { AnyBench::run };
        run(&self.bench, *cycles, *seed, report, &mut |event| match event {
            Progress::Compared(cycles) => {
                progress(cycles - done, None);
                done = cycles;
            }
            Progress::Failed(cycle, failure) => {
                let found = format!("{}, cycle {cycle} of the run: {}", self.name, failure.brief());
                progress(0, Some(found));
            }
        })
    }
}

/// The units that the arguments name.
pub fn chosen(arguments: &CosimArguments) -> Vec<Dut> {
    let dut =
        |bench: AnyBench| Dut { unit: bench.unit.module, name: bench.unit.name.clone(), bench };
    let mut duts: Vec<_> = benches().into_iter().map(dut).collect();
    let is_named =
        |dut: &Dut| arguments.units.iter().any(|name| super::is_meant((dut.unit, &dut.name), name));
    duts.retain(|dut| arguments.all || is_named(dut));
    duts
}
