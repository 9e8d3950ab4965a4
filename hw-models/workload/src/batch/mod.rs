// SPDX-License-Identifier: MIT
//! How many requests fit: the average batch size under static and under lazy allocation (LoL-PIM
//! section 5.4).
//!
//! Memory is simulated, step by step, with the [`allocator`](pimlico_host::allocator); time is not.
//!
//! * **Rows.** Where K and V lie is a [`KvSpread`]: that of the layout which runs, or LoL-PIM's. K and V heads are spread
//!   evenly, so that one rank, channel or module, the fullest, tells of all. Weights lie in the same banks and come off
//!   first, by their bytes.
//! * **Requests.** There is always one waiting: it is memory, not the load, that limits the batch.
//!   Prompts have lengths from a normal distribution cut off at the task's minimum and maximum; how
//!   many tokens follow is uniform, from one to twice the mean. The KV cache of the prompt is there when
//!   a request is taken in (something else computes it); requests are taken in in their order.
//! * **A step** is a token for each live request: its cache grows by one token, and it leaves when it
//!   is done. Between steps newcomers are taken in as long as there is room.
//! * **Exhaustion.** Under lazy allocation a request may find no row to grow into. Then the one taken in
//!   last gives its rows back and waits, before all others, to be taken in again with what it has
//!   generated. The oldest is never sent away, so that all finish.
//!
//! The batch size is the number of live requests in a step, averaged over the steps after a warm-up.

mod arrivals;
mod error;
mod footprint;
mod layout;
mod simulation;
#[cfg(test)]
mod tests;

pub use error::BatchError;
pub use footprint::{Footprint, LONGBENCH, LongBenchTask, presets};
pub use layout::{KvSpread, rank_bytes};

use layout::Layout;
use pimlico_device::Config;
use pimlico_host::allocator::Policy;
use serde::{Deserialize, Serialize};
use simulation::simulate;

/// Bytes of an element of K, V and weights.
const ELEMENT_BYTES: u64 = 2;

/// What the paper claims of its average batch size, in percent more than under static allocation: "up
/// to".
pub const PAPER_INCREASE_PERCENT: f64 = 380.0;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// A rank or channel of the device.
    pub rank: &'a Config,
    /// How many of them.
    pub ranks: u64,
    /// Where K and V lie.
    pub spread: KvSpread,
    /// The language model.
    pub model: &'a Footprint,
    /// The prompts.
    pub task: LongBenchTask,
    /// Tokens of the longest request that static allocation provides for. No request becomes longer.
    pub max_context: u64,
    /// Mean of the tokens that follow a prompt.
    pub generate: u64,
    /// Rows of an allocator's chunk.
    pub chunk_rows: u32,
    /// Requests that finish, beside those of the warm-up.
    pub requests: u32,
    /// Seed of the requests.
    pub seed: u64,
}

/// What came of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct BatchOutcome {
    /// Average batch size.
    pub batch: f64,
    /// Share of the rows that weights leave which holds tokens.
    pub utilisation: f64,
    /// Average length of a live request in tokens.
    pub mean_tokens: f64,
    /// Requests that had to wait in the middle.
    pub preempted: u64,
    /// Entries of a rank's Va2Pa table written for each token generated.
    pub updates_per_token: f64,
}

/// Static and lazy allocation, compared on the same requests.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct BatchComparison {
    /// The static baseline.
    #[serde(rename = "static")]
    pub fixed: BatchOutcome,
    /// Lazy allocation.
    pub lazy: BatchOutcome,
    /// Rows of each bank that a request of the maximum takes.
    pub max_rows: u32,
    /// By how much the average batch grows, in percent.
    pub increase_percent: f64,
    /// The growth if requests had no rounding to rows and whole requests: what the lengths alone allow.
    pub lengths_percent: f64,
}

/// Compares the two policies.
pub fn compare(settings: &Settings<'_>) -> Result<BatchComparison, BatchError> {
    let layout = Layout::new(settings)?;
    let max_rows = layout.rows_for(settings.max_context);
    let fixed = simulate(settings, &layout, Policy::Static { max_rows })?;
    let lazy = simulate(settings, &layout, Policy::Lazy)?;
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    Ok(BatchComparison {
        increase_percent: percent(lazy.batch / fixed.batch),
        lengths_percent: percent(settings.max_context as f64 / lazy.mean_tokens),
        max_rows,
        fixed,
        lazy,
    })
}
