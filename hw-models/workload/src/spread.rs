// SPDX-License-Identifier: MIT
//! Operators spread over the ranks of a device, on synthetic data.
//!
//! What a rank does of an operator are its *pieces*: a block of a matrix's rows, or a K and V head of a
//! request ([`crate::placement`]). A piece is made, written into a rank that has just been reset, run, judged
//! and dropped before the thread takes the next, so that there are never more data than threads have ranks.
//! What it costs and gives depends on nothing but the piece, and what it costs not even on its data: where
//! only the cost is asked for ([`How::timing_only`]), one of those that are alike is run for all of them.
//!
//! Pieces of a rank run one behind the other, ranks side by side ([`Ranks`]), operators one behind the other:
//! the next one needs the results of all ranks. An operator takes as long as its last rank.

use crate::attention::{self, AttentionError};
use crate::gemv::{self, GemvError, Synthetic};
use crate::host_pins::HostFound;
use crate::parallel;
use crate::pins::PinLog;
use crate::placement::{NoRoom, Placement};
use crate::report::{Error, JobReport, Load, OnRanks, Operator, Report, Stages, System};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Device, HostTransfer, Mdq, RankError, RankRun, Ranks, Statistics};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;
use pimlico_golden::pins::Violation;
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_model::data::{Distribution, Head, HeadShape};
use std::ops::Range;

/// An operator.
#[derive(Clone, Debug)]
pub enum Task {
    /// A matrix times a vector.
    Matrix {
        /// Its name in reports.
        operator: &'static str,
        /// Rows: outputs.
        rows: usize,
        /// Columns: inputs.
        columns: usize,
        /// Seed of the data.
        seed: u64,
    },
    /// Attention of some heads.
    Attention {
        /// Elements of a head's vectors.
        head_dim: usize,
        /// Query heads.
        heads: usize,
        /// Query heads that share K and V; the last K and V may have fewer.
        group: usize,
        /// Of each request, the tokens whose K and V are in the device.
        contexts: Vec<usize>,
        /// How the scores are distributed.
        distribution: Distribution,
        /// Seed of the data.
        seed: u64,
    },
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Self::Matrix { operator, .. } => operator,
            Self::Attention { .. } => "attention",
        }
    }

    /// Multiply-accumulates.
    fn macs(&self) -> u64 {
        match self {
            Self::Matrix { rows, columns, .. } => (rows * columns) as u64,
            Self::Attention { head_dim, heads, contexts, .. } => {
                (2 * heads * contexts.iter().sum::<usize>() * head_dim) as u64
            }
        }
    }
}

/// How a job is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// Threads of the host; results do not depend on them.
    pub threads: usize,
    /// Of pieces that are alike one is run: the same costs, and the errors of what was run.
    pub timing_only: bool,
}

