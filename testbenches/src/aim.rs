// SPDX-License-Identifier: MIT
//! The units of a module of AiM channels as RTL and in lockstep.

use crate::{Lockstep, Rtl, Waveforms, Window};
use pimlico_device::Config;
use pimlico_device::aim::{AimOptions, AimUnits, BackEnd};
use pimlico_ports::{Instances, Mismatch, Model};
use std::io;

/// The units of a module as RTL, each PU and each buffer an instance of its own.
pub fn rtl_units(config: &Config, options: AimOptions, seed: u64) -> AimUnits {
    match AimUnits::new(config, options, &mut RtlBackEnd { seed }) {
        Ok(units) => units,
    }
}

/// The units of a module as RTL and models in lockstep.
pub fn lockstep_units(config: &Config, options: AimOptions, seed: u64) -> AimUnits {
    let mut lockstep = LockstepBackEnd { seed, watched: None };
    AimUnits::new(config, options, &mut lockstep).expect("without waveforms no file is written")
}

/// The same units, to run the same again that ended in `mismatch`: they write the waveforms of the
/// unit at fault, from shortly before to the mismatch, to `files`, with `command` in their headers: how they
/// are written again.
pub fn watched_units(
    config: &Config,
    options: AimOptions,
    seed: u64,
    (mismatch, command): (&Mismatch, &str),
    files: &Waveforms,
) -> io::Result<AimUnits> {
    let watched = Some(((mismatch, command), files));
    AimUnits::new(config, options, &mut LockstepBackEnd { seed, watched })
}

/// Cycles before a mismatch that its waveforms show.
const BEFORE: u64 = 64;

/// Units as RTL.
struct RtlBackEnd {
    seed: u64,
}

impl BackEnd for RtlBackEnd {
    type Error = std::convert::Infallible;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        _cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error> {
        Ok(Box::new(Rtl::new(count, self.seed)))
    }
}

/// Units in lockstep, of which one may be watched.
struct LockstepBackEnd<'a> {
    seed: u64,
    /// What was found and by which command, and where the waveforms go.
    watched: Option<((&'a Mismatch, &'a str), &'a Waveforms)>,
}

impl BackEnd for LockstepBackEnd<'_> {
    type Error = io::Error;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> io::Result<Box<dyn Instances<M>>> {
        let mut lockstep = Lockstep::new(count, self.seed);
        if let Some(((mismatch, command), files)) = self.watched
            && mismatch.unit == lockstep.name()
        {
            let from = mismatch.cycle.saturating_sub(BEFORE);
            let window = Window { from, cycle_ps };
            let about = format!("seed {}, instance {}\n{command}", self.seed, mismatch.instance);
            lockstep.watch(mismatch.instance, files, window, &about)?;
        }
        Ok(Box::new(lockstep))
    }
}
