// SPDX-License-Identifier: MIT
//! The benches of all units behind one type, so that whoever runs them need not be compiled for each.

use crate::bench::Bench;
use crate::cosim::{self, CosimOutcome, MakeRig, Progress};
use crate::coverage::Bins;
use crate::exhaustive::Exhaustive;
use pimlico_ports::UnitInfo;
use pimlico_units::for_each_unit;
use std::io;
use std::path::Path;

/// The bench of a unit in one set of parameters.
pub struct AnyBench {
    /// The unit's declaration.
    pub unit: UnitInfo,
    /// All operands; see [`Bench::exhaustive`].
    pub exhaustive: Option<Exhaustive>,
    rig: MakeRig,
}

impl AnyBench {
    /// Random co-simulation; see [`cosim::run`].
    pub fn run(
        &self,
        cycles: u64,
        seed: u64,
        report: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> io::Result<CosimOutcome> {
        cosim::run_on(self.rig, (cycles, seed), report, progress)
    }

    /// The same, with coverage; see [`cosim::run_covered`].
    pub fn run_covered(
        &self,
        cycles: u64,
        seed: u64,
        report: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> io::Result<CosimOutcome> {
        cosim::run_covered_on(self.rig, (cycles, seed), report, progress)
    }

    /// What a run's input reaches of the plan, by the model alone; see [`cosim::reach`].
    pub fn reach(&self, cycles: u64, seed: u64) -> Bins {
        cosim::reach_on(self.rig, cycles, seed)
    }

    /// Waveforms of an episode; see [`cosim::trace`].
    pub fn trace(
        &self,
        cycle: Option<u64>,
        seed: u64,
        folder: &Path,
        again: &Path,
    ) -> io::Result<()> {
        cosim::trace_on(self.rig, (cycle, seed), folder, again)
    }
}

/// The benches of all units.
pub fn benches() -> Vec<AnyBench> {
    fn of<M: Bench>() -> AnyBench {
        AnyBench { unit: M::info(), exhaustive: M::exhaustive(), rig: cosim::rig::<M> }
    }
    let mut benches = Vec::new();
    macro_rules! bench {
        ($unit:ty) => {
            benches.push(of::<$unit>());
        };
    }
    for_each_unit!(bench);
    benches
}
