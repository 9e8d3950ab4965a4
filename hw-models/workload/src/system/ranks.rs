// SPDX-License-Identifier: MIT
//! The ranks of a device.
//!
//! What a rank does of a task are its *pieces*: a block of a matrix's rows, or a K and V head of a
//! request ([`crate::placement`]). A piece is made, written into a rank that has just been reset, run, judged
//! and dropped before the thread takes the next, so that there are never more data than threads have ranks.
//! Its results depend only on the piece, and its cost not even on the piece's data. So one of those that are alike is run
//! for all of them where only the cost is asked for ([`How::timing_only`]), without data unless these are
//! wanted ([`How::with_data`]); and where the results of the others are wanted too, a rank without time may compute
//! them ([`How::functional`]).
//!
//! Pieces of a rank run one after the other, ranks side by side ([`Ranks`]), tasks one after the other:
//! the next one needs the results of all ranks. A task takes as long as its last rank.

use super::System;
use super::rank::{padding_notes, score_buffer};
use crate::error::{ResidencyError, WorkloadError};
use crate::host_memory;
use crate::judge::Findings;
use crate::judge::Products;
use crate::judge::heads::{self, HeadJudgement};
use crate::judge::pins::{CleanStretches, PinLog};
use crate::l3::attention::{self, AttentionError};
use crate::l3::gemv;
use crate::machine::{InTurns, LayerBanks, Machine, OnRanks, Resident};
use crate::outcome::Outcome;
use crate::parallel;
use crate::placement::{self, Placement};
use crate::report::{self, Load, OperatorReport, ScoreBuffer, Spread, Stages, Verdict};
use crate::results::Attention;
use crate::task::Progress;
use crate::task::{AttentionTask, MatrixTask, Task, TaskPlan};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    Config, FunctionalRank, HostTransfer, Mdq, Options, RankDevice, RankRun, Ranks, Statistics,
};
use pimlico_host::kv_cache::{self, HostPort, KnownStretches, TransferError};
use pimlico_model::data::{Head, Synthetic};
use std::ops::Range;

/// How pieces are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// Threads of the host; results do not depend on them.
    pub threads: usize,
    /// Of pieces that are alike one is run, and without data: the same costs, and no results.
    pub timing_only: bool,
    /// What is run with `timing_only` has data all the same, and is judged.
    pub with_data: bool,
    /// Of those that are alike one is run, and a [`FunctionalRank`] computes the others: the same costs, and the same results.
    pub functional: bool,
}

impl How {
    /// The note on results that were not judged, where only some of all pieces were run.
    fn note(self, run: usize, all: usize) -> Option<String> {
        let pieces =
            format!("timing only: {run} of {all} pieces of work were run, one of each kind");
        match (self.timing_only, self.with_data) {
            (true, false) => Some(format!("{pieces}, and without data: no result is judged")),
            (true, true) if run < all => Some(format!(
                "{pieces}; the errors are theirs, and no result of the others is judged"
            )),
            _ => None,
        }
    }
}

/// On so many threads, all of it by the device.
impl From<usize> for How {
    fn from(threads: usize) -> Self {
        Self { threads, timing_only: false, with_data: true, functional: false }
    }
}

/// The ranks of a device.
pub struct ManyRanks<'a> {
    ranks: &'a Ranks<'a>,
    options: Options,
    how: How,
    /// Ranks in which a model stays.
    resident: Vec<Box<dyn RankDevice>>,
}

/// A part of an operator that runs on one rank.
struct Piece {
    task: usize,
    rank: usize,
    work: Work,
}

enum Work {
    /// A block of the rows of a matrix.
    Rows { operator: &'static str, seed: u64, block: usize, layout: MatrixLayout },
    /// Query heads that share a K and V head, which has a number among those of all requests.
    Head { task: AttentionTask, number: usize, group: usize, layout: HeadLayout },
}

impl Work {
    /// Elements that are made and written.
    fn elements(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => (layout.rows * layout.columns) as u64,
            Self::Head { layout, .. } => (2 * layout.context * layout.head_dim) as u64,
        }
    }

