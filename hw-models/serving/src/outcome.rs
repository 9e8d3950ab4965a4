// SPDX-License-Identifier: MIT
//! What became of a run.

use crate::iteration::Iteration;
use crate::metrics::Served;
use crate::predict::Predictor;

/// What became of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What became of the requests that were served, by their number.
    pub served: Vec<(u32, Served)>,
    /// Requests that fit no replica.
    pub oom: Vec<u32>,
    /// When all was done.
    pub makespan_ps: u64,
    /// Tokens that were made.
    pub output_tokens: u64,
    /// Iterations of all replicas.
    pub iterations: u64,
    /// Tokens of prompts that were computed, again after a restart.
    pub prompt_tokens: u64,
    /// Prompts that were cut.
    pub chunked: u64,
    /// Requests that were sent back.
    pub preempted: u64,
    /// Time between tokens, and how many tokens had it.
    pub between: Vec<(u64, u64)>,
    /// For each resource how long it was busy, of all replicas.
    pub busy_ps: Vec<u64>,
    /// Time in iterations, of all replicas.
    pub iteration_ps: u64,
    /// Decoding requests, and the most of all replicas at once.
    pub batch: BatchSums,
    /// Energy in pJ, where all of it is known.
    pub energy_pj: Option<u128>,
    /// Bytes or rows of K and V that there are, that are used at the most, and used, in the sum over time.
    pub memory: (u64, u64, u128),
    /// Iterations that were kept: when they began, and their tasks.
    pub kept: Vec<(u64, Iteration)>,
    /// What the scheduler of the first replica has learned, where it was asked to.
    pub predictor: Option<Predictor>,
    /// Over the run: when, decoding requests, use of memory, tokens made so far.
    pub samples: Vec<Sample>,
}

/// Decoding requests over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchSums {
    /// Requests times the weight.
    pub requests: u128,
    /// Tokens of their contexts times the weight.
    pub tokens: u128,
    /// Iterations that decode, or the picoseconds in which requests are live.
    pub weight: u64,
    /// The most requests of all replicas together.
    pub most: u64,
}

/// The state of all replicas at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at_ps: u64,
    /// Live requests.
    pub live: u64,
    /// Used memory.
    pub used: u64,
    /// Tokens made so far.
    pub tokens: u64,
}
