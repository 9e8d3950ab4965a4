// SPDX-License-Identifier: MIT
//! Why an operator cannot be run.

use crate::host_memory::NoMemory;
use crate::l3::attention::AttentionError;
use crate::l3::gemv::GemvError;
use crate::placement::{NoRoom, NoRows};
use pimlico_device::aim::{self, LayoutError};
use pimlico_device::gemv::MatrixError;
use pimlico_device::lp5::Lp5LayoutError;
use pimlico_device::{ConfigError, DeviceError, mapping};
use pimlico_host::aim::{NoFreeRows, OwnProgramsError};
use pimlico_host::allocator::AllocatorError;
use pimlico_host::attribute::NoContiguous;
use pimlico_host::driver::DriverError;
use pimlico_host::kv_cache::TransferError;
use pimlico_host::lp5_image::ImageError;
use pimlico_model::checkpoint::tokenizer::EncodeError;
use pimlico_stream::setup::SetupError;
use pimlico_stream::source::SourceError;

/// Why an operator cannot be run, on whatever system.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A matrix.
    #[error("{operator}: {error}")]
    Matrix {
        /// Of which operator.
        operator: &'static str,
        /// Why.
        error: GemvError,
    },
    /// A head.
    #[error("attention: {0}")]
    Attention(AttentionError),
    /// Weights, K and V.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The same, on a module of AiM channels.
    #[error(transparent)]
    NoRows(#[from] NoRows),
    /// The banks of a module are full.
    #[error(transparent)]
    NoFreeRows(#[from] NoFreeRows),
    /// This machine has too little memory.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// A head or a matrix does not fit a module of AiM channels.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A matrix does not fit LPDDR5X-PIM.
    #[error(transparent)]
    Lp5Layout(#[from] Lp5LayoutError),
    /// Weights have no contiguous memory.
    #[error("--cma: {0}")]
    NoContiguous(#[from] NoContiguous),
    /// A system has no such operator.
    #[error("{operator}: not built on {system}")]
    NotBuilt {
        /// The operator.
        operator: &'static str,
        /// The system.
        system: &'static str,
    },
    /// Programs of a user's own are not those of the operator.
    #[error(transparent)]
    OwnPrograms(#[from] OwnProgramsError),
    /// A check of the run does not hold: no input is at fault.
    #[error("{0}")]
    Check(String),
    /// Decoding text.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Copying matrices.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Streaming layers into the banks.
    #[error(transparent)]
    Residency(#[from] ResidencyError),
    /// Weights, K or V could not be written.
    #[error(transparent)]
    Transfer(TransferError),
    /// The device cannot be what the configuration says.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The device stopped.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl WorkloadError {
    /// Of the matrix of an operator.
    pub fn matrix(operator: &'static str, error: impl Into<GemvError>) -> Self {
        match error.into() {
            GemvError::Rank(error) => Self::Device(error),
            error => Self::Matrix { operator, error },
        }
    }

    /// Whether a program made other results than its operator has: no input is at fault, the program is.
    pub fn is_wrong_program(&self) -> bool {
        let driver = match self {
            Self::Matrix { error: GemvError::Driver(error), .. } => error,
            Self::Attention(AttentionError::Driver(error)) => error,
            _ => return false,
        };
        matches!(driver, DriverError::Results { .. })
    }
}

impl From<AttentionError> for WorkloadError {
    fn from(error: AttentionError) -> Self {
        match error {
            AttentionError::Rank(error) => Self::Device(error),
            AttentionError::NoRoom(error) => Self::NoRoom(error),
            error => Self::Attention(error),
        }
    }
}

impl From<TransferError> for WorkloadError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Rank(error) => Self::Device(error),
            error => Self::Transfer(error),
        }
    }
}

impl From<AllocatorError> for WorkloadError {
    fn from(error: AllocatorError) -> Self {
        Self::Residency(error.into())
    }
}

/// Why a matrix cannot be copied in LPDDR5X-PIM.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// Rows of all banks are not contiguous.
    #[error("address map \"{0}\": expected all bits of the row above all others")]
    Map(String),
    /// Bursts of the copy would be stored an element at a time.
    #[error("row-major order: expected stores that are not non-temporal, which are whole bursts")]
    Target,
    /// A burst of the copy would be stored in parts.
    #[error(
        "{name} of {rows} rows: expected a multiple of 16, as stores past the cache are whole bursts"
    )]
    Rows {
        /// Name of the matrix.
        name: String,
        /// Its rows.
        rows: u64,
    },
}

/// Why layers cannot be streamed into the banks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResidencyError {
    /// The system is another one, or has one rank.
    #[error("layers are streamed into the banks of two ranks or more of l3")]
    System,
    /// The limit is below the least.
    #[error(
        "limit of {limit} rows of the banks: this model needs {} (K, V and the head {kept}, {what} {layers})",
        kept + layers
    )]
    Rows {
        /// As given.
        limit: u64,
        /// Rows that stay for the whole run.
        kept: u64,
        /// Rows of layers that have to be there together.
        layers: u64,
        /// Which those are.
        what: &'static str,
    },
    /// Loaders, or pinned layers.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Rows of a rank.
    #[error("rows of a rank's banks: {0}")]
    Allocator(#[from] AllocatorError),
    /// The file.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A checker has found something.
    #[error("streaming layers: {0}")]
    Breach(String),
}

/// Why decoding failed.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The prompt.
    #[error("prompt: {0}")]
    Prompt(#[from] EncodeError),
    /// Prompt and text are longer than the model is made for.
    #[error(
        "{prompt} tokens of the prompt and {tokens} to decode: expected 1 or more to decode and at \
         most {limit} together, the model's context"
    )]
    Context {
        /// Tokens of the prompt, with the one that begins it.
        prompt: usize,
        /// Tokens to decode.
        tokens: usize,
        /// The model's context.
        limit: usize,
    },
    /// A matrix does not fit.
    #[error("{name}: {error}")]
    Matrix {
        /// Which.
        name: String,
        /// Why.
        error: Room,
    },
    /// K and V do not fit.
    #[error("K and V: {0}")]
    Layout(Room),
    /// A matrix does not fit LPDDR5X-PIM.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// K and V do not fit LPDDR5X-PIM.
    #[error("K and V of {tokens} tokens: they take {wanted} rows of each bank, there are {there}")]
    Rows {
        /// Tokens.
        tokens: usize,
        /// Rows of each bank that they take.
        wanted: u64,
        /// Rows that are left for them.
        there: u64,
    },
    /// The prompt cannot be taken by the host.
    #[error("prefill: {0}")]
    Prefill(String),
    /// A weight.
    #[error(
        "{name}, row {row}, column {column}: weight {weight}, expected one that {format} holds"
    )]
    Weight {
        /// Of which matrix.
        name: String,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// The weight.
        weight: f32,
        /// The format of the device's elements.
        format: &'static str,
    },
}

/// Why something does not fit the banks.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub enum Room {
    /// A matrix, on a rank.
    Matrix(MatrixError),
    /// K and V, on a rank.
    Head(mapping::HeadLayoutError),
    /// Either, on a module of AiM channels.
    Module(aim::LayoutError),
}
