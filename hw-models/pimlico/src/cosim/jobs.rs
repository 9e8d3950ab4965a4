// SPDX-License-Identifier: MIT
//! The units as the command line names them.

use super::Arguments;
use crate::failure::Failure;
use pimlico_testbenches::exhaustive::{self, Operands};
use pimlico_testbenches::{Bench, cosim};
use pimlico_units::for_each_unit;
use std::collections::BTreeMap;
use std::io;

/// Told how many more cycles have been compared.
type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// `Bench::all_operands` of a unit.
type AllOperands = fn(Operands, &(dyn Fn(f64) + Sync)) -> Option<exhaustive::Outcome>;

/// A unit and what can be done with it.
pub struct Job {
    /// Name of the RTL module.
    pub unit: &'static str,
    /// Name of the parameter set.
    pub name: String,
    parameters: &'static [(&'static str, i64)],
    /// Random co-simulation.
    pub random: fn(&Arguments, Progress<'_>) -> io::Result<cosim::Outcome>,
    /// All operands, if the unit is a function of one or two and has no registers.
    pub all_operands: AllOperands,
}

impl Job {
    fn of<M: Bench>() -> Self {
        Self {
            unit: M::MODULE,
            name: M::name(),
            parameters: M::PARAMETERS,
            random: random::<M>,
            all_operands: M::all_operands,
        }
    }

    /// Whether the unit is meant by `name`: a module, or one of its parameter sets. `fp_mul:` means the
    /// defaults alone.
    fn is(&self, name: &str) -> bool {
        self.unit == name || self.name == name.strip_suffix(':').unwrap_or(name)
    }

    /// Parameters of the RTL module.
    pub fn parameters(&self) -> BTreeMap<&'static str, i64> {
        self.parameters.iter().copied().collect()
    }
}

fn random<M: Bench>(arguments: &Arguments, progress: Progress<'_>) -> io::Result<cosim::Outcome> {
    let Arguments { cycles, seed, vcd, report, .. } = arguments;
    if let Some(folder) = vcd {
        cosim::trace_first::<M>(*seed, folder)?;
    }
    let mut done = 0;
    cosim::run::<M>(*cycles, *seed, report, |cycles| {
        progress(cycles - done);
        done = cycles;
    })
}

/// The units that the arguments name.
pub fn chosen(arguments: &Arguments) -> Result<Vec<Job>, Failure> {
    let mut jobs = Vec::new();
    macro_rules! job {
        ($unit:ty) => {
            jobs.push(Job::of::<$unit>());
        };
    }
    for_each_unit!(job);
    for name in &arguments.units {
        if !jobs.iter().any(|job| job.is(name)) {
            let names: Vec<_> = jobs.into_iter().map(|job| job.name).collect();
            let list = names.join(", ");
            return Err(Failure::Input(format!("{name}: no such unit; there are {list}")));
        }
    }
    jobs.retain(|job| arguments.all || arguments.units.iter().any(|name| job.is(name)));
    Ok(jobs)
}
