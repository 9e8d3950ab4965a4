// SPDX-License-Identifier: MIT
//! How a command fails.

use crate::plain::{message, plain};
use pimlico_backends::BackendError;
use pimlico_device::DeviceError;
use pimlico_serving::error::ServingError;
use pimlico_workload::error::{ResidencyError, WorkloadError};

/// A failure, by exit status.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something that was checked does not hold.
    #[error("pimlico: {0}")]
    Check(String),
    /// Wrong usage, wrong input, or a file that cannot be written.
    #[error("pimlico: {0}")]
    Input(String),
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<ServingError> for Failure {
    fn from(error: ServingError) -> Self {
        match error {
            ServingError::Cost(error) => error.into(),
            error => Self::Input(error.to_string()),
        }
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Device(DeviceError::Wave(error)) => Self::Input(error.to_string()),
            WorkloadError::Device(error) => Self::Check(error.to_string()),
            WorkloadError::Check(error) => Self::Check(error),
            WorkloadError::Residency(error @ ResidencyError::Breach(_)) => {
                Self::Check(error.to_string())
            }
            error if error.is_wrong_program() => Self::Check(error.to_string()),
            error => Self::Input(error.to_string()),
        }
    }
}

impl Failure {
    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Self::Check(_) => 1,
            Self::Input(_) => 2,
        }
    }

    /// What standard error is told: what input is wrong in words that are not long, what was found by a check whole.
    pub fn shown(&self) -> String {
        match self {
            Self::Check(_) => plain(&self.to_string()).into_owned(),
            Self::Input(_) => message(&self.to_string()),
        }
    }

    /// A file that cannot be written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Input(format!("{}: {error}", path.display()))
    }

    /// Something that needs Verilator, in a build without this cargo feature.
    #[cfg(not(feature = "cosim"))]
    pub fn not_built(what: &str, feature: &str) -> Self {
        Self::Input(format!(
            "{what} needs the RTL: install Verilator 5.006 or later (apt-get install verilator) \
             and build with `cargo build --release --features pimlico/{feature}`"
        ))
    }
}
