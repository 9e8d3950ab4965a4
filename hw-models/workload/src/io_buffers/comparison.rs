// SPDX-License-Identifier: MIT
//! Single and ping-pong I/O buffers, operator by operator.

use super::assumptions::{Assumptions, AssumptionsReport};
use crate::aim::{Groups, attention, matrix};
use crate::error::WorkloadError;
use crate::fc;
use crate::host_memory;
use crate::judge::pins::PinLog;
use crate::parallel;
use crate::report::{self, Slots};
use crate::task::MatrixTask;
use pimlico_device::aim::{AimHead, AimLayout, AimOptions};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Statistics};
use pimlico_host::aim::{AimHost, Step};
use pimlico_model::Model;
use pimlico_model::data::{Distribution, Head, HeadShape};
use serde::Serialize;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Study {
    /// A channel.
    pub config: Config,
    /// Name of the language model.
    pub model: String,
    /// Its shapes.
    pub shapes: Model,
    /// Tokens, of each head that is run.
    pub contexts: Vec<usize>,
    /// Channels.
    pub channels: usize,
    /// Modules that share a layer's fully-connected operators out among them.
    pub tp: Vec<usize>,
    /// Whether rows are refreshed: a REF takes as long as a short operator, and falls into one run and
    /// not into the other.
    pub refresh: bool,
    /// Seed of the data.
    pub seed: u64,
    /// What is assumed of the module.
    pub assumptions: Assumptions,
}

/// The comparison.
#[derive(Clone, Debug, Serialize)]
pub struct BufferComparison {
    /// Name of the preset.
    pub system: String,
    /// Name of the language model.
    pub model: String,
    /// Channels.
    pub channels: usize,
    /// Clock period in ns.
    pub tck_ns: f64,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// Seed of the data.
    pub seed: u64,
    /// What is assumed of the module.
    pub assumptions: AssumptionsReport,
    /// A row for each operator and context, or operator and number of modules.
    pub rows: Vec<BufferRow>,
}

/// An operator with either kind of buffers.
#[derive(Clone, Debug, Serialize)]
pub struct BufferRow {
    /// Its name.
    pub operator: &'static str,
    /// Tokens, of an operator of attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// Modules, of a fully-connected operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tp: Option<usize>,
    /// Rows and columns of its matrix.
    pub matrix: [usize; 2],
    /// With single buffers.
    pub single: Side,
    /// With ping-pong buffers.
    pub ping_pong: Side,
    /// By how much ping-pong buffers shorten it, in percent.
    pub reduction_percent: f64,
    /// The same in LoL-PIM (section 6, figure 7 a).
    pub paper_percent: f64,
}

/// What an operator costs.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Duration in tCK.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Slots of tCCD for an all-bank RD.
    pub slots: Slots,
    /// Rules of the DRAM that were broken, in all that the module did.
    pub pin_violations: u64,
    /// Results that differ from `golden`'s, of those that were compared.
    pub differing: u64,
}

/// What LoL-PIM says of an operator, in percent.
fn paper_percent(operator: &str) -> f64 {
    match operator {
        "score" => 40.0,
        "context" => 44.0,
        "ffn1" => 29.0,
        _ => 28.0,
    }
}

/// What is run on a module of its own.
#[derive(Clone, Copy)]
enum Task {
    Attention { head_dim: usize, context: usize },
    Product { tp: usize, shape: fc::MatrixShape },
}

/// An operator's part of a row.
struct Part {
    operator: &'static str,
    matrix: [usize; 2],
    side: Side,
}

impl Study {
    fn tasks(&self) -> Vec<Task> {
        let Model { head_dim, .. } = self.shapes;
        let attention = self.contexts.iter().map(|&context| Task::Attention { head_dim, context });
        let products = self.tp.iter().flat_map(|&tp| {
            let shapes = fc::shapes(&self.shapes, tp, false).into_iter();
            let of_ffn = shapes.filter(|shape| shape.operator.starts_with("ffn"));
            of_ffn.map(move |shape| Task::Product { tp, shape })
        });
        attention.chain(products).collect()
    }

    /// How many pairs of runs [`compare`] makes.
    pub fn len(&self) -> usize {
        self.tasks().len()
    }

    /// Whether there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn options(&self, io_buffers: IoBuffers) -> AimOptions {
        self.assumptions.options(self.channels, io_buffers, self.refresh)
    }
}

