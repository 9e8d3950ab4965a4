// SPDX-License-Identifier: MIT
//! How many requests fit: the average batch size under static and under lazy allocation (LoL-PIM
//! section 5.4).
//!
//! What is simulated is memory, step by step, with the [`allocator`](pimlico_host::allocator); no time.
//!
//! * **Rows.** A *stream* is K or V of one KV head of one layer. Streams are spread evenly over the
//!   ranks, and a stream stays in its rank, in rows of its own that go through all banks. So one rank,
//!   the fullest, tells of all. Weights lie in the same banks and come off first.
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

use pimlico_device::Config;
use pimlico_host::allocator::{Allocator, AllocatorError, Policy, RequestId};
use rand_distr::{Distribution, Normal, Uniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of an element of K, V and weights.
const ELEMENT_BYTES: u64 = 2;

/// What the paper claims of its average batch size, in percent more than under static allocation: "up
/// to".
pub const PAPER_INCREASE_PERCENT: f64 = 380.0;

/// What a language model's KV cache and weights take up.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// Decoder layers.
    pub layers: u64,
    /// Heads of a layer that have K and V of their own.
    pub kv_heads: u64,
    /// Elements of a head's vectors.
    pub head_dim: u64,
    /// Tokens of the longest context.
    pub max_context: u64,
    /// Parameters in millions.
    pub parameters_m: u64,
}

/// The built-in models by name.
pub fn presets() -> BTreeMap<String, Footprint> {
    toml::from_str(include_str!("../presets/serving.toml")).expect("tested below")
}

impl Footprint {
    /// K and V of every KV head.
    fn streams(&self) -> u64 {
        2 * self.layers * self.kv_heads
    }

    fn weight_bytes(&self) -> u64 {
        self.parameters_m * 1_000_000 * ELEMENT_BYTES
    }
}

/// Lengths of a task's prompts in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongBenchTask {
    /// Name of the task.
    pub name: &'static str,
    /// Mean of the normal distribution.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
    /// No prompt is shorter.
    pub min: u64,
    /// No prompt is longer.
    pub max: u64,
}

/// Tasks of LongBench, after LoL-PIM's Table 2.
pub const LONGBENCH: [LongBenchTask; 3] = [
    LongBenchTask { name: "qmsum", mean: 13966.0, deviation: 6182.0, min: 2651, max: 30456 },
    LongBenchTask { name: "hotpotqa", mean: 13465.0, deviation: 3921.0, min: 1917, max: 17674 },
    LongBenchTask { name: "musique", mean: 16362.0, deviation: 1651.0, min: 6820, max: 17917 },
];

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// A rank or channel of the device.
    pub rank: &'a Config,
    /// How many of them.
    pub ranks: u64,
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
    /// The allocator.
    #[error(transparent)]
    Allocator(#[from] AllocatorError),
}

/// What came of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BatchComparison {
    /// The static baseline.
    #[serde(rename = "static")]
    pub fixed: BatchOutcome,
    /// Lazy allocation.
    pub lazy: BatchOutcome,
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
        fixed,
        lazy,
    })
}

/// Where a rank's rows go.
struct Layout {
    /// Rows that the weights leave.
    rows: u32,
    /// Tokens of a stream in a row.
    tokens_per_row: u64,
    /// Streams in the fullest rank.
    streams: u64,
}

impl Layout {
    fn new(settings: &Settings<'_>) -> Result<Self, BatchError> {
        let Settings { rank, ranks, model, task, max_context, generate, chunk_rows, .. } =
            *settings;
        for (what, number) in [
            ("ranks", ranks),
            ("tokens generated", generate),
            ("requests", settings.requests.into()),
            ("layers", model.layers),
            ("KV heads", model.kv_heads),
            ("head dimension", model.head_dim),
        ] {
            if number == 0 {
                return Err(BatchError::Zero(what));
            }
        }
        if generate > max_context {
            return Err(BatchError::Generate { generate, max_context });
        }
        if task.max >= max_context {
            let LongBenchTask { name, max: longest, .. } = task;
            return Err(BatchError::Prompts { task: name, longest, max_context });
        }
        let organisation = &rank.organisation;
        let row_bytes = row_bytes(rank);
        let tokens_per_row = row_bytes / (model.head_dim * ELEMENT_BYTES);
        if tokens_per_row == 0 {
            return Err(BatchError::HeadDim { head_dim: model.head_dim, row_bytes });
        }
        let weights = model.weight_bytes().div_ceil(ranks).div_ceil(row_bytes);
        let rows = organisation.rows as u64;
        let left = rows.checked_sub(weights).filter(|left| *left > 0);
        let left = left.ok_or(BatchError::Weights { weights, rows })?;
        let streams = model.streams().div_ceil(ranks);
        let wanted = streams.saturating_mul(max_context.div_ceil(tokens_per_row));
        let chunk_rows = u64::from(chunk_rows.max(1));
        let wanted = wanted.div_ceil(chunk_rows).saturating_mul(chunk_rows);
        if wanted > left {
            return Err(BatchError::Request { max_context, wanted, rows: left });
        }
        Ok(Self { rows: left as u32, tokens_per_row, streams })
    }

