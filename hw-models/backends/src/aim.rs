// SPDX-License-Identifier: MIT
//! Modules of AiM channels: groups of channels, each with a host. Every back end but the engine has a hub for each group.

use crate::backend::Backend;
use crate::error::BackendError;
use crate::instances::instances;
#[cfg(feature = "rtl")]
use crate::watch::Watch;
use pimlico_device::Config;
use pimlico_device::aim::{AimOptions, HUB_CHANNELS};
use pimlico_device::gemv::IoBuffers;
use pimlico_host::aim::AimHost;
use pimlico_ports::{Model, Unit, UnitInfo};
use pimlico_units::module::{AimHub, AimHubIn, AimHubOut};
#[cfg(feature = "rtl")]
use {pimlico_device::aim::SLOTS, pimlico_testbenches::Lockstep, std::io};

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

/// The unit that every back end but the engine executes.
pub fn unit(options: AimOptions) -> UnitInfo {
    of_hub!(options, M => M::info())
}

/// A module of so many groups of channels, which have just been reset and work as the options say.
///
/// # Errors
///
/// If the channels of a group are no hub.
pub fn devices(
    backend: Backend,
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
) -> Result<Vec<AimHost>, BackendError> {
    let device = |group| {
        let seed = group_seed(seed, group);
        if backend == Backend::Fast {
            return Ok(AimHost::engine(config, options));
        }
        of_hub!(options, M => hub::<M>(backend, config, (groups, options), seed))
    };
    (0..groups).map(device).collect()
}

fn hub<M>(
    backend: Backend,
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
) -> Result<AimHost, BackendError>
where
    M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
{
    let hub = AimHost::hub(config.clone(), options, instances::<M>(backend, 1, seed)?);
    let advice = || match options.channels {
        HUB_CHANNELS => String::new(),
        channels => in_hubs(channels * groups),
    };
    hub.map_err(|error| BackendError::Hub { backend, error, advice: advice() })
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

/// A module in lockstep, to run the same again that ended in a mismatch: it writes the waveforms of the hub in which it is.
/// The mismatch is in the instance that its group has.
///
/// # Errors
///
/// If a file cannot be written, or the channels of a group are no hub.
#[cfg(feature = "rtl")]
pub fn watched(
    config: &Config,
    (groups, options): (usize, AimOptions),
    seed: u64,
    watch: Watch<'_>,
) -> io::Result<Vec<AimHost>> {
    let hub = |group: usize| {
        let watch = (watch.mismatch.instance == group).then_some(watch);
        let seed = group_seed(seed, group);
        of_hub!(options, M => watched_hub::<M>(config, options, seed, watch))
    };
    (0..groups).map(hub).collect()
}

/// The hub of a group, which is watched if the mismatch is there.
#[cfg(feature = "rtl")]
fn watched_hub<M>(
    config: &Config,
    options: AimOptions,
    seed: u64,
    watch: Option<Watch<'_>>,
) -> io::Result<AimHost>
where
    M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
{
    let mut hub = Lockstep::<M>::new(1, seed);
    if let Some(watch) = watch {
        watch.watch(&mut hub, (0, SLOTS as u64 * config.tck_ps), seed)?;
    }
    AimHost::hub(config.clone(), options, Box::new(hub)).map_err(io::Error::other)
}