    /// Multiply-accumulates that it asks for, without padding.
    fn macs(&self) -> u64 {
        match self {
            Self::Rows { layout, .. } => (layout.rows * layout.columns) as u64,
            Self::Head { layout, group, .. } => {
                (2 * group * layout.context * layout.head_dim) as u64
            }
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

    /// Results that it makes and nobody computes.
    fn not_run(&self) -> Judged {
        match self {
            Self::Rows { layout, .. } => Judged::Nothing(Verdict::not_run(layout.rows)),
            Self::Head { layout, group, .. } => {
                let HeadLayout { context, head_dim, .. } = *layout;
                Judged::Head(Box::new(HeadJudgement::not_run(*group, context, head_dim)))
            }
        }
    }
}

/// What a piece cost.
struct Cost {
    statistics: Statistics,
    transfers: Vec<HostTransfer>,
    /// When data were between buffer chip and chips, where ranks share the lines.
    mdq: Vec<Range<u64>>,
    load: (Statistics, u64),
    /// Writing K and V of the last token once more, where that counts.
    append: Option<Statistics>,
    findings: Findings,
}

impl Cost {
    /// The same with the multiply-accumulates of its piece, which no port shows.
    fn asking_for(self, macs: u64) -> Self {
        Self { statistics: Statistics { macs, ..self.statistics }, ..self }
    }
}

/// What was done of a piece: its cost, if that was not known of another, and its results.
type Done = (Option<Cost>, Judged);

/// A piece, what it cost, and its results.
#[derive(Clone, Copy)]
struct Ran<'a> {
    piece: &'a Piece,
    cost: &'a Cost,
    result: &'a Judged,
}

/// Results of a piece, beside the right ones.
enum Judged {
    Rows(Products),
    Head(Box<HeadJudgement>),
    /// Of a matrix of which only the cost was asked for.
    Nothing(Verdict),
}

impl<'a> ManyRanks<'a> {
    /// Ranks that work as `options` say.
    pub fn new(ranks: &'a Ranks<'a>, options: Options, how: impl Into<How>) -> Self {
        Self { ranks, options, how: how.into(), resident: Vec::new() }
    }

    fn placement(&self) -> Placement {
        Placement::new(self.ranks.config(), self.ranks.topology())
    }

    /// The pieces, task by task and in a task rank by rank; what does not fit is found here, before any data
    /// are made.
    fn pieces(&self, plan: &TaskPlan) -> Result<Vec<Piece>, WorkloadError> {
        let mut pieces = Vec::new();
        for (number, task) in plan.tasks.iter().enumerate() {
            let of_task = match task {
                Task::Matrix(task) => self.blocks(task)?,
                Task::Attention(task) => self.heads(task)?,
            };
            let piece = |(rank, work)| Piece { task: number, rank, work };
            pieces.extend(of_task.into_iter().map(piece));
        }
        Ok(pieces)
    }

    fn blocks(&self, task: &MatrixTask) -> Result<Vec<(usize, Work)>, WorkloadError> {
        let MatrixTask { operator, rows, columns, seed } = *task;
        let config = self.ranks.config();
        let layout = |rows: usize| {
            let layout = MatrixLayout::new(config, rows, columns);
            layout.map_err(|error| WorkloadError::matrix(operator, error))
        };
        if rows == 0 {
            layout(rows)?;
        }
        let work = |(rank, rows): (usize, Range<usize>)| {
            let layout = layout(rows.len())?;
            Ok((rank, Work::Rows { operator, seed, block: rank, layout }))
        };
        self.placement().of_rows(rows).map(work).collect()
    }

