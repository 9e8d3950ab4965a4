// SPDX-License-Identifier: MIT
//! How a trace is served on modules, and what became of it.

use super::plan::StageTime;
use crate::outcome::Run;
use std::ops::Range;

/// How a trace is served.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// Requests that are there at a time, where one comes when another ends.
    pub closed_loop: Option<u64>,
    /// Rounds of micro-batches that are kept for a picture, by their number.
    pub window: Range<u64>,
}

/// A micro-batch in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptStage {
    /// Number of the round among those of all micro-batches.
    pub round: u64,
    /// The micro-batch.
    pub batch: u64,
    /// The stage.
    pub stage: u64,
    /// When it begins.
    pub start: u64,
    /// Requests.
    pub requests: u64,
    /// Tokens of their contexts.
    pub tokens: u64,
    /// What its time goes to.
    pub time: StageTime,
}

/// What became of a trace.
#[derive(Clone, Debug, Default)]
pub struct PipelineRun {
    /// The rounds that were kept, each stage by stage.
    pub kept: Vec<KeptStage>,
    /// Requests, times and memory. Resources are the stages.
    pub run: Run,
    /// The middle of the run.
    pub steady: Steady,
    /// Time of all stages by what it went to.
    pub time: StageTime,
    /// Time of all stages, with live requests, in which they had nothing to do.
    pub bubble_ps: u64,
}

/// Figures between a quarter and three quarters of all tokens: without filling and draining.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steady {
    /// Tokens a second.
    pub tokens_per_s: f64,
    /// Mean of the live requests.
    pub batch: f64,
    /// Mean time between two tokens of a request, in ps.
    pub token_ps: f64,
}
