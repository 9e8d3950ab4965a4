// SPDX-License-Identifier: MIT
//! `pimlico run l3`: on one rank from beginning to end, or in pieces on the ranks of a device.

use super::{Ended, Face};
use crate::failure::Failure;
use crate::files::Output;
use crate::gear::GearArgument;
use crate::run::arguments::{RunArguments, flags};
use crate::run::backend::Backend;
use crate::run::groups::Common;
use crate::run::{Job, ended};
use clap::Args;
use pimlico_device::mapping::MOST_HEAD_DIM;
use pimlico_device::{
    Address, Config, ConfigError, Dimm, Gear, Mismatch, ModuleDevice, Normalise, Options,
    RankDevice, Ranks, SumFormat, SystemKind, Topology,
};
use pimlico_host::attached::Attached;
use pimlico_ports::{Model, Unit};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::gear::{Gear1, Gear4};
use pimlico_units::module::{PimDimm, PimDimmIn, PimDimmOut, SCORE_BUFFER};
use pimlico_workload::report::Report;
use pimlico_workload::system::{ManyRanks, Rank};
use std::io;
#[cfg(feature = "rtl")]
use {
    crate::run::again, crate::run::backend::BEFORE, crate::run::shown,
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
    const KIND: SystemKind = SystemKind::L3;
    const ABOUT: &'static str = "L3's DIMM-PIM, ranks of DDR4-3200";
    const OPTIONS: &'static [Common] = &[
        Common::Softmax,
        Common::Sums,
        Common::SharedBuffers,
        Common::HowMany,
        Common::InBanks,
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
        let mut rank = device(arguments.backend, &config, options, arguments.seed)?;
        if let Some(vcd) = &vcd {
            rank.trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
        }
        if arguments.plot.is_some() {
            rank.start_timeline();
        }
        let report = job.run(&mut Rank::new(&mut *rank).with_setup(setup));
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
        let new_rank = || device(arguments.backend, &config, options, arguments.seed);
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
    fn show(&self, mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
        let (config, options) = (self.config(arguments), self.options(arguments));
        let again = again(job, arguments);
        let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
            let found = (mismatch, again.as_str());
            let mut device = watched(&config, options, arguments.seed, found, files)?;
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

/// The modules whose RTL is built. Gears other than the default are, for sums of binary16 that are normalised
/// early.
macro_rules! of_module {
    ($options:expr, $module:ident => $do:expr) => {{
        use Normalise::{Early, Late};
        use SumFormat::{Binary16 as Narrow, Binary32 as Wide};
        macro_rules! with {
            ($of:ty) => {{
                type $module = $of;
                $do
            }};
        }
        match ($options.gear, $options.sums, $options.normalise) {
            (Gear::DEFAULT, Narrow, Early) => with!(PimDimm<Binary16, false>),
            (Gear::DEFAULT, Narrow, Late) => with!(PimDimm<Binary16, true>),
            (Gear::DEFAULT, Wide, Early) => with!(PimDimm<Binary32, false>),
            (Gear::DEFAULT, Wide, Late) => with!(PimDimm<Binary32, true>),
            (Gear::One, Narrow, Early) => with!(PimDimm<Binary16, false, SCORE_BUFFER, Gear1>),
            (Gear::Four, Narrow, Early) => with!(PimDimm<Binary16, false, SCORE_BUFFER, Gear4>),
            (gear, ..) => Err(no_module(gear).into()),
        }
    }};
}

/// Why there is no such module.
fn no_module(gear: Gear) -> NoModule {
    NoModule(format!(
        "--gear {}: without --backend fast it goes with --sums binary16 and --normalise early",
        gear.name()
    ))
}

/// There is no RTL and no cycle model with these options.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoModule(String);

impl From<NoModule> for Failure {
    fn from(error: NoModule) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<NoModule> for io::Error {
    fn from(error: NoModule) -> Self {
        Self::other(error)
    }
}

/// A device that one of the back ends executes.
type Made = Result<Box<dyn RankDevice>, Failure>;

/// The device, where there is one with this configuration.
fn attached<D: Dimm + 'static>(device: Result<Attached<D>, ConfigError>) -> Made {
    match device {
        Ok(device) => Ok(Box::new(device)),
        Err(error) => Err(Failure::Input(error.to_string())),
    }
}

/// An L3 module that has just been reset.
fn device(backend: Backend, config: &Config, options: Options, seed: u64) -> Made {
    if backend == Backend::Fast {
        return attached(Attached::engine(config, options));
    }
    of_module!(options, M => module::<M>(backend, config, options, seed))
}

fn module<M>(backend: Backend, config: &Config, options: Options, seed: u64) -> Made
where
    M: Model + Unit<In = PimDimmIn, Out = PimDimmOut>,
{
    let module = backend.instances::<M>(seed)?;
    let module = ModuleDevice::new(config.clone(), options, module);
    attached(module.map(Attached::new))
}

/// The device in lockstep, to run the same again that ended in `mismatch`: it writes the waveforms of the
/// module, from shortly before to the mismatch, to `files`, with `command` in their headers: how they are
/// written again.
#[cfg(feature = "rtl")]
fn watched(
    config: &Config,
    options: Options,
    seed: u64,
    found: (&Mismatch, &str),
    files: &Waveforms,
) -> io::Result<Box<dyn RankDevice>> {
    let what = (config, options, seed, found, files);
    of_module!(options, M => watched_module::<M>(what))
}

/// The arguments of [`watched`].
#[cfg(feature = "rtl")]
type Watched<'a> = (&'a Config, Options, u64, (&'a Mismatch, &'a str), &'a Waveforms);

#[cfg(feature = "rtl")]
fn watched_module<M>(
    (config, options, seed, (mismatch, command), files): Watched<'_>,
) -> io::Result<Box<dyn RankDevice>>
where
    M: Model + Unit<In = PimDimmIn, Out = PimDimmOut>,
{
    use pimlico_testbenches::{Lockstep, Window};
    let mut module = Lockstep::<M>::new(1, seed);
    let from = mismatch.cycle.saturating_sub(BEFORE);
    let window = Window { from, cycle_ps: config.tck_ps / 2 };
    module.watch(mismatch.instance, files, window, &format!("seed {seed}\n{command}"))?;
    let module = ModuleDevice::new(config.clone(), options, Box::new(module));
    Ok(Box::new(Attached::new(module.map_err(io::Error::other)?)))
}