    fn heads(&self, task: &AttentionTask) -> Result<Vec<(usize, Work)>, WorkloadError> {
        let layouts = task.contexts.iter().map(|&context| {
            let layout = HeadLayout::new(self.ranks.config(), task.head_dim, context, 0);
            layout.map_err(AttentionError::from)
        });
        let layouts = layouts.collect::<Result<Vec<_>, _>>()?;
        let kv_heads = task.kv_heads();
        self.check_heads(kv_heads, &layouts)?;
        let mut work = Vec::with_capacity(kv_heads * layouts.len());
        for kv_head in 0..kv_heads {
            let group = task.group_of(kv_head);
            for (request, &layout) in layouts.iter().enumerate() {
                let number = task.number(kv_head, request);
                let rank = self.placement().of_head(request, kv_head, kv_heads);
                work.push((rank, Work::Head { task: task.clone(), number, group, layout }));
            }
        }
        work.sort_by_key(|(rank, _)| *rank);
        Ok(work)
    }

    /// Whether each head would have room by itself: checked before there is a list of them.
    fn check_heads(&self, kv_heads: usize, layouts: &[HeadLayout]) -> Result<(), WorkloadError> {
        let rows: u64 = layouts.iter().map(|layout| layout.end_row() as u64).sum();
        let ranks = self.ranks.topology().count();
        let of_rank = rows.saturating_mul(kv_heads as u64) / ranks as u64;
        Ok(self.placement().check_room(self.ranks.config(), &[of_rank], 1)?)
    }

    /// Rows of the banks of each rank that pieces take.
    fn bank_rows(&self, pieces: &[Piece]) -> Vec<u64> {
        let mut bank_rows = vec![0u64; self.ranks.topology().count()];
        for Piece { rank, work, .. } in pieces {
            bank_rows[*rank] += work.bank_rows();
        }
        bank_rows
    }