    /// Rows of a request in a rank.
    fn rows_for(&self, tokens: u64) -> u32 {
        // For no request more than the rank has: that was checked for the longest.
        (self.streams * tokens.div_ceil(self.tokens_per_row)) as u32
    }
}

/// Bytes of a row that goes through all banks of a rank.
fn row_bytes(rank: &Config) -> u64 {
    let organisation = &rank.organisation;
    (rank.banks() * organisation.chips * organisation.page_bytes) as u64
}

/// Bytes of a rank.
pub fn rank_bytes(rank: &Config) -> u64 {
    row_bytes(rank) * rank.organisation.rows as u64
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Request {
    id: RequestId,
    /// Tokens that its cache holds.
    tokens: u64,
    /// Tokens with which it is done.
    end: u64,
}

/// The endless stream of requests.
struct Arrivals {
    random: Xoshiro256PlusPlus,
    prompt: Normal<f64>,
    generate: Uniform<u64>,
    task: LongBenchTask,
    max_context: u64,
    next: u32,
}

impl Arrivals {
    fn new(settings: &Settings<'_>) -> Self {
        let Settings { task, max_context, generate, seed, .. } = *settings;
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            prompt: Normal::new(task.mean, task.deviation).expect("a task's deviation is finite"),
            generate: Uniform::new_inclusive(1, 2 * generate - 1).expect("checked not to be empty"),
            task,
            max_context,
            next: 0,
        }
    }
}

impl Iterator for Arrivals {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let range = self.task.min..=self.task.max;
        let tokens = loop {
            let length = self.prompt.sample(&mut self.random).round();
            if length >= 0.0 && range.contains(&(length as u64)) {
                break length as u64;
            }
        };
        let end = (tokens + self.generate.sample(&mut self.random)).min(self.max_context);
        let id = RequestId(self.next);
        self.next += 1;
        Some(Request { id, tokens, end })
    }
}

/// Sums over the steps that count.
#[derive(Default)]
struct Sums {
    steps: u64,
    live: u64,
    tokens: u64,
    generated: u64,
    updates: u64,
    preempted: u64,
}

