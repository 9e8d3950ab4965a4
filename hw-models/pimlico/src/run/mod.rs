// SPDX-License-Identifier: MIT
//! `pimlico run`: an operator of a language model on the device.
//!
//! * [`arguments`]: what is asked for.
//! * [`backend`]: what executes the units.
//! * [`text`]: the report for people.

mod arguments;
mod backend;
mod text;

pub use arguments::{Arguments, channels, find_model};

use crate::failure::Failure;
use crate::output;
use arguments::System;
use backend::Backend;
use pimlico_device::{Config, Mismatch, Options, Rank, RankError, RankWave};
use pimlico_host::attention::{self, AttentionError};
use pimlico_host::gemv::{self, GemvError};
use pimlico_host::report::Report;
use text::text;

/// What is run.
enum Job {
    Attention(attention::Job),
    Gemv(gemv::Job),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let job = arguments.job()?;
    let config = match arguments.system {
        System::L3 => Config::ddr4_3200(),
    };
    let options = arguments.options();
    let units = arguments.backend.units(&config, options, arguments.seed)?;
    let mut rank = Rank::new(config.clone(), units, options);
    if let Some(file) = &arguments.vcd {
        let wave = RankWave::create(file, 0, config.tck_ps, options.sums);
        rank.trace(wave.map_err(|e| Failure::file(file, &e))?);
    }
    let report = simulate(&mut rank, &job, arguments);
    rank.finish_trace().map_err(|e| Failure::Input(e.to_string()))?;
    let report = report?;
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report, arguments))?;
    }
    match report.first_violations.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Check(format!(
            "{} violations at the DRAM's pins, the first: {first}",
            report.pin_violations
        ))),
    }
}

fn simulate(rank: &mut Rank, job: &Job, arguments: &Arguments) -> Result<Report, Failure> {
    let mut report = run_job(rank, job).map_err(|error| match error {
        Stop::Input(message) => Failure::Input(message),
        Stop::Rank(RankError::Wave(error)) => Failure::Input(error.to_string()),
        Stop::Rank(RankError::Mismatch(mismatch)) => {
            let again = again(job, arguments);
            let waveforms = show(&mismatch, rank.config(), job, arguments);
            Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
        }
    })?;
    report.backend = arguments.backend.name().to_owned();
    report.mismatches = (arguments.backend == Backend::Lockstep).then_some(0);
    Ok(report)
}

/// Why a job has not come to its end.
enum Stop {
    /// It cannot be run.
    Input(String),
    /// The device stopped.
    Rank(RankError),
}

fn run_job(rank: &mut Rank, job: &Job) -> Result<Report, Stop> {
    match job {
        Job::Attention(job) => {
            let bar = output::progress(job.heads as u64, "heads");
            let report = attention::run(rank, job, |heads| bar.set_position(heads as u64));
            bar.finish_and_clear();
            report.map_err(|error| match error {
                AttentionError::Rank(error) => Stop::Rank(error),
                error => Stop::Input(error.to_string()),
            })
        }
        Job::Gemv(job) => gemv::run(rank, job).map_err(|error| match error {
            GemvError::Rank(error) => Stop::Rank(error),
            error => Stop::Input(error.to_string()),
        }),
    }
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(mismatch: &Mismatch, config: &Config, job: &Job, arguments: &Arguments) -> String {
    use pimlico_testbenches::rank;
    let options = arguments.options();
    match rank::watched_units(config, options, arguments.seed, mismatch, &arguments.report) {
        Ok((units, files)) => {
            let mut rank = Rank::new(config.clone(), units, options);
            let _ = run_job(&mut rank, job); // ends in the same mismatch
            files.map(|file| file.display().to_string()).join(" ")
        }
        Err(error) => format!("{}: {error}", arguments.report.display()),
    }
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Config, _: &Job, _: &Arguments) -> String {
    String::new()
}

/// The command that does the same again.
fn again(job: &Job, arguments: &Arguments) -> String {
    let Options { activation, refresh, normalise, sums } = arguments.options();
    let what = match job {
        Job::Attention(job) => {
            let attention::Job { model, head_dim, heads, group, contexts, distribution, .. } = job;
            let contexts: Vec<_> = contexts.iter().map(usize::to_string).collect();
            format!(
                "attention --model {model} --head-dim {head_dim} --heads {heads} --group {group} \
                 --context {} --distribution {}",
                contexts.join(","),
                distribution.name()
            )
        }
        Job::Gemv(gemv::Job { rows, columns, io_buffers, .. }) => {
            format!("gemv --rows {rows} --cols {columns} --io-buffers {}", io_buffers.name())
        }
    };
    format!(
        "pimlico run --op {what} --activation {} --refresh {} --normalise {} --sums {} \
         --backend {} --seed {}",
        activation.name(),
        if refresh { "on" } else { "off" },
        normalise.name(),
        sums.name(),
        arguments.backend.name(),
        arguments.seed
    )
}
