// SPDX-License-Identifier: MIT
//! A decoder layer of a model for one token, on synthetic data: qkv, attention of all heads, projection
//! and the feed-forward network.
//!
//! Ranks are independent. So each matrix, and each K and V head, is a *piece* that runs on a rank of its
//! own, just reset; pieces run side by side on the host's threads. What they cost does not depend on how
//! many there are: the report adds it up in the order of the pieces, as if one rank ran one behind the
//! other.

use crate::attention::{self, AttentionError};
use crate::data::{Distribution, Head, Shape};
use crate::decode::tally::{Cost, Kind};
use crate::driver::Driver;
use crate::fc;
use crate::gemv::{self, GemvError, Operands};
use crate::kv_cache::{self, HostPort, TransferError};
use crate::model::Model;
use crate::pins::PinLog;
use crate::report::{DecoderReport, JobReport, Load, Operator, Report, Stages, System};
use pimlico_device::data_bus::BEATS;
use pimlico_device::gemv::{IoBuffers, MatrixError, MatrixLayout};
use pimlico_device::mapping::{BURST, HeadLayout, LayoutError};
use pimlico_device::{CHIPS, Config, Rank, RankError, Statistics};
use pimlico_golden::pins::Violation;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name of the language model, for the report.
    pub model: String,
    /// Its shapes.
    pub shape: Model,
    /// Tokens whose K and V are in the device.
    pub context: usize,
    /// How the scores are distributed.
    pub distribution: Distribution,
    /// How the vectors of matrices come to the shared buffers.
    pub io_buffers: IoBuffers,
    /// Seed of the data.
    pub seed: u64,
    /// Threads of the host.
    pub threads: usize,
}

/// Why a layer cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
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
    Attention(#[from] AttentionError),
}

impl LayerError {
    /// What stopped the device, if that is what it was.
    pub fn rank(self) -> Result<RankError, Self> {
        match self {
            Self::Matrix { error: GemvError::Rank(error), .. }
            | Self::Attention(AttentionError::Rank(error)) => Ok(error),
            other => Err(other),
        }
    }
}

/// What runs on a rank of its own.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Matrix(Kind, MatrixLayout),
    /// A K and V head, by number.
    Head(usize),
}

/// What a piece did.
struct Outcome {
    cost: Cost,
    stages: Stages,
    load: Statistics,
    load_bytes: u64,
    violations: (u64, Vec<Violation>),
}

impl Job {
    /// The pieces, the longest first; what does not fit is found here, before any data are made.
    fn pieces(&self, config: &Config) -> Result<Vec<Piece>, LayerError> {
        let mut pieces = Vec::new();
        for fc::Shape { operator, rows, columns } in fc::shapes(&self.shape, 1, false) {
            let layout = MatrixLayout::new(config, rows, columns).map_err(of_matrix(operator))?;
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == operator);
            let kind = kind.unwrap_or_else(|| unreachable!("{operator} is an operator of a layer"));
            pieces.push(Piece::Matrix(kind, layout));
        }
        self.layout(config).map_err(AttentionError::from)?;
        let kv_heads = self.shape.heads / self.shape.group();
        pieces.extend((0..kv_heads).map(Piece::Head));
        Ok(pieces)
    }

    fn layout(&self, config: &Config) -> Result<HeadLayout, LayoutError> {
        HeadLayout::new(config, self.shape.head_dim, self.context, 0)
    }

    fn run(&self, piece: Piece, rank: Rank) -> Result<Outcome, LayerError> {
        match piece {
            Piece::Matrix(kind, layout) => self
                .run_matrix(kind, &layout, rank)
                .map_err(|error| LayerError::Matrix { operator: kind.name(), error }),
            Piece::Head(number) => Ok(self.run_head(number, rank)?),
        }
    }

    fn run_matrix(
        &self,
        kind: Kind,
        layout: &MatrixLayout,
        mut rank: Rank,
    ) -> Result<Outcome, GemvError> {
        let MatrixLayout { rows, columns, .. } = *layout;
        // Seeds of heads are this one's jumps; these are others.
        let seed = self.seed.wrapping_add(1 + kind as u64);
        let Operands { matrix, vector } = Operands::synthetic(rows, columns, seed);
        let pins = PinLog::of(&mut rank);
        let mut host = HostPort::new().map_err(TransferError::from)?;
        let load = gemv::load(&mut rank, &mut host, layout, &matrix)?;
        let mut driver = Driver::new();
        let (outputs, statistics) =
            gemv::multiply(&mut driver, &mut rank, layout, &vector, self.io_buffers)?;
        let error = gemv::error(&matrix, &vector, &outputs);
        Ok(Outcome {
            cost: Cost { statistics, macs: (rows * columns) as u64, error },
            stages: Stages::default(),
            load,
            load_bytes: (rows * columns.div_ceil(BURST) * BEATS * CHIPS) as u64,
            violations: pins.violations(rank.tck()),
        })
    }

    fn run_head(&self, number: usize, mut rank: Rank) -> Result<Outcome, AttentionError> {
        let Self { context, distribution, seed, .. } = *self;
        let (head_dim, group) = (self.shape.head_dim, self.shape.group());
        let shape = Shape { head_dim, context, group, distribution };
        let head = Head::synthetic(shape, seed, number);
        let layout = self.layout(rank.config())?;
        let pins = PinLog::of(&mut rank);
        let mut host = HostPort::new().map_err(TransferError::from)?;
        let (_, load) = host.transfer(&mut rank, kv_cache::writes(&layout, &head))?;
        let result = attention::run_head(&mut rank, &layout, &head.queries)?;
        let stages = attention::errors(&head, &result, rank.options().normalise);
        let macs = (2 * group * context * head_dim) as u64;
        Ok(Outcome {
            cost: Cost { statistics: result.statistics, macs, error: stages.output },
            stages,
            load,
            load_bytes: kv_cache::bytes(&layout),
            violations: pins.violations(rank.tck()),
        })
    }
}

