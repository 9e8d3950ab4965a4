// SPDX-License-Identifier: MIT
//! `pimlico cosim`: the RTL of units against their models.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `pimlico cosim`.
#[derive(Args)]
#[cfg_attr(not(feature = "rtl"), allow(dead_code))]
pub struct Arguments {
    /// Units by name: `bank_pu` (in all its variants) or `fp_mul:bfloat16`
    #[arg(value_name = "UNIT", required_unless_present_any = ["all", "list"])]
    units: Vec<String>,
    /// All units
    #[arg(long, conflicts_with = "units")]
    all: bool,
    /// List the units, their parameters and ports
    #[arg(long)]
    list: bool,
    /// Cycles of random input for each unit
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    cycles: u64,
    /// Seed of the input, and of the bits in registers before the reset
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Write both waveforms of each unit's first episode to this folder
    #[arg(long, value_name = "DIR")]
    vcd: Option<PathBuf>,
    /// Folder for the waveforms of a failure
    #[arg(long, default_value = "pimlico-report", value_name = "DIR")]
    report: PathBuf,
    /// Print one JSON document in place of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.list {
        return output::print(&list());
    }
    compare(arguments)
}

#[cfg(not(feature = "rtl"))]
fn compare(_: &Arguments) -> Result<(), Failure> {
    Err(Failure::without_rtl("cosim"))
}

#[cfg(feature = "rtl")]
fn compare(arguments: &Arguments) -> Result<(), Failure> {
    compare::compare(arguments)
}

/// Units, parameters and ports.
fn list() -> String {
    let mut text = String::new();
    for unit in pimlico_units::units() {
        let parameters = unit.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        text += &format!("{} ({})\n", unit.name, parameters.collect::<Vec<_>>().join(" "));
        for (kind, ports) in [("in ", unit.inputs), ("out", unit.outputs), ("reg", unit.probes)] {
            for port in ports {
                text += &format!("  {kind} {:4} {:16}{}\n", port.width, port.name, port.doc);
            }
        }
    }
    text
}

#[cfg(feature = "rtl")]
mod compare {
    use super::Arguments;
    use crate::failure::Failure;
    use crate::output::{self, grouped};
    use pimlico_testbenches::Bench;
    use pimlico_testbenches::cosim::{self, Failure as CosimFailure, Outcome, Report};
    use pimlico_units::for_each_unit;
    use rayon::prelude::*;
    use serde::Serialize;
    use std::collections::BTreeMap;
    use std::io;

    /// What `--json` prints.
    #[derive(Serialize)]
    struct Document {
        seed: u64,
        mismatches: usize,
        units: Vec<UnitDocument>,
    }

    #[derive(Serialize)]
    struct UnitDocument {
        unit: &'static str,
        name: String,
        parameters: BTreeMap<&'static str, i64>,
        cycles: u64,
        oracle_checks: u64,
        mismatches: usize,
        first_mismatch: Option<MismatchDocument>,
        /// Not measured so far.
        coverage: Option<()>,
    }

    #[derive(Serialize)]
    struct MismatchDocument {
        cycle: u64,
        port: String,
        model: String,
        rtl: String,
        /// Set where model and RTL agree and the reference does not.
        expected: Option<String>,
        again: String,
        vcd: [String; 2],
    }

    /// Runs a co-simulation; tells how many more cycles have been compared.
    type Run = dyn Fn(&Arguments, &(dyn Fn(u64) + Sync)) -> io::Result<Outcome> + Send + Sync;

