// SPDX-License-Identifier: MIT
//! Attention of heads on a module: K and V heads of a request side by side, one in each group of channels, then those of
//! the next request.

use super::groups::alike;
use super::{Groups, Reopened, bytes};
use crate::error::WorkloadError;
use crate::judge::heads::{self, HeadJudgement};
use crate::parallel;
use crate::report::link::Crossing;
use crate::report::{APPEND, OperatorReport, Stages, Together, Verdict, Written};
use crate::results::{self, Attention, Summed};
use crate::task::AttentionTask;
use half::f16;
use pimlico_device::Statistics;
use pimlico_device::aim::{AimHead, AimOptions, GPR, LayoutError, RowWrites, Word};
use pimlico_device::aim::{MULTIPLIERS, of_elements, word_of};
use pimlico_host::aim::{AimAttention, AimHost, HeadQuery};
use pimlico_host::program::aim as program;
use pimlico_model::Vectors;
use pimlico_model::data::Head;
use std::cell::Cell;
use std::ops::Range;

/// Where the K and V of each request lie in a group, one after the other.
pub fn layouts(module: &Groups<'_>, task: &AttentionTask) -> Result<Vec<AimHead>, LayoutError> {
    let mut row = 0;
    let mut next = |&context: &usize| {
        let head = module.head(task.head_dim, context, row)?;
        row = head.v.end_row();
        Ok(head)
    };
    let layouts: Vec<AimHead> = task.contexts.iter().map(&mut next).collect::<Result<_, _>>()?;
    let queries = (0..task.kv_heads()).map(|head| task.group_of(head)).max().unwrap_or(1);
    check_room(module, &layouts, queries)?;
    Ok(layouts)
}

/// Whether so many queries of each head have room in buffers and GPR, where several are there together.
pub fn check_room(
    module: &Groups<'_>,
    layouts: &[AimHead],
    queries: usize,
) -> Result<(), LayoutError> {
    check_queries(&module.options(), module.count(), layouts, queries)
}

/// The same of a module of so many groups, each of which works like this.
pub fn check_queries(
    options: &AimOptions,
    groups: usize,
    layouts: &[AimHead],
    queries: usize,
) -> Result<(), LayoutError> {
    let AimOptions { shared_rows, head_pipeline, .. } = *options;
    let most = |of: fn(&AimHead) -> usize| layouts.iter().map(of).max().unwrap_or(0);
    let (room, outputs) = (most(program::room), most(program::outputs));
    let fits = |what, wanted| match GPR / groups {
        there if wanted > there => Err(LayoutError::GprQueries { what, wanted, there }),
        _ => Ok(()),
    };
    let most_elements = options.tile();
    if let Some(head) = layouts.iter().find(|head| head.k.tiles() > 1)
        && (head_pipeline || shared_rows && queries > 1)
    {
        let head_dim = head.head_dim();
        return Err(LayoutError::Tiles { head_dim, most: most_elements });
    }
    if shared_rows && queries > 1 {
        for head_dim in layouts.iter().map(AimHead::head_dim) {
            let most = program::most_queries(head_dim);
            if queries > most {
                return Err(LayoutError::Queries { queries, head_dim, most });
            }
        }
        fits("shared rows", queries * (room + outputs))?;
    }
    if head_pipeline { fits("head pipeline of two queries", 2 * room + outputs) } else { Ok(()) }
}

/// Writes K and V of a head into a group, which holds their rows from here on.
pub fn load(module: &mut AimHost, layout: &AimHead, head: &Head) -> Result<(), WorkloadError> {
    let AimHead { k, v } = layout;
    module.hold(&layout.matrices())?;
    for group in 0..k.groups() {
        let first = group * k.pus();
        module.write(
            &mut k.word_writes(group, |token, word| word_of(&head.k[first + token], word)),
        )?;
    }
    for group in 0..v.groups() {
        let first = group * v.pus();
        module.write(&mut v.word_writes(group, |element, word| {
            let tokens = word * MULTIPLIERS..v.columns;
            let of =
                |n: usize| tokens.clone().nth(n).map_or(0, |token| head.v[token][first + element]);
            of_elements(&std::array::from_fn(of))
        }))?;
    }
    Ok(())
}

