// SPDX-License-Identifier: MIT
//! `pimlico run aim`: the operators on a module of AiM channels.

use super::arguments::RunArguments;
use super::{Job, ended};
use crate::failure::Failure;
use crate::files::Output;
use pimlico_device::Mismatch;
use pimlico_workload::report::Report;
use pimlico_workload::system::Module;
#[cfg(feature = "rtl")]
use {super::backend, pimlico_testbenches::Waveforms, std::io};

/// Runs a job. The waveform is of the first group: the others are told the same.
pub(super) fn run(
    job: &Job,
    arguments: &RunArguments,
    vcd: Option<Output>,
) -> Result<Report, Failure> {
    let config = arguments.dram_config();
    let (groups, options) = arguments.aim_groups()?;
    let mut module = arguments.backend.aim_devices(&config, options, groups, arguments.seed)?;
    if let Some(vcd) = &vcd {
        module[0].trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
    }
    let report = job.run(&mut Module::new(&mut module).timing_only(arguments.timing_only));
    let report = ended(report, job, arguments, |mismatch| show(mismatch, job, arguments))?;
    if let Some(vcd) = vcd {
        module[0].finish_trace().map_err(|e| vcd.failed(&e))?;
        vcd.whole()?;
    }
    Ok(report)
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
    let config = arguments.dram_config();
    let again = super::again(job, arguments);
    let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
        let (groups, options) = arguments.aim_groups().map_err(io::Error::other)?;
        let found = (mismatch, again.as_str());
        let hubs = (groups, options);
        let mut module = backend::watched_hubs(&config, hubs, arguments.seed, found, files)?;
        let mut system = Module::new(&mut module).timing_only(arguments.timing_only);
        let _ = job.run(&mut system); // ends in the same mismatch
        Ok(())
    });
    super::shown(written, arguments)
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Job, _: &RunArguments) -> String {
    String::new()
}
