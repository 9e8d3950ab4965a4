// SPDX-License-Identifier: MIT
//! Attention of a layer's heads for one token that is being generated, head after head on one rank.
//!
//! For each head the host writes K and V through its memory controller, the device computes the scores,
//! the host their softmax (so far), the device the context.

use crate::data::Head;
use crate::kv_cache::{self, HostPort, TransferError};
use crate::pins::PinLog;
use crate::report::{self, Error, Load, Operator, Report, Total};
use crate::softmax::softmax;
use pimlico_device::mapping::{HeadLayout, LayoutError};
use pimlico_device::{Rank, RankError, Statistics, schedule};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;

/// What to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name of the language model, for the report.
    pub model: String,
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Heads.
    pub heads: usize,
    /// Tokens whose K and V are in the device.
    pub context: usize,
    /// Seed of the data.
    pub seed: u64,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum AttentionError {
    /// The head does not fit.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// K and V could not be written.
    #[error(transparent)]
    Transfer(TransferError),
    /// The device stopped.
    #[error(transparent)]
    Rank(#[from] RankError),
}

impl From<TransferError> for AttentionError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Rank(error) => Self::Rank(error),
            error => Self::Transfer(error),
        }
    }
}

/// What the device made of one head.
#[derive(Clone, Debug)]
pub struct HeadResult {
    /// Scores before scaling, in binary16.
    pub scores: Vec<u16>,
    /// Softmax weights, in binary16.
    pub weights: Vec<u16>,
    /// The head's output, in binary16.
    pub context: Vec<u16>,
    /// Cost of writing K and V.
    pub load_statistics: Statistics,
    /// Cost of the scores.
    pub score_statistics: Statistics,
    /// Cost of the context.
    pub context_statistics: Statistics,
}

/// Factor of the scores: 1 / sqrt(d_h).
pub fn scale(head_dim: usize) -> f64 {
    1.0 / (head_dim as f64).sqrt()
}

/// Runs one head.
pub fn run_head(
    rank: &mut Rank,
    host: &mut HostPort,
    head: &Head,
) -> Result<HeadResult, AttentionError> {
    let layout = HeadLayout::new(rank.config(), head.q.len(), head.k.len())?;
    let (_, load_statistics) = host.transfer(rank, kv_cache::writes(&layout, head))?;
    let (scores, score_statistics) = schedule::score(rank, &layout, &head.q)?;
    let weights = softmax(&scores, scale(layout.head_dim) as f32);
    let (context, context_statistics) = schedule::context(rank, &layout, &weights)?;
    Ok(HeadResult {
        scores,
        weights,
        context,
        load_statistics,
        score_statistics,
        context_statistics,
    })
}

/// Runs a job. `progress` is told after each head how many are done.
pub fn run(
    rank: &mut Rank,
    job: &Job,
    mut progress: impl FnMut(usize),
) -> Result<Report, AttentionError> {
    let layout = HeadLayout::new(rank.config(), job.head_dim, job.context)?; // before data are made
    let mut host = HostPort::new().map_err(TransferError::from)?;
    let pins = PinLog::of(rank);
    let mut costs = [Statistics::default(); 3];
    let [mut score, mut weights, mut context, mut output] = [Error::default(); 4];
    for number in 0..job.heads {
        let head = Head::synthetic(job.head_dim, job.context, job.seed, number);
        let result = run_head(rank, &mut host, &head)?;
        costs[0] = costs[0].and(result.score_statistics);
        costs[1] = costs[1].and(result.context_statistics);
        costs[2] = costs[2].and(result.load_statistics);
        let errors = errors(&head, &result);
        score = score.worse(errors[0]);
        weights = weights.worse(errors[1]);
        context = context.worse(errors[2]);
        output = output.worse(errors[3]);
        progress(number + 1);
    }

    let (violations, first) = pins.violations(rank.tck());
    let config = rank.config();
    let cycles = costs[0].cycles + costs[1].cycles;
    let macs = (job.heads * job.context * job.head_dim) as u64;
    Ok(Report {
        system: "l3".to_owned(),
        model: job.model.clone(),
        backend: String::new(),
        seed: job.seed,
        tck_ns: config.tck_ps as f64 / 1000.0,
        head_dim: job.head_dim,
        context: job.context,
        heads: job.heads,
        activation: rank.options().activation.name(),
        refresh: rank.options().refresh,
        mismatches: None,
        pin_violations: violations,
        first_violations: first.iter().map(ToString::to_string).collect(),
        load: Load::new(config, &costs[2], job.heads as u64 * kv_cache::bytes(&layout)),
        total: Total { cycles, ns: report::ns(config, cycles), energy_pj: None, error: output },
        operators: vec![
            Operator::on_device("score", config, &costs[0], macs, score),
            Operator::on_host("softmax", weights),
            Operator::on_device("context", config, &costs[1], macs, context),
        ],
        notes: vec![
            "softmax runs on the host: its time is not counted".to_owned(),
            "the total is without the time in which K and V were written".to_owned(),
        ],
    })
}

/// Errors of scores, weights and context, each against float64 of the same binary16 inputs, and of
/// the output against float64 of the head's K, V and Q.
fn errors(head: &Head, result: &HeadResult) -> [Error; 4] {
    use pimlico_golden::attention::{attention, context_from_weights, weights_from_scores};
    let format = Format::BINARY16;
    let scale = scale(head.q.len());
    let exact = attention(format, &head.q, &head.k, &head.v, scale);
    let weights = weights_from_scores(format, &result.scores, scale);
    let context = context_from_weights(format, &result.weights, &head.v);
    [
        ErrorReport::new(format, &result.scores, &exact.scores),
        ErrorReport::new(format, &result.weights, &weights),
        ErrorReport::new(format, &result.context, &context),
        ErrorReport::new(format, &result.context, &exact.context),
    ]
    .map(Error::from)
}
