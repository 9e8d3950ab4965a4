// SPDX-License-Identifier: MIT
//! One rank, from beginning to end: what a waveform or a picture is of.

use super::System;
use crate::error::WorkloadError;
use crate::host_memory;
use crate::judge::heads::{self, HeadJudgement};
use crate::judge::pins::PinLog;
use crate::l3::attention::{self, AttentionError, Requests};
use crate::l3::gemv;
use crate::machine::{Machine, OnRanks, Resident};
use crate::outcome::Outcome;
use crate::placement::{self, Placement};
use crate::report::{self, Load, OperatorReport, ScoreBuffer, Stages};
use crate::task::Progress;
use crate::task::{AttentionTask, MatrixTask, Task, TaskPlan};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    Config, FunctionalRank, KnownLaps, RankDevice, SCORE_BUFFER, Statistics, Topology,
};
use pimlico_host::driver::KvRows;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_host::program::attention as program;
use pimlico_model::data::{Head, Synthetic};

/// What the dispatcher is set up with, where that differs from what the operator needs.
#[derive(Clone, Debug, Default)]
pub struct AttentionSetup {
    /// The longest context that program and Va2Pa table provide for; by default that of the operator.
    pub longest: Option<usize>,
    /// The program; by default it is built.
    pub program: Option<Vec<u64>>,
}

/// A rank, with the checkers at its pins.
pub struct Rank<'a> {
    rank: &'a mut dyn RankDevice,
    pins: PinLog,
    setup: AttentionSetup,
    functional: bool,
}

/// What has been done of tasks so far.
#[derive(Default)]
struct SoFar {
    operators: Vec<OperatorReport>,
    stages: Stages,
    load: Statistics,
    load_bytes: u64,
    elements: u64,
}

impl<'a> Rank<'a> {
    /// A rank that has only been initialised.
    pub fn new(rank: &'a mut dyn RankDevice) -> Self {
        let pins = PinLog::of(rank);
        Self { rank, pins, setup: AttentionSetup::default(), functional: false }
    }

    /// With a dispatcher that is set up otherwise.
    pub fn with_setup(self, setup: AttentionSetup) -> Self {
        Self { setup, ..self }
    }

    /// Attention by programs that are built here runs without data, and a [`FunctionalRank`] computes its results: the same costs,
    /// and the same results.
    pub fn functional(self, functional: bool) -> Self {
        Self { functional, ..self }
    }

    /// Rows of the banks that a task takes.
    fn bank_rows(&self, task: &Task) -> Result<u64, WorkloadError> {
        Ok(match task {
            Task::Matrix(MatrixTask { operator, rows, columns, .. }) => {
                let layout = MatrixLayout::new(self.rank.config(), *rows, *columns);
                let layout = layout.map_err(|error| WorkloadError::matrix(operator, error))?;
                layout.bank_rows().len() as u64
            }
            Task::Attention(task) => {
                let layouts = self.layouts(task)?;
                for layout in &layouts {
                    KvRows::adjacent(layout).map_err(AttentionError::from)?;
                }
                let of_kv_head = layouts.last().map_or(0, |layout| layout.end_row() as u64);
                of_kv_head.saturating_mul(task.kv_heads() as u64)
            }
        })
    }

    fn layouts(&self, task: &AttentionTask) -> Result<Vec<HeadLayout>, AttentionError> {
        Ok(attention::layouts(self.rank.config(), task.head_dim, &task.contexts)?)
    }

    fn matrix(
        &mut self,
        host: &mut HostPort,
        task: &MatrixTask,
        io_buffers: IoBuffers,
        so_far: &mut SoFar,
        progress: impl Fn(u64),
    ) -> Result<(), WorkloadError> {
        let MatrixTask { operator, rows, columns, seed } = *task;
        let of_matrix = |error| WorkloadError::matrix(operator, error);
        let layout = MatrixLayout::new(self.rank.config(), rows, columns);
        let layout = layout.map_err(|error| of_matrix(error.into()))?;
        let (data, program) = (Synthetic::new(columns, seed), self.setup.program.as_deref());
        let before = so_far.elements;
        let progress = |elements| progress(before + elements);
        self.rank.label(operator, String::new());
        let block = gemv::block(self.rank, host, &layout, data, io_buffers, program, &progress);
        let block = block.map_err(of_matrix)?;
        let (config, macs) = (self.rank.config(), (rows * columns) as u64);
        let judged = block.judged.judgement();
        so_far.operators.push(OperatorReport::on_device(
            operator,
            config,
            &block.cost,
            macs,
            judged,
        ));
        so_far.load = so_far.load.and(block.load);
        so_far.load_bytes += gemv::bytes(&layout);
        so_far.elements += macs;
        Ok(())
    }

