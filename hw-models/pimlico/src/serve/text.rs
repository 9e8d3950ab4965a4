// SPDX-License-Identifier: MIT
//! The report for people.

use crate::output::{self, Page, decimal, grouped};
use pimlico_serving::metrics::Percentiles;
use pimlico_serving::predict::{Predicted, PredictorOutcome};
use pimlico_serving::report::neupims::DeviceShares;
use pimlico_serving::report::{Machine, ResourceReport, ServeReport, StageReport};
use serde::Serialize;

/// The report.
pub fn page(report: &ServeReport) -> Page {
    let ServeReport { policy, model, trace, .. } = report;
    let moments = &trace.moments;
    let mut page = Page::from(format!(
        "{model} by {policy}: {} requests of {}, {:.0} tokens in and {:.0} out on average, seed {}\n{}\n\n",
        grouped(moments.requests as u64),
        trace.name,
        moments.input_mean,
        moments.output_mean,
        report.seed,
        machine(report),
    ));
    let header = [
        "tokens/s",
        "requests/s",
        "makespan, s",
        "batch",
        "most live",
        "memory, %",
        "FLOPs, %",
        "tokens/J",
    ];
    let row = vec![
        decimal(report.tokens_per_s, 1),
        decimal(report.requests_per_s, 3),
        decimal(report.makespan_ns as f64 / 1e9, 3),
        decimal(report.batch.mean, 1),
        grouped(report.batch.max),
        decimal(100.0 * report.memory.mean, 1),
        decimal(100.0 * report.flops_utilisation, 1),
        report.tokens_per_j.map_or("-".to_owned(), |of| decimal(of, 3)),
    ];
    page += output::table(&header, [row]);
    page += "\nTime in ms\n\n";
    let ms = |ns: u64| decimal(ns as f64 / 1e6, 2);
    let times = |(name, of): (&str, Percentiles)| {
        let Percentiles { mean, p50, p90, p95, p99 } = of;
        let figures = [mean, p50, p90, p95, p99].map(ms);
        std::iter::once(name.to_owned()).chain(figures).collect::<Vec<_>>()
    };
    let rows = [
        ("to the first token", report.ttft_ns),
        ("for each token behind it", report.tpot_ns),
        ("between two tokens", report.itl_ns),
        ("to the last token", report.e2e_ns),
    ];
    page += output::table(&["time", "mean", "p50", "p90", "p95", "p99"], rows.map(times));
    page += "\nShares of the makespan in %\n\n";
    let share = |of: &ResourceReport| {
        let shares = [of.busy, of.bubble, of.waiting].map(|share| decimal(100.0 * share, 1));
        std::iter::once(of.name.replace('_', " ")).chain(shares).collect::<Vec<_>>()
    };
    let header = ["part of a replica", "busy", "idle in an iteration", "no iteration"];
    page += output::table(&header, report.resources.iter().map(share));
    if let Some(of) = report.stages {
        page += stages(of);
    }
    if let Some(of) = report.devices {
        page += devices(of);
    }
    if let Some(of) = report.predictor {
        page += predictor(of);
    }
    page += format!(
        "{} iterations, {} tokens of prompts, {} chunks cut, {} requests sent back, {} out of memory\n",
        grouped(report.iterations),
        grouped(report.prefill_tokens),
        grouped(report.chunked),
        grouped(report.preempted),
        grouped(report.oom.len() as u64)
    );
    page += format!(
        "violations of the timeline: {}, of {} tasks\n",
        report.violations,
        grouped(report.watched_tasks)
    );
    for note in &report.notes {
        page += format!("note: {note}\n");
    }
    page
}

/// The machine, in a line.
fn machine(report: &ServeReport) -> String {
    let ServeReport { parallel, admission, .. } = report;
    match &report.hardware {
        Machine::L3(hardware) => format!(
            "{} x {}, TP {}, DP {}; {} channels of {} ranks of {} GiB; admission {admission}, constants {}",
            hardware.gpus,
            hardware.gpu,
            parallel.tp,
            parallel.dp,
            hardware.channels,
            hardware.dimms * hardware.ranks,
            hardware.rank_bytes >> 30,
            hardware.gpu_model,
        ),
        Machine::Lol(hardware) => format!(
            "{} nodes of {} modules of {} GiB, TP {}, PP {}; {}, admission {admission} up to {} tokens, I/O buffers {}, {} lanes \
             of softmax, {} GPUs",
            hardware.nodes,
            hardware.node_modules,
            hardware.module_bytes >> 30,
            parallel.tp,
            parallel.pp,
            hardware.partition,
            grouped(hardware.max_context),
            hardware.io_buffers,
            hardware.epu_lanes,
            hardware.gpus,
        ),
        Machine::Neupims(hardware) => format!(
            "{} NPUs, TP {}, PP {}, {} channels each; row buffers {}, channels {}, sub-batches {}, at most {} requests",
            hardware.devices,
            parallel.tp,
            parallel.pp,
            hardware.channels,
            word(hardware.memory),
            word(hardware.assign),
            word(hardware.interleave),
            grouped(hardware.batch),
        ),
    }
}

/// The word by which a document has it.
fn word(of: impl Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|of| Some(of.as_str()?.to_owned())).unwrap_or_default()
}

/// What the scheduler has learned.
fn predictor(of: PredictorOutcome) -> Page {
    let row = |(name, of): (&str, Predicted)| {
        let error = of.relative_error.map_or("-".to_owned(), |error| decimal(100.0 * error, 2));
        vec![name.to_owned(), grouped(of.samples), error]
    };
    let rows = [
        ("attention of prompts", of.prompts),
        ("matrices of a sub-batch", of.batch),
        ("attention of decoding requests", of.decoding),
        ("the same by the busiest rankset", of.busiest),
    ];
    Page::from("\nWhat the scheduler learned\n\n")
        + output::table(&["of", "seen", "mean error, %"], rows.map(row))
}

/// What is used of the devices.
fn devices(of: DeviceShares) -> Page {
    let DeviceShares { npu, pim, dots, bandwidth } = of;
    let header = ["arrays", "PIM at work", "dot products", "bandwidth"];
    let row = [npu, pim, dots, bandwidth].map(|share| decimal(100.0 * share, 1)).to_vec();
    Page::from("\nUsed of a device in % while it makes tokens\n\n") + output::table(&header, [row])
}

/// What the time of stages goes to.
fn stages(stages: StageReport) -> Page {
    let StageReport { matrices, products, softmax, links, tables, bubbles } = stages;
    let shares = [matrices, products, softmax, links, tables, bubbles];
    let header = ["matrices", "products", "softmax", "links", "host's writes", "bubbles"];
    let row = shares.map(|share| decimal(100.0 * share, 2)).to_vec();
    Page::from("\nTime of the stages in % while requests are live\n\n")
        + output::table(&header, [row])
}
