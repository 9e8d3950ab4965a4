// SPDX-License-Identifier: MIT
//! `pimlico run aim`: the operators on a module of AiM channels.

use super::{Ended, Face};
use crate::failure::Failure;
use crate::files::Output;
use crate::run::arguments::{Buffers, RunArguments, flags};
use crate::run::backend::Backend;
use crate::run::groups::Common;
use crate::run::{Job, ended};
use crate::values::{Switch, channels};
use clap::Args;
use pimlico_device::aim::{AimOptions, GPR, HUB_CHANNELS, Pu};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::spec::TopologyTable;
use pimlico_device::{Config, Mismatch, SystemKind};
use pimlico_host::aim::AimHost;
use pimlico_ports::{Model, Unit};
use pimlico_units::module::{AimHub, AimHubIn, AimHubOut};
use pimlico_workload::system::Module;
#[cfg(feature = "rtl")]
use {
    crate::run::again, crate::run::backend::BEFORE, crate::run::shown,
    pimlico_testbenches::Waveforms, std::io,
};

/// A module of AiM channels.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct Aim {
    /// Channels of the module [default: the device's, 16]
    #[arg(long, value_name = "N", value_parser = channels)]
    channels: Option<usize>,
    /// Groups of channels, each with a head of attention and a softmax unit [default: the device's, 1]
    #[arg(long, value_name = "N")]
    groups: Option<usize>,
    /// How vectors come to the global buffer, and how results leave [default: the device's, ping-pong]
    #[arg(long, value_enum)]
    io_buffers: Option<Buffers>,
    /// Whether single buffers pay MODCH between words or results and columns
    #[arg(long, value_enum, default_value_t = Switch::On)]
    mode_change: Switch,
    /// Clocks from a beat of a PU to its result, with --backend fast; no PU has fewer than the RTL's [default: 26]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Pu::LATENCY))]
    pu_clocks: Option<u64>,
    /// Lanes of the softmax unit; with other back ends than fast those of the RTL, 2 [default: the device's, 2]
    #[arg(long, value_name = "N", value_parser = ["2", "4", "8", "16"])]
    softmax_lanes: Option<String>,
    /// Whether the channels compute context and scores of other queries beside the softmax of one, with --backend fast
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    head_pipeline: Switch,
    /// Whether all queries that share K and V run on a row while it is open; not with --head-pipeline on
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    shared_rows: Switch,
}

impl Face for Aim {
    const KIND: SystemKind = SystemKind::Aim;
    const ABOUT: &'static str = "LoL-PIM's module, channels of GDDR6-AiM behind a hub";
    const OPTIONS: &'static [Common] = &[
        Common::Sample,
        Common::Judging,
        Common::References,
        Common::Program,
        Common::Longest,
        Common::Waveform,
        Common::Picture,
    ];
    const HEAD_DIM: usize = GPR;

    fn io_buffers(&self) -> Option<IoBuffers> {
        self.io_buffers.map(IoBuffers::from)
    }

    fn words(&self, _: &RunArguments) -> String {
        let number = |value: Option<usize>| value.map(|number| number.to_string());
        let mode_change = if self.mode_change == Switch::On { "on" } else { "off" };
        let on = |switch| (switch == Switch::On).then(|| "on".to_owned());
        flags([
            ("mode-change", Some(mode_change.to_owned())),
            ("channels", number(self.channels)),
            ("groups", number(self.groups)),
            ("pu-clocks", self.pu_clocks.map(|clocks| clocks.to_string())),
            ("softmax-lanes", self.softmax_lanes.clone()),
            ("head-pipeline", on(self.head_pipeline)),
            ("shared-rows", on(self.shared_rows)),
        ])
    }

    /// The waveform is of the first group: the others are told the same.
    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended {
        let config = arguments.dram_config();
        let (groups, options) = self.groups(arguments)?;
        let setup = arguments.setup()?;
        let mut module = devices(arguments.backend, &config, (groups, options), arguments.seed)?;
        if let Some(vcd) = &vcd {
            module[0].trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
        }
        let system = Module::new(&mut module).with_setup(setup).threads(arguments.how().threads);
        let report = job.run(&mut system.timing_only(arguments.timing_only));
        let report = ended(report, job, arguments, |mismatch| self.show(mismatch, job, arguments))?;
        if let Some(vcd) = vcd {
            module[0].finish_trace().map_err(|e| vcd.failed(&e))?;
            vcd.whole()?;
        }
        Ok((report, None))
    }
}

impl Aim {
    /// Groups of channels of a module, and how one of them works.
    fn groups(&self, arguments: &RunArguments) -> Result<(usize, AimOptions), Failure> {
        let TopologyTable { channels, groups, .. } = arguments.spec().topology;
        let channels = self.channels.unwrap_or(channels);
        let groups = self.groups.unwrap_or(groups);
        if !channels.is_multiple_of(groups) {
            let message =
                format!("--groups {groups}: expected a number that divides {channels} channels");
            return Err(Failure::Input(message));
        }
        if [self.head_pipeline, self.shared_rows] == [Switch::On; 2] {
            let message = "--head-pipeline on: not with --shared-rows on".to_owned();
            return Err(Failure::Input(message));
        }
        if arguments.program.is_some() {
            for (option, given) in [
                ("--head-pipeline on", self.head_pipeline == Switch::On),
                ("--timing-only", arguments.timing_only),
            ] {
                if given {
                    return Err(Failure::Input(format!("--program: it does not go with {option}")));
                }
            }
        }
        Ok((groups, self.options(channels / groups, arguments)))
    }

