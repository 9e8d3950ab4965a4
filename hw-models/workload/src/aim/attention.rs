// SPDX-License-Identifier: MIT
//! Attention of a layer's heads on a module, K and V head after K and V head, request after request.

use super::{RunError, bytes, compare, golden_output, is_compared};
use crate::attention::{self, AttentionJob};
use crate::pins::PinLog;
use crate::report::{
    AttentionReport, Exact, JobReport, Load, Operator, Report, ScoreBuffer, Stages,
};
use half::f16;
use pimlico_device::aim::attention::{self as device, AimAttention, AimHead};
use pimlico_device::aim::{GPR, LayoutError, Module};
use pimlico_device::{Normalise, Statistics};
use pimlico_model::data::{Head, HeadShape};

/// Where the K and V of each request lie, one behind the other.
fn layouts(module: &Module, job: &AttentionJob) -> Result<Vec<AimHead>, LayoutError> {
    let mut row = 0;
    let mut next = |&context: &usize| {
        let head = AimHead::new(module.config(), &module.options(), job.head_dim, context, row)?;
        row = head.v.end_row();
        Ok(head)
    };
    job.contexts.iter().map(&mut next).collect()
}

/// Writes K and V of a head.
pub fn load(module: &mut Module, layout: &AimHead, head: &Head) -> Result<(), RunError> {
    let AimHead { k, v } = layout;
    for group in 0..k.groups() {
        let first = group * k.pus();
        module.write(k.writes(group, |token, element| head.k[first + token][element]))?;
    }
    for group in 0..v.groups() {
        let first = group * v.pus();
        module.write(v.writes(group, |element, token| head.v[token][first + element]))?;
    }
    Ok(())
}

/// Computes the attention of a query to a head that is in the banks.
pub fn run_query(
    module: &mut Module,
    layout: &AimHead,
    query: &[u16],
) -> Result<AimAttention, RunError> {
    let scale = f16::from_f64(attention::scale(layout.head_dim())).to_bits();
    Ok(device::attention(module, layout, query, scale)?)
}

/// An operator of all heads so far.
#[derive(Default)]
struct Sum {
    cost: Statistics,
    exact: Exact,
}

/// Runs a job. `progress` is told after each K and V head how many query heads are done.
pub fn run(
    module: &mut Module,
    job: &AttentionJob,
    mut progress: impl FnMut(usize),
) -> Result<Report, RunError> {
    let layouts = layouts(module, job)?; // before data are made
    let pins = PinLog::of_module(module);
    let mut cost_of_load = Statistics::default();
    let [mut score, mut softmax, mut context] = [(); 3].map(|()| Sum::default());
    let mut stages = Stages::default();
    let mut done = 0;
    while done < job.heads {
        // The last K and V head may have fewer query heads than the others, if the job ends there.
        let group = job.group.min(job.heads - done);
        let number = done / job.group * layouts.len();
        for (number, layout) in (number..).zip(&layouts) {
            let AttentionJob { head_dim, distribution, seed, .. } = *job;
            let shape = HeadShape { head_dim, context: layout.context(), group, distribution };
            let head = Head::synthetic(shape, seed, number);
            module.begin();
            load(module, layout, &head)?;
            cost_of_load = cost_of_load.and(module.end());
            for query in &head.queries {
                let result = run_query(module, layout, query)?;
                score.cost = score.cost.and(result.score.statistics);
                softmax.cost = softmax.cost.and(result.softmax.statistics);
                context.cost = context.cost.and(result.context.statistics);
                let [of_scores, of_context] = exact(module, layout, &head, query, &result);
                score.exact = score.exact.and(of_scores);
                context.exact = context.exact.and(of_context);
                stages = stages.worse(errors(&head, query, result));
            }
        }
        done += group;
        progress(done);
    }

    let tokens: usize = job.contexts.iter().sum();
    let macs = (job.heads * tokens * job.head_dim) as u64;
    let channels = module.options().channels;
    let operator = |name, sum: &Sum, macs, error| {
        Operator::on_channels(name, module.config(), channels, &sum.cost, macs, error)
    };
    let operators = vec![
        Operator { exact: Some(score.exact), ..operator("score", &score, macs, stages.score) },
        operator("softmax", &softmax, 0, stages.softmax),
        Operator {
            exact: Some(context.exact),
            ..operator("context", &context, macs, stages.context)
        },
    ];
    let kv_heads = job.heads.div_ceil(job.group) as u64;
    let written: u64 = layouts.iter().map(|head| bytes(&head.k) + bytes(&head.v)).sum();
    let load = Load::new(module.config(), &cost_of_load, kv_heads * written);
    let longest = job.contexts.iter().copied().max().unwrap_or(0);
    let attention = AttentionReport {
        model: job.model.clone(),
        head_dim: job.head_dim,
        contexts: job.contexts.clone(),
        heads: job.heads,
        group: job.group,
        distribution: job.distribution.name(),
        score_buffer: ScoreBuffer { capacity: GPR, scores: longest, passes: 1 },
        stages,
    };
    let job_report = JobReport::Attention(attention);
    Ok(super::report(module, &pins, job_report, job.seed, load, operators))
}

/// Scores and context against `golden`'s, the context from the weights that there were.
pub(super) fn exact(
    module: &Module,
    layout: &AimHead,
    head: &Head,
    query: &[u16],
    result: &AimAttention,
) -> [Exact; 2] {
    let (tokens, elements) = (layout.context(), layout.head_dim());
    let score = |token: usize| {
        let compared = is_compared(tokens, elements, token);
        compared.then(|| golden_output(module, tokens, &head.k[token], query))
    };
    let context = |element: usize| {
        let row = || head.v.iter().map(|v| v[element]).collect::<Vec<_>>();
        let weights = &result.softmax.values;
        let compared = is_compared(elements, tokens, element);
        compared.then(|| golden_output(module, elements, &row(), weights))
    };
    [
        compare(&result.score.values, &(0..tokens).map(score).collect::<Vec<_>>()),
        compare(&result.context.values, &(0..elements).map(context).collect::<Vec<_>>()),
    ]
}

/// Errors of each stage against float64 of what it was given.
fn errors(head: &Head, query: &[u16], result: AimAttention) -> Stages {
    let AimAttention { score, softmax, context } = result;
    let result = attention::Attention {
        scores: vec![score.values],
        weights: vec![softmax.values],
        context: vec![context.values],
        statistics: Statistics::default(),
        transfers: Vec::new(),
    };
    attention::errors_of(&[query], head, &result, Normalise::Early)
}
