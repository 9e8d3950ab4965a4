// SPDX-License-Identifier: MIT
//! The ranks of a device.
//!
//! What a rank does of a task are its *pieces*: a block of a matrix's rows, or a K and V head of a
//! request ([`crate::placement`]). A piece is made, written into a rank that has just been reset, run, judged
//! and dropped before the thread takes the next, so that there are never more data than threads have ranks.
//! Its results depend only on the piece, and its cost not even on the piece's data. So one of those that are alike is run
//! for all of them where only the cost is asked for ([`How::timing_only`]), without data unless these are
//! wanted ([`How::with_data`]); and where the results of all are wanted, a rank without time may compute them
//! ([`How::functional`]).
//!
//! Pieces of a rank run one after the other, ranks side by side ([`Ranks`]), tasks one after the other:
//! the next one needs the results of all ranks. A task takes as long as its last rank.

mod pieces;

use super::System;
use super::rank::{padding_notes, score_buffer};
use crate::error::{ResidencyError, WorkloadError};
use crate::host_memory;
use crate::judge::Findings;
use crate::judge::Products;
use crate::judge::heads::HeadJudgement;
use crate::l3::attention::AttentionError;
use crate::machine::{InTurns, LayerBanks, Machine, OnRanks, Resident};
use crate::outcome::Outcome;
use crate::parallel;
use crate::placement::{self, Placement};
use crate::report::{self, Load, OperatorReport, ScoreBuffer, Spread, Stages, Verdict};
use crate::task::Progress;
use crate::task::{AttentionTask, MatrixTask, Task, TaskPlan};
use pieces::{Known, Piece, PieceCost, PieceResult, PieceWork};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, FunctionalRank, Mdq, Options, RankDevice, RankRun, Ranks};
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
    /// Of those that are alike one is run, without data, and a [`FunctionalRank`] computes the results of all: the same costs, and
    /// the same results.
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

/// What was done of a piece: its cost, if that was not known of another, and its results.
type Done = (Option<PieceCost>, PieceResult);

/// A piece, what it cost, and its results.
#[derive(Clone, Copy)]
struct Ran<'a> {
    piece: &'a Piece,
    cost: &'a PieceCost,
    result: &'a PieceResult,
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

    fn blocks(&self, task: &MatrixTask) -> Result<Vec<(usize, PieceWork)>, WorkloadError> {
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
            Ok((rank, PieceWork::Rows { operator, seed, block: rank, layout }))
        };
        self.placement().of_rows(rows).map(work).collect()
    }

    fn heads(&self, task: &AttentionTask) -> Result<Vec<(usize, PieceWork)>, WorkloadError> {
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
                work.push((rank, PieceWork::Head { task: task.clone(), number, group, layout }));
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
                PieceWork::Rows { operator, seed, layout, .. } => {
                    let MatrixLayout { rows, columns, .. } = *layout;
                    let task = MatrixTask { operator, rows, columns, seed: *seed };
                    host_memory::of_task(&Task::Matrix(task), 2 * config.banks())
                }
                PieceWork::Head { task, group, layout, .. } => {
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
        let known = Known::default();
        let wants_data = !timing_only || with_data;
        let work = |&n: &usize| -> Result<Done, WorkloadError> {
            let (piece, io_buffers) = (&pieces[n], plan.io_buffers);
            let asked = |cost: PieceCost| cost.asking_for(piece.work.macs());
            if wants_data && !functional {
                let (cost, result) = pieces::run(ranks, piece, io_buffers)?;
                return Ok((Some(asked(cost)), result));
            }
            let is_own = costs_of[n] == n;
            let cost =
                is_own.then(|| pieces::time(ranks, piece, io_buffers, &known)).transpose()?;
            let result = if wants_data {
                let rank = FunctionalRank::new(ranks.config(), self.options);
                pieces::compute(rank, ranks.config(), piece, io_buffers)?
            } else {
                piece.work.not_run()
            };
            Ok((cost.map(asked), result))
        };
        let elements = |&n: &usize| pieces[n].work.elements();
        let done = parallel::map(&to_do, threads, elements, work, progress)?;
        let notes = self.notes(plan, to_do.len(), pieces.len());
        let (mut costs, mut results): (Vec<Option<PieceCost>>, Vec<PieceResult>) =
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
            if let PieceResult::Head(of_head) = result {
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
            PieceResult::Rows(of_block) => products.extend(of_block),
            PieceResult::Nothing(of_block) => others = others.and(*of_block),
            PieceResult::Head(of_head) => heads = heads.and(**of_head),
        }
    }
    let heads = heads.whole();
    let rows = products.judgement().and(others);
    Verdict { error: rows.error.worse(heads.error), ..rows.and(heads) }
}
