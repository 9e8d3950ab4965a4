// SPDX-License-Identifier: MIT
//! What a rank of L3's DIMM-PIM takes for a head, and for a token that is added to it.
//!
//! A head is measured as `pimlico run l3 attention` runs it, by itself on a rank that has just been reset, with refresh and
//! the host's messages; no data are made, which changes no cost. Heads of a rank run one after the other.

use super::memo::Memo;
use super::{CostTable, Knot, MOST, refine};
use crate::error::ServingError;
use crate::llm::Llm;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Address, Config, DeviceSpec, Options, RankDevice, Ranks, Topology};
use pimlico_host::attached::Attached;
use pimlico_model::data::Distribution;
use pimlico_workload::error::WorkloadError;
use pimlico_workload::operator::{self, Tasks};
use pimlico_workload::outcome::Outcome;
use pimlico_workload::parallel;
use pimlico_workload::report::{APPEND, JobReport, Report};
use pimlico_workload::system::{How, System};
use pimlico_workload::task::{AttentionTask, Task, TaskPlan};
use serde::Serialize;

/// What a rank takes.
#[derive(Clone, Debug)]
pub struct RankCosts {
    /// Attention of the query heads that share a K and V head.
    pub head: CostTable,
    /// Writing K and V of a new token of a head, the mean over the tokens of a column of V.
    pub append_ps: u64,
}

/// Attention of the query heads of one K and V head, and adding its last token.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneHead {
    pub(super) head_dim: usize,
    pub(super) group: usize,
    pub(super) context: usize,
}

/// Nothing of its own in the report.
#[derive(Debug, Serialize)]
struct Measured {}

impl Tasks for OneHead {
    fn seed(&self) -> u64 {
        1
    }

    fn tasks(&self) -> TaskPlan {
        let Self { head_dim, group, context } = *self;
        let task = AttentionTask {
            head_dim,
            heads: group,
            group,
            contexts: vec![context],
            distribution: Distribution::Random,
            seed: 1,
            appends: true,
        };
        let tasks = vec![Task::Attention(task)];
        TaskPlan { tasks, layers: 1, io_buffers: IoBuffers::default() }
    }

    fn about(&self, _: &dyn System, _: &Outcome) -> JobReport {
        JobReport::new(Measured {})
    }
}

/// The tCK of an operator of a report.
pub(super) fn tck(report: &Report, name: &str) -> u64 {
    let of_name = report.operators.iter().filter(|operator| operator.operator == name);
    of_name.map(|operator| operator.cycles).sum()
}

/// Runs the query heads of a K and V head.
fn run(config: &Config, options: Options, head: OneHead) -> Result<Report, WorkloadError> {
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        Box::new(Attached::engine(config, options).expect("the configuration was checked"))
    };
    let topology = Topology::new(1, 1, 1).expect("one rank");
    let ranks = Ranks::new(config, topology, &new_rank);
    let how = How { threads: 1, timing_only: true, with_data: false };
    operator::on_ranks(&ranks, options, how, &head)
}

/// The cost of a context.
fn measured(config: &Config, options: Options, head: OneHead) -> Result<Knot, WorkloadError> {
    let report = run(config, options, head)?;
    let tokens = head.context as u64;
    let attention = report.operators.iter().filter(|operator| operator.operator != APPEND);
    let (mut cycles, mut energy_pj) = (0, 0.0);
    for operator in attention {
        cycles += operator.cycles;
        energy_pj += operator.energy_pj.unwrap_or(0.0);
    }
    Ok(Knot { tokens, ps: cycles * config.tck_ps, energy_pj: energy_pj.round() as u64 })
}

impl RankCosts {
    /// Those of a device for the heads of a model, measured where no table of them is there.
    pub fn new(memo: &Memo, spec: &DeviceSpec, llm: &Llm) -> Result<Self, ServingError> {
        let head_dim = llm.shape.head_dim;
        let group = llm.shape.group();
        let (config, options) = (spec.config(), spec.options());
        let most = most_context(&config, head_dim);
        let what = format!("rank head_dim={head_dim} group={group} most={most}");
        let head = memo.table(spec, &what, || {
            refine(most, |contexts| {
                let heads: Vec<_> = contexts
                    .iter()
                    .map(|&context| OneHead { head_dim, group, context: context as usize })
                    .collect();
                let weight = |head: &OneHead| head.context as u64;
                let work = |head: &OneHead| measured(&config, options, *head);
                parallel::map(&heads, memo.threads(), weight, work, |_, _| {})
            })
        })?;
        let append = memo.table(spec, &format!("rank append head_dim={head_dim}"), || {
            let contexts = 513..=516;
            let heads = contexts.map(|context| OneHead { head_dim, group, context });
            let knots = heads.map(|head| {
                let report = run(&config, options, head)?;
                let ps = tck(&report, APPEND) * config.tck_ps;
                Ok::<_, WorkloadError>(Knot { tokens: head.context as u64, ps, energy_pj: 0 })
            });
            Ok(CostTable::new(knots.collect::<Result<_, _>>()?))
        })?;
        let appends = append.knots();
        let append_ps = appends.iter().map(|knot| knot.ps).sum::<u64>() / appends.len() as u64;
        Ok(Self { head, append_ps })
    }

    /// The exact cost of a context, as the device's model has it.
    pub fn exact(spec: &DeviceSpec, llm: &Llm, context: u64) -> Result<Knot, ServingError> {
        let (head_dim, group) = (llm.shape.head_dim, llm.shape.group());
        let head = OneHead { head_dim, group, context: context as usize };
        Ok(measured(&spec.config(), spec.options(), head)?)
    }
}

/// The largest context of a table: a head of it has to fit the rows of a rank.
fn most_context(config: &Config, head_dim: usize) -> u64 {
    let layout = |context| pimlico_device::mapping::HeadLayout::new(config, head_dim, context, 0);
    let mut most = MOST;
    while most > 2 * super::STEP && layout(most as usize).is_err() {
        most /= 2;
    }
    most
}