    /// K and V of a K and V head of all requests are written, then all of them are run.
    fn attention(
        &mut self,
        host: &mut HostPort,
        task: &AttentionTask,
        so_far: &mut SoFar,
        progress: impl Fn(u64),
    ) -> Result<(), WorkloadError> {
        let layouts = self.layouts(task)?;
        let rows: Vec<_> = layouts
            .iter()
            .map(KvRows::adjacent)
            .collect::<Result<_, _>>()
            .map_err(AttentionError::from)?;
        let longest = task.contexts.iter().copied().max().unwrap_or(1);
        let longest = longest.max(self.setup.longest.unwrap_or(1));
        let longest = HeadLayout::new(self.rank.config(), task.head_dim, longest, 0);
        let mut requests = Requests::new(longest.map_err(AttentionError::from)?)?;
        if let Some(program) = &self.setup.program {
            requests.set_program(program.clone());
        }
        let (mut cost, mut judged) = (Statistics::default(), HeadJudgement::default());
        let mut append = Statistics::default();
        for kv_head in 0..task.kv_heads() {
            let group = task.group_of(kv_head);
            let head = |(request, layout): (usize, &HeadLayout)| {
                let shape = task.head_shape(group, layout.context);
                Head::synthetic(shape, task.seed, task.number(kv_head, request))
            };
            let of_requests: Vec<Head> = layouts.iter().enumerate().map(head).collect();
            for (layout, head) in layouts.iter().zip(&of_requests) {
                let without_data = Head::without_data(task.head_shape(group, layout.context));
                let head = if self.functional { &without_data } else { head };
                let load = host.write(self.rank, kv_cache::strips(layout, head))?;
                so_far.load = so_far.load.and(load);
                so_far.load_bytes += kv_cache::bytes(layout);
                if task.appends {
                    let (_, cost) = host.transfer(self.rank, kv_cache::appends(layout, head))?;
                    append = append.and(cost);
                }
            }
            for (n, (layout, head)) in layouts.iter().zip(&of_requests).enumerate() {
                let part = match layouts.len() {
                    1 => kv_head.to_string(),
                    _ => format!("{kv_head}, request {n}"),
                };
                self.rank.label("attention", part);
                let result = requests.run(self.rank, n, layout, &rows[n], &head.queries)?;
                cost = cost.and(result.statistics);
                let result = if self.functional {
                    let rank = FunctionalRank::new(self.rank.config(), self.rank.options());
                    attention::computed(rank, layout, head)?
                } else {
                    result
                };
                judged = judged.and(heads::judge(head, &result).from(kv_head * task.group));
                so_far.elements += (2 * layout.context * task.head_dim) as u64;
                progress(so_far.elements);
            }
        }
        let macs = Task::Attention(task.clone()).macs();
        let operator =
            OperatorReport::on_device("attention", self.rank.config(), &cost, macs, judged.whole());
        if task.appends {
            so_far.operators.push(OperatorReport::written(self.rank.config(), &append));
        }
        so_far.operators.push(operator);
        so_far.stages = so_far.stages.worse(judged.stages);
        Ok(())
    }
}

/// What a report says of what is read and not needed.
pub(super) fn padding_notes(config: &Config, plan: &TaskPlan) -> Vec<String> {
    let of_task = |task: &Task| {
        let Task::Attention(task) = task else { return Vec::new() };
        let passes = score_buffer(config, task).passes;
        let again = (passes > 1).then(|| {
            format!("K is read in each of {passes} passes: what is read again counts as padding")
        });
        let of_layout = attention::padding_notes(config, task.head_dim);
        of_layout.into_iter().chain(again).collect()
    };
    plan.tasks.iter().flat_map(of_task).collect()
}

