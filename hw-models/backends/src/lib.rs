// SPDX-License-Identifier: MIT
//! What executes a device, chosen at run time: the engine, the cycle model of its module, the RTL of the module through
//! Verilator, or the last two in lockstep.
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`l3`] | modules of L3's DIMM-PIM behind the pins of their channel |
//! | [`aim`] | modules of AiM channels |
//! | [`lp5`] | devices of LPDDR5X-PIM |
//! | [`neupims`] | channels of NeuPIMs |
//! | [`watch`] | the waveforms around a mismatch |
//! | `instances` | instances of a unit on each back end |
//! | [`error`] | why a device cannot be had |
//! | [`backend`] | the back ends |
//!
//! ```
//! use pimlico_backends::{Backend, l3};
//! use pimlico_device::{Config, Options};
//!
//! let (config, options) = (Config::ddr4_3200(), Options::default());
//! let tck = [Backend::Fast, Backend::Model].map(|backend| {
//!     let rank = l3::device(backend, &config, options, 0).expect("a rank");
//!     rank.tck()
//! });
//! // Both are set up by now, after the same time.
//! assert_eq!(tck[0], tck[1]);
//! ```

pub mod aim;
pub mod backend;
pub mod error;
mod instances;
pub mod l3;
pub mod lp5;
pub mod neupims;
#[cfg(feature = "rtl")]
pub mod watch;

pub use backend::Backend;
pub use error::BackendError;