/// The same of a head without data.
fn load_zeros(module: &mut AimHost, layout: &AimHead) -> Result<(), WorkloadError> {
    let matrices = layout.matrices();
    module.hold(&matrices)?;
    for matrix in &matrices {
        for group in 0..matrix.groups() {
            module.write(&mut matrix.word_writes(group, |_, _| Word::default()))?;
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
    let results =
        module.each(|group, device| run_query(device, layout, of_group(group).unwrap_or(first)))?;
    Ok(side_by_side(module, results, busy))
}

/// What a query of each group gave, of which the first ones have one of their own.
fn side_by_side(module: &Groups<'_>, mut results: Vec<AimAttention>, busy: usize) -> SideBySide {
    let cost = |step: fn(&AimAttention) -> Statistics| {
        Together::new(module.count(), busy, alike(results.iter().map(step)))
    };
    let costs = [
        cost(|result| result.score.statistics),
        cost(|result| result.softmax.statistics),
        cost(|result| result.context.statistics),
    ];
    results.truncate(busy);
    SideBySide { results, costs }
}

/// Heads that are in the banks, each in a group.
pub type Set<'a> = (AimHead, &'a [Head]);

/// Computes the attention of all queries of sets of heads, of each set query by query. Where rows are shared the first
/// query of a set has the costs of all.
pub fn run_sets(
    module: &mut Groups<'_>,
    sets: &[Set<'_>],
) -> Result<(Vec<Vec<SideBySide>>, Option<Piped>), WorkloadError> {
    let AimOptions { head_pipeline, shared_rows, .. } = module.options();
    if head_pipeline {
        let (results, piped) = run_piped(module, sets)?;
        return Ok((results, Some(piped)));
    }
    let of_set = |(layout, heads): &Set<'_>| {
        let queries = heads[0].queries.len();
        if shared_rows && queries > 1 {
            return run_shared(module, layout, heads);
        }
        (0..queries).map(|query| run_queries(module, layout, heads, query)).collect()
    };
    Ok((sets.iter().map(of_set).collect::<Result<_, WorkloadError>>()?, None))
}

/// The queries of a head, or of the first where it has none with the number.
fn queries_of<'a>(heads: &'a [Head], group: usize) -> impl Iterator<Item = &'a [u16]> {
    let own = heads.get(group).map_or(&[][..], |head| &head.queries);
    let of_query = move |(n, first): (usize, &'a Vec<u16>)| &own.get(n).unwrap_or(first)[..];
    heads[0].queries.iter().enumerate().map(of_query)
}

/// How many heads have the query.
fn busy(heads: &[Head], query: usize) -> usize {
    heads.iter().filter(|head| query < head.queries.len()).count()
}

/// Of results by group and query those by query.
fn by_query(of_groups: Vec<Vec<AimAttention>>) -> Vec<Vec<AimAttention>> {
    let queries = of_groups[0].len();
    let mut of_groups: Vec<_> = of_groups.into_iter().map(Vec::into_iter).collect();
    (0..queries).map(|_| of_groups.iter_mut().flat_map(Iterator::next).collect()).collect()
}

/// The attention of all queries of a set on rows that stay open for all of them.
fn run_shared(
    module: &mut Groups<'_>,
    layout: &AimHead,
    heads: &[Head],
) -> Result<Vec<SideBySide>, WorkloadError> {
    let scale = f16::from_f64(results::scale(layout.head_dim())).to_bits();
    let of_groups = module.each(|group, device| {
        let queries: Vec<_> = queries_of(heads, group).collect();
        Ok(device.shared_attention(layout, &queries, scale)?)
    })?;
    let of_queries = by_query(of_groups).into_iter().enumerate();
    let of_query = |(n, results)| side_by_side(module, results, busy(heads, n));
    Ok(of_queries.map(of_query).collect())
}

/// What a head pipeline came to, in tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piped {
    /// Score and context on the channels.
    pub channels_tck: u64,
    /// Softmax, from the beginning of each to its end.
    pub softmax_tck: u64,
    /// Of this, what the channels waited for.
    pub waited_tck: u64,
}

impl Piped {
    /// Of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            channels_tck: self.channels_tck + other.channels_tck,
            softmax_tck: self.softmax_tck + other.softmax_tck,
            waited_tck: self.waited_tck + other.waited_tck,
        }
    }

    /// What a report says of it.
    pub fn note(self) -> String {
        let Self { channels_tck, softmax_tck, waited_tck } = self;
        let (with, without) = (channels_tck + waited_tck, channels_tck + softmax_tck);
        let bound = channels_tck.max(softmax_tck);
        format!(
            "head pipeline: {with} tCK, one after the other {without}; softmax takes {softmax_tck}, of which the \
             channels wait {waited_tck}, score and context {channels_tck}: the bound is {bound}, the longer of both"
        )
    }
}

