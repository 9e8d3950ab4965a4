// SPDX-License-Identifier: MIT
//! The flag `--backend`, and the RTL that a back end wants.

use crate::failure::Failure;
use clap::ValueEnum;
use pimlico_backends::{Backend, BackendError};
use pimlico_ports::UnitInfo;

/// What executes the device.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendArgument {
    /// The engine: fast, and equal to the models in results, tCK and statistics
    Fast,
    /// The cycle model of the module; of AiM channels a hub of two, for each group of them; of LPDDR5X-PIM those of mode and
    /// blocks in each channel; of NeuPIMs those of a channel's units, or of the channel
    Model,
    /// The RTL of the module, through Verilator
    Rtl,
    /// RTL and cycle model, every port compared in every cycle
    Lockstep,
}

impl BackendArgument {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Fast, Self::Model, Self::Rtl, Self::Lockstep];
}

impl From<BackendArgument> for Backend {
    fn from(argument: BackendArgument) -> Self {
        match argument {
            BackendArgument::Fast => Self::Fast,
            BackendArgument::Model => Self::Model,
            BackendArgument::Rtl => Self::Rtl,
            BackendArgument::Lockstep => Self::Lockstep,
        }
    }
}

/// Makes the RTL of a unit if the back end has it, and says how far that is: it takes a minute the first time.
#[cfg(feature = "rtl")]
pub(super) fn prepare(
    backend: Backend,
    unit: impl FnOnce() -> Result<UnitInfo, BackendError>,
) -> Result<(), Failure> {
    prepare_all(backend, || Ok([unit()?]))
}

/// Makes the RTL of several units.
#[cfg(feature = "rtl")]
pub(super) fn prepare_all<U: AsRef<[UnitInfo]>>(
    backend: Backend,
    units: impl FnOnce() -> Result<U, BackendError>,
) -> Result<(), Failure> {
    if backend.has_rtl() {
        let units = units()?;
        let units: Vec<_> = units.as_ref().iter().collect();
        crate::verilated::prepare(&units, pimlico_testbenches::build::Waves::Without)?;
    }
    Ok(())
}

/// Without back ends of RTL.
#[cfg(not(feature = "rtl"))]
pub(super) fn prepare(
    backend: Backend,
    unit: impl FnOnce() -> Result<UnitInfo, BackendError>,
) -> Result<(), Failure> {
    prepare_all(backend, || Ok([unit()?]))
}

/// The same for several units.
#[cfg(not(feature = "rtl"))]
pub(super) fn prepare_all<U: AsRef<[UnitInfo]>>(
    backend: Backend,
    _: impl FnOnce() -> Result<U, BackendError>,
) -> Result<(), Failure> {
    match backend.has_rtl() {
        true => Err(Failure::not_built(&format!("--backend {}", backend.name()), "rtl")),
        false => Ok(()),
    }
}
