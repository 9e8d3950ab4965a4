// SPDX-License-Identifier: MIT
//! What executes the device.

use crate::failure::Failure;
use clap::ValueEnum;
use pimlico_device::aim::{AimOptions, HUB_CHANNELS};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{
    Config, ConfigError, Dimm, Gear, ModuleDevice, Normalise, Options, RankDevice, SumFormat,
};
use pimlico_host::aim::AimHost;
use pimlico_host::attached::Attached;
use pimlico_ports::{Instances, Model, Models, Unit};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::gear::{Gear1, Gear4};
use pimlico_units::module::{
    AimHub, AimHubIn, AimHubOut, PimDimm, PimDimmIn, PimDimmOut, SCORE_BUFFER,
};
use std::io;
#[cfg(feature = "rtl")]
use {pimlico_ports::Mismatch, pimlico_testbenches::Waveforms};

/// Beats before a mismatch that its waveforms show.
#[cfg(feature = "rtl")]
const BEFORE: u64 = 128;

/// What executes the device.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// The engine: fast, and equal to the models in results, tCK and statistics
    Fast,
    /// The cycle model of the module; of AiM channels a hub of two, for each group of them
    Model,
    /// The RTL of the module, through Verilator
    Rtl,
    /// RTL and cycle model, every port compared in every cycle
    Lockstep,
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

impl Backend {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Model => "model",
            Self::Rtl => "rtl",
            Self::Lockstep => "lockstep",
        }
    }

    /// An L3 module that has just been reset. See `pimlico_testbenches::Rtl` for the seed.
    pub(super) fn device(self, config: &Config, options: Options, seed: u64) -> Made {
        if self == Self::Fast {
            return attached(Attached::engine(config, options));
        }
        of_module!(options, M => self.module::<M>(config, options, seed))
    }

    fn module<M>(self, config: &Config, options: Options, seed: u64) -> Made
    where
        M: Model + Unit<In = PimDimmIn, Out = PimDimmOut>,
    {
        let module = self.instances::<M>(seed)?;
        let module = ModuleDevice::new(config.clone(), options, module);
        attached(module.map(Attached::new))
    }

    #[cfg(feature = "rtl")]
    fn instances<M: Model>(self, seed: u64) -> Result<Box<dyn Instances<M>>, Failure> {
        use pimlico_testbenches::{Lockstep, Rtl};
        Ok(match self {
            Self::Fast | Self::Model => Box::new(Models::new(1)),
            Self::Rtl => Box::new(Rtl::new(1, seed)),
            Self::Lockstep => Box::new(Lockstep::new(1, seed)),
        })
    }

    #[cfg(not(feature = "rtl"))]
    fn instances<M: Model>(self, _: u64) -> Result<Box<dyn Instances<M>>, Failure> {
        match self {
            Self::Fast | Self::Model => Ok(Box::new(Models::new(1))),
            _ => Err(Failure::without_rtl(&format!("--backend {}", self.name()))),
        }
    }

    /// A module of so many groups of AiM channels, which have just been reset and work as `options` say.
    pub(super) fn aim_devices(
        self,
        config: &Config,
        options: AimOptions,
        groups: usize,
        seed: u64,
    ) -> Result<Vec<AimHost>, Failure> {
        (0..groups)
            .map(|group| self.aim_device(config, options, groups, group_seed(seed, group)))
            .collect()
    }

    fn aim_device(
        self,
        config: &Config,
        options: AimOptions,
        groups: usize,
        seed: u64,
    ) -> Result<AimHost, Failure> {
        if self == Self::Fast {
            return Ok(AimHost::engine(config, options));
        }
        of_hub!(options, M => self.hub::<M>(config, options, groups, seed))
    }

    fn hub<M>(
        self,
        config: &Config,
        options: AimOptions,
        groups: usize,
        seed: u64,
    ) -> Result<AimHost, Failure>
    where
        M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
    {
        let hub = AimHost::hub(config.clone(), options, self.instances::<M>(seed)?);
        let fits = in_hubs(options.channels * groups);
        let fits = if options.channels == HUB_CHANNELS { String::new() } else { fits };
        let about = |error| Failure::Input(format!("--backend {}: {error}{fits}", self.name()));
        hub.map_err(about)
    }
}

/// The device in lockstep, to run the same again that ended in `mismatch`: it writes the waveforms of the
/// module, from shortly before to the mismatch, to `files`, with `command` in their headers: how they are
/// written again.
#[cfg(feature = "rtl")]
pub(super) fn watched(
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

/// A module of AiM channels in lockstep, as [`watched`]: so many groups of them, each a hub that works as the options say.
/// The mismatch is in the instance of the hub that its group has.
#[cfg(feature = "rtl")]
pub(super) fn watched_hubs(
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
