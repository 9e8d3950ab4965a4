// SPDX-License-Identifier: MIT
//! `pimlico run`: an operator of a language model on the device.
//!
//! * [`operators`]: a file for each operator, with its own options and its own part of the report.
//! * [`systems`]: a file for each system, with its own options; it makes the device.
//! * [`groups`]: options that operators and systems have in common.
//! * [`arguments`]: what is asked for by these.
//! * [`checkpoint`]: language models in files; [`folder`]: in a folder of Hugging Face's.
//! * [`source`]: the same with layers that are read one by one; [`residency`]: into the banks.
//! * [`prefill`]: a prompt that the host takes.
//! * [`line`](mod@line): a line of the command; [`neupims`]: the part of it for channels of NeuPIMs, with reports of their own.
//! * [`former`]: the spelling that commands had before there were subcommands.
//! * [`ranks`]: what the report says of several ranks.
//! * [`shapes`]: the keys of a config.json that an error is about.
//! * [`backend`]: what executes the device.
//! * [`plot`]: a picture of it.
//! * [`text`](mod@text): the report for people.

mod arguments;
mod backend;
pub mod checkpoint;
pub mod folder;
mod former;
mod groups;
mod line;
mod neupims;
mod operators;
mod plot;
mod prefill;
mod ranks;
pub mod residency;
mod shapes;
pub mod source;
mod systems;
mod text;

pub use arguments::MOST_MODULES;
pub use checkpoint::{llama2c_job, tiny_job};
pub use former::renewed;
pub use line::RunLine;
pub use neupims::arguments::ChannelArguments;
pub use operators::with_flag;
pub use systems::lp5_spec;

use crate::allocator::keep_freed;
use crate::failure::Failure;
use crate::files::{Output, OutputFolder};
use crate::output;
use crate::schema::Kind;
use crate::values::Switch;
use arguments::{RunArguments, flags};
use operators::RunCommand;
use pimlico_backends::Backend;
use pimlico_device::{DeviceError, Mdq, Mismatch, Options};
#[cfg(feature = "rtl")]
use pimlico_testbenches::Waveforms;
use pimlico_workload::error::WorkloadError;
use pimlico_workload::operator::{AnyOperator, execute};
use pimlico_workload::report::Report;
use pimlico_workload::system::System;
use std::path::{Path, PathBuf};
use text::{OwnText, text};

/// What is run.
struct Job {
    operator: Box<dyn AnyOperator>,
    /// What its progress is counted in.
    unit: &'static str,
    /// The operator's own words that ask for the same again.
    words: String,
    /// The config.json that its shapes come from, if they do.
    config: Option<PathBuf>,
}

impl Job {
    /// Runs it on a system, with a bar of its progress.
    fn run(&self, system: &mut dyn System) -> Result<Report, WorkloadError> {
        keep_freed();
        let bar = output::progress(1, self.unit);
        let progress = |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        };
        let report = execute(&*self.operator, system, &progress);
        bar.finish_and_clear();
        report
    }

    /// A failure. What shapes are wrong is told by the file that they come from, and its keys.
    fn failure(&self, error: WorkloadError) -> Failure {
        let keys = shapes::keys(&error);
        match (Failure::from(error), &self.config, keys) {
            (Failure::Input(why), Some(file), Some("")) => {
                Failure::Input(format!("{}: {why}", file.display()))
            }
            (Failure::Input(why), Some(file), Some(keys)) => {
                Failure::Input(format!("{}: {keys}: {why}", file.display()))
            }
            (failure, ..) => failure,
        }
    }
}

/// Files that a run writes beside its report.
struct Outputs {
    vcd: Option<Output>,
    plot: Option<Output>,
}

impl Outputs {
    /// Checks them, and that the waveforms of a mismatch can be written.
    fn open(arguments: &RunArguments) -> Result<Self, Failure> {
        let open = |file: &Option<PathBuf>| file.as_deref().map(Output::beside_report).transpose();
        if arguments.backend == Backend::Lockstep {
            OutputFolder::open(&arguments.report)?;
        }
        Ok(Self { vcd: open(&arguments.vcd)?, plot: open(&arguments.plot)? })
    }
}

/// Runs the command.
pub fn run(line: RunLine) -> Result<(), Failure> {
    let RunCommand { arguments, operator } = match line {
        RunLine::Operator(command) => command,
        RunLine::Neupims(command) => return neupims::run(&command),
    };
    let arguments = &arguments.with_device()?;
    let outputs = Outputs::open(arguments)?;
    let job = operator.make(arguments)?;
    let (report, timeline) = arguments.own.run(&job, arguments, outputs.vcd)?;
    let own = operator.told(&report);
    if let Some(output) = outputs.plot {
        plot::write(output, &report, &text::what(&report, &own), timeline.as_ref())?;
    }
    tell(&report, &own, arguments)
}

