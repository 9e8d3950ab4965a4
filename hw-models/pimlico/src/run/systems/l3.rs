// SPDX-License-Identifier: MIT
//! `pimlico run l3`: on one rank from beginning to end, or in pieces on the ranks of a device.

use super::{Ended, Face};
use crate::failure::Failure;
use crate::files::Output;
use crate::gear::GearArgument;
use crate::run::arguments::{RunArguments, flags};
use crate::run::backend::prepare;
use crate::run::groups::Common;
use crate::run::{Job, ended};
use clap::Args;
use pimlico_backends::{Backend, BackendError, l3};
use pimlico_device::mapping::MOST_HEAD_DIM;
use pimlico_device::{
    Address, Config, Gear, Mismatch, Options, RankDevice, Ranks, SystemKind, Topology,
};
use pimlico_workload::report::Report;
use pimlico_workload::system::{ManyRanks, Rank};
#[cfg(feature = "rtl")]
use {
    crate::run::again, crate::run::shown, pimlico_backends::watch::Watch,
    pimlico_testbenches::Waveforms,
};

/// tCK from one look at the status to the next, at the most.
const MOST_POLL_TCK: u64 = 65536;

/// A rank of DDR4 and its units.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct L3 {
    /// tCK in a cycle of the rank PU's core [default: the device's, 2]
    #[arg(long, value_enum)]
    gear: Option<GearArgument>,
    /// tCK from one poll of a run's status by the host to the next [default: 64]
    #[arg(long, value_name = "TCK", value_parser = clap::value_parser!(u64).range(1..=MOST_POLL_TCK))]
    poll: Option<u64>,
    /// tCK from one RD_RESULT or WR_SHARED to the next, in place of the device's: 8 if the bank groups share a trunk
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=64))]
    ccd_result: Option<u64>,
    /// tCK from the end of WR_SHARED's data to an RD_ALL or RD_RESULT, in place of the device's: 4 if the shared
    /// buffers turn from write to read as the banks do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=64))]
    wtr_shared: Option<u64>,
    /// tCK from an RD_ALL to its columns at the PUs, in place of the preset's
    #[arg(long, value_name = "N", value_parser = ["0", "4", "8", "12"])]
    rl_mac: Option<String>,
}

impl Face for L3 {
    const NAME: &'static str = "l3";
    const KIND: Option<SystemKind> = Some(SystemKind::L3);
    const DEVICE: &'static str = "ddr4-3200";
    const ABOUT: &'static str = "L3's DIMM-PIM, ranks of DDR4-3200";
    const OPTIONS: &'static [Common] = &[
        Common::Softmax,
        Common::Sums,
        Common::SharedBuffers,
        Common::HowMany,
        Common::InBanks,
        Common::OnHost,
        Common::Spread,
        Common::References,
        Common::Program,
        Common::Longest,
        Common::Waveform,
        Common::Picture,
    ];
    const HEAD_DIM: usize = MOST_HEAD_DIM;

    fn words(&self, arguments: &RunArguments) -> String {
        let tck = |value: Option<u64>| value.map(|tck| tck.to_string());
        flags([
            ("gear", Some(self.options(arguments).gear.name().to_owned())),
            ("poll", tck(self.poll)),
            ("ccd-result", tck(self.ccd_result)),
            ("wtr-shared", tck(self.wtr_shared)),
            ("rl-mac", self.rl_mac.clone()),
        ])
    }

    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended {
        let topology = arguments.topology()?;
        let in_pieces = arguments.timing_only || arguments.in_pieces;
        if topology.count() > 1 || in_pieces {
            return Ok((self.on_ranks(topology, job, arguments)?, None));
        }
        self.on_rank(job, arguments, vcd)
    }
}

impl L3 {
    /// Organisation and timing of the DRAM.
    fn config(&self, arguments: &RunArguments) -> Config {
        let mut config = arguments.dram_config();
        let timing = &mut config.timing;
        timing.ccd_result_tck = self.ccd_result.unwrap_or(timing.ccd_result_tck);
        timing.wtr_shared_tck = self.wtr_shared.unwrap_or(timing.wtr_shared_tck);
        if let Some(rl_mac) = &self.rl_mac {
            timing.rl_mac_tck = rl_mac.parse().expect("checked by the parser");
        }
        config
    }

    /// How a rank works.
    fn options(&self, arguments: &RunArguments) -> Options {
        let Options { gear, poll_tck, .. } = arguments.options();
        let gear = self.gear.map_or(gear, Gear::from);
        Options { gear, poll_tck: self.poll.unwrap_or(poll_tck), ..arguments.options() }
    }

    fn on_rank(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended {
        let (config, options) = (self.config(arguments), self.options(arguments));
        let setup = arguments.setup()?;
        prepare(arguments.backend, || l3::unit(options))?;
        let mut rank = l3::device(arguments.backend, &config, options, arguments.seed)?;
        if let Some(vcd) = &vcd {
            rank.trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
        }
        if arguments.plot.is_some() {
            rank.start_timeline();
        }
        // A waveform has data, and a picture shows each tCK.
        let functional =
            arguments.backend == Backend::Fast && vcd.is_none() && arguments.plot.is_none();
        let system = Rank::new(&mut *rank).with_setup(setup).functional(functional);
        let report = job.run(&mut { system });
        let report = ended(report, job, arguments, |mismatch| self.show(mismatch, job, arguments))?;
        if let Some(vcd) = vcd {
            rank.finish_trace().map_err(|e| vcd.failed(&e))?;
            vcd.whole()?;
        }
        Ok((report, rank.timeline().cloned()))
    }

    fn on_ranks(
        &self,
        topology: Topology,
        job: &Job,
        arguments: &RunArguments,
    ) -> Result<Report, Failure> {
        let (config, options) = (self.config(arguments), self.options(arguments));
        prepare(arguments.backend, || l3::unit(options))?;
        let new_rank = || l3::device(arguments.backend, &config, options, arguments.seed);
        new_rank()?; // what cannot be had is told here
        let at = |address: Address| {
            let rank: Result<Box<dyn RankDevice>, BackendError> = new_rank();
            rank.unwrap_or_else(|error| panic!("{address}: one was made already: {error}"))
        };
        let ranks = Ranks::new(&config, topology, &at);
        let report = job.run(&mut ManyRanks::new(&ranks, options, arguments.how()));
        ended(report, job, arguments, |_| "none of what runs on several ranks".to_owned())
    }

    /// Runs the job again to write the waveforms around a mismatch; returns their names.
    #[cfg(feature = "rtl")]
    fn show(&self, mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
        let (config, options) = (self.config(arguments), self.options(arguments));
        let again = again(job, arguments);
        let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
            let watch = Watch { mismatch, command: &again, files };
            let mut device = l3::watched(&config, options, arguments.seed, watch)?;
            let setup = arguments.setup().map_err(std::io::Error::other)?;
            let _ = job.run(&mut Rank::new(&mut *device).with_setup(setup)); // ends in the same mismatch
            Ok(())
        });
        shown(written, arguments)
    }

    /// Without the RTL there is no mismatch.
    #[cfg(not(feature = "rtl"))]
    fn show(&self, _: &Mismatch, _: &Job, _: &RunArguments) -> String {
        String::new()
    }
}
