// SPDX-License-Identifier: MIT
//! The units of a module of AiM channels as RTL and in lockstep.

use crate::{Lockstep, Rtl, Window};
use pimlico_device::Config;
use pimlico_device::aim::{AimOptions, AimUnits, BackEnd};
use pimlico_ports::{Instances, Mismatch, Model};
use std::io;
use std::path::{Path, PathBuf};

/// The units of a module as RTL, each PU and each buffer an instance of its own.
pub fn rtl_units(config: &Config, options: AimOptions, seed: u64) -> AimUnits {
    match AimUnits::new(config, options, &mut RtlBackEnd { seed }) {
        Ok(units) => units,
    }
}

/// The units of a module as RTL and models in lockstep.
pub fn lockstep_units(config: &Config, options: AimOptions, seed: u64) -> AimUnits {
    let mut lockstep = LockstepBackEnd::new(seed);
    AimUnits::new(config, options, &mut lockstep).expect("without waveforms no file is written")
}

/// The same units, to run the same again that ended in `mismatch`: they write the waveforms of the
/// unit at fault, from shortly before to the mismatch, to `folder`. Returns the files' names.
pub fn watched_units(
    config: &Config,
    options: AimOptions,
    seed: u64,
    mismatch: &Mismatch,
    folder: &Path,
) -> io::Result<(AimUnits, [PathBuf; 2])> {
    let mut lockstep = LockstepBackEnd::watching(seed, mismatch, folder);
    let units = AimUnits::new(config, options, &mut lockstep)?;
    Ok((units, lockstep.files(mismatch)?))
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
    watched: Option<(&'a Mismatch, &'a Path)>,
    files: Option<[PathBuf; 2]>,
}

impl<'a> LockstepBackEnd<'a> {
    /// None is watched.
    fn new(seed: u64) -> Self {
        Self { seed, watched: None, files: None }
    }

    /// The one at fault is.
    fn watching(seed: u64, mismatch: &'a Mismatch, folder: &'a Path) -> Self {
        Self { seed, watched: Some((mismatch, folder)), files: None }
    }

    /// Its waveforms.
    fn files(self, mismatch: &Mismatch) -> io::Result<[PathBuf; 2]> {
        self.files.ok_or_else(|| io::Error::other(format!("no {}", mismatch.unit)))
    }
}

impl BackEnd for LockstepBackEnd<'_> {
    type Error = io::Error;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> io::Result<Box<dyn Instances<M>>> {
        let mut lockstep = Lockstep::new(count, self.seed);
        if let Some((mismatch, folder)) = self.watched.filter(|(m, _)| m.unit == lockstep.name()) {
            let from = mismatch.cycle.saturating_sub(BEFORE);
            let window = Window { from, cycle_ps };
            self.files = Some(lockstep.watch(mismatch.instance, folder, window)?);
        }
        Ok(Box::new(lockstep))
    }
}
