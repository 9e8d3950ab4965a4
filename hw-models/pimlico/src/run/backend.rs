// SPDX-License-Identifier: MIT
//! What executes the device.

use crate::failure::Failure;
use clap::ValueEnum;
use pimlico_ports::{Instances, Model, Models};

/// Beats before a mismatch that its waveforms show.
#[cfg(feature = "rtl")]
pub(super) const BEFORE: u64 = 128;

/// What executes the device.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// The engine: fast, and equal to the models in results, tCK and statistics
    Fast,
    /// The cycle model of the module; of AiM channels a hub of two, for each group of them
    Model,
    /// The RTL of the module, through Verilator
    Rtl,
    /// RTL and cycle model, every port compared in every cycle
    Lockstep,
}

impl Backend {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Fast, Self::Model, Self::Rtl, Self::Lockstep];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Model => "model",
            Self::Rtl => "rtl",
            Self::Lockstep => "lockstep",
        }
    }

    /// An instance of a unit that has just been reset. See `pimlico_testbenches::Rtl` for the seed.
    #[cfg(feature = "rtl")]
    pub(super) fn instances<M: Model>(self, seed: u64) -> Result<Box<dyn Instances<M>>, Failure> {
        use pimlico_testbenches::{Lockstep, Rtl};
        if matches!(self, Self::Rtl | Self::Lockstep) {
            crate::verilated::prepare(&[&M::info()])?;
        }
        Ok(match self {
            Self::Fast | Self::Model => Box::new(Models::new(1)),
            Self::Rtl => Box::new(Rtl::new(1, seed)),
            Self::Lockstep => Box::new(Lockstep::new(1, seed)),
        })
    }

    #[cfg(not(feature = "rtl"))]
    pub(super) fn instances<M: Model>(self, _: u64) -> Result<Box<dyn Instances<M>>, Failure> {
        match self {
            Self::Fast | Self::Model => Ok(Box::new(Models::new(1))),
            _ => Err(Failure::not_built(&format!("--backend {}", self.name()), "rtl")),
        }
    }
}