    /// A task, of what its pieces did, which are in the order of their ranks.
    fn operator(&self, task: &Task, ran: &[Ran<'_>]) -> OperatorReport {
        let mut runs: Vec<RankRun> = Vec::new();
        for Ran { piece, cost, .. } in ran {
            let next = RankRun {
                rank: piece.rank,
                statistics: cost.statistics,
                transfers: cost.transfers.clone(),
                mdq: cost.mdq.clone(),
            };
            match runs.last_mut().filter(|run| run.rank == piece.rank) {
                Some(run) => run.then(next),
                None => runs.push(next),
            }
        }
        let spread = Spread::new(self.ranks, &runs);
        OperatorReport::on_ranks(task.name(), self.ranks, &spread, task.macs(), judgement(ran))
    }

    /// Adding K and V of a task's last tokens, where it counts.
    fn append(&self, ran: &[Ran<'_>]) -> Option<OperatorReport> {
        let writes = ran.iter().filter_map(|ran| Some((ran.piece.rank, ran.cost.append?)));
        let writes: Vec<_> = writes.collect();
        let spread = (!writes.is_empty()).then(|| Spread::of_writes(self.ranks, &writes))?;
        Some(OperatorReport::on_ranks(report::APPEND, self.ranks, &spread, 0, Verdict::default()))
    }

    /// Writing all pieces, on all channels.
    fn load(&self, ran: &[Ran<'_>]) -> Load {
        let loads = ran.iter().map(|ran| (ran.piece.rank, ran.cost.load.0));
        let bytes = ran.iter().map(|ran| ran.cost.load.1).sum();
        Load::on_ranks(self.ranks, loads, bytes)
    }

    fn notes(&self, plan: &TaskPlan, run: usize, all: usize) -> Vec<String> {
        let mut notes = padding_notes(self.ranks.config(), plan);
        if self.ranks.topology().count() > 1 && self.ranks.topology().mdq() == Mdq::Shared {
            notes.push(format!(
                "MDQ shared: bursts of a DIMM's ranks take turns, {} tCK (RTW_GAP) from rank to rank, and hold up what \
                 follows: an upper bound of contention, no model cycle by cycle",
                self.ranks.config().timing.rtw_gap_tck
            ));
        }
        notes.extend(self.how.note(run, all));
        notes
    }
}

impl System for ManyRanks<'_> {
    fn about(&self) -> report::SystemDescription<'_> {
        report::SystemDescription::ranks(self.ranks.config(), self.options, self.ranks.topology())
    }

    fn config(&self) -> &Config {
        self.ranks.config()
    }

    fn io_buffers(&self, asked: IoBuffers) -> IoBuffers {
        asked
    }

    fn score_buffer(&self, task: &AttentionTask) -> ScoreBuffer {
        score_buffer(self.ranks.config(), task)
    }

    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError> {
        let bank_rows = self.bank_rows(&self.pieces(plan)?);
        Ok(self.placement().check_room(self.ranks.config(), &bank_rows, plan.layers)?)
    }

    fn memory(&self, plan: &TaskPlan) -> Result<u128, WorkloadError> {
        let (pieces, config) = (self.pieces(plan)?, self.ranks.config());
        let of_piece = |piece: &Piece| {
            let host = match &piece.work {
                Work::Rows { operator, seed, layout, .. } => {
                    let MatrixLayout { rows, columns, .. } = *layout;
                    let task = MatrixTask { operator, rows, columns, seed: *seed };
                    host_memory::of_task(&Task::Matrix(task), 2 * config.banks())
                }
                Work::Head { task, group, layout, .. } => {
                    host_memory::of_head(task, *group, layout.context)
                }
            };
            host_memory::of_rows(config, piece.work.bank_rows(), 1) + host
        };
        // Each thread has one piece at a time.
        let threads = self.how.threads.clamp(1, pieces.len().max(1)) as u128;
        let largest = pieces.iter().map(of_piece).max().unwrap_or(0);
        let done = (pieces.len() * (size_of::<Piece>() + size_of::<Done>())) as u128;
        Ok(host_memory::BESIDE + threads * largest + done)
    }

    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError> {
        let pieces = self.pieces(plan)?;
        let How { threads, timing_only, with_data, functional } = self.how;
        // Of each piece the one whose cost is its own as well.
        let costs_of: Vec<usize> = match timing_only || functional {
            true => first_alike(&pieces),
            false => (0..pieces.len()).collect(),
        };
        let is_done = |n: &usize| !timing_only || costs_of[*n] == *n;
        let to_do: Vec<usize> = (0..pieces.len()).filter(is_done).collect();
        let ranks = self.ranks;
        // All ranks are alike.
        let (known, clean) = (KnownStretches::default(), CleanStretches::default());
        let work = |&n: &usize| -> Result<Done, WorkloadError> {
            let piece = &pieces[n];
            let (cost, result) = match () {
                () if costs_of[n] != n => {
                    let rank = FunctionalRank::new(ranks.config(), self.options);
                    return Ok((
                        None,
                        compute_piece(rank, ranks.config(), piece, plan.io_buffers)?,
                    ));
                }
                () if with_data || !timing_only => run_piece(ranks, piece, plan.io_buffers)?,
                () => time_piece(ranks, piece, plan.io_buffers, (&known, &clean))?,
            };
            Ok((Some(cost.asking_for(piece.work.macs())), result))
        };
        let elements = |&n: &usize| pieces[n].work.elements();
        let done = parallel::map(&to_do, threads, elements, work, progress)?;
        let notes = self.notes(plan, to_do.len(), pieces.len());
        let (mut costs, mut results): (Vec<Option<Cost>>, Vec<Judged>) =
            pieces.iter().map(|piece| (None, piece.work.not_run())).unzip();
        for (n, done) in to_do.into_iter().zip(done) {
            (costs[n], results[n]) = done;
        }
        let cost = |n: usize| costs[n].as_ref().expect("the first of those that are alike is run");
        let of_pieces = pieces.iter().zip(&costs_of).zip(&results);
        let ran: Vec<Ran<'_>> =
            of_pieces.map(|((piece, &n), result)| Ran { piece, cost: cost(n), result }).collect();

        let mut stages = Stages::default();
        for Ran { result, .. } in &ran {
            if let Judged::Head(of_head) = result {
                stages = stages.worse(of_head.stages);
            }
        }
        let findings = |all: Findings, ran: &Ran<'_>| all.and(ran.cost.findings.clone());
        let operator = |(number, task): (usize, &Task)| {
            let of_task = ran.iter().filter(|ran| ran.piece.task == number).copied();
            let of_task = of_task.collect::<Vec<_>>();
            self.append(&of_task).into_iter().chain([self.operator(task, &of_task)])
        };
        Ok(Outcome {
            operators: plan.tasks.iter().enumerate().flat_map(operator).collect(),
            stages,
            load: self.load(&ran),
            findings: ran.iter().fold(Findings::default(), findings),
            bytes_per_rank: self.bank_rows(&pieces).into_iter().max().unwrap_or(0)
                * placement::row_bytes(self.ranks.config()),
            notes,
        })
    }

    fn streamed<'b>(
        &'b mut self,
        resident: Resident<'b>,
    ) -> Result<Box<dyn LayerBanks + 'b>, WorkloadError> {
        let count = self.ranks.topology().count();
        if count < 2 {
            return Err(ResidencyError::System.into());
        }
        self.resident = (0..count).map(|number| self.ranks.rank(number)).collect();
        let devices =
            self.resident.iter_mut().map(|rank| -> &'b mut dyn RankDevice { &mut **rank });
        Ok(Box::new(InTurns::new(self.ranks, devices, resident)?))
    }

