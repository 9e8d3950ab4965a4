// SPDX-License-Identifier: MIT
//! Devices of LPDDR5X-PIM. Every back end but the engine has, in each channel, the mode and sixteen blocks behind the pins; the host's
//! controllers, which know nothing of them, are the same.

use crate::backend::Backend;
use crate::error::BackendError;
use crate::instances::instances;
#[cfg(feature = "rtl")]
use crate::watch::Watch;
use pimlico_device::lp5::blocks::BANKS;
use pimlico_device::lp5::units::{BlockUnits, UnitBlocks, Units};
use pimlico_device::lp5::{BlockElements, BlockFormats, Lp5Device, Lp5Options, Lp5Spec};
#[cfg(feature = "rtl")]
use pimlico_ports::{Instances, Model};
use pimlico_ports::{Unit, UnitInfo};
use pimlico_units::arith::{Bfloat16, Binary16, Binary32};
use pimlico_units::bank::{PimBlock, PimMode};
#[cfg(feature = "rtl")]
use {pimlico_testbenches::Lockstep, std::io};

/// The blocks of these formats.
macro_rules! of_block {
    ($formats:expr, $block:ident => $do:expr) => {{
        macro_rules! with {
            ($of:ty) => {{
                type $block = $of;
                $do
            }};
        }
        match $formats {
            BlockFormats { elements: BlockElements::Bfloat16, wide: false } => {
                with!(PimBlock<Bfloat16, Bfloat16>)
            }
            BlockFormats { elements: BlockElements::Bfloat16, wide: true } => {
                with!(PimBlock<Bfloat16, Binary32>)
            }
            BlockFormats { elements: BlockElements::Binary16, wide: false } => {
                with!(PimBlock<Binary16, Binary16>)
            }
            BlockFormats { elements: BlockElements::Binary16, wide: true } => {
                with!(PimBlock<Binary16, Binary32>)
            }
        }
    }};
}

/// The units that every back end but the engine executes.
pub fn units(options: Lp5Options) -> [UnitInfo; 2] {
    [<PimMode as Unit>::info(), of_block!(options.formats, B => B::info())]
}

/// A device that has just been reset.
///
/// # Errors
///
/// If there is no such device, or the RTL cannot be made.
pub fn device(
    backend: Backend,
    spec: &Lp5Spec,
    options: Lp5Options,
    seed: u64,
) -> Result<Lp5Device, BackendError> {
    let mut device = Lp5Device::new(spec, options)?;
    if backend == Backend::Fast {
        return Ok(device);
    }
    for channel in 0..device.channels() {
        let seed = channel_seed(seed, channel);
        let mode = instances::<PimMode>(backend, 1, seed)?;
        let blocks = of_block!(options.formats, B => {
            let blocks: Box<dyn BlockUnits> =
                Box::new(UnitBlocks::new(instances::<B>(backend, BANKS, seed)?));
            blocks
        });
        device.attach(channel, Units::new(channel, mode, blocks))?;
    }
    Ok(device)
}

/// Seed of a channel: that of the run for the first.
fn channel_seed(seed: u64, channel: usize) -> u64 {
    seed.wrapping_add(channel as u64)
}

/// A device in lockstep, to run the same again that ended in a mismatch: it writes the waveforms of the instance in which it is.
///
/// # Errors
///
/// If a file cannot be written, or there is no such device.
#[cfg(feature = "rtl")]
pub fn watched(
    spec: &Lp5Spec,
    options: Lp5Options,
    seed: u64,
    watch: Watch<'_>,
) -> io::Result<Lp5Device> {
    let mut device = Lp5Device::new(spec, options).map_err(io::Error::other)?;
    for channel in 0..device.channels() {
        let seed = channel_seed(seed, channel);
        let mode = watched_units::<PimMode>((channel, 1), spec.tck_ps, seed, watch)?;
        let blocks = of_block!(options.formats, B => {
            let step_ps = spec.timing.ccd_l_tck * spec.tck_ps;
            let blocks = watched_units::<B>((channel, BANKS), step_ps, seed, watch)?;
            let blocks: Box<dyn BlockUnits> = Box::new(UnitBlocks::new(blocks));
            blocks
        });
        let attached = device.attach(channel, Units::new(channel, mode, blocks));
        attached.map_err(io::Error::other)?;
    }
    Ok(device)
}

/// So many instances of a unit in a channel, of which the one with the mismatch is watched.
#[cfg(feature = "rtl")]
fn watched_units<M: Model>(
    (channel, count): (usize, usize),
    cycle_ps: u64,
    seed: u64,
    watch: Watch<'_>,
) -> io::Result<Box<dyn Instances<M>>> {
    let mut units = Lockstep::<M>::new(count, seed);
    let of_channel = watch.mismatch.instance.checked_sub(channel * count);
    let is_here = watch.mismatch.unit == M::name();
    if let Some(instance) = of_channel.filter(|instance| is_here && *instance < count) {
        watch.watch(&mut units, (instance, cycle_ps), seed)?;
    }
    Ok(Box::new(units))
}
