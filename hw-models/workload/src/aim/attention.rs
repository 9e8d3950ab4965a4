// SPDX-License-Identifier: MIT
//! Attention of heads on a module, K and V head after K and V head, request after request.

use super::{Reopened, bytes};
use crate::error::WorkloadError;
use crate::judge::{exact, heads};
use crate::report::link::Crossing;
use crate::report::{Exact, Operator, Stages, Written};
use crate::results::{self, Attention};
use crate::task::AttentionTask;
use half::f16;
use pimlico_device::aim::attention::{AimAttention, AimHead};
use pimlico_device::aim::{AimDevice, AimOptions, LayoutError};
use pimlico_device::{Config, Normalise, Statistics};
use pimlico_model::data::Head;

/// Where the K and V of each request lie, one behind the other.
pub fn layouts(
    config: &Config,
    options: &AimOptions,
    task: &AttentionTask,
) -> Result<Vec<AimHead>, LayoutError> {
    let mut row = 0;
    let mut next = |&context: &usize| {
        let head = AimHead::new(config, options, task.head_dim, context, row)?;
        row = head.v.end_row();
        Ok(head)
    };
    task.contexts.iter().map(&mut next).collect()
}

/// Writes K and V of a head.
pub fn load(
    module: &mut dyn AimDevice,
    layout: &AimHead,
    head: &Head,
) -> Result<(), WorkloadError> {
    let AimHead { k, v } = layout;
    for group in 0..k.groups() {
        let first = group * k.pus();
        module.write(&mut k.writes(group, |token, element| head.k[first + token][element]))?;
    }
    for group in 0..v.groups() {
        let first = group * v.pus();
        module.write(&mut v.writes(group, |element, token| head.v[token][first + element]))?;
    }
    Ok(())
}

/// Computes the attention of a query to a head that is in the banks.
pub fn run_query(
    module: &mut dyn AimDevice,
    layout: &AimHead,
    query: &[u16],
) -> Result<AimAttention, WorkloadError> {
    let scale = f16::from_f64(results::scale(layout.head_dim())).to_bits();
    Ok(module.attention(layout, query, scale)?)
}

/// What a K and V head did, of all queries that share it.
#[derive(Clone, Copy, Debug, Default)]
struct OfHead {
    /// Score, softmax, context.
    costs: [Statistics; 3],
    /// Scores and context.
    exact: [Exact; 2],
    written: Written,
    stages: Stages,
    reopened: Reopened,
}

impl OfHead {
    fn and(self, other: Self) -> Self {
        Self {
            costs: std::array::from_fn(|n| self.costs[n].and(other.costs[n])),
            exact: std::array::from_fn(|n| self.exact[n].and(other.exact[n])),
            written: self.written.and(other.written),
            stages: self.stages.worse(other.stages),
            reopened: self.reopened.and(other.reopened),
        }
    }
}

/// What became of a task.
pub struct Heads {
    /// Score, softmax and context.
    pub operators: [Operator; 3],
    /// Where their errors come from.
    pub stages: Stages,
    /// Writing K and V.
    pub written: Written,
    /// Rows that queries opened again.
    pub reopened: Reopened,
    /// How many heads were run, and how many there are, if not all were.
    pub sample: Option<(usize, usize)>,
}

/// Runs a task; with `timing_only` one of the K and V heads that are alike, which costs as much as the others.
/// `progress` is told of the elements of K and V that are done.
pub fn run(
    module: &mut dyn AimDevice,
    task: &AttentionTask,
    timing_only: bool,
    mut progress: impl FnMut(u64),
) -> Result<Heads, WorkloadError> {
    let layouts = layouts(module.config(), &module.options(), task)?;
    // Of each kind the query heads, the tokens, and what it did.
    let mut kinds: Vec<(usize, usize, OfHead)> = Vec::new();
    let mut all = OfHead::default();
    let (mut ran, mut elements) = (0, 0);
    for kv_head in 0..task.kv_heads() {
        let group = task.group_of(kv_head);
        for (request, layout) in layouts.iter().enumerate() {
            let context = layout.context();
            let known = kinds.iter().find(|kind| (kind.0, kind.1) == (group, context));
            let known = known.map(|kind| kind.2);
            let of_head = match known {
                // It costs as much, and nothing of it was compared.
                Some(of_head) => OfHead { exact: [Exact::default(); 2], ..of_head },
                None => {
                    let number = task.number(kv_head, request);
                    let head = Head::synthetic(task.head_shape(group, context), task.seed, number);
                    ran += 1;
                    run_head(module, layout, &head)?
                }
            };
            if timing_only && known.is_none() {
                kinds.push((group, context, of_head));
            }
            all = all.and(of_head);
            elements += (2 * context * task.head_dim) as u64;
            progress(elements);
        }
    }
    let heads = task.kv_heads() * layouts.len();
    let OfHead { costs, exact, written, stages, reopened } = all;
    let tokens: usize = task.contexts.iter().sum();
    let macs = (task.heads * tokens * task.head_dim) as u64;
    let (config, channels) = (module.config(), module.options().channels);
    let operator = |name, cost: usize, macs, error| {
        Operator::on_channels(name, config, channels, &costs[cost], macs, error)
    };
    // A query in for the scores, its context out.
    let of_queries = task.heads * layouts.len() * task.head_dim;
    let [query, outputs] = [(of_queries, 0), (0, of_queries)]
        .map(|(operands, outputs)| Crossing::elements(operands, outputs));
    let [of_scores, of_context] = exact.map(Some);
    Ok(Heads {
        operators: [
            Operator { exact: of_scores, ..operator("score", 0, macs, stages.score) }
                .on_link(config, query),
            operator("softmax", 1, 0, stages.softmax),
            Operator { exact: of_context, ..operator("context", 2, macs, stages.context) }
                .on_link(config, outputs),
        ],
        stages,
        written,
        reopened,
        sample: (ran < heads).then_some((ran, heads)),
    })
}

fn run_head(
    module: &mut dyn AimDevice,
    layout: &AimHead,
    head: &Head,
) -> Result<OfHead, WorkloadError> {
    module.begin();
    load(module, layout, head)?;
    let written = Written { cost: module.end(), bytes: bytes(&layout.k) + bytes(&layout.v) };
    let mut of_head = OfHead { written, ..OfHead::default() };
    for (number, query) in head.queries.iter().enumerate() {
        let result = run_query(module, layout, query)?;
        let AimAttention { score, softmax, context } = &result;
        let of_query = OfHead {
            costs: [score.statistics, softmax.statistics, context.statistics],
            exact: exact::query(module.options(), layout, head, query, &result),
            written: Written::default(),
            reopened: Reopened::of(number, [&score.statistics, &context.statistics]),
            stages: heads::errors_of(&[query], head, &values(result), Normalise::Early),
        };
        of_head = of_head.and(of_query);
    }
    Ok(of_head)
}

/// What a query's attention gave, as that of one head.
fn values(result: AimAttention) -> Attention {
    let AimAttention { score, softmax, context } = result;
    Attention {
        scores: vec![score.values],
        weights: vec![softmax.values],
        context: vec![context.values],
        ..Attention::default()
    }
}
