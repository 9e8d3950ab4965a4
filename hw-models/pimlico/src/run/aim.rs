// SPDX-License-Identifier: MIT
//! `pimlico run --system aim`: the operators on a module of AiM channels.

use super::arguments::RunArguments;
use super::backend::Backend;
use super::{Job, again, tell};
use crate::failure::Failure;
use crate::output;
use pimlico_device::aim::{AimError, AimOptions, AimWave, Module};
use pimlico_device::{Config, Mismatch};
use pimlico_workload::aim::{RunError, attention, matrix};
use pimlico_workload::decode::{self, DecodeError};
use pimlico_workload::gemv;
use pimlico_workload::report::Report;

/// Runs a job.
pub(super) fn run(job: &Job, arguments: &RunArguments) -> Result<(), Failure> {
    let config = arguments.dram_config();
    let options = arguments.aim_options();
    let units = arguments.backend.aim_units(&config, options, arguments.seed)?;
    let mut module = Module::new(config.clone(), units, options);
    if let Some(file) = &arguments.vcd {
        let wave = AimWave::create(file, config.tck_ps);
        module.trace(wave.map_err(|e| Failure::file(file, &e))?);
    }
    let report = run_job(&mut module, job);
    module.finish_trace().map_err(|e| Failure::Input(e.to_string()))?;
    let mut report = report.map_err(|error| match error {
        Stop::Device(AimError::Mismatch(mismatch)) => {
            let again = again(job, arguments);
            let waveforms = show(&mismatch, &config, options, job, arguments);
            Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
        }
        Stop::Device(AimError::Hazard(hazard)) => Failure::Check(format!("hazard: {hazard}")),
        Stop::Device(AimError::Wave(error)) => Failure::Input(error.to_string()),
        Stop::Input(message) => Failure::Input(message),
    })?;
    report.backend = arguments.backend.name().to_owned();
    report.mismatches = (arguments.backend == Backend::Lockstep).then_some(0);
    tell(&report, arguments)
}

/// Why a job has not come to its end.
enum Stop {
    /// It cannot be run.
    Input(String),
    /// The device stopped.
    Device(AimError),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Device(error) => Self::Device(error),
            error => Self::Input(error.to_string()),
        }
    }
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Module(error) => Self::Device(error),
            error => Self::Input(error.to_string()),
        }
    }
}

fn run_job(module: &mut Module, job: &Job) -> Result<Report, Stop> {
    match job {
        Job::Attention(job) => {
            let bar = output::progress(job.heads as u64, "heads");
            let report = attention::run(module, job, |heads| bar.set_position(heads as u64));
            bar.finish_and_clear();
            Ok(report?)
        }
        Job::Fc(job) => {
            let bar = output::progress(job.shapes.len() as u64, "operators");
            let report = matrix::run_layer(module, job, || bar.inc(1));
            bar.finish_and_clear();
            Ok(report?)
        }
        Job::Gemv(gemv::GemvJob { rows, columns, seed, .. }) => {
            Ok(matrix::run(module, *rows, *columns, *seed)?)
        }
        Job::Decode(job) => {
            let bar = output::progress(job.tokens as u64, "tokens");
            let progress = |tokens| bar.set_position(tokens as u64);
            let report = decode::run_on_module(module, job, progress);
            bar.finish_and_clear();
            Ok(report?)
        }
        Job::Layer(_) => unreachable!("a job of this system"),
    }
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(
    mismatch: &Mismatch,
    config: &Config,
    options: AimOptions,
    job: &Job,
    arguments: &RunArguments,
) -> String {
    use pimlico_testbenches::{Waveforms, aim};
    let again = super::again(job, arguments);
    let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
        let found = (mismatch, again.as_str());
        let units = aim::watched_units(config, options, arguments.seed, found, files)?;
        let mut module = Module::new(config.clone(), units, options);
        let _ = run_job(&mut module, job); // ends in the same mismatch
        Ok(())
    });
    super::shown(written, arguments)
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Config, _: AimOptions, _: &Job, _: &RunArguments) -> String {
    String::new()
}
