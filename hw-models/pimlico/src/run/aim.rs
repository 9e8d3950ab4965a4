// SPDX-License-Identifier: MIT
//! `pimlico run aim`: the operators on a module of AiM channels.

use super::arguments::RunArguments;
use super::{Job, ended};
use crate::failure::Failure;
use pimlico_device::Mismatch;
use pimlico_workload::report::Report;
use pimlico_workload::system::Module;
#[cfg(feature = "rtl")]
use {super::backend, pimlico_testbenches::Waveforms};

/// Runs a job.
pub(super) fn run(job: &Job, arguments: &RunArguments) -> Result<Report, Failure> {
    let (config, options) = (arguments.dram_config(), arguments.aim_options());
    let mut module = arguments.backend.aim_device(&config, options, arguments.seed)?;
    if let Some(file) = &arguments.vcd {
        module.trace(file).map_err(|e| Failure::file(file, &e))?;
    }
    let report = job.run(&mut Module::new(&mut module).timing_only(arguments.timing_only));
    let report = ended(report, job, arguments, |mismatch| show(mismatch, job, arguments));
    module.finish_trace().map_err(|e| Failure::Input(e.to_string()))?;
    report
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
    let (config, options) = (arguments.dram_config(), arguments.aim_options());
    let again = super::again(job, arguments);
    let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
        let found = (mismatch, again.as_str());
        let mut module = backend::watched_hub(&config, options, arguments.seed, found, files)?;
        let _ = job.run(&mut Module::new(&mut module)); // ends in the same mismatch
        Ok(())
    });
    super::shown(written, arguments)
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Job, _: &RunArguments) -> String {
    String::new()
}