    fn machine<'b>(
        &'b mut self,
        resident: Resident<'b>,
    ) -> Result<Box<dyn Machine + 'b>, WorkloadError> {
        let count = self.ranks.topology().count();
        self.resident = (0..count).map(|number| self.ranks.rank(number)).collect();
        let devices =
            self.resident.iter_mut().map(|rank| -> &'b mut dyn RankDevice { &mut **rank });
        Ok(Box::new(OnRanks::all(self.ranks, devices, resident)?))
    }
}

/// Makes a piece, runs it on a rank that has just been reset, and judges it.
fn run_piece(
    ranks: &Ranks,
    piece: &Piece,
    io_buffers: IoBuffers,
) -> Result<(Cost, Judged), WorkloadError> {
    let watched = watched(ranks, piece);
    match &piece.work {
        Work::Rows { operator, seed, block, layout } => {
            let data = Synthetic::block(layout.columns, *seed, *block);
            run_rows(watched, layout, data, io_buffers)
                .map_err(|error| WorkloadError::matrix(operator, error))
        }
        Work::Head { task, number, group, layout } => {
            let data = HeadData::new(task, (*number, *group), layout);
            Ok(run_head(watched, task, layout, &data)?)
        }
    }
}

/// Runs a piece on a rank that has just been reset, for its cost alone: without data. What is known of the host's writes is
/// that of all pieces.
fn time_piece(
    ranks: &Ranks,
    piece: &Piece,
    io_buffers: IoBuffers,
    (known, clean): (&KnownStretches, &CleanStretches),
) -> Result<(Cost, Judged), WorkloadError> {
    let (mut rank, pins) = watched(ranks, piece);
    let pins = pins.sharing(clean.clone());
    rank.leave_data_out();
    let host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let mut host = host.knowing(known.clone());
    let (statistics, transfers, load, append) = match &piece.work {
        Work::Rows { operator, layout, .. } => {
            let run = gemv::timing(&mut *rank, &mut host, layout, io_buffers);
            let [cost, load] = run.map_err(|error| WorkloadError::matrix(operator, error))?;
            (cost, rank.take_transfers(), (load, gemv::bytes(layout)), None)
        }
        Work::Head { task, group, layout, .. } => {
            let head = Head::without_data(task.head_shape(*group, layout.context));
            let load = host.write(&mut *rank, kv_cache::strips(layout, &head))?;
            let append = append_last(&mut host, &mut *rank, task, layout, &head)?;
            let result = attention::run_head(&mut *rank, layout, &head.queries)?;
            (result.statistics, result.transfers, (load, kv_cache::bytes(layout)), append)
        }
    };
    let cost = Cost {
        statistics,
        transfers,
        mdq: pins.bursts(rank.tck() - statistics.cycles),
        load,
        append,
        findings: pins.findings(rank.tck()),
    };
    Ok((cost, piece.work.not_run()))
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
) -> Result<(Cost, Judged), gemv::GemvError> {
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let block = gemv::block(&mut *rank, &mut host, layout, data, io_buffers, None, &|_| {})?;
    let cost = Cost {
        statistics: block.cost,
        transfers: rank.take_transfers(),
        mdq: pins.bursts(rank.tck() - block.cost.cycles),
        load: (block.load, gemv::bytes(layout)),
        append: None,
        findings: pins.findings(rank.tck()),
    };
    Ok((cost, Judged::Rows(block.judged)))
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

    fn judge(&self, result: &Attention) -> Judged {
        Judged::Head(Box::new(heads::judge(&self.head, result).from(self.first)))
    }
}