/// On so many threads, all of it.
impl From<usize> for How {
    fn from(threads: usize) -> Self {
        Self { threads, timing_only: false }
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct SpreadJob {
    /// The operators, one after the other.
    pub tasks: Vec<Task>,
    /// Layers of these operators for which there must be room.
    pub layers: usize,
    /// How the vectors of matrices come to the shared buffers.
    pub io_buffers: IoBuffers,
    /// How it is run.
    pub how: How,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct SpreadOutcome {
    /// Each operator.
    pub operators: Vec<Operator>,
    /// Where the error of attention comes from; the worst of all heads.
    pub stages: Stages,
    /// Writing K, V and weights.
    pub load: Load,
    /// Rules of the DRAM that were broken at its pins, and the first of them.
    pub violations: (u64, Vec<Violation>),
    /// What was found at the pins of the host.
    pub host: HostFound,
    /// Bytes of the fullest rank that a layer takes, in whole rows of all banks.
    pub bytes_per_rank: u64,
    /// How many pieces were run, and how many there are, if not all were.
    pub sample: Option<(usize, usize)>,
}

impl SpreadOutcome {
    /// The report of a job that was spread.
    pub fn report(self, system: &System<'_>, job: JobReport, seed: u64) -> Report {
        let Self { violations, host, load, operators, sample, .. } = self;
        let mut report = Report::of_system(system, violations, job, seed, load, operators);
        report.host_pins = Some(host.into());
        if report.ranks.is_some_and(|ranks| ranks.share_mdq()) {
            report.notes.push(format!(
                "MDQ shared: bursts of a DIMM's ranks take turns, {} tCK (RTW_GAP) from rank to rank, and hold up what \
                 follows: an upper bound of contention, no model cycle by cycle",
                system.config.timing.rtw_gap_tck
            ));
        }
        if let Some((run, all)) = sample {
            report.notes.push(format!(
                "timing only: {run} of {all} pieces of work were run, one of each kind; the errors are theirs"
            ));
        }
        report
    }
}

/// Why operators cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SpreadError {
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
    /// Weights, K and V.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

impl SpreadError {
    /// What stopped the device, if that is what it was.
    pub fn rank(self) -> Result<RankError, Self> {
        match self {
            Self::Matrix { error: GemvError::Rank(error), .. }
            | Self::Attention(AttentionError::Rank(error)) => Ok(error),
            other => Err(other),
        }
    }
}

/// A part of an operator that runs on one rank.
struct Piece {
    task: usize,
    rank: usize,
    work: Work,
}

enum Work {
    /// Rows of a matrix.
    Rows { block: usize, layout: MatrixLayout },
    /// Query heads that share a K and V head, which has a number among those of all requests.
    Head { number: usize, group: usize, layout: HeadLayout },
}

impl Work {
    /// Elements that are made and written.
    fn elements(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => (layout.rows * layout.columns) as u64,
            Self::Head { layout, .. } => (2 * layout.context * layout.head_dim) as u64,
        }
    }

    /// Whether it costs the same as another.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rows { layout, .. }, Self::Rows { layout: other, .. }) => layout == other,
            (
                Self::Head { group, layout, .. },
                Self::Head { group: other_group, layout: other, .. },
            ) => (group, layout) == (other_group, other),
            _ => false,
        }
    }

    /// Rows of the banks that it takes.
    fn bank_rows(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => layout.bank_rows().len() as u64,
            Self::Head { layout, .. } => layout.end_row() as u64,
        }
    }
}

/// What a piece did.
struct Done {
    statistics: Statistics,
    transfers: Vec<HostTransfer>,
    /// When data were between buffer chip and chips, where ranks share the lines.
    mdq: Vec<Range<u64>>,
    load: (Statistics, u64),
    violations: (u64, Vec<Violation>),
    host: HostFound,
    result: Judged,
}

/// What it made, beside what is right.
enum Judged {
    Rows { outputs: Vec<u16>, expected: Vec<f64> },
    Head(Stages),
}

