// SPDX-License-Identifier: MIT
//! Benches of what is in the rank PU, and the units of a whole rank as RTL and in lockstep.

mod adder_unit;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;
mod softmax_unit;

use crate::{Lockstep, Rtl, Window};
use pimlico_device::{CHIPS, Config, RankUnits};
use pimlico_ports::{Instances, Mismatch, Model};
use std::io;
use std::path::{Path, PathBuf};

/// Cycles before a mismatch that its waveforms show.
const BEFORE: u64 = 64;

/// The units of a rank as RTL, each bank PU an instance of its own.
pub fn rtl_units(config: &Config, seed: u64) -> RankUnits {
    RankUnits {
        bank_pus: Box::new(Rtl::new(CHIPS * config.banks(), seed)),
        adder_unit: Box::new(Rtl::new(1, seed)),
        relayout_unit: Box::new(Rtl::new(1, seed)),
        rank_controller: Box::new(Rtl::new(1, seed)),
        refresh_manager: Box::new(Rtl::new(1, seed)),
    }
}

/// The units of a rank as RTL and models in lockstep.
pub fn lockstep_units(config: &Config, seed: u64) -> RankUnits {
    let mut lockstep = Watched { seed, of: None, files: None };
    lockstep.units(config).expect("without waveforms no file is written")
}

/// The same units, to run the same again that ended in `mismatch`: they write the waveforms of the
/// unit at fault, from shortly before to the mismatch, to `folder`. Returns the files' names.
pub fn watched_units(
    config: &Config,
    seed: u64,
    mismatch: &Mismatch,
    folder: &Path,
) -> io::Result<(RankUnits, [PathBuf; 2])> {
    let mut watched = Watched { seed, of: Some((mismatch, folder)), files: None };
    let units = watched.units(config)?;
    let files = watched.files.ok_or_else(|| io::Error::other(format!("no {}", mismatch.unit)))?;
    Ok((units, files))
}

/// Units in lockstep, of which one may be watched.
struct Watched<'a> {
    seed: u64,
    of: Option<(&'a Mismatch, &'a Path)>,
    files: Option<[PathBuf; 2]>,
}

impl Watched<'_> {
    fn units(&mut self, config: &Config) -> io::Result<RankUnits> {
        let tck_ps = config.tck_ps;
        let slot_ps = config.timing.ccd_l_tck * tck_ps;
        Ok(RankUnits {
            bank_pus: self.instances(CHIPS * config.banks(), slot_ps)?,
            adder_unit: self.instances(1, tck_ps)?,
            relayout_unit: self.instances(1, tck_ps / 2)?,
            rank_controller: self.instances(1, tck_ps)?,
            refresh_manager: self.instances(1, tck_ps)?,
        })
    }

    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> io::Result<Box<dyn Instances<M>>> {
        let mut lockstep = Lockstep::new(count, self.seed);
        if let Some((mismatch, folder)) = self.of.filter(|(m, _)| m.unit == lockstep.name()) {
            let from = mismatch.cycle.saturating_sub(BEFORE);
            let window = Window { from, cycle_ps };
            self.files = Some(lockstep.watch(mismatch.instance, folder, window)?);
        }
        Ok(Box::new(lockstep))
    }
}