fn of_matrix(operator: &'static str) -> impl Fn(MatrixError) -> LayerError {
    move |error| LayerError::Matrix { operator, error: error.into() }
}

/// Runs a job, each piece on a rank that `new_rank` makes. `progress` is told of pieces that are done, and
/// of how many there are.
pub fn run(
    config: &Config,
    job: &Job,
    new_rank: impl Fn() -> Rank + Sync,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Report, LayerError> {
    let pieces = job.pieces(config)?;
    let [next, done] = [const { AtomicUsize::new(0) }; 2];
    let outcomes: Vec<Mutex<Option<Result<Outcome, LayerError>>>> =
        pieces.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let Some((piece, outcome)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            pieces.get(number).zip(outcomes.get(number))
        } {
            let result = job.run(*piece, new_rank());
            if result.is_err() {
                next.store(pieces.len(), Ordering::Relaxed);
            }
            *outcome.lock().expect("nobody panics with it") = Some(result);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, pieces.len());
        }
    };
    thread::scope(|scope| {
        for _ in 1..job.threads.clamp(1, pieces.len()) {
            scope.spawn(work);
        }
        work();
    });

    let mut costs = [Cost::default(); Kind::ALL.len()];
    let mut stages = Stages::default();
    let (mut load, mut load_bytes) = (Statistics::default(), 0);
    let (mut violations, mut first) = (0, Vec::new());
    for (piece, outcome) in pieces.iter().zip(outcomes) {
        // Where a piece failed, others may not have been begun: the error is among those that were.
        let Some(outcome) = outcome.into_inner().expect("nobody panics with it") else { continue };
        let outcome = outcome?;
        let kind = match piece {
            Piece::Matrix(kind, _) => *kind,
            Piece::Head(_) => Kind::Attention,
        };
        costs[kind as usize] = costs[kind as usize].and(outcome.cost);
        stages = stages.worse(outcome.stages);
        load = load.and(outcome.load);
        load_bytes += outcome.load_bytes;
        violations += outcome.violations.0;
        first.extend(outcome.violations.1);
    }
    let operators = Kind::ALL.into_iter().filter(|&kind| kind != Kind::LmHead).map(|kind| {
        let Cost { statistics, macs, error } = costs[kind as usize];
        Operator::on_device(kind.name(), config, &statistics, macs, error)
    });
    let Model { heads, head_dim, hidden, ffn, .. } = job.shape;
    let layer = DecoderReport {
        model: job.model.clone(),
        context: job.context,
        heads,
        head_dim,
        group: job.shape.group(),
        hidden,
        ffn,
        distribution: job.distribution.name(),
        io_buffers: job.io_buffers.name(),
        stages,
    };
    let (load, operators) = (Load::new(config, &load, load_bytes), operators.collect());
    let (options, job_report) = (new_rank().options(), JobReport::Decoder(layer));
    let system = System::rank(config, options);
    let violations = (violations, first);
    Ok(Report::of_system(&system, violations, job_report, job.seed, load, operators))
}
