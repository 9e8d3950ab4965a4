// SPDX-License-Identifier: MIT
//! `pimlico run` on several ranks, and a layer on any number of them: each piece of the work has a rank that
//! has just been reset.

use super::arguments::RunArguments;
use super::{Job, Stop, ran_by};
use crate::failure::Failure;
use crate::output::{self, grouped};
use pimlico_device::{Address, Device, Ranks, Topology};
use pimlico_workload::report::{LayersReport, OnRanks, Operator, Report, RollUp};
use pimlico_workload::spread::SpreadError;
use pimlico_workload::{attention, fc, gemv, layer};
use std::fmt::Write;

/// Runs a job.
pub(super) fn run(
    topology: Topology,
    job: &Job,
    arguments: &RunArguments,
) -> Result<Report, Failure> {
    let (config, options) = (arguments.dram_config(), arguments.options());
    let new_rank = || arguments.backend.device(&config, options, arguments.seed);
    new_rank()?; // what cannot be had is told here
    let at = |address: Address| {
        let rank: Result<Box<dyn Device>, Failure> = new_rank();
        rank.unwrap_or_else(|error| panic!("{address}: one was made already: {error}"))
    };
    let ranks = Ranks::new(&config, topology, &at);
    let report = run_job(&ranks, job, arguments).map_err(|stop| {
        stop.failure(job, arguments, |_| "none of what runs on several ranks".to_owned())
    })?;
    Ok(ran_by(report, arguments))
}

fn run_job(ranks: &Ranks, job: &Job, arguments: &RunArguments) -> Result<Report, Stop> {
    let (options, how) = (arguments.options(), arguments.how());
    let io_buffers = arguments.io_buffers();
    let bar = output::progress(1, "weights, K and V");
    let progress = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let report = match job {
        Job::Attention(job) => attention::run_on_ranks(ranks, options, job, how, progress),
        Job::Fc(job) => fc::run_on_ranks(ranks, options, job, (io_buffers, how), progress),
        Job::Gemv(job) => gemv::run_on_ranks(ranks, options, job, how, progress),
        Job::Layer(job) => layer::run(ranks, options, job, progress),
        Job::Decode(_) => unreachable!("a job of one rank"),
    };
    bar.finish_and_clear();
    report.map_err(Stop::from)
}

impl From<SpreadError> for Stop {
    fn from(error: SpreadError) -> Self {
        match error.rank() {
            Ok(error) => Self::Rank(error),
            Err(error) => Self::Input(error.to_string()),
        }
    }
}

/// How the operators are spread, for people; nothing of a rank alone.
pub(super) fn table(report: &Report) -> String {
    let Some(all) = report.ranks.filter(|ranks| ranks.count() > 1) else { return String::new() };
    let row = |operator: &Operator| {
        let OnRanks { used, imbalance, waited_tck, channel, gb_per_s, .. } = operator.ranks?;
        Some(vec![
            operator.operator.to_owned(),
            format!("{used} of {}", all.count()),
            format!("{imbalance:.3}"),
            grouped(waited_tck),
            format!("{:.1} %", 100.0 * channel),
            format!("{gb_per_s:.1}"),
        ])
    };
    let header = ["operator", "ranks", "busiest / mean", "waited, tCK", "busiest channel", "GB/s"];
    let table = format!("\n{}", output::table(&header, report.operators.iter().filter_map(row)));
    if all.share_mdq() { table + &mdq_table(report) } else { table }
}

/// What ranks that share the data lines of their DIMM cost each other, for people.
fn mdq_table(report: &Report) -> String {
    let row = |operator: &Operator| {
        let OnRanks { mdq_waited_tck, mdq, mdq_least_tck, .. } = operator.ranks?;
        Some(vec![
            operator.operator.to_owned(),
            grouped(mdq_waited_tck),
            format!("{:.1} %", 100.0 * mdq),
            grouped(mdq_least_tck),
            grouped(operator.cycles),
        ])
    };
    let header =
        ["MDQ shared", "waited, tCK", "busiest lines", "at the least, tCK", "at the most, tCK"];
    format!("\n{}", output::table(&header, report.operators.iter().filter_map(row)))
}

/// What a layer's cost comes to, for people.
pub(super) fn roll_up(roll_up: &RollUp) -> String {
    let mut text = String::new();
    let RollUp { layer, token, model } = roll_up;
    let _ = writeln!(text, "a layer: {:.1} us", layer.ns / 1000.0);
    let several = [token, model].into_iter().filter(|layers| layers.layers > 1);
    let mut several: Vec<_> = several.collect();
    several.dedup_by_key(|layers| layers.layers);
    for LayersReport { layers, ns, tokens_per_s, bytes_per_rank, fits, .. } in several {
        let room = if *fits { "" } else { ", more than it has" };
        let _ = writeln!(
            text,
            "{layers} such layers, one after the other: {:.1} us for a token, {tokens_per_s:.1} tokens/s; \
             {:.2} GB of the fullest rank{room}",
            ns / 1000.0,
            *bytes_per_rank as f64 / 1e9
        );
    }
    text
}