/// Compares, on so many threads; the comparison does not depend on them. `progress` receives the pairs of runs that are
/// done.
pub fn compare(
    study: &Study,
    threads: usize,
    progress: impl Fn(u64) + Sync,
) -> Result<BufferComparison, WorkloadError> {
    let config = &study.assumptions.config(&study.config);
    for task in study.tasks() {
        fits(config, &study.options(IoBuffers::Single), task)?; // before any data are made
    }
    let both = [IoBuffers::Single, IoBuffers::PingPong];
    let tasks = study.tasks().into_iter();
    let sides: Vec<_> = tasks.flat_map(|task| both.map(|io_buffers| (task, io_buffers))).collect();
    let side = |&(task, io_buffers): &_| run(config, study.options(io_buffers), task, study.seed);
    let parts = parallel::map(&sides, threads, |_| 1, side, |done, _| progress(done / 2))?;
    let mut parts = parts.into_iter();
    let mut rows = Vec::new();
    for task in study.tasks() {
        let [single, ping_pong] = both.map(|_| parts.next().unwrap_or_default());
        let (context, tp) = match task {
            Task::Attention { context, .. } => (Some(context), None),
            Task::Product { tp, .. } => (None, Some(tp)),
        };
        rows.extend(single.into_iter().zip(ping_pong).map(|(single, ping_pong)| {
            let Part { operator, matrix, side: single } = single;
            let ping_pong = ping_pong.side;
            let less = single.cycles as f64 - ping_pong.cycles as f64;
            BufferRow {
                operator,
                context,
                tp,
                matrix,
                reduction_percent: 100.0 * less / single.cycles as f64,
                paper_percent: paper_percent(operator),
                single,
                ping_pong,
            }
        }));
    }
    let Study { model, channels, refresh, seed, .. } = study.clone();
    Ok(BufferComparison {
        system: config.name.clone(),
        model,
        channels,
        tck_ns: config.tck_ps as f64 / 1000.0,
        refresh,
        seed,
        assumptions: study.assumptions.report(config),
        rows,
    })
}

/// Whether the channels have room, and this machine for the two sides that run at once.
fn fits(config: &Config, options: &AimOptions, task: Task) -> Result<(), WorkloadError> {
    let (name, rows) = match task {
        Task::Attention { head_dim, context } => {
            ("attention", AimHead::new(config, options, head_dim, context, 0)?.v.end_row())
        }
        Task::Product { shape, .. } => {
            let layout = AimLayout::new(config, options, shape.rows, shape.columns, 0)?;
            (shape.operator, layout.end_row())
        }
    };
    let cells = host_memory::of_rows(config, rows as u64, options.channels);
    // Of a head the host has about as much as the cells.
    Ok(host_memory::check(name, host_memory::BESIDE + 4 * cells)?)
}

fn run(
    config: &Config,
    options: AimOptions,
    task: Task,
    seed: u64,
) -> Result<Vec<Part>, WorkloadError> {
    let mut module = AimHost::engine(config, options);
    let pins = PinLog::of_module(&mut module);
    let side = |statistics: &Statistics,
                [rows, columns]: [usize; 2],
                differing,
                module: &AimHost| Side {
        cycles: statistics.cycles,
        ns: report::ns(config, statistics.cycles),
        slots: Slots::new(config, statistics, (rows * columns).div_ceil(options.channels) as u64),
        pin_violations: pins.violations(module.tck()).0,
        differing,
    };
    match task {
        Task::Product { shape, .. } => {
            let fc::MatrixShape { operator, rows, columns } = shape;
            let task = MatrixTask { operator, rows, columns, seed };
            let product = matrix::product(&mut Groups::of(&mut module), &task, false, |_| {})?;
            let differing = product.operator.exact.map_or(0, |exact| exact.differing);
            let matrix = [rows, columns];
            let side = side(&product.cost, matrix, differing, &module);
            Ok(vec![Part { operator, matrix, side }])
        }
        Task::Attention { head_dim, context } => {
            let distribution = Distribution::Random;
            let shape = HeadShape { head_dim, context, group: 1, distribution };
            let head = Head::synthetic(shape, seed, 0);
            let layout = AimHead::new(config, &options, head_dim, context, 0)?;
            attention::load(&mut module, &layout, &head)?;
            let result = attention::run_query(&mut module, &layout, &head.queries[0])?;
            let judged = attention::judge(&options, &layout, &head, 0, result.clone());
            let [of_score, _, of_context] = judged.operators().map(|judged| judged.exact.differing);
            let steps = [
                ("score", [context, head_dim], &result.score),
                ("context", [head_dim, context], &result.context),
            ];
            let part = |((operator, matrix, step), differing): (_, u64)| {
                let step: &Step = step;
                let side = side(&step.statistics, matrix, differing, &module);
                Part { operator, matrix, side }
            };
            Ok(steps.into_iter().zip([of_score, of_context]).map(part).collect())
        }
    }
}
