// SPDX-License-Identifier: MIT
//! `pimlico run l3`: on one rank from beginning to end, or in pieces on the ranks of a device.

use super::arguments::RunArguments;
use super::{Job, ended};
use crate::failure::Failure;
use crate::files::Output;
use pimlico_device::{Address, Mismatch, RankDevice, Ranks, Timeline, Topology};
use pimlico_workload::report::Report;
use pimlico_workload::system::{ManyRanks, Rank};
#[cfg(feature = "rtl")]
use {super::backend, pimlico_testbenches::Waveforms};

/// Runs a job. One rank has a timeline, if a picture is to be drawn.
pub(super) fn run(
    job: &Job,
    arguments: &RunArguments,
    vcd: Option<Output>,
) -> Result<(Report, Option<Timeline>), Failure> {
    let topology = arguments.topology()?;
    let in_pieces = arguments.timing_only || arguments.in_pieces;
    if topology.count() > 1 || in_pieces {
        return Ok((on_ranks(topology, job, arguments)?, None));
    }
    on_rank(job, arguments, vcd)
}

fn on_rank(
    job: &Job,
    arguments: &RunArguments,
    vcd: Option<Output>,
) -> Result<(Report, Option<Timeline>), Failure> {
    let (config, options) = (arguments.dram_config(), arguments.options());
    let setup = arguments.setup()?;
    let mut rank = arguments.backend.device(&config, options, arguments.seed)?;
    if let Some(vcd) = &vcd {
        rank.trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
    }
    if arguments.plot.is_some() {
        rank.start_timeline();
    }
    let report = job.run(&mut Rank::new(&mut *rank).with_setup(setup));
    let report = ended(report, job, arguments, |mismatch| show(mismatch, job, arguments))?;
    if let Some(vcd) = vcd {
        rank.finish_trace().map_err(|e| vcd.failed(&e))?;
        vcd.whole()?;
    }
    Ok((report, rank.timeline().cloned()))
}

fn on_ranks(topology: Topology, job: &Job, arguments: &RunArguments) -> Result<Report, Failure> {
    let (config, options) = (arguments.dram_config(), arguments.options());
    let new_rank = || arguments.backend.device(&config, options, arguments.seed);
    new_rank()?; // what cannot be had is told here
    let at = |address: Address| {
        let rank: Result<Box<dyn RankDevice>, Failure> = new_rank();
        rank.unwrap_or_else(|error| panic!("{address}: one was made already: {error}"))
    };
    let ranks = Ranks::new(&config, topology, &at);
    let report = job.run(&mut ManyRanks::new(&ranks, options, arguments.how()));
    ended(report, job, arguments, |_| "none of what runs on several ranks".to_owned())
}

/// Runs the job again to write the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
    let (config, options) = (arguments.dram_config(), arguments.options());
    let again = super::again(job, arguments);
    let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
        let found = (mismatch, again.as_str());
        let mut device = backend::watched(&config, options, arguments.seed, found, files)?;
        let setup = arguments.setup().map_err(std::io::Error::other)?;
        let _ = job.run(&mut Rank::new(&mut *device).with_setup(setup)); // ends in the same mismatch
        Ok(())
    });
    super::shown(written, arguments)
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &Job, _: &RunArguments) -> String {
    String::new()
}