/// The attention of all queries of all sets, with softmax beside score and context of others.
fn run_piped(
    module: &mut Groups<'_>,
    sets: &[Set<'_>],
) -> Result<(Vec<Vec<SideBySide>>, Piped), WorkloadError> {
    let piped = module.each(|group, device| {
        let mut queries = Vec::new();
        for &(head, heads) in sets {
            let scale = f16::from_f64(results::scale(head.head_dim())).to_bits();
            let of_set = queries_of(heads, group);
            queries.extend(of_set.map(|query| HeadQuery { head, query, scale }));
        }
        Ok(device.piped_attention(&queries)?)
    })?;
    let softmax_tck = piped[0].softmax_tck;
    let mut of_queries = by_query(piped.into_iter().map(|of| of.results).collect()).into_iter();
    let of_set = |(_, heads): &Set<'_>| {
        let of_query = |(n, results)| side_by_side(module, results, busy(heads, n));
        let queries = heads[0].queries.len();
        of_queries.by_ref().take(queries).enumerate().map(of_query).collect::<Vec<_>>()
    };
    let results: Vec<_> = sets.iter().map(of_set).collect();
    let mut piped = Piped { softmax_tck, ..Piped::default() };
    for SideBySide { costs, .. } in results.iter().flatten() {
        let [score, softmax, context] = costs.map(|cost| cost.of_group().cycles);
        piped.channels_tck += score + context;
        piped.waited_tck += softmax;
    }
    Ok((results, piped))
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
    /// What a head pipeline came to, if there was one.
    pub piped: Option<Piped>,
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
    if module.options().head_pipeline {
        return run_pipeline(module, task, &layouts, timing_only, progress);
    }
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
                    let heads =
                        heads(task, (kv_heads.clone(), request), timing_only, module.threads());
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
    let sample = timing_only.then_some((ran, heads));
    Ok(heads_of(module, task, &all, sample, places))
}

/// What became of a task, of what its heads did.
fn heads_of(
    module: &Groups<'_>,
    task: &AttentionTask,
    all: &OfHeads,
    sample: Option<(usize, usize)>,
    places: usize,
) -> Heads {
    let OfHeads { costs, judged, written, appended, reopened } = *all;
    let requests = task.contexts.len();
    let tokens: usize = task.contexts.iter().sum();
    let macs = (task.heads * tokens * task.head_dim) as u64;
    let operator =
        |name, cost: usize, macs, judged| module.operator(name, &costs[cost], macs, judged);
    let append = task.appends.then(|| append_operator(module, &appended));
    let config = module.config();
    // A query in for the scores, its context out.
    let of_queries = task.heads * requests * task.head_dim;
    let [query, outputs] = [(of_queries, 0), (0, of_queries)]
        .map(|(operands, outputs)| Crossing::elements(operands, outputs));
    let [of_scores, of_softmax, of_context] = judged.operators();
    Heads {
        append,
        operators: [
            operator("score", 0, macs, of_scores).on_link(config, query),
            operator("softmax", 1, 0, of_softmax),
            operator("context", 2, macs, of_context).on_link(config, outputs),
        ],
        stages: judged.stages,
        written,
        reopened,
        piped: None,
        sample,
        idle: (places - task.heads * requests, places),
    }
}

/// Runs a task whose heads are in the banks together, as their softmax is beside other heads. All of them are run.
fn run_pipeline(
    module: &mut Groups<'_>,
    task: &AttentionTask,
    layouts: &[AimHead],
    timing_only: bool,
    mut progress: impl FnMut(u64),
) -> Result<Heads, WorkloadError> {
    let (mut all, mut sets) = (OfHeads::default(), Vec::new());
    let (mut row, mut places, mut elements) = (0, 0, 0);
    for first in (0..task.kv_heads()).step_by(module.count()) {
        let kv_heads = first..task.kv_heads().min(first + module.count());
        for (request, layout) in layouts.iter().enumerate() {
            let layout = module.head(task.head_dim, layout.context(), row)?;
            row = layout.v.end_row();
            let heads = heads(task, (kv_heads.clone(), request), timing_only, module.threads());
            all = all.and(load_heads(module, task, &layout, &heads, timing_only)?);
            places += module.count() * heads[0].queries.len();
            elements += (2 * kv_heads.len() * layout.context() * task.head_dim) as u64;
            progress(elements);
            sets.push((layout, heads));
        }
    }
    let in_banks: Vec<Set<'_>> = sets.iter().map(|(layout, heads)| (*layout, &heads[..])).collect();
    let (results, piped) = run_sets(module, &in_banks)?;
    for (layout, _) in sets.iter().rev() {
        module.release(&layout.matrices());
    }
    for ((layout, heads), of_set) in sets.iter().zip(results) {
        all = all.and(judge_heads(module, layout, heads, of_set, timing_only));
    }
    let heads = heads_of(module, task, &all, None, places);
    Ok(Heads { piped, ..heads })
}

/// The K and V heads of a request with these numbers.
fn heads(
    task: &AttentionTask,
    (kv_heads, request): (Range<usize>, usize),
    timing_only: bool,
    threads: usize,
) -> Vec<Head> {
    let head = |&kv_head: &usize| {
        let shape = task.head_shape(task.group_of(kv_head), task.contexts[request]);
        match timing_only {
            true => Head::without_data(shape),
            false => Head::synthetic(shape, task.seed, task.number(kv_head, request)),
        }
    };
    parallel::each(&kv_heads.collect::<Vec<_>>(), threads, head)
}

