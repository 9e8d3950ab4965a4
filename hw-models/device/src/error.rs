// SPDX-License-Identifier: MIT
//! What ends a run of a device.

use crate::dispatch::DispatchError;
use pimlico_ports::Mismatch;

/// What ends a run of a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// RTL and model differ.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// A program was stopped.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// A program of a user's own was stopped.
    #[error("{program}{}", stopped(*word, error))]
    OwnProgram {
        /// What it is of.
        program: &'static str,
        /// The word at which the dispatcher found a fault, counted from the first of the file.
        word: Option<usize>,
        /// Why.
        error: DispatchError,
    },
    /// The host has started a program before the key.
    #[error("a program is started, and the chips have not had the key")]
    Locked,
    /// The requests came in an order that the I/O buffers do not allow.
    #[error("hazard: {0}")]
    Hazard(Hazard),
    /// The host has no program for an operator.
    #[error(transparent)]
    NoProgram(Box<dyn std::error::Error + Send + Sync>),
    /// The waveform cannot be written.
    #[error("waveform: {0}")]
    Wave(#[from] std::io::Error),
}

/// Where and why a program was stopped.
fn stopped(word: Option<usize>, error: &DispatchError) -> String {
    match (word, error) {
        (Some(word), DispatchError::Fault { status, .. }) => format!(", word {word}: {status}"),
        _ => format!(": {error}"),
    }
}

/// What a sequence of requests would break: nothing of it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// A word for the global buffer while no side is free.
    OperandOverwritten,
    /// An all-bank RD while no side of the global buffer is filled.
    OperandMissing,
    /// A result while that of an earlier sum is in the only free side of the result registers.
    ResultOverwritten,
    /// An RD_RESULT without a result.
    ResultMissing,
}

impl std::fmt::Display for Hazard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OperandOverwritten => "WR_SHARED: no side of the global buffer is free",
            Self::OperandMissing => "RD_ALL_BANK: no side of the global buffer is filled",
            Self::ResultOverwritten => "RD_ALL_BANK: its sum finds the result registers full",
            Self::ResultMissing => "RD_RESULT: the result registers are empty",
        })
    }
}
