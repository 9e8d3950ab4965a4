// SPDX-License-Identifier: MIT
//! What executes the units.

use crate::failure::Failure;
use clap::ValueEnum;
use pimlico_device::aim::{AimOptions, AimUnits};
use pimlico_device::{Config, Options, RankUnits};

/// What executes the units.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// The Rust models
    Model,
    /// The RTL, through Verilator
    Rtl,
    /// Both, every port compared in every cycle
    Lockstep,
}

impl Backend {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Rtl => "rtl",
            Self::Lockstep => "lockstep",
        }
    }

    #[cfg(feature = "rtl")]
    pub(super) fn units(
        self,
        config: &Config,
        options: Options,
        seed: u64,
    ) -> Result<RankUnits, Failure> {
        use pimlico_testbenches::rank;
        Ok(match self {
            Self::Model => RankUnits::models(config, options),
            Self::Rtl => rank::rtl_units(config, options, seed),
            Self::Lockstep => rank::lockstep_units(config, options, seed),
        })
    }

    #[cfg(not(feature = "rtl"))]
    pub(super) fn units(
        self,
        config: &Config,
        options: Options,
        _: u64,
    ) -> Result<RankUnits, Failure> {
        match self {
            Self::Model => Ok(RankUnits::models(config, options)),
            _ => Err(Failure::without_rtl(&format!("--backend {}", self.name()))),
        }
    }

    #[cfg(feature = "rtl")]
    pub(super) fn aim_units(
        self,
        config: &Config,
        options: AimOptions,
        seed: u64,
    ) -> Result<AimUnits, Failure> {
        use pimlico_testbenches::aim;
        Ok(match self {
            Self::Model => AimUnits::models(config, options),
            Self::Rtl => aim::rtl_units(config, options, seed),
            Self::Lockstep => aim::lockstep_units(config, options, seed),
        })
    }

    #[cfg(not(feature = "rtl"))]
    pub(super) fn aim_units(
        self,
        config: &Config,
        options: AimOptions,
        _: u64,
    ) -> Result<AimUnits, Failure> {
        match self {
            Self::Model => Ok(AimUnits::models(config, options)),
            _ => Err(Failure::without_rtl(&format!("--backend {}", self.name()))),
        }
    }
}
