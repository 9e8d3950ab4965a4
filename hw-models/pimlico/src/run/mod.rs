// SPDX-License-Identifier: MIT
//! `pimlico run`: an operator of a language model on the device.
//!
//! * [`arguments`]: what is asked for.
//! * [`aim`]: the same on a module of AiM channels.
//! * [`decode`]: decoding text, its files and its part of the report.
//! * [`flags`]: which of it goes with which operator.
//! * [`ranks`]: the operators on several ranks.
//! * [`backend`]: what executes the device.
//! * [`plot`]: a picture of it.
//! * [`text`]: the report for people.

mod aim;
mod arguments;
mod backend;
mod decode;
mod flags;
mod plot;
mod ranks;
mod text;

pub use arguments::{MOST_MODULES, Switch, channels, find_model};
pub use decode::{llama2c_job, tiny_job};
pub use flags::Given;

use crate::failure::Failure;
use crate::output;
use arguments::{RunArguments, System};
use backend::Backend;
use pimlico_device::{Config, Device, Mdq, Mismatch, Options, RankError};
use pimlico_host::driver::DriverError;
#[cfg(feature = "rtl")]
use pimlico_testbenches::Waveforms;
use pimlico_workload::attention::{self, AttentionError, AttentionSetup};
use pimlico_workload::decode::{self as host_decode, DecodeError};
use pimlico_workload::fc;
use pimlico_workload::gemv::{self, GemvError};
use pimlico_workload::layer;
use pimlico_workload::report::Report;
use text::text;

/// What is run.
enum Job {
    Attention(attention::AttentionJob),
    Fc(fc::FcJob),
    Gemv(gemv::GemvJob),
    Layer(layer::LayerJob),
    Decode(Box<host_decode::DecodeJob>),
}

/// Runs the command.
pub fn run(given: Given) -> Result<(), Failure> {
    let given = given.with_device()?;
    given.check()?;
    let arguments = &given.arguments;
    let (job, setup) = (arguments.job()?, arguments.setup()?);
    match arguments.system() {
        System::L3 => run_l3(&job, &setup, arguments),
        System::Aim => aim::run(&job, arguments),
    }
}

fn run_l3(job: &Job, setup: &AttentionSetup, arguments: &RunArguments) -> Result<(), Failure> {
    let topology = arguments.topology()?;
    let in_pieces = arguments.timing_only || matches!(job, Job::Layer(_));
    if topology.count() > 1 || in_pieces {
        let report = ranks::run(topology, job, arguments)?;
        return tell(&report, arguments);
    }
    run_rank(job, setup, arguments)
}

fn run_rank(job: &Job, setup: &AttentionSetup, arguments: &RunArguments) -> Result<(), Failure> {
    let config = arguments.dram_config();
    let options = arguments.options();
    let mut rank = arguments.backend.device(&config, options, arguments.seed)?;
    if let Some(file) = &arguments.vcd {
        rank.trace(file).map_err(|e| Failure::file(file, &e))?;
    }
    if arguments.plot.is_some() {
        rank.start_timeline();
    }
    let report = simulate(&mut *rank, job, setup, arguments);
    rank.finish_trace().map_err(|e| Failure::Input(e.to_string()))?;
    let report = report?;
    if let (Some(file), Some(timeline)) = (&arguments.plot, rank.timeline()) {
        plot::write(file, &report, timeline)?;
    }
    tell(&report, arguments)
}

/// Prints a report, and fails where it says that a check has.
fn tell(report: &Report, arguments: &RunArguments) -> Result<(), Failure> {
    if arguments.json {
        output::print_json(report)?;
    } else {
        output::print(&text(report, arguments))?;
    }
    if let Some(violations) = report.violations() {
        return Err(Failure::Check(violations));
    }
    let exact = report.operators.iter().filter_map(|operator| operator.exact);
    match exact.map(|exact| exact.differing).sum() {
        0u64 => Ok(()),
        differing => Err(Failure::Check(format!("{differing} results differ from golden's"))),
    }
}

fn simulate(
    rank: &mut dyn Device,
    job: &Job,
    setup: &AttentionSetup,
    arguments: &RunArguments,
) -> Result<Report, Failure> {
    let report = run_job(rank, job, setup, arguments).map_err(|stop| {
        stop.failure(job, arguments, |mismatch| {
            show(mismatch, rank.config(), (job, setup), arguments)
        })
    })?;
    Ok(ran_by(report, arguments))
}

/// A report that says what executed the units.
fn ran_by(mut report: Report, arguments: &RunArguments) -> Report {
    report.backend = arguments.backend.name().to_owned();
    report.mismatches = (arguments.backend == Backend::Lockstep).then_some(0);
    report
}

/// Why a job has not come to its end.
enum Stop {
    /// It cannot be run.
    Input(String),
    /// Its program does not make what it is to make.
    Check(String),
    /// The device stopped.
    Rank(RankError),
}

impl Stop {
    /// What is said of it; `show` writes the waveforms of a mismatch and returns their names.
    fn failure(
        self,
        job: &Job,
        arguments: &RunArguments,
        show: impl FnOnce(&Mismatch) -> String,
    ) -> Failure {
        match self {
            Self::Input(message) => Failure::Input(message),
            Self::Check(message) => Failure::Check(message),
            Self::Rank(error @ (RankError::Dispatch(_) | RankError::Locked)) => {
                Failure::Check(error.to_string())
            }
            Self::Rank(RankError::Wave(error)) => Failure::Input(error.to_string()),
            Self::Rank(RankError::Mismatch(mismatch)) => {
                let again = again(job, arguments);
                let waveforms = show(&mismatch);
                Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
            }
        }
    }
}

