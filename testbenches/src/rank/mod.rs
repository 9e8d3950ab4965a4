// SPDX-License-Identifier: MIT
//! Benches of what is in the rank PU, and the units of a whole rank as RTL and in lockstep.

mod adder_unit;
mod burst_source;
mod burst_timer;
mod context_queue;
mod judge;
mod operand_path;
mod pim_chip;
mod plans;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;
mod result_path;
mod sequencer;
mod slot_timer;
mod softmax_unit;
mod weight_path;

use crate::{Lockstep, Rtl, Window};
use pimlico_device::{BackEnd, Config, Options, RankUnits};
use pimlico_ports::{Instances, Mismatch, Model};
use std::io;
use std::path::{Path, PathBuf};

/// Cycles before a mismatch that its waveforms show.
pub(crate) const BEFORE: u64 = 64;

/// The units of a rank as RTL, each bank PU an instance of its own.
pub fn rtl_units(config: &Config, options: Options, seed: u64) -> RankUnits {
    match RankUnits::new(config, options, &mut RtlBackEnd { seed }) {
        Ok(units) => units,
    }
}

/// The units of a rank as RTL and models in lockstep.
pub fn lockstep_units(config: &Config, options: Options, seed: u64) -> RankUnits {
    let mut lockstep = LockstepBackEnd::new(seed);
    RankUnits::new(config, options, &mut lockstep).expect("without waveforms no file is written")
}

/// The same units, to run the same again that ended in `mismatch`: they write the waveforms of the
/// unit at fault, from shortly before to the mismatch, to `folder`. Returns the files' names.
pub fn watched_units(
    config: &Config,
    options: Options,
    seed: u64,
    mismatch: &Mismatch,
    folder: &Path,
) -> io::Result<(RankUnits, [PathBuf; 2])> {
    let mut lockstep = LockstepBackEnd::watching(seed, mismatch, folder);
    let units = RankUnits::new(config, options, &mut lockstep)?;
    Ok((units, lockstep.files(mismatch)?))
}

/// Units as RTL.
pub(crate) struct RtlBackEnd {
    pub(crate) seed: u64,
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
pub(crate) struct LockstepBackEnd<'a> {
    seed: u64,
    watched: Option<(&'a Mismatch, &'a Path)>,
    files: Option<[PathBuf; 2]>,
}

impl<'a> LockstepBackEnd<'a> {
    /// None is watched.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, watched: None, files: None }
    }

    /// The one at fault is.
    pub(crate) fn watching(seed: u64, mismatch: &'a Mismatch, folder: &'a Path) -> Self {
        Self { seed, watched: Some((mismatch, folder)), files: None }
    }

    /// Its waveforms.
    pub(crate) fn files(self, mismatch: &Mismatch) -> io::Result<[PathBuf; 2]> {
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
