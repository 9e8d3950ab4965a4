// SPDX-License-Identifier: MIT
//! Attention of heads on a module: K and V heads of a request side by side, one in each group of channels, then those of
//! the next request.

use super::groups::alike;
use super::{Groups, Reopened, bytes};
use crate::error::WorkloadError;
use crate::judge::heads::{self, HeadJudgement};
use crate::report::link::Crossing;
use crate::report::{APPEND, OperatorReport, Stages, Together, Verdict, Written};
use crate::results::{self, Attention, Summed};
use crate::task::AttentionTask;
use half::f16;
use pimlico_device::Statistics;
use pimlico_device::aim::{AimHead, AimOptions, LayoutError, Word, Write};
use pimlico_host::aim::{AimAttention, AimHost};
use pimlico_model::data::Head;
use std::cell::Cell;

/// Where the K and V of each request lie in a group, one after the other.
pub fn layouts(module: &Groups<'_>, task: &AttentionTask) -> Result<Vec<AimHead>, LayoutError> {
    let mut row = 0;
    let mut next = |&context: &usize| {
        let head = module.head(task.head_dim, context, row)?;
        row = head.v.end_row();
        Ok(head)
    };
    task.contexts.iter().map(&mut next).collect()
}

/// Writes K and V of a head into a group.
pub fn load(module: &mut AimHost, layout: &AimHead, head: &Head) -> Result<(), WorkloadError> {
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

/// The same of a head without data.
fn load_zeros(module: &mut AimHost, layout: &AimHead) -> Result<(), WorkloadError> {
    for matrix in [&layout.k, &layout.v] {
        for group in 0..matrix.groups() {
            module.write(&mut matrix.writes(group, |_, _| 0))?;
        }
    }
    Ok(())
}

/// Computes the attention of a query to a head that is in the banks of a group.
pub fn run_query(
    module: &mut AimHost,
    layout: &AimHead,
    query: &[u16],
) -> Result<AimAttention, WorkloadError> {
    let scale = f16::from_f64(results::scale(layout.head_dim())).to_bits();
    Ok(module.attention(layout, query, scale)?)
}

/// What queries of heads gave that ran side by side, each in a group.
pub struct SideBySide {
    /// Of each head that has the query.
    pub results: Vec<AimAttention>,
    /// Score, softmax, context.
    pub costs: [Together; 3],
}

/// Computes the attention of query `query` of heads that are in the banks, each in a group. The last heads may have fewer
/// queries than the first.
pub fn run_queries(
    module: &mut Groups<'_>,
    layout: &AimHead,
    heads: &[Head],
    query: usize,
) -> Result<SideBySide, WorkloadError> {
    let of_group = |group: usize| heads.get(group).and_then(|head| head.queries.get(query));
    let busy = (0..heads.len()).filter(|&head| of_group(head).is_some()).count();
    let first = &heads[0].queries[query];
    let mut results =
        module.each(|group, device| run_query(device, layout, of_group(group).unwrap_or(first)))?;
    let cost = |step: fn(&AimAttention) -> Statistics| {
        Together::new(module.count(), busy, alike(results.iter().map(step)))
    };
    let costs = [
        cost(|result| result.score.statistics),
        cost(|result| result.softmax.statistics),
        cost(|result| result.context.statistics),
    ];
    results.truncate(busy);
    Ok(SideBySide { results, costs })
}

/// What K and V heads did side by side, of all queries that share them.
#[derive(Clone, Copy, Debug, Default)]
struct OfHeads {
    /// Score, softmax, context.
    costs: [Together; 3],
    judged: HeadJudgement,
    written: Written,
    /// Writing K and V of the last token once more, where that counts.
    appended: Written,
    reopened: Reopened,
}

impl OfHeads {
    fn and(self, other: Self) -> Self {
        Self {
            costs: std::array::from_fn(|n| self.costs[n].and(other.costs[n])),
            judged: self.judged.and(other.judged),
            written: self.written.and(other.written),
            appended: self.appended.and(other.appended),
            reopened: self.reopened.and(other.reopened),
        }
    }
}

/// What became of a task.
pub struct Heads {
    /// Adding K and V, where it counts.
    pub append: Option<OperatorReport>,
    /// Score, softmax and context.
    pub operators: [OperatorReport; 3],
    /// Where their errors come from.
    pub stages: Stages,
    /// Writing K and V.
    pub written: Written,
    /// Rows that queries opened again.
    pub reopened: Reopened,
    /// How many heads were run, and how many there are, where only the cost was asked for.
    pub sample: Option<(usize, usize)>,
    /// Places of queries in groups that had no head, and all places.
    pub idle: (usize, usize),
}

/// Runs a task; with `timing_only` of the sets of K and V heads that are alike one, which costs as much as the others, and
/// without data. `progress` receives the elements of K and V that are done.
pub fn run(
    module: &mut Groups<'_>,
    task: &AttentionTask,
    timing_only: bool,
    mut progress: impl FnMut(u64),
) -> Result<Heads, WorkloadError> {
    let layouts = layouts(module, task)?;
    // Of each kind the query heads of each K and V head, the tokens, and what they did.
    let mut kinds: Vec<(Vec<usize>, usize, OfHeads)> = Vec::new();
    let mut all = OfHeads::default();
    let (mut ran, mut elements, mut places) = (0, 0, 0);
    for first in (0..task.kv_heads()).step_by(module.count()) {
        let kv_heads = first..task.kv_heads().min(first + module.count());
        let queries: Vec<usize> = kv_heads.clone().map(|head| task.group_of(head)).collect();
        for (request, layout) in layouts.iter().enumerate() {
            let context = layout.context();
            let known = kinds.iter().find(|kind| (&kind.0, kind.1) == (&queries, context));
            let known = known.map(|kind| kind.2);
            let of_heads = match known {
                Some(of_heads) => of_heads,
                None => {
                    let head = |kv_head| {
                        let shape = task.head_shape(task.group_of(kv_head), context);
                        match timing_only {
                            true => Head::without_data(shape),
                            false => {
                                Head::synthetic(shape, task.seed, task.number(kv_head, request))
                            }
                        }
                    };
                    let heads: Vec<Head> = kv_heads.clone().map(head).collect();
                    ran += heads.len();
                    run_heads(module, task, layout, &heads, timing_only)?
                }
            };
            if timing_only && known.is_none() {
                kinds.push((queries.clone(), context, of_heads));
            }
            all = all.and(of_heads);
            places += module.count() * queries[0];
            elements += (2 * kv_heads.len() * context * task.head_dim) as u64;
            progress(elements);
        }
    }
    let heads = task.kv_heads() * layouts.len();
    let OfHeads { costs, judged, written, appended, reopened } = all;
    let tokens: usize = task.contexts.iter().sum();
    let macs = (task.heads * tokens * task.head_dim) as u64;
    let operator =
        |name, cost: usize, macs, judged| module.operator(name, &costs[cost], macs, judged);
    let append = task.appends.then(|| append_operator(module, &appended));
    let config = module.config();
    // A query in for the scores, its context out.
    let of_queries = task.heads * layouts.len() * task.head_dim;
    let [query, outputs] = [(of_queries, 0), (0, of_queries)]
        .map(|(operands, outputs)| Crossing::elements(operands, outputs));
    let [of_scores, of_softmax, of_context] = judged.operators();
    Ok(Heads {
        append,
        operators: [
            operator("score", 0, macs, of_scores).on_link(config, query),
            operator("softmax", 1, 0, of_softmax),
            operator("context", 2, macs, of_context).on_link(config, outputs),
        ],
        stages: judged.stages,
        written,
        reopened,
        sample: timing_only.then_some((ran, heads)),
        idle: (places - task.heads * layouts.len(), places),
    })
}

/// Runs heads of a layout side by side, each in a group; with `timing_only` they have no data, and are not judged.
fn run_heads(
    module: &mut Groups<'_>,
    task: &AttentionTask,
    layout: &AimHead,
    heads: &[Head],
    timing_only: bool,
) -> Result<OfHeads, WorkloadError> {
    module.begin();
    module.each(|group, device| match timing_only {
        true => load_zeros(device, layout),
        false => load(device, layout, heads.get(group).unwrap_or(&heads[0])),
    })?;
    let AimHead { k, v } = layout;
    let bytes = bytes(k.rows, k.columns) + bytes(v.rows, v.columns);
    let written = Written::new(module.end(), bytes * heads.len() as u64);
    let appended = match task.appends {
        true => append(module, layout, heads)?,
        false => Written::default(),
    };
    let mut of_heads = OfHeads { written, appended, ..OfHeads::default() };
    for number in 0..heads[0].queries.len() {
        let SideBySide { results, costs } = run_queries(module, layout, heads, number)?;
        let [score, _, context] = costs.map(|cost| cost.of_group());
        let reopened = Reopened::of(number, [&score, &context]);
        of_heads = of_heads.and(OfHeads { costs, reopened, ..OfHeads::default() });
        for (head, result) in heads.iter().zip(results) {
            let judged = match timing_only {
                true => HeadJudgement::not_run(1, layout.context(), layout.head_dim()),
                false => judge(&module.options(), layout, head, number, result),
            };
            of_heads = of_heads.and(OfHeads { judged, ..OfHeads::default() });
        }
    }
    Ok(of_heads)
}

/// Writes K and V of the last token of heads side by side, zeros for heads without data. A group without a head keeps step,
/// which counts for no bytes.
fn append(
    module: &mut Groups<'_>,
    layout: &AimHead,
    heads: &[Head],
) -> Result<Written, WorkloadError> {
    let words = Cell::new(0);
    let count = |own: bool, write: &Write| {
        words.set(words.get() + if own { write.taken().count() } else { 0 });
    };
    module.begin();
    module.write(|group| {
        let head = heads.get(group).unwrap_or(&heads[0]);
        let last = layout.context() - 1;
        let element = |of: &[Vec<u16>], token: usize, element: usize| {
            of[token].get(element).copied().unwrap_or(0)
        };
        let of_k = layout.k.row_writes(last, move |token, of_k| element(&head.k, token, of_k));
        let of_v = layout.v.column_writes(last, move |of_v, token| element(&head.v, token, of_v));
        of_k.chain(of_v).inspect(move |write| count(group < heads.len(), write))
    })?;
    Ok(Written::new(module.end(), (words.get() * size_of::<Word>()) as u64))
}

/// Adding K and V of a token, of so much that was written.
pub fn append_operator(module: &Groups<'_>, written: &Written) -> OperatorReport {
    let Written { cost, bytes, .. } = *written;
    let together = Together::of_all(module.count(), cost);
    let operator = module.operator(APPEND, &together, 0, Verdict::default());
    operator.on_link(module.config(), Crossing { to_hub: bytes, to_host: 0 })
}

/// Judges what the attention of a head's query `number` gave.
pub fn judge(
    options: &AimOptions,
    layout: &AimHead,
    head: &Head,
    number: usize,
    result: AimAttention,
) -> HeadJudgement {
    heads::judge_query(number, 0, head, &values(options, layout, result))
}

/// How the sums of a head are formed.
pub fn summed(options: &AimOptions, layout: &AimHead) -> Summed {
    let part = |rows| if options.sums_stay(rows) { usize::MAX } else { options.tile() };
    Summed::Module { score: part(layout.context()), context: part(layout.head_dim()) }
}

/// What a query's attention gave, as that of one head.
fn values(options: &AimOptions, layout: &AimHead, result: AimAttention) -> Attention {
    let AimAttention { score, softmax, context } = result;
    Attention {
        summed: vec![summed(options, layout)],
        scores: vec![score.values],
        weights: vec![softmax.values],
        context: vec![context.values],
        ..Attention::default()
    }
}
