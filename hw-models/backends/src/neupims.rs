// SPDX-License-Identifier: MIT
//! Channels of NeuPIMs. Every back end but the engine has, in each, controller, sequencer, row buffers and PUs of 32 banks, each as a unit
//! for itself, or all of them as one design.

use crate::backend::Backend;
use crate::error::BackendError;
use crate::instances::instances;
#[cfg(feature = "rtl")]
use crate::watch::Watch;
use pimlico_device::neupims::{BANKS, ChannelDesign, PuSums, UnitDesign, WholeDesign};
#[cfg(feature = "rtl")]
use pimlico_ports::{Instances, Model};
use pimlico_ports::{Unit, UnitInfo};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::channel::pim_channel::parts::InstanceParts;
use pimlico_units::channel::pim_channel::{BankRows, ChannelPu};
use pimlico_units::channel::{ChannelController, GemvSequencer, PimChannel};
#[cfg(feature = "rtl")]
use {pimlico_testbenches::Lockstep, std::io};

/// What is one unit of a back end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelScope {
    /// Controller, sequencer, row buffers and PU of each bank.
    #[default]
    Units,
    /// The channel.
    Channel,
}

impl ChannelScope {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::Channel => "channel",
        }
    }
}

type Controller = ChannelController<32, 32>;
type Sequencer = GemvSequencer<32>;
type Whole<A> = PimChannel<[u16; BANKS], A>;

/// The format of sums.
macro_rules! of_sums {
    ($sums:expr, $format:ident => $do:expr) => {
        match $sums {
            PuSums::Binary16 => {
                type $format = Binary16;
                $do
            }
            PuSums::Binary32 => {
                type $format = Binary32;
                $do
            }
        }
    };
}

/// The units that every back end but the engine executes.
pub fn units(scope: ChannelScope, sums: PuSums) -> Vec<UnitInfo> {
    of_sums!(sums, A => match scope {
        ChannelScope::Units => vec![
            Sequencer::info(),
            BankRows::info(),
            <ChannelPu<A>>::info(),
            Controller::info(),
        ],
        ChannelScope::Channel => vec![<Whole<A>>::info()],
    })
}

/// The design of a channel that has just been reset.
///
/// # Errors
///
/// If the RTL cannot be made.
pub fn design(
    backend: Backend,
    scope: ChannelScope,
    sums: PuSums,
    (channel, seed): (usize, u64),
) -> Result<Box<dyn ChannelDesign>, BackendError> {
    let seed = channel_seed(seed, channel);
    of_sums!(sums, A => Ok(match scope {
        ChannelScope::Units => {
            let units = InstanceParts::<A> {
                controller: instances::<Controller>(backend, 1, seed)?,
                sequencer: instances::<Sequencer>(backend, 1, seed)?,
                rows: instances::<BankRows>(backend, BANKS, seed)?,
                pus: instances::<ChannelPu<A>>(backend, BANKS, seed)?,
            };
            Box::new(UnitDesign::new(channel, units))
        }
        ChannelScope::Channel => {
            Box::new(WholeDesign::new(channel, instances::<Whole<A>>(backend, 1, seed)?))
        }
    }))
}

/// Seed of a channel: that of the run for the first.
fn channel_seed(seed: u64, channel: usize) -> u64 {
    seed.wrapping_add(channel as u64)
}

/// The design of a channel in lockstep, to run the same again that ended in a mismatch: it writes the waveforms of the instance in which
/// it is.
///
/// # Errors
///
/// If a file cannot be written.
#[cfg(feature = "rtl")]
pub fn watched(
    scope: ChannelScope,
    sums: PuSums,
    (channel, seed): (usize, u64),
    tck_ps: u64,
    watch: Watch<'_>,
) -> io::Result<Box<dyn ChannelDesign>> {
    let of = ((channel, tck_ps), channel_seed(seed, channel));
    of_sums!(sums, A => Ok(match scope {
        ChannelScope::Units => {
            let units = InstanceParts::<A> {
                controller: watched_units::<Controller>(1, of, watch)?,
                sequencer: watched_units::<Sequencer>(1, of, watch)?,
                rows: watched_units::<BankRows>(BANKS, of, watch)?,
                pus: watched_units::<ChannelPu<A>>(BANKS, of, watch)?,
            };
            Box::new(UnitDesign::new(channel, units))
        }
        ChannelScope::Channel => {
            Box::new(WholeDesign::new(channel, watched_units::<Whole<A>>(1, of, watch)?))
        }
    }))
}

/// So many instances of a unit in a channel, of which the one with the mismatch is watched.
#[cfg(feature = "rtl")]
fn watched_units<M: Model>(
    count: usize,
    ((channel, tck_ps), seed): ((usize, u64), u64),
    watch: Watch<'_>,
) -> io::Result<Box<dyn Instances<M>>> {
    let mut units = Lockstep::<M>::new(count, seed);
    let of_channel = watch.mismatch.instance.checked_sub(channel * count);
    let is_here = watch.mismatch.unit == M::name();
    if let Some(instance) = of_channel.filter(|instance| is_here && *instance < count) {
        watch.watch(&mut units, (instance, tck_ps), seed)?;
    }
    Ok(Box::new(units))
}