    /// How so many channels work.
    fn options(&self, channels: usize, arguments: &RunArguments) -> AimOptions {
        let refresh = arguments.refresh == Switch::On;
        let mode_change = self.mode_change == Switch::On;
        let io_buffers = arguments.io_buffers();
        let pu_clocks = self.pu_clocks.unwrap_or(Pu::LATENCY);
        let of_device = arguments.spec().aim_options();
        let lanes = |lanes: &String| lanes.parse().expect("checked by the parser");
        let softmax_lanes = self.softmax_lanes.as_ref().map_or(of_device.softmax_lanes, lanes);
        let [head_pipeline, shared_rows] =
            [self.head_pipeline, self.shared_rows].map(|switch| switch == Switch::On);
        let options = AimOptions { softmax_lanes, head_pipeline, shared_rows, ..of_device };
        AimOptions { channels, io_buffers, refresh, mode_change, pu_clocks, ..options }
    }

    /// Runs the job again to write the waveforms around a mismatch; returns their names.
    #[cfg(feature = "rtl")]
    fn show(&self, mismatch: &Mismatch, job: &Job, arguments: &RunArguments) -> String {
        let config = arguments.dram_config();
        let again = again(job, arguments);
        let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
            let (groups, options) = self.groups(arguments).map_err(io::Error::other)?;
            let found = (mismatch, again.as_str());
            let hubs = (groups, options);
            let mut module = watched(&config, hubs, arguments.seed, found, files)?;
            let setup = arguments.setup().map_err(io::Error::other)?;
            let system = Module::new(&mut module).with_setup(setup);
            let mut system = system.timing_only(arguments.timing_only);
            let _ = job.run(&mut system); // ends in the same mismatch
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

/// Seed of a group of channels: that of the run for the first, and so for a module without groups.
fn group_seed(seed: u64, group: usize) -> u64 {
    seed.wrapping_add(group as u64)
}

/// What is said of channels that are no hub.
fn in_hubs(channels: usize) -> String {
    match (channels / HUB_CHANNELS, channels % HUB_CHANNELS) {
        (hubs @ 1.., 0) => format!("; with --channels {channels} use --groups {hubs}"),
        _ => String::new(),
    }
}

/// The hub whose channels have two sides in their buffers, or one.
macro_rules! of_hub {
    ($options:expr, $hub:ident => $do:expr) => {
        match $options.io_buffers {
            IoBuffers::PingPong => {
                type $hub = AimHub<true>;
                $do
            }
            IoBuffers::Single => {
                type $hub = AimHub<false>;
                $do
            }
        }
    };
}

/// A module of so many groups of channels, which have just been reset and work as the options say.
fn devices(
    backend: Backend,
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
) -> Result<Vec<AimHost>, Failure> {
    let device = |group| device(backend, config, (groups, options), group_seed(seed, group));
    (0..groups).map(device).collect()
}

fn device(
    backend: Backend,
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
) -> Result<AimHost, Failure> {
    if backend == Backend::Fast {
        return Ok(AimHost::engine(config, options));
    }
    of_hub!(options, M => hub::<M>(backend, config, (groups, options), seed))
}

fn hub<M>(
    backend: Backend,
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
) -> Result<AimHost, Failure>
where
    M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
{
    let hub = AimHost::hub(config.clone(), options, backend.instances::<M>(seed)?);
    let fits = in_hubs(options.channels * groups);
    let fits = if options.channels == HUB_CHANNELS { String::new() } else { fits };
    let about = |error| Failure::Input(format!("--backend {}: {error}{fits}", backend.name()));
    hub.map_err(about)
}

/// A module in lockstep, to run the same again that ended in a mismatch: so many groups of channels, each a hub that works
/// as the options say. It writes the waveforms of the hub, from shortly before to the mismatch, to `files`, with the command
/// in their headers: how they are written again. The mismatch is in the instance of the hub that its group has.
#[cfg(feature = "rtl")]
fn watched(
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
    found: (&Mismatch, &str),
    files: &Waveforms,
) -> io::Result<Vec<AimHost>> {
    let hub = |group: usize| {
        let seed = group_seed(seed, group);
        let found = (found.0.instance == group).then_some(found);
        let what = (config, options, seed, found, files);
        of_hub!(options, M => watched_hub::<M>(what))
    };
    (0..groups).map(hub).collect()
}

/// The arguments of [`watched_hub`].
#[cfg(feature = "rtl")]
type WatchedHub<'a> = (&'a Config, AimOptions, u64, Option<(&'a Mismatch, &'a str)>, &'a Waveforms);

/// The hub of a group, which is watched if the mismatch is there.
#[cfg(feature = "rtl")]
fn watched_hub<M>((config, options, seed, found, files): WatchedHub<'_>) -> io::Result<AimHost>
where
    M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
{
    use pimlico_testbenches::{Lockstep, Window};
    let mut hub = Lockstep::<M>::new(1, seed);
    if let Some((mismatch, command)) = found {
        let from = mismatch.cycle.saturating_sub(BEFORE);
        let window = Window { from, cycle_ps: pimlico_device::aim::SLOTS as u64 * config.tck_ps };
        hub.watch(0, files, window, &format!("seed {seed}\n{command}"))?;
    }
    AimHost::hub(config.clone(), options, Box::new(hub)).map_err(io::Error::other)
}