impl SpreadJob {
    /// The pieces, task by task and in a task rank by rank; what does not fit is found here, before any data
    /// are made.
    fn pieces(&self, ranks: &Ranks) -> Result<Vec<Piece>, SpreadError> {
        let placement = Placement::new(ranks.config(), ranks.topology());
        let mut pieces = Vec::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let of_task = self.of_task(task, ranks, placement)?;
            let piece = |(rank, work)| Piece { task: number, rank, work };
            pieces.extend(of_task.into_iter().map(piece));
        }
        Ok(pieces)
    }

    fn of_task(
        &self,
        task: &Task,
        ranks: &Ranks,
        placement: Placement,
    ) -> Result<Vec<(usize, Work)>, SpreadError> {
        match *task {
            Task::Matrix { operator, rows, columns, .. } => {
                let of_matrix = |error: pimlico_device::gemv::MatrixError| SpreadError::Matrix {
                    operator,
                    error: error.into(),
                };
                if rows == 0 {
                    MatrixLayout::new(ranks.config(), rows, columns).map_err(of_matrix)?;
                }
                let work = |(rank, rows): (usize, std::ops::Range<usize>)| {
                    let layout = MatrixLayout::new(ranks.config(), rows.len(), columns);
                    let layout = layout.map_err(of_matrix)?;
                    Ok((rank, Work::Rows { block: rank, layout }))
                };
                placement.of_rows(rows).map(work).collect()
            }
            Task::Attention { head_dim, heads, group, ref contexts, .. } => {
                let layouts = contexts.iter().map(|&context| {
                    HeadLayout::new(ranks.config(), head_dim, context, 0)
                        .map_err(AttentionError::from)
                });
                let layouts = layouts.collect::<Result<Vec<_>, _>>()?;
                let kv_heads = heads.div_ceil(group);
                let mut work = Vec::with_capacity(kv_heads * layouts.len());
                for kv_head in 0..kv_heads {
                    let group = group.min(heads - kv_head * group);
                    for (request, &layout) in layouts.iter().enumerate() {
                        let number = kv_head * layouts.len() + request;
                        let rank = placement.of_head(request, kv_head, kv_heads);
                        work.push((rank, Work::Head { number, group, layout }));
                    }
                }
                work.sort_by_key(|(rank, _)| *rank);
                Ok(work)
            }
        }
    }

    fn run(&self, piece: &Piece, ranks: &Ranks) -> Result<Done, SpreadError> {
        let mut rank = ranks.rank(piece.rank);
        let pins = PinLog::of(&mut *rank);
        if ranks.topology().mdq() == Mdq::Shared {
            pins.keep_bursts();
        }
        let watched = (rank, pins);
        match (&self.tasks[piece.task], &piece.work) {
            (&Task::Matrix { operator, seed, .. }, &Work::Rows { block, layout }) => {
                let data = Synthetic::block(layout.columns, seed, block);
                run_rows(watched, &layout, data, self.io_buffers)
                    .map_err(|error| SpreadError::Matrix { operator, error })
            }
            (
                &Task::Attention { head_dim, distribution, seed, .. },
                &Work::Head { number, group, layout },
            ) => {
                let shape = HeadShape { head_dim, context: layout.context, group, distribution };
                Ok(run_head(watched, &layout, &Head::synthetic(shape, seed, number))?)
            }
            _ => unreachable!("the work of a task is of its kind"),
        }
    }
}

/// A rank that has just been reset, and the checker at its pins.
type Watched = (Box<dyn Device>, PinLog);

fn run_rows(
    (mut rank, pins): Watched,
    layout: &MatrixLayout,
    data: Synthetic,
    io_buffers: IoBuffers,
) -> Result<Done, GemvError> {
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let block = gemv::block(&mut *rank, &mut host, layout, data, io_buffers, None)?;
    Ok(Done {
        statistics: block.cost,
        transfers: rank.take_transfers(),
        mdq: pins.bursts(rank.tck() - block.cost.cycles),
        load: (block.load, gemv::bytes(layout)),
        violations: pins.violations(rank.tck()),
        host: pins.host(rank.tck()).unwrap_or_default(),
        result: Judged::Rows { outputs: block.outputs, expected: block.expected },
    })
}

fn run_head(
    (mut rank, pins): Watched,
    layout: &HeadLayout,
    head: &Head,
) -> Result<Done, AttentionError> {
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let (_, load) = host.transfer(&mut *rank, kv_cache::writes(layout, head))?;
    let result = attention::run_head(&mut *rank, layout, &head.queries)?;
    let stages = attention::errors(head, &result, rank.options().normalise);
    Ok(Done {
        statistics: result.statistics,
        transfers: result.transfers,
        mdq: pins.bursts(rank.tck() - result.statistics.cycles),
        load: (load, kv_cache::bytes(layout)),
        violations: pins.violations(rank.tck()),
        host: pins.host(rank.tck()).unwrap_or_default(),
        result: Judged::Head(stages),
    })
}

