// SPDX-License-Identifier: MIT
//! What ends a run of the rank.

use crate::dispatch::DispatchError;
use pimlico_ports::Mismatch;

/// What ends a run of the rank.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// RTL and model differ.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// A program was stopped.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// The host has started a program before the key.
    #[error("a program is started, and the chips have not had the key")]
    Locked,
    /// The waveform cannot be written.
    #[error("waveform: {0}")]
    Wave(#[from] std::io::Error),
}
