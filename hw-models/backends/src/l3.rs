// SPDX-License-Identifier: MIT
//! Modules of L3's DIMM-PIM, each a rank behind the pins of its channel.

use crate::backend::Backend;
use crate::error::BackendError;
use crate::instances::instances;
#[cfg(feature = "rtl")]
use crate::watch::Watch;
use pimlico_device::{
    Config, ConfigError, Dimm, Gear, ModuleDevice, Normalise, Options, RankDevice, SumFormat,
};
use pimlico_host::attached::Attached;
use pimlico_ports::{Model, Unit, UnitInfo};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::gear::{Gear1, Gear4};
use pimlico_units::module::{PimDimm, PimDimmIn, PimDimmOut, SCORE_BUFFER};
#[cfg(feature = "rtl")]
use {pimlico_testbenches::Lockstep, std::io};

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
            (gear, ..) => Err(BackendError::NoModule(gear)),
        }
    }};
}

/// The unit that every back end but the engine executes.
///
/// # Errors
///
/// If none is built with these options.
pub fn unit(options: Options) -> Result<UnitInfo, BackendError> {
    of_module!(options, M => Ok(M::info()))
}

/// A rank that has just been reset, behind the pins of its channel.
///
/// # Errors
///
/// If the configuration is not a rank's, or there is no such module.
pub fn device(
    backend: Backend,
    config: &Config,
    options: Options,
    seed: u64,
) -> Result<Box<dyn RankDevice>, BackendError> {
    if backend == Backend::Fast {
        return attached(Attached::engine(config, options));
    }
    of_module!(options, M => module::<M>(backend, config, options, seed))
}

fn module<M>(
    backend: Backend,
    config: &Config,
    options: Options,
    seed: u64,
) -> Result<Box<dyn RankDevice>, BackendError>
where
    M: Model + Unit<In = PimDimmIn, Out = PimDimmOut>,
{
    let module = instances::<M>(backend, 1, seed)?;
    let module = ModuleDevice::new(config.clone(), options, module);
    attached(module.map(Attached::new))
}

fn attached<D: Dimm + 'static>(
    device: Result<Attached<D>, ConfigError>,
) -> Result<Box<dyn RankDevice>, BackendError> {
    Ok(Box::new(device?))
}

/// The rank in lockstep, to run the same again that ended in a mismatch: it writes the waveforms of the module.
///
/// # Errors
///
/// If a file cannot be written, or there is no such module.
#[cfg(feature = "rtl")]
pub fn watched(
    config: &Config,
    options: Options,
    seed: u64,
    watch: Watch<'_>,
) -> io::Result<Box<dyn RankDevice>> {
    let made = of_module!(options, M => Ok(watched_module::<M>(config, options, seed, watch)));
    made.map_err(io::Error::other)?
}

#[cfg(feature = "rtl")]
fn watched_module<M>(
    config: &Config,
    options: Options,
    seed: u64,
    watch: Watch<'_>,
) -> io::Result<Box<dyn RankDevice>>
where
    M: Model + Unit<In = PimDimmIn, Out = PimDimmOut>,
{
    let mut module = Lockstep::<M>::new(1, seed);
    watch.watch(&mut module, (watch.mismatch.instance, config.tck_ps / 2), seed)?;
    let module = ModuleDevice::new(config.clone(), options, Box::new(module));
    Ok(Box::new(Attached::new(module.map_err(io::Error::other)?)))
}
