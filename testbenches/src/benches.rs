// SPDX-License-Identifier: MIT
//! The benches of all units behind one type, so that whoever runs them need not be compiled for each.

use crate::bench::Bench;
use crate::cosim;
use crate::coverage::Bins;
use crate::exhaustive::Exhaustive;
use pimlico_ports::UnitInfo;
use pimlico_units::for_each_unit;
use std::io;
use std::path::Path;

/// `cosim::run` of a unit.
type Run =
    fn(u64, u64, &Path, &mut dyn FnMut(cosim::Progress<'_>)) -> io::Result<cosim::CosimOutcome>;

/// The bench of a unit in one set of parameters.
pub struct AnyBench {
    /// The unit's declaration.
    pub unit: UnitInfo,
    /// Random co-simulation; see [`cosim::run`].
    pub run: Run,
    /// The same, with coverage; see [`cosim::run_covered`].
    pub run_covered: Run,
    /// What a run's input reaches of the plan, by the model alone; see [`cosim::reach`].
    pub reach: fn(u64, u64) -> Bins,
    /// Waveforms of an episode; see [`cosim::trace`].
    pub trace: fn(Option<u64>, u64, &Path, &Path) -> io::Result<()>,
    /// All operands; see [`Bench::exhaustive`].
    pub exhaustive: Option<Exhaustive>,
}

/// The benches of all units.
pub fn benches() -> Vec<AnyBench> {
    fn run<M: Bench>(
        cycles: u64,
        seed: u64,
        report: &Path,
        progress: &mut dyn FnMut(cosim::Progress<'_>),
    ) -> io::Result<cosim::CosimOutcome> {
        cosim::run::<M>(cycles, seed, report, progress)
    }
    fn run_covered<M: Bench>(
        cycles: u64,
        seed: u64,
        report: &Path,
        progress: &mut dyn FnMut(cosim::Progress<'_>),
    ) -> io::Result<cosim::CosimOutcome> {
        cosim::run_covered::<M>(cycles, seed, report, progress)
    }
    let mut benches = Vec::new();
    macro_rules! bench {
        ($unit:ty) => {
            benches.push(AnyBench {
                unit: <$unit as pimlico_ports::Unit>::info(),
                run: run::<$unit>,
                run_covered: run_covered::<$unit>,
                reach: cosim::reach::<$unit>,
                trace: cosim::trace::<$unit>,
                exhaustive: <$unit as Bench>::exhaustive(),
            });
        };
    }
    for_each_unit!(bench);
    benches
}
