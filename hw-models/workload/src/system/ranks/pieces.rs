// SPDX-License-Identifier: MIT
//! Pieces of work: each is made, run on a rank that has just been reset, or computed by one without time, and judged.

use crate::error::WorkloadError;
use crate::judge::Findings;
use crate::judge::Products;
use crate::judge::heads::{self, HeadJudgement};
use crate::judge::pins::{Clean, PinLog};
use crate::l3::attention::{self, AttentionError};
use crate::l3::gemv;
use crate::report::Verdict;
use crate::results::Attention;
use crate::task::AttentionTask;
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    Config, FunctionalRank, HostTransfer, KnownLaps, Mdq, RankDevice, Ranks, Statistics,
};
use pimlico_host::kv_cache::{self, HostPort, KnownStretches, TransferError};
use pimlico_model::data::{Head, Synthetic};
use std::ops::Range;

/// A part of an operator that runs on one rank.
pub struct Piece {
    /// The task, and the rank, by their numbers.
    pub task: usize,
    pub rank: usize,
    pub work: PieceWork,
}

/// What is done.
pub enum PieceWork {
    /// A block of the rows of a matrix.
    Rows { operator: &'static str, seed: u64, block: usize, layout: MatrixLayout },
    /// Query heads that share a K and V head, which has a number among those of all requests.
    Head { task: AttentionTask, number: usize, group: usize, layout: HeadLayout },
}

impl PieceWork {
    /// Elements that are made and written.
    pub fn elements(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => (layout.rows * layout.columns) as u64,
            Self::Head { layout, .. } => (2 * layout.context * layout.head_dim) as u64,
        }
    }

    /// Multiply-accumulates that it asks for, without padding.
    pub fn macs(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => (layout.rows * layout.columns) as u64,
            Self::Head { layout, group, .. } => {
                (2 * group * layout.context * layout.head_dim) as u64
            }
        }
    }

    /// Whether it costs the same as another.
    pub fn is_like(&self, other: &Self) -> bool {
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
    pub fn bank_rows(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => layout.bank_rows().len() as u64,
            Self::Head { layout, .. } => layout.end_row() as u64,
        }
    }

    /// Results that it makes and nobody computes.
    pub fn not_run(&self) -> PieceResult {
        match self {
            Self::Rows { layout, .. } => PieceResult::Nothing(Verdict::not_run(layout.rows)),
            Self::Head { layout, group, .. } => {
                let HeadLayout { context, head_dim, .. } = *layout;
                PieceResult::Head(Box::new(HeadJudgement::not_run(*group, context, head_dim)))
            }
        }
    }
}

/// What a piece cost.
pub struct PieceCost {
    /// The operator's part, and what of it crossed the channel.
    pub statistics: Statistics,
    pub transfers: Vec<HostTransfer>,
    /// When data were between buffer chip and chips, where ranks share the lines.
    pub mdq: Vec<Range<u64>>,
    /// Writing the piece, and its bytes.
    pub load: (Statistics, u64),
    /// Writing K and V of the last token once more, where that counts.
    pub append: Option<Statistics>,
    pub findings: Findings,
}

impl PieceCost {
    /// The same with the multiply-accumulates of its piece, which no port shows.
    pub fn asking_for(self, macs: u64) -> Self {
        Self { statistics: Statistics { macs, ..self.statistics }, ..self }
    }
}

/// Results of a piece, beside the right ones.
pub enum PieceResult {
    Rows(Products),
    Head(Box<HeadJudgement>),
    /// Of a matrix of which only the cost was asked for.
    Nothing(Verdict),
}

/// Makes a piece, runs it on a rank that has just been reset, and judges it.
pub fn run(
    ranks: &Ranks,
    piece: &Piece,
    io_buffers: IoBuffers,
) -> Result<(PieceCost, PieceResult), WorkloadError> {
    let watched = watched(ranks, piece);
    match &piece.work {
        PieceWork::Rows { operator, seed, block, layout } => {
            let data = Synthetic::block(layout.columns, *seed, *block);
            run_rows(watched, layout, data, io_buffers)
                .map_err(|error| WorkloadError::matrix(operator, error))
        }
        PieceWork::Head { task, number, group, layout } => {
            let data = HeadData::new(task, (*number, *group), layout);
            Ok(run_head(watched, task, layout, &data)?)
        }
    }
}

/// What pieces that run without data find and have in common.
#[derive(Debug, Default)]
pub struct Known {
    stretches: KnownStretches,
    clean: Clean,
    laps: KnownLaps,
}