    /// A unit and the run of its co-simulation.
    struct Job {
        unit: &'static str,
        name: String,
        parameters: &'static [(&'static str, i64)],
        run: Box<Run>,
    }

    impl Job {
        fn of<M: Bench>() -> Self {
            Self {
                unit: M::MODULE,
                name: M::name(),
                parameters: M::PARAMETERS,
                run: Box::new(|arguments, progress| {
                    let Arguments { cycles, seed, vcd, report, .. } = arguments;
                    if let Some(folder) = vcd {
                        cosim::trace_first::<M>(*seed, folder)?;
                    }
                    let mut done = 0;
                    cosim::run::<M>(*cycles, *seed, report, |cycles| {
                        progress(cycles - done);
                        done = cycles;
                    })
                }),
            }
        }

        /// Whether the unit is meant by `name`.
        fn is(&self, name: &str) -> bool {
            self.name == name || self.unit == name
        }
    }

    /// Compares the chosen units, on all cores.
    pub fn compare(arguments: &Arguments) -> Result<(), Failure> {
        let jobs = chosen(arguments)?;
        if arguments.cycles == 0 {
            return Err(Failure::Input("--cycles 0: nothing would be compared".to_owned()));
        }
        let bar = output::progress(arguments.cycles * jobs.len() as u64, "cycles");
        let progress = |cycles| bar.inc(cycles);
        let outcomes: io::Result<Vec<Outcome>> =
            jobs.par_iter().map(|job| (job.run)(arguments, &progress)).collect();
        bar.finish_and_clear();
        let outcomes = outcomes.map_err(|e| Failure::Input(format!("waveform: {e}")))?;

        if arguments.json {
            output::print_json(&document(&jobs, &outcomes, arguments))?;
        } else {
            output::print(&table(&jobs, &outcomes))?;
        }
        let failures: Vec<_> = jobs
            .iter()
            .zip(&outcomes)
            .filter_map(|(job, outcome)| {
                let failure = outcome.failure.as_ref()?;
                Some(describe(failure, &again(job, outcome, arguments)))
            })
            .collect();
        if failures.is_empty() { Ok(()) } else { Err(Failure::Check(failures.join("\n"))) }
    }

    fn chosen(arguments: &Arguments) -> Result<Vec<Job>, Failure> {
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

    fn table(jobs: &[Job], outcomes: &[Outcome]) -> String {
        output::table(
            &["unit", "cycles compared", "checked by oracle", "mismatches"],
            jobs.iter().zip(outcomes).map(|(job, outcome)| {
                vec![
                    job.name.clone(),
                    grouped(outcome.cycles),
                    grouped(outcome.checked),
                    usize::from(outcome.failure.is_some()).to_string(),
                ]
            }),
        )
    }

    fn document(jobs: &[Job], outcomes: &[Outcome], arguments: &Arguments) -> Document {
        let units: Vec<_> = jobs
            .iter()
            .zip(outcomes)
            .map(|(job, outcome)| UnitDocument {
                unit: job.unit,
                name: job.name.clone(),
                parameters: job.parameters.iter().copied().collect(),
                cycles: outcome.cycles,
                oracle_checks: outcome.checked,
                mismatches: usize::from(outcome.failure.is_some()),
                first_mismatch: outcome
                    .failure
                    .as_ref()
                    .map(|report| mismatch(report, again(job, outcome, arguments))),
                coverage: None,
            })
            .collect();
        let mismatches = units.iter().map(|unit| unit.mismatches).sum();
        Document { seed: arguments.seed, mismatches, units }
    }

    fn mismatch(report: &Report, again: String) -> MismatchDocument {
        let (port, model, rtl, expected) = match &report.first {
            CosimFailure::Mismatch(m) => (m.port, m.model.clone(), m.rtl.clone(), None),
            CosimFailure::Oracle { error, .. } => {
                let got = format!("{:04x}", error.got);
                (error.port, got.clone(), got, Some(format!("{:04x}", error.expected)))
            }
        };
        let vcd = [&report.model_vcd, &report.rtl_vcd].map(|file| file.display().to_string());
        MismatchDocument {
            cycle: report.cycle,
            port: port.to_owned(),
            model,
            rtl,
            expected,
            again,
            vcd,
        }
    }

    /// The command that fails in the same way, and no later.
    fn again(job: &Job, outcome: &Outcome, arguments: &Arguments) -> String {
        format!("pimlico cosim {} --seed {} --cycles {}", job.name, arguments.seed, outcome.cycles)
    }

    fn describe(report: &Report, again: &str) -> String {
        let Report { first, cycle, shrunk, model_vcd, rtl_vcd } = report;
        format!(
            "{first}\n  found in cycle {cycle} of the run; again: {again}\nthe shortest that still \
             fails, from reset: {shrunk}\n  waveforms: {} {}",
            model_vcd.display(),
            rtl_vcd.display()
        )
    }
}
