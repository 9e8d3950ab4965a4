// SPDX-License-Identifier: MIT
//! Why something cannot be served.

use pimlico_workload::error::WorkloadError;

/// Why something cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// A device's cost cannot be measured.
    #[error(transparent)]
    Cost(#[from] WorkloadError),
    /// A trace file.
    #[error("{file}:{line}: {what}")]
    Trace {
        /// Its name.
        file: String,
        /// The line, from 1 on.
        line: usize,
        /// The field, and what was expected.
        what: String,
    },
    /// A table of measured kernels.
    #[error("{file}: {what}")]
    File {
        /// Its name.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// Weights, or one request, have no room.
    #[error("{what} take {wanted} bytes; {of} have {there}")]
    NoRoom {
        /// What has none.
        what: String,
        /// Bytes that it takes.
        wanted: u64,
        /// In what.
        of: String,
        /// Bytes that there are.
        there: u64,
    },
    /// Numbers that do not go together.
    #[error("{0}")]
    Setup(String),
}

impl ServingError {
    /// Numbers that do not go together.
    pub fn setup(what: impl Into<String>) -> Self {
        Self::Setup(what.into())
    }
}
