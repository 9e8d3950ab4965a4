// SPDX-License-Identifier: MIT
//! The units of a module of AiM channels as RTL and in lockstep.

use crate::rank::{LockstepBackEnd, RtlBackEnd};
use pimlico_device::Config;
use pimlico_device::aim::{AimOptions, AimUnits};
use pimlico_ports::Mismatch;
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
