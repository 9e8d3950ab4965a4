// SPDX-License-Identifier: MIT
//! Why nothing can be simulated.

use pimlico_device::aim::LayoutError;
use pimlico_host::allocator::AllocatorError;

/// Why nothing can be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BatchError {
    /// A number that must not be zero.
    #[error("{0}: expected 1 or more")]
    Zero(&'static str),
    /// A vector that a row does not hold.
    #[error("head dimension {head_dim}: a row of all banks holds {row_bytes} bytes")]
    HeadDim {
        /// Elements of a vector.
        head_dim: u64,
        /// Bytes of a row.
        row_bytes: u64,
    },
    /// Weights leave no room for a cache.
    #[error("the weights take {weights} rows of each rank, which has {rows}")]
    Weights {
        /// Rows of the weights.
        weights: u64,
        /// Rows of a rank.
        rows: u64,
    },
    /// The task has longer prompts than there may be requests.
    #[error(
        "a maximum of {max_context} tokens: {task} has prompts of up to {longest}, and more follow"
    )]
    Prompts {
        /// The task.
        task: &'static str,
        /// Its longest prompt.
        longest: u64,
        /// The limit.
        max_context: u64,
    },
    /// The mean of what follows a prompt is more than a request may have.
    #[error("{generate} tokens generated: a request has up to {max_context}")]
    Generate {
        /// The mean.
        generate: u64,
        /// The limit.
        max_context: u64,
    },
    /// The longest request does not fit.
    #[error(
        "a request of {max_context} tokens takes {wanted} rows of each rank; the weights leave {rows}"
    )]
    Request {
        /// Its tokens.
        max_context: u64,
        /// Its rows.
        wanted: u64,
        /// What there is.
        rows: u64,
    },
    /// Channels that are no whole modules.
    #[error("{channels} channels: expected modules of {module}")]
    Modules {
        /// Channels that there are.
        channels: u64,
        /// Those of a module.
        module: u64,
    },
    /// A head that a module has no room for.
    #[error(transparent)]
    Head(#[from] LayoutError),
    /// The allocator.
    #[error(transparent)]
    Allocator(#[from] AllocatorError),
}