fn simulate(
    settings: &Settings<'_>,
    layout: &Layout,
    policy: Policy,
) -> Result<BatchOutcome, BatchError> {
    let mut allocator = Allocator::new(layout.rows, settings.chunk_rows, policy)?;
    let mut arrivals = Arrivals::new(settings);
    let mut waiting = VecDeque::new();
    // The oldest first.
    let mut live: Vec<Request> = Vec::new();
    let warm_up = u64::from(settings.requests) / 4 + 1;
    let mut finished = 0;
    let mut sums = Sums::default();

    while finished < warm_up + u64::from(settings.requests) {
        loop {
            let newcomer = waiting.pop_front().or_else(|| arrivals.next());
            let newcomer: Request = newcomer.expect("arrivals do not end");
            match allocator.admit(newcomer.id, layout.rows_for(newcomer.tokens)) {
                Ok(updates) => {
                    sums.updates += updates.len() as u64;
                    live.push(newcomer);
                }
                Err(AllocatorError::Exhausted { .. }) => {
                    waiting.push_front(newcomer);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if finished < warm_up {
            sums = Sums::default();
        }
        sums.steps += 1;
        sums.live += live.len() as u64;
        sums.tokens += live.iter().map(|request| request.tokens).sum::<u64>();

        let mut i = 0;
        while i < live.len() {
            let Request { id, tokens, .. } = live[i];
            match allocator.grow(id, layout.rows_for(tokens + 1)) {
                Ok(updates) => {
                    sums.updates += updates.len() as u64;
                    sums.generated += 1;
                    live[i].tokens += 1;
                    i += 1;
                }
                Err(AllocatorError::Exhausted { .. }) => {
                    let newest = live.pop().expect("the one that grows is live");
                    sums.updates += allocator.finish(newest.id)?.len() as u64;
                    sums.preempted += 1;
                    waiting.push_front(newest);
                }
                Err(error) => return Err(error.into()),
            }
        }
        for request in live.extract_if(.., |request| request.tokens >= request.end) {
            sums.updates += allocator.finish(request.id)?.len() as u64;
            finished += 1;
        }
    }

    let Sums { steps, live, tokens, generated, updates, preempted } = sums;
    let held = layout.streams * tokens;
    let room = u64::from(layout.rows) * layout.tokens_per_row * steps;
    Ok(BatchOutcome {
        batch: live as f64 / steps as f64,
        utilisation: held as f64 / room as f64,
        mean_tokens: tokens as f64 / live as f64,
        preempted,
        updates_per_token: updates as f64 / generated as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings<'a>(rank: &'a Config, model: &'a Footprint, max_context: u64) -> Settings<'a> {
        Settings {
            rank,
            ranks: 256,
            model,
            task: LONGBENCH[0],
            max_context,
            generate: 256,
            chunk_rows: 1,
            requests: 300,
            seed: 1,
        }
    }

    #[test]
    fn presets_are_those_of_the_paper() {
        let presets = presets();
        let per_token = |name: &str| presets[name].streams() * presets[name].head_dim * 2;
        assert_eq!(per_token("qwen1.5-7b"), 512 << 10);
        assert_eq!(per_token("llama3.1-8b"), 128 << 10);
        assert_eq!(rank_bytes(&Config::gddr6_aim()), 512 << 20);
        assert_eq!(rank_bytes(&Config::ddr4_3200()), 8 << 30);
    }

    #[test]
    fn prompts_keep_to_the_limits_of_their_task() {
        let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
        for task in LONGBENCH {
            let arrivals = Arrivals::new(&Settings { task, ..settings(&rank, model, 32768) });
            let prompts: Vec<u64> = arrivals.take(10_000).map(|request| request.tokens).collect();
            assert!(prompts.iter().all(|length| (task.min..=task.max).contains(length)));
            let mean = prompts.iter().sum::<u64>() as f64 / 10_000.0;
            assert!((mean / task.mean - 1.0).abs() < 0.1, "{}: {mean}", task.name);
        }
    }

    #[test]
    fn static_allocation_holds_whole_maxima_and_lazy_fills_the_rows() {
        let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
        let settings = settings(&rank, model, 32768);
        let layout = Layout::new(&settings).expect("it fits");
        // 32 layers x 32 heads x K and V over 256 channels: 8 streams; 128 tokens in a row.
        assert_eq!((layout.streams, layout.tokens_per_row, layout.rows_for(129)), (8, 128, 16));
        let comparison = compare(&settings).expect("it fits");
        let BatchComparison { fixed, lazy, .. } = comparison;
        assert_eq!(fixed.batch, f64::from(layout.rows / layout.rows_for(32768)));
        assert_eq!(fixed.preempted, 0);
        assert!(fixed.utilisation < 0.5 && lazy.utilisation > 0.9, "{comparison:?}");
        // Every token is somewhere: batch and length give the utilisation.
        for outcome in [fixed, lazy] {
            let tokens = outcome.batch * outcome.mean_tokens * 8.0;
            let share = tokens / (f64::from(layout.rows) * 128.0);
            assert!((share / outcome.utilisation - 1.0).abs() < 1e-9);
        }
        assert!((100.0..150.0).contains(&comparison.increase_percent), "{comparison:?}");
    }

    #[test]
    fn a_seed_reproduces_its_comparison() {
        let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
        let with = |seed| compare(&Settings { seed, ..settings(&rank, model, 32768) });
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }

    #[test]
    fn requests_that_outgrow_the_device_wait_and_finish() {
        let (rank, model) = (Config::gddr6_aim(), &presets()["qwen1.5-7b"]);
        let task =
            LongBenchTask { name: "short", mean: 500.0, deviation: 100.0, min: 1, max: 1000 };
        let long =
            Settings { task, generate: 10_000, requests: 50, ..settings(&rank, model, 32768) };
        let comparison = compare(&long).expect("it fits");
        assert!(comparison.lazy.preempted > 0, "{comparison:?}");
        assert_eq!(comparison.fixed.preempted, 0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let rank = Config::gddr6_aim();
        let models = presets();
        let [small, big] = ["qwen1.5-7b", "qwen1.5-72b"].map(|name| &models[name]);
        let base = settings(&rank, small, 32768);
        let error = |settings: Settings<'_>| compare(&settings).expect_err("it does not fit");
        assert_eq!(error(Settings { ranks: 0, ..base.clone() }), BatchError::Zero("ranks"));
        let prompts = error(Settings { max_context: 30000, ..base.clone() });
        assert!(matches!(prompts, BatchError::Prompts { longest: 30456, .. }));
        assert!(matches!(
            error(Settings { model: big, ..base.clone() }),
            BatchError::Weights { .. }
        ));
        let request = error(Settings { max_context: 1 << 20, ..base.clone() });
        assert!(matches!(request, BatchError::Request { .. }));
        let chunk = error(Settings { chunk_rows: 0, ..base });
        assert!(matches!(chunk, BatchError::Allocator(AllocatorError::ChunkRows { .. })));
    }
}