/// How full the score buffer of a rank is, in the longest of the contexts that can be laid out.
pub(super) fn score_buffer(config: &Config, task: &AttentionTask) -> ScoreBuffer {
    let of_context = |&context: &usize| {
        let layout = HeadLayout::new(config, task.head_dim, context, 0).ok()?;
        let heads = task.group.min(task.heads).min(program::heads_at_once(context));
        Some(program::score_buffer_use(&layout, heads))
    };
    let longest = task.contexts.iter().max().and_then(of_context);
    let (scores, passes) = longest.map_or((0, 0), |used| (used.scores, used.passes));
    ScoreBuffer { capacity: SCORE_BUFFER, scores, passes }
}

impl System for Rank<'_> {
    fn about(&self) -> report::SystemDescription<'_> {
        report::SystemDescription::rank(self.rank.config(), self.rank.options())
    }

    fn config(&self) -> &Config {
        self.rank.config()
    }

    fn io_buffers(&self, asked: IoBuffers) -> IoBuffers {
        asked
    }

    fn score_buffer(&self, task: &AttentionTask) -> ScoreBuffer {
        score_buffer(self.rank.config(), task)
    }

    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError> {
        let mut rows = plan.tasks.iter().map(|task| self.bank_rows(task));
        let rows = rows.try_fold(0u64, |sum, rows| Ok::<_, WorkloadError>(sum + rows?))?;
        let config = self.rank.config();
        Ok(Placement::new(config, Topology::ONE).check_room(config, &[rows], plan.layers)?)
    }

    fn memory(&self, plan: &TaskPlan) -> Result<u128, WorkloadError> {
        let config = self.rank.config();
        let (mut rows, mut host) = (0, 0);
        for task in &plan.tasks {
            // All tasks begin in the same row; K and V heads follow each other in the rows of the first.
            rows = rows.max(match task {
                Task::Matrix(_) => self.bank_rows(task)?,
                Task::Attention(task) => {
                    self.layouts(task)?.last().map_or(0, |layout| layout.end_row() as u64)
                }
            });
            host = host.max(host_memory::of_task(task, 2 * config.banks()));
        }
        Ok(host_memory::BESIDE + host_memory::of_rows(config, rows, 1) + host)
    }

    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError> {
        let mut host = HostPort::of(self.rank.config())
            .map_err(|error| WorkloadError::from(kv_cache::TransferError::from(error)))?;
        let is_attention = |task: &Task| matches!(task, Task::Attention(_));
        self.functional &= self.setup.program.is_none() && plan.tasks.iter().all(is_attention);
        if self.functional {
            self.rank.leave_data_out(&KnownLaps::default());
        }
        let all = plan.elements();
        let (mut so_far, mut bank_rows) = (SoFar::default(), 0);
        for task in &plan.tasks {
            bank_rows += self.bank_rows(task)?;
            match task {
                Task::Matrix(task) => {
                    let progress = |done| progress(done, all);
                    self.matrix(&mut host, task, plan.io_buffers, &mut so_far, progress)?;
                }
                Task::Attention(task) => {
                    self.attention(&mut host, task, &mut so_far, |done| progress(done, all))?;
                }
            }
            progress(so_far.elements, all);
        }
        let (tck, config) = (self.rank.tck(), self.rank.config());
        let SoFar { operators, stages, load, load_bytes, .. } = so_far;
        Ok(Outcome {
            operators,
            stages,
            load: Load::new(config, &load, load_bytes),
            findings: self.pins.findings(tck),
            bytes_per_rank: bank_rows * placement::row_bytes(config),
            notes: padding_notes(config, plan),
        })
    }

    fn machine<'b>(
        &'b mut self,
        resident: Resident<'b>,
    ) -> Result<Box<dyn Machine + 'b>, WorkloadError> {
        let machine = OnRanks::one(self.rank, self.pins.clone(), resident)?;
        Ok(Box::new(machine))
    }
}