/// Runs a job. `progress` is told how many elements of the matrices, K and V are done, and how many there
/// are.
pub fn run(
    ranks: &Ranks,
    job: &SpreadJob,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<SpreadOutcome, SpreadError> {
    let pieces = job.pieces(ranks)?;
    let mut bank_rows = vec![0u64; ranks.topology().count()];
    for Piece { rank, work, .. } in &pieces {
        bank_rows[*rank] += work.bank_rows();
    }
    let placement = Placement::new(ranks.config(), ranks.topology());
    placement.check_room(ranks.config(), &bank_rows, job.layers)?;

    let How { threads, timing_only } = job.how;
    let (to_run, of_piece) = if timing_only { kinds(&pieces) } else { each(&pieces) };
    let elements = |piece: &&Piece| piece.work.elements();
    let work = |piece: &&Piece| job.run(piece, ranks);
    let done = parallel::map(&to_run, threads, elements, work, progress)?;
    let sample = (to_run.len() < pieces.len()).then_some((to_run.len(), pieces.len()));
    let done: Vec<&Done> = of_piece.into_iter().map(|n| &done[n]).collect();

    let (mut violations, mut first) = (0, Vec::new());
    for &done in &done {
        violations += done.violations.0;
        first.extend(done.violations.1.iter().cloned());
    }
    let host = done.iter().fold(HostFound::default(), |all, done| all.and(&done.host));
    let mut stages = Stages::default();
    for Done { result, .. } in &done {
        if let Judged::Head(of_head) = result {
            stages = stages.worse(*of_head);
        }
    }
    let operator = |(number, task): (usize, &Task)| {
        let of_task = pieces.iter().zip(done.iter().copied());
        let of_task = of_task.filter(|(piece, _)| piece.task == number);
        operator(ranks, task, &of_task.collect::<Vec<_>>())
    };
    Ok(SpreadOutcome {
        operators: job.tasks.iter().enumerate().map(operator).collect(),
        stages,
        load: load(ranks, &pieces, &done),
        violations: (violations, first),
        host,
        bytes_per_rank: bank_rows.into_iter().max().unwrap_or(0)
            * crate::placement::row_bytes(ranks.config()),
        sample,
    })
}

/// All pieces, and of each piece its place among them.
fn each(pieces: &[Piece]) -> (Vec<&Piece>, Vec<usize>) {
    (pieces.iter().collect(), (0..pieces.len()).collect())
}

/// The first pieces of each kind, and of each piece the place of its kind among them.
fn kinds(pieces: &[Piece]) -> (Vec<&Piece>, Vec<usize>) {
    let mut kinds: Vec<&Piece> = Vec::new();
    let place = |piece| {
        let Piece { work, .. }: &Piece = piece;
        kinds.iter().position(|kind| kind.work.is_like(work)).unwrap_or_else(|| {
            kinds.push(piece);
            kinds.len() - 1
        })
    };
    let of_piece = pieces.iter().map(place).collect();
    (kinds, of_piece)
}

/// An operator, of what its pieces did, which are in the order of their ranks.
fn operator(ranks: &Ranks, task: &Task, done: &[(&Piece, &Done)]) -> Operator {
    let mut runs: Vec<RankRun> = Vec::new();
    for (piece, done) in done {
        let next = RankRun {
            rank: piece.rank,
            statistics: done.statistics,
            transfers: done.transfers.clone(),
            mdq: done.mdq.clone(),
        };
        match runs.last_mut().filter(|run| run.rank == piece.rank) {
            Some(run) => run.then(next),
            None => runs.push(next),
        }
    }
    let on_ranks = OnRanks::new(ranks, &runs);
    Operator::on_ranks(task.name(), ranks, &runs, on_ranks, task.macs(), error(done))
}

/// The error of a matrix's outputs together, or the worst of the heads.
fn error(done: &[(&Piece, &Done)]) -> Error {
    let (mut got, mut reference) = (Vec::new(), Vec::new());
    let mut worst = Stages::default();
    for (_, done) in done {
        match &done.result {
            Judged::Rows { outputs, expected } => {
                got.extend_from_slice(outputs);
                reference.extend_from_slice(expected);
            }
            Judged::Head(stages) => worst = worst.worse(*stages),
        }
    }
    if got.is_empty() {
        return worst.output;
    }
    ErrorReport::new(Format::BINARY16, &got, &reference).into()
}

/// Writing all pieces, on all channels.
fn load(ranks: &Ranks, pieces: &[Piece], done: &[&Done]) -> Load {
    let accesses = pieces.iter().zip(done).map(|(piece, done)| (piece.rank, done.load.0.cycles));
    let cycles = ranks.one_after_the_other(accesses);
    let all = done.iter().fold(Statistics::default(), |all, done| all.and(done.load.0));
    let bytes = done.iter().map(|done| done.load.1).sum();
    let load = Load::new(ranks.config(), &Statistics { cycles, ..all }, bytes);
    Load { bus: load.bus / ranks.topology().channels() as f64, ..load }
}
