// SPDX-License-Identifier: MIT
//! `pimlico sweep timing`: what one timing of the DRAM makes of the device.

use super::Threads;
use super::dram::{self, Columns};
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page};
use crate::schema::Kind;
use crate::workloads::{Machine, Run};
use clap::Args;
use pimlico_device::spec::Sweep;
use pimlico_device::{DeviceSpec, SystemKind};
use pimlico_workload::parallel;
use serde::Serialize;

/// Values of a timing, at the most.
const MOST_VALUES: usize = 256;

/// Arguments of `pimlico sweep timing`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep timing --key RCD --from 18 --to 26 --step 4
  pimlico sweep timing --key RP --from 18 --to 26 --step 2 --alone --tokens 10")]
pub struct TimingArguments {
    /// Key of the timing in a device's file, such as RCD. RCD_WR and RCD_MAC go along with RCD by the same number of
    /// tCK, and RC with RAS and with RP
    #[arg(long, value_name = "KEY")]
    key: String,
    /// First value
    #[arg(long, value_name = "N")]
    from: u64,
    /// Last value
    #[arg(long, value_name = "N")]
    to: u64,
    /// From one value to the next
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    step: u64,
    /// No other timing goes along
    #[arg(long)]
    alone: bool,
    #[command(flatten)]
    device: DeviceFlag,
    /// Tokens that the built-in language model decodes
    #[arg(long, default_value_t = 40, value_name = "N")]
    tokens: usize,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct TimingReport {
    sweep: &'static str,
    device: String,
    key: String,
    /// Timings that go along.
    go_along: &'static [&'static str],
    seed: u64,
    values: Vec<ValueRow>,
}

/// A value, and what the work takes with it.
#[derive(Serialize)]
struct ValueRow {
    value: u64,
    runs: Vec<Run>,
}

/// Runs the command.
pub fn run(arguments: &TimingArguments) -> Result<(), Failure> {
    let spec = arguments.device.of(SystemKind::L3)?;
    let (sweep, specs) = arguments.specs(&spec)?;
    let bar = output::progress(specs.len() as u64, "values");
    let row = |(value, spec): &(u64, DeviceSpec)| {
        let machine = Machine { config: spec.config(), options: spec.options() };
        let runs = dram::work(&machine, arguments.tokens, arguments.seed)?;
        Ok::<_, Failure>(ValueRow { value: *value, runs })
    };
    let progress = |done, _| bar.set_position(done);
    let values = parallel::map(&specs, arguments.threads.count(), |_| 1, row, progress);
    bar.finish_and_clear();
    let values = values?;
    let report = TimingReport {
        sweep: "timing",
        device: spec.name,
        key: arguments.key.clone(),
        go_along: sweep.go_along(),
        seed: arguments.seed,
        values,
    };
    output::report(arguments.format, (Kind::SweepTiming, &report), &text(&report))
}

impl TimingArguments {
    /// The device with each of the values, all of them checked.
    fn specs(&self, spec: &DeviceSpec) -> Result<(Sweep, Vec<(u64, DeviceSpec)>), Failure> {
        let Self { key, from, to, step, .. } = self;
        if from > to {
            return Err(Failure::Input(format!("--from {from} --to {to}: expected no less")));
        }
        if (to - from) / step >= MOST_VALUES as u64 {
            let message = format!("--from {from} --to {to}: expected at most {MOST_VALUES} values");
            return Err(Failure::Input(message));
        }
        let sweep = Sweep::new(spec, key, self.alone);
        let sweep = sweep.map_err(|error| Failure::Input(format!("--key: {error}")))?;
        let at = |value| {
            let spec = sweep
                .at(value)
                .map_err(|error| Failure::Input(format!("--key {key}, at {value}: {error}")))?;
            Ok((value, spec))
        };
        let specs = (*from..=*to).step_by(usize::try_from(*step).unwrap_or(usize::MAX)).map(at);
        let specs = specs.collect::<Result<_, Failure>>()?;
        Ok((sweep, specs))
    }
}

fn text(report: &TimingReport) -> Page {
    let TimingReport { device, key, go_along, seed, values, .. } = report;
    let columns: Columns<'_> =
        values.iter().map(|row| (row.value.to_string(), &*row.runs)).collect();
    let along = match go_along.join(", ") {
        others if others.is_empty() => others,
        others => format!(", with which {others} go"),
    };
    dram::tables(&format!("{key} of {device} in tCK{along}; seed {seed}"), &columns)
}
