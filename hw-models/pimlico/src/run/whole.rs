// SPDX-License-Identifier: MIT
//! The rank's RTL as one design, beside the device.

use crate::failure::Failure;
use clap::ValueEnum;
use pimlico_device::Rank;
use std::path::{Path, PathBuf};

/// The rank's RTL as one design.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Whole {
    /// With the bank PUs of two chips at a bank of each bank group, and the model's for the others
    Rank,
    /// With all 128 bank PUs: a build of scripts/full-rank has it
    FullRank,
}

impl Whole {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::FullRank => "full-rank",
        }
    }

    /// Puts it beside a rank that has just been made. With a folder it writes its waveform there, from
    /// shortly before a tCK on; returns the file's name.
    #[cfg(feature = "rtl")]
    pub(super) fn join(
        self,
        rank: &mut Rank,
        seed: u64,
        wave: Option<(&Path, u64)>,
    ) -> Result<Option<PathBuf>, Failure> {
        use pimlico_testbenches::module::pim_module::{self, Size};
        let size = match self {
            Self::Rank => Size::Small,
            Self::FullRank => Size::Full,
        };
        let joined = pim_module::lockstep(size, rank.config(), rank.options(), seed, wave);
        let (observer, file) =
            joined.map_err(|e| Failure::Input(format!("--lockstep {}: {e}", self.name())))?;
        rank.observe(observer);
        Ok(file)
    }

    #[cfg(not(feature = "rtl"))]
    pub(super) fn join(
        self,
        _: &mut Rank,
        _: u64,
        _: Option<(&Path, u64)>,
    ) -> Result<Option<PathBuf>, Failure> {
        Err(Failure::without_rtl(&format!("--lockstep {}", self.name())))
    }
}
