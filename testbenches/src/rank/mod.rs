// SPDX-License-Identifier: MIT
//! Benches of what is in the rank PU, and the units of a whole rank as RTL and in lockstep.

mod adder_unit;
mod rank_controller;
mod refresh_manager;
mod relayout_unit;

use crate::{Lockstep, Rtl, Window};
use pimlico_device::{CHIPS, Config, RankUnits};
use pimlico_ports::{Mismatch, Model};
use std::io;
use std::path::{Path, PathBuf};

/// Cycles before a mismatch that its waveforms show.
const BEFORE: u64 = 64;

/// The units of a rank as RTL, each bank PU an instance of its own.
pub fn rtl_units(config: &Config, seed: u64) -> RankUnits {
    RankUnits {
        bank_pus: Box::new(Rtl::new(CHIPS * config.banks(), seed)),
        adder_unit: Box::new(Rtl::new(1, seed)),
    }
}

/// The units of a rank as RTL and models in lockstep.
pub fn lockstep_units(config: &Config, seed: u64) -> RankUnits {
    RankUnits {
        bank_pus: Box::new(Lockstep::new(CHIPS * config.banks(), seed)),
        adder_unit: Box::new(Lockstep::new(1, seed)),
    }
}

/// The same units, to run the same again that ended in `mismatch`: they write the waveforms of the
/// unit at fault, from shortly before to the mismatch, to `folder`. Returns the files' names.
pub fn watched_units(
    config: &Config,
    seed: u64,
    mismatch: &Mismatch,
    folder: &Path,
) -> io::Result<(RankUnits, [PathBuf; 2])> {
    let mut bank_pus = Lockstep::new(CHIPS * config.banks(), seed);
    let mut adder_unit = Lockstep::new(1, seed);
    let files = if mismatch.unit == adder_unit.name() {
        watch(&mut adder_unit, config.tck_ps, mismatch, folder)
    } else {
        let slot_ps = config.timing.ccd_l_tck * config.tck_ps;
        watch(&mut bank_pus, slot_ps, mismatch, folder)
    };
    let units = RankUnits { bank_pus: Box::new(bank_pus), adder_unit: Box::new(adder_unit) };
    Ok((units, files?))
}

fn watch<M: Model>(
    lockstep: &mut Lockstep<M>,
    cycle_ps: u64,
    mismatch: &Mismatch,
    folder: &Path,
) -> io::Result<[PathBuf; 2]> {
    let from = mismatch.cycle.saturating_sub(BEFORE);
    lockstep.watch(mismatch.instance, folder, Window { from, cycle_ps })
}