fn run_job(
    rank: &mut dyn Device,
    job: &Job,
    setup: &AttentionSetup,
    arguments: &RunArguments,
) -> Result<Report, Stop> {
    match job {
        Job::Attention(job) => {
            let bar = output::progress(job.heads as u64, "heads");
            let report =
                attention::run_with(rank, job, setup, |heads| bar.set_position(heads as u64));
            bar.finish_and_clear();
            report.map_err(|error| match error {
                AttentionError::Rank(error) => Stop::Rank(error),
                AttentionError::Driver(error @ DriverError::Results { .. }) => {
                    Stop::Check(error.to_string())
                }
                error => Stop::Input(error.to_string()),
            })
        }
        Job::Fc(job) => {
            let bar = output::progress(job.shapes.len() as u64, "operators");
            let report = fc::run(rank, job, arguments.io_buffers(), || bar.inc(1));
            bar.finish_and_clear();
            report.map_err(Stop::from)
        }
        Job::Gemv(job) => gemv::run_with(rank, job, setup.program.as_deref()).map_err(Stop::from),
        Job::Layer(_) => unreachable!("a layer has ranks of its own"),
        Job::Decode(job) => {
            let bar = output::progress(job.tokens as u64, "tokens");
            let report = host_decode::run(rank, job, |tokens| bar.set_position(tokens as u64));
            bar.finish_and_clear();
            report.map_err(|error| match error {
                DecodeError::Rank(error) => Stop::Rank(error),
                error => Stop::Input(error.to_string()),
            })
        }
    }
}

impl From<GemvError> for Stop {
    fn from(error: GemvError) -> Self {
        match error {
            GemvError::Rank(error) => Self::Rank(error),
            GemvError::Driver(error @ DriverError::Results { .. }) => {
                Self::Check(error.to_string())
            }
            error => Self::Input(error.to_string()),
        }
    }
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(
    mismatch: &Mismatch,
    config: &Config,
    (job, setup): (&Job, &AttentionSetup),
    arguments: &RunArguments,
) -> String {
    let (options, again) = (arguments.options(), again(job, arguments));
    let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
        let found = (mismatch, again.as_str());
        let mut device = backend::watched(config, options, arguments.seed, found, files)?;
        let _ = run_job(&mut *device, job, setup, arguments); // ends in the same mismatch
        Ok(())
    });
    shown(written, arguments)
}

/// The names of waveforms, or why they have not been written.
#[cfg(feature = "rtl")]
fn shown(written: std::io::Result<(Waveforms, ())>, arguments: &RunArguments) -> String {
    match written {
        Ok((files, ())) => files.to_string(),
        Err(error) => format!("{}: {error}", arguments.report.display()),
    }
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Config, _: (&Job, &AttentionSetup), _: &RunArguments) -> String {
    String::new()
}

/// The command that does the same again.
fn again(job: &Job, arguments: &RunArguments) -> String {
    let Options { refresh, normalise, sums, gear, poll_tck } = arguments.options();
    let mut what = what(job, arguments);
    if let Some(file) = &arguments.program {
        what += &format!(" --program {}", file.display());
    }
    if let Some(context) = arguments.context_max {
        what += &format!(" --context-max {context}");
    }
    let takes = |flag| flags::takes(arguments.system(), arguments.op, flag);
    if arguments.system() == System::Aim {
        what += " --system aim";
    }
    for (flag, value) in [
        ("io-buffers", arguments.io_buffers().name()),
        ("mode-change", if arguments.mode_change == Switch::On { "on" } else { "off" }),
        ("normalise", normalise.name()),
        ("sums", sums.name()),
        ("gear", gear.name()),
    ] {
        if takes(flag) {
            what += &format!(" --{flag} {value}");
        }
    }
    let RunArguments { channels, dimms, ranks, layers, .. } = arguments;
    for (flag, value) in
        [("channels", *channels), ("dimms", *dimms), ("ranks", *ranks), ("layers", *layers)]
    {
        what += &value.map(|value| format!(" --{flag} {value}")).unwrap_or_default();
    }
    if let Some(mdq) = arguments.mdq {
        what += &format!(" --mdq {}", Mdq::from(mdq).name());
    }
    if arguments.poll.is_some() {
        what += &format!(" --poll {poll_tck}");
    }
    if arguments.timing_only {
        what += " --timing-only";
    }
    format!(
        "pimlico run --op {what}{} --refresh {} --backend {} --seed {}",
        arguments.dram_flags(),
        if refresh { "on" } else { "off" },
        arguments.backend.name(),
        arguments.seed
    )
}

/// The job's part of that.
fn what(job: &Job, arguments: &RunArguments) -> String {
    let of = if arguments.config.is_some() { "config" } else { "model" };
    match job {
        Job::Attention(job) => {
            let attention::AttentionJob {
                model,
                head_dim,
                heads,
                group,
                contexts,
                distribution,
                ..
            } = job;
            let contexts: Vec<_> = contexts.iter().map(usize::to_string).collect();
            format!(
                "attention --{of} {model} --head-dim {head_dim} --heads {heads} --group {group} \
                 --context {} --distribution {}",
                contexts.join(","),
                distribution.name()
            )
        }
        Job::Fc(job) => {
            let lm_head = job.shapes.iter().any(|shape| shape.operator == "lm_head");
            let lm_head = if lm_head { " --lm-head" } else { "" };
            format!("fc --{of} {} --tp {}{lm_head}", job.model, job.tp)
        }
        Job::Gemv(gemv::GemvJob { rows, columns, .. }) => {
            format!("gemv --rows {rows} --cols {columns}")
        }
        Job::Layer(layer::LayerJob { model, context, distribution, .. }) => {
            let distribution = distribution.name();
            format!("layer --{of} {model} --context {context} --distribution {distribution}")
        }
        Job::Decode(job) => decode::again(job, arguments),
    }
}