/// Runs a piece on a rank that has just been reset, for its cost alone: without data.
pub fn time(
    ranks: &Ranks,
    piece: &Piece,
    io_buffers: IoBuffers,
    known: &Known,
) -> Result<PieceCost, WorkloadError> {
    let (mut rank, pins) = watched(ranks, piece);
    let pins = pins.sharing(known.clean.clone());
    rank.leave_data_out(&known.laps);
    let host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let mut host = host.knowing(known.stretches.clone());
    let (statistics, transfers, load, append) = match &piece.work {
        PieceWork::Rows { operator, layout, .. } => {
            let run = gemv::timing(&mut *rank, &mut host, layout, io_buffers);
            let [cost, load] = run.map_err(|error| WorkloadError::matrix(operator, error))?;
            (cost, rank.take_transfers(), (load, gemv::bytes(layout)), None)
        }
        PieceWork::Head { task, group, layout, .. } => {
            let head = Head::without_data(task.head_shape(*group, layout.context));
            let load = host.write(&mut *rank, kv_cache::strips(layout, &head))?;
            let append = append_last(&mut host, &mut *rank, task, layout, &head)?;
            let result = attention::run_head(&mut *rank, layout, &head.queries)?;
            (result.statistics, result.transfers, (load, kv_cache::bytes(layout)), append)
        }
    };
    Ok(PieceCost {
        statistics,
        transfers,
        mdq: pins.bursts(rank.tck() - statistics.cycles),
        load,
        append,
        findings: pins.findings(rank.tck()),
    })
}

/// A rank that has just been reset, and the checker at its pins.
type Watched = (Box<dyn RankDevice>, PinLog);

/// That of a piece.
fn watched(ranks: &Ranks, piece: &Piece) -> Watched {
    let mut rank = ranks.rank(piece.rank);
    let pins = PinLog::of(&mut *rank);
    if ranks.topology().mdq() == Mdq::Shared {
        pins.keep_bursts();
    }
    (rank, pins)
}

fn run_rows(
    (mut rank, pins): Watched,
    layout: &MatrixLayout,
    data: Synthetic,
    io_buffers: IoBuffers,
) -> Result<(PieceCost, PieceResult), gemv::GemvError> {
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let block = gemv::block(&mut *rank, &mut host, layout, data, io_buffers, None, &|_| {})?;
    let cost = PieceCost {
        statistics: block.cost,
        transfers: rank.take_transfers(),
        mdq: pins.bursts(rank.tck() - block.cost.cycles),
        load: (block.load, gemv::bytes(layout)),
        append: None,
        findings: pins.findings(rank.tck()),
    };
    Ok((cost, PieceResult::Rows(block.judged)))
}

/// K, V and queries of a piece, and the number of its first query head.
struct HeadData {
    head: Head,
    first: usize,
}

impl HeadData {
    fn new(task: &AttentionTask, (number, group): (usize, usize), layout: &HeadLayout) -> Self {
        let shape = task.head_shape(group, layout.context);
        let first = number / task.contexts.len() * task.group;
        Self { head: Head::synthetic(shape, task.seed, number), first }
    }

    fn judge(&self, result: &Attention) -> PieceResult {
        PieceResult::Head(Box::new(heads::judge(&self.head, result).from(self.first)))
    }
}

/// What a piece makes whose cost is known, by a rank without time that has just been reset.
pub fn compute(
    mut rank: FunctionalRank,
    config: &Config,
    piece: &Piece,
    io_buffers: IoBuffers,
) -> Result<PieceResult, WorkloadError> {
    match &piece.work {
        PieceWork::Rows { operator, seed, block, layout } => {
            let data = Synthetic::block(layout.columns, *seed, *block);
            let computed = gemv::computed(&mut rank, config, layout, data, io_buffers);
            computed.map(PieceResult::Rows).map_err(|error| WorkloadError::matrix(operator, error))
        }
        PieceWork::Head { task, number, group, layout } => {
            let data = HeadData::new(task, (*number, *group), layout);
            Ok(data.judge(&attention::computed(rank, layout, &data.head)?))
        }
    }
}

/// Runs query heads.
fn run_head(
    (mut rank, pins): Watched,
    task: &AttentionTask,
    layout: &HeadLayout,
    data: &HeadData,
) -> Result<(PieceCost, PieceResult), AttentionError> {
    let head = &data.head;
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let load = host.write(&mut *rank, kv_cache::strips(layout, head))?;
    let append = append_last(&mut host, &mut *rank, task, layout, head)?;
    let result = attention::run_head(&mut *rank, layout, &head.queries)?;
    let judged = data.judge(&result);
    let cost = PieceCost {
        statistics: result.statistics,
        transfers: result.transfers,
        mdq: pins.bursts(rank.tck() - result.statistics.cycles),
        load: (load, kv_cache::bytes(layout)),
        append,
        findings: pins.findings(rank.tck()),
    };
    Ok((cost, judged))
}

/// Adds K and V of a head's last token, where that counts: what it cost.
fn append_last(
    host: &mut HostPort,
    rank: &mut dyn RankDevice,
    task: &AttentionTask,
    layout: &HeadLayout,
    head: &Head,
) -> Result<Option<Statistics>, TransferError> {
    let add = || Ok(host.transfer(rank, kv_cache::appends(layout, head))?.1);
    task.appends.then(add).transpose()
}