/// Runs heads of a layout side by side, each in a group; with `timing_only` they have no data, and are not judged.
fn run_heads(
    module: &mut Groups<'_>,
    task: &AttentionTask,
    layout: &AimHead,
    heads: &[Head],
    timing_only: bool,
) -> Result<OfHeads, WorkloadError> {
    let loaded = load_heads(module, task, layout, heads, timing_only)?;
    let (mut results, _) = run_sets(module, &[(*layout, heads)])?;
    module.release(&layout.matrices());
    let of_set = results.pop().unwrap_or_default();
    Ok(loaded.and(judge_heads(module, layout, heads, of_set, timing_only)))
}

/// Writes heads of a layout, each into a group.
fn load_heads(
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
    Ok(OfHeads { written, appended, ..OfHeads::default() })
}

/// What the queries of heads of a layout cost, and whether they gave what they should.
fn judge_heads(
    module: &Groups<'_>,
    layout: &AimHead,
    heads: &[Head],
    of_set: Vec<SideBySide>,
    timing_only: bool,
) -> OfHeads {
    let mut of_heads = OfHeads::default();
    let (options, queries) = (module.options(), of_set.len());
    let mut to_judge = Vec::new();
    for (number, SideBySide { results, costs }) in of_set.into_iter().enumerate() {
        let [score, _, context] = costs.map(|cost| cost.of_group());
        let reopened = Reopened::of(number, [&score, &context]);
        of_heads = of_heads.and(OfHeads { costs, reopened, ..OfHeads::default() });
        to_judge.extend(heads.iter().zip(results).map(|(head, result)| (number, head, result)));
    }
    let summed = if module.has_own_programs() { summed_anyhow } else { summed };
    let judge = |(number, head, result): &(usize, &Head, AimAttention)| {
        if timing_only {
            return HeadJudgement::not_run(1, layout.context(), layout.head_dim());
        }
        let values = values(summed(&options, layout, queries), result.clone());
        heads::judge_query(*number, 0, head, &values)
    };
    let judged = parallel::each(&to_judge, module.threads(), judge);
    let judged = judged.into_iter().fold(of_heads.judged, HeadJudgement::and);
    OfHeads { judged, ..of_heads }
}

/// Writes K and V of the last token of heads side by side, zeros for heads without data. A group without a head keeps step,
/// which counts for no bytes.
fn append(
    module: &mut Groups<'_>,
    layout: &AimHead,
    heads: &[Head],
) -> Result<Written, WorkloadError> {
    let words = Cell::new(0);
    let count = |own: bool, writes: &RowWrites<'_>| {
        words.set(words.get() + if own { writes.words() } else { 0 });
    };
    module.begin();
    module.write(|group| {
        let head = heads.get(group).unwrap_or(&heads[0]);
        let last = layout.context() - 1;
        let element = |of: &Vectors, token: usize, element: usize| {
            of[token].get(element).copied().unwrap_or(0)
        };
        let of_k = layout.k.row_writes(last, move |token, of_k| element(&head.k, token, of_k));
        let of_v = layout.v.column_writes(last, move |of_v, token| element(&head.v, token, of_v));
        of_k.chain(of_v).inspect(move |writes| count(group < heads.len(), writes))
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
    let summed = summed(options, layout, head.queries.len());
    heads::judge_query(number, 0, head, &values(summed, result))
}

/// How the sums of a head with so many queries are formed.
pub fn summed(options: &AimOptions, layout: &AimHead, queries: usize) -> Summed {
    let part = |rows| if options.sums_stay(rows) { usize::MAX } else { options.tile() };
    // Queries that share rows take turns in the PUs, tile by tile.
    let takes_turns = options.shared_rows && queries > 1;
    let context = if takes_turns { options.tile() } else { part(layout.head_dim()) };
    Summed::Module { score: vec![part(layout.context())], context: vec![context] }
}

/// The same of a program of one's own, in which the sums of either may leave with each tile, or stay in the PUs.
fn summed_anyhow(options: &AimOptions, layout: &AimHead, queries: usize) -> Summed {
    let either = |built: usize| match built {
        usize::MAX => vec![built, options.tile()],
        _ => vec![built, usize::MAX],
    };
    match summed(options, layout, queries) {
        Summed::Module { score, context } => {
            Summed::Module { score: either(score[0]), context: either(context[0]) }
        }
        summed => summed,
    }
}

/// What a query's attention gave, as that of one head.
fn values(summed: Summed, result: AimAttention) -> Attention {
    let AimAttention { score, softmax, context } = result;
    Attention {
        summed: vec![summed],
        scores: vec![score.values],
        weights: vec![softmax.values],
        context: vec![context.values],
        ..Attention::default()
    }
}
