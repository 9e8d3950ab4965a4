// SPDX-License-Identifier: MIT
//! Why a device cannot be had.

use crate::backend::Backend;
use pimlico_device::{ConfigError, Gear};

/// Why a device cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The configuration is not one of such a device.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A hub's channels are another number, or its configuration is another. `advice` says what fits.
    #[error("--backend {}: {error}{advice}", backend.name())]
    Hub {
        /// What was asked for.
        backend: Backend,
        /// What is wrong with it.
        error: ConfigError,
        /// The groups of channels that would be hubs, if there are such.
        advice: String,
    },
    /// Neither a cycle model nor RTL is built with these options.
    #[error(
        "--gear {}: without --backend fast it goes with --sums binary16 and --normalise early",
        .0.name()
    )]
    NoModule(Gear),
    /// The RTL cannot be Verilated.
    #[cfg(feature = "rtl")]
    #[error("{0}")]
    Build(#[from] pimlico_testbenches::build::BuildError),
    /// The crate was built without the feature `rtl`.
    #[cfg(not(feature = "rtl"))]
    #[error("--backend {}: this build has no RTL: build it with the feature `rtl`", .0.name())]
    NotBuilt(Backend),
}