/// What a piece makes whose cost is known, by a rank without time that has just been reset.
fn compute_piece(
    mut rank: FunctionalRank,
    config: &Config,
    piece: &Piece,
    io_buffers: IoBuffers,
) -> Result<Judged, WorkloadError> {
    match &piece.work {
        Work::Rows { operator, seed, block, layout } => {
            let data = Synthetic::block(layout.columns, *seed, *block);
            let computed = gemv::computed(&mut rank, config, layout, data, io_buffers);
            computed.map(Judged::Rows).map_err(|error| WorkloadError::matrix(operator, error))
        }
        Work::Head { task, number, group, layout } => {
            let data = HeadData::new(task, (*number, *group), layout);
            kv_cache::fill(&mut rank, kv_cache::strips(layout, &data.head));
            Ok(data.judge(&attention::compute_head(&mut rank, layout, &data.head.queries)?))
        }
    }
}

/// Runs query heads.
fn run_head(
    (mut rank, pins): Watched,
    task: &AttentionTask,
    layout: &HeadLayout,
    data: &HeadData,
) -> Result<(Cost, Judged), AttentionError> {
    let head = &data.head;
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let load = host.write(&mut *rank, kv_cache::strips(layout, head))?;
    let append = append_last(&mut host, &mut *rank, task, layout, head)?;
    let result = attention::run_head(&mut *rank, layout, &head.queries)?;
    let judged = data.judge(&result);
    let cost = Cost {
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

/// Of each piece the first that is like it, which may be itself.
fn first_alike(pieces: &[Piece]) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::new();
    let first = |(n, piece): (usize, &Piece)| {
        let is_like = |&first: &usize| pieces[first].work.is_like(&piece.work);
        firsts.iter().copied().find(is_like).unwrap_or_else(|| {
            firsts.push(n);
            n
        })
    };
    pieces.iter().enumerate().map(first).collect()
}

/// What a matrix's outputs are together, or all heads.
fn judgement(ran: &[Ran<'_>]) -> Verdict {
    let (mut products, mut others) = (Products::default(), Verdict::default());
    let mut heads = HeadJudgement::default();
    for Ran { result, .. } in ran {
        match result {
            Judged::Rows(of_block) => products.extend(of_block),
            Judged::Nothing(of_block) => others = others.and(*of_block),
            Judged::Head(of_head) => heads = heads.and(**of_head),
        }
    }
    let heads = heads.whole();
    let rows = products.judgement().and(others);
    Verdict { error: rows.error.worse(heads.error), ..rows.and(heads) }
}