/// The report of a job that has come to its end, or what is said of it if it has not; `show` writes the waveforms of a
/// mismatch and returns their names.
fn ended(
    report: Result<Report, WorkloadError>,
    job: &Job,
    arguments: &RunArguments,
    show: impl FnOnce(&Mismatch) -> String,
) -> Result<Report, Failure> {
    let error = match report {
        Ok(mut report) => {
            report.backend = arguments.backend.name().to_owned();
            report.mismatches = (arguments.backend == Backend::Lockstep).then_some(0);
            return Ok(report);
        }
        Err(error) => error,
    };
    Err(match error {
        WorkloadError::Device(DeviceError::Mismatch(mismatch)) => {
            let again = again(job, arguments);
            let waveforms = show(&mismatch);
            Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
        }
        WorkloadError::Device(DeviceError::Wave(error)) => {
            let file = arguments.vcd.as_deref().unwrap_or(Path::new("waveform"));
            Failure::file(file, &error)
        }
        WorkloadError::OwnPrograms(error) => {
            Failure::Input(of_program(arguments, error.to_string()))
        }
        error => match job.failure(error) {
            Failure::Check(why) => Failure::Check(of_program(arguments, why)),
            failure => failure,
        },
    })
}

/// What is wrong, and the file of the program that it is of, if the program is one of the user's own.
fn of_program(arguments: &RunArguments, why: String) -> String {
    match &arguments.program {
        Some(file) => format!("{}: {why}", file.display()),
        None => why,
    }
}

/// Prints a report, and fails where it says that a check has.
fn tell(report: &Report, own: &OwnText, arguments: &RunArguments) -> Result<(), Failure> {
    output::report(arguments.format, (Kind::Run, report), &text(report, own, arguments))?;
    if let Some(violations) = report.violations() {
        return Err(Failure::Check(violations));
    }
    match report.judged.wrong() {
        None => Ok(()),
        Some(wrong) => Err(Failure::Check(of_program(arguments, wrong))),
    }
}

/// The names of waveforms, or why they have not been written.
#[cfg(feature = "rtl")]
fn shown(written: std::io::Result<(Waveforms, ())>, arguments: &RunArguments) -> String {
    match written {
        Ok((files, ())) => files.to_string(),
        Err(error) => format!("{}: {error}", arguments.report.display()),
    }
}

/// The command that does the same again.
fn again(job: &Job, arguments: &RunArguments) -> String {
    let RunArguments { system, own, op, .. } = arguments;
    let (system, op) = (system.name(), *op);
    let refresh = arguments.refresh == Switch::On;
    let mut what = format!("{op} {}", job.words);
    if let Some(file) = &arguments.program {
        what += &format!(" --program {}", file.display());
    }
    if let Some(context) = arguments.context_max {
        what += &format!(" --context-max {context}");
    }
    // Others have options of their own in place of these.
    if arguments.system.kind.is_some() {
        let Options { normalise, sums, .. } = arguments.options();
        for (flag, value) in [
            ("io-buffers", arguments.io_buffers().name()),
            ("normalise", normalise.name()),
            ("sums", sums.name()),
        ] {
            if operators::takes(system, op, flag) {
                what += &format!(" --{flag} {value}");
            }
        }
    }
    what += &own.words(arguments);
    what += &arguments.in_banks.as_ref().map(|in_banks| in_banks.words()).unwrap_or_default();
    what += &arguments.on_host.as_ref().map(|on_host| on_host.words()).unwrap_or_default();
    let RunArguments { channels, dimms, ranks, mdq, .. } = arguments;
    let number = |value: &Option<usize>| value.map(|number| number.to_string());
    what += &flags([
        ("channels", number(channels)),
        ("dimms", number(dimms)),
        ("ranks", number(ranks)),
        ("mdq", mdq.map(|mdq| Mdq::from(mdq).name().to_owned())),
    ]);
    if arguments.timing_only {
        what += " --timing-only";
    }
    format!(
        "pimlico run {system} {what}{} --refresh {} --backend {} --seed {}",
        arguments.dram_flags(),
        if refresh { "on" } else { "off" },
        arguments.backend.name(),
        arguments.seed
    )
}
