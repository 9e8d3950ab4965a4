// SPDX-License-Identifier: MIT
//! What ends a run of a module.

use pimlico_ports::Mismatch;

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

/// What ends a run of a module.
#[derive(Debug, thiserror::Error)]
pub enum AimError {
    /// RTL and model differ.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// The requests came in an order that the I/O buffers do not allow.
    #[error("hazard: {0}")]
    Hazard(Hazard),
    /// The waveform cannot be written.
    #[error("waveform: {0}")]
    Wave(#[from] std::io::Error),
}
