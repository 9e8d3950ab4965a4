// SPDX-License-Identifier: MIT
//! The report for people.

use crate::output::{self, Page, decimal, grouped};
use pimlico_serving::metrics::Percentiles;
use pimlico_serving::report::{ResourceReport, ServeReport};

/// The report.
pub fn page(report: &ServeReport) -> Page {
    let ServeReport { policy, model, trace, parallel, hardware, .. } = report;
    let moments = &trace.moments;
    let sets = hardware.dimms * hardware.ranks;
    let mut page = Page::from(format!(
        "{model} by {policy}: {} requests of {}, {:.0} tokens in and {:.0} out on average, seed {}\n\
         {} x {}, TP {}, DP {}; {} channels of {sets} ranks of {} GiB; admission {}, constants {}\n\n",
        grouped(moments.requests as u64),
        trace.name,
        moments.input_mean,
        moments.output_mean,
        report.seed,
        hardware.gpus,
        hardware.gpu,
        parallel.tp,
        parallel.dp,
        hardware.channels,
        hardware.rank_bytes >> 30,
        report.admission,
        hardware.gpu_model,
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
