// SPDX-License-Identifier: MIT
//! `pimlico run neupims attention`: attention of a request's heads on one device, beside the paper's estimate.

use super::arguments::{ChannelArguments, RunOptions};
use super::{executed, failed, judged};
use crate::failure::Failure;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments, Page, decimal, grouped, table};
use crate::schema::Kind;
use clap::Args;
use pimlico_model::data::Distribution;
use pimlico_serving::llm::Llm;
use pimlico_serving::neupims::estimate::Algorithm1;
use pimlico_serving::neupims::shard::Shard;
use pimlico_workload::neupims::attention::{RequestJob, RequestReport};
use serde::Serialize;

/// Tokens of a request at the most, with data and without.
const MOST_TOKENS: u64 = 32_768;

/// Arguments of `pimlico run neupims attention`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico run neupims attention --model gpt3-7b --tp 4 --context 300
  pimlico run neupims attention --context 1,512,513,2048 --timing-only --refresh off")]
pub(super) struct AttentionArguments {
    /// Language models, by name
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", default_value = "gpt3-7b", value_parser = model_name())]
    model: Vec<String>,
    /// Devices that share the heads of a layer out among them
    #[arg(long, value_name = "N", default_value_t = 4)]
    tp: u64,
    /// Tokens of the request
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "300",
        value_parser = clap::value_parser!(u64).range(1..=MOST_TOKENS))]
    context: Vec<u64>,
    /// No data: the time, and no results
    #[arg(long)]
    timing_only: bool,
    #[command(flatten)]
    channel: ChannelArguments,
    #[command(flatten)]
    run: RunOptions,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S", help_heading = "Options")]
    seed: u64,
    #[command(flatten, next_help_heading = "Options")]
    format: FormatArguments,
}

/// A request beside the paper's estimate.
#[derive(Serialize)]
struct Estimated {
    /// The language model.
    model: String,
    /// Devices that share its heads.
    tp: u64,
    #[serde(flatten)]
    report: RequestReport,
    /// Algorithm 1 with the authors' parameters and quotients rounded up, as in their simulator. It has no refresh.
    estimated_tck: f64,
    /// The same without rounding, as it is printed.
    unrounded_tck: f64,
    /// tCK of the run over those estimated.
    ratio: f64,
}

#[derive(Serialize)]
struct Requests {
    runs: Vec<Estimated>,
}

pub(super) fn run(arguments: &AttentionArguments) -> Result<(), Failure> {
    let setup = arguments.run.setup(&arguments.channel, !arguments.timing_only, arguments.seed)?;
    let mut cases = Vec::new();
    for name in &arguments.model {
        let llm = Llm::new(name, find_model(name)?);
        let shard = Shard::new(&llm, arguments.tp, 1)?;
        cases.extend(arguments.context.iter().map(|&tokens| (name, shard, tokens)));
    }
    let bar = output::progress(cases.len() as u64, "requests");
    let mut runs = Vec::new();
    for (name, shard, tokens) in cases {
        let job = RequestJob {
            heads: shard.heads as usize,
            head_dim: shard.head_dim as usize,
            tokens: tokens as usize,
            distribution: Distribution::Random,
            seed: arguments.seed,
        };
        let (run, seed) = (&arguments.run, arguments.seed);
        let report = job
            .run(&setup)
            .map_err(|error| failed(error, &setup, run, seed, |setup| drop(job.run(setup))))?;
        let estimate =
            |rounds| Algorithm1 { rounds, ..Algorithm1::AUTHORS }.latency(&shard, tokens);
        let (estimated_tck, unrounded_tck) = (estimate(true), estimate(false));
        let (model, tp, ratio) = (name.clone(), arguments.tp, report.tck as f64 / estimated_tck);
        runs.push(Estimated { model, tp, report, estimated_tck, unrounded_tck, ratio });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let found = Requests { runs };
    output::report(arguments.format, (Kind::RunNeupimsAttention, &found), &text(&found))?;
    judged(found.runs.iter().map(|run| (&run.report.pins, run.report.results.as_ref())))
}

fn text(found: &Requests) -> Page {
    let Some(Estimated { report: RequestReport { setup, seed, .. }, tp, .. }) = found.runs.first()
    else {
        return Page::default();
    };
    let refresh = if setup.refresh { "on" } else { "off" };
    let title = executed(setup)
        + &format!(
            "attention of a request in one channel of {}, {} row buffers, {} commands, refresh {refresh}, tp {tp}, seed {seed}\n\
         estimated: Algorithm 1 of NeuPIMs with the authors' parameters, rounded up, without refresh\n\n",
            setup.device, setup.memory, setup.commands,
        );
    let heading = [
        "model",
        "tokens",
        "heads",
        "tCK",
        "estimated, tCK",
        "ratio",
        "PUs busy, %",
        "refresh, %",
        "K and V in, tCK",
    ];
    let row = |run: &Estimated| {
        let RequestReport { heads, tokens, tck, channel, store, .. } = &run.report;
        let lost = &channel.pim_lost_tck;
        let refresh = 100.0 * (lost.refresh + lost.admission) as f64 / channel.tck as f64;
        vec![
            run.model.clone(),
            tokens.to_string(),
            heads.to_string(),
            grouped(*tck),
            grouped(run.estimated_tck as u64),
            format!("{:.3}", run.ratio),
            decimal(channel.pim_percent, 1),
            decimal(refresh, 1),
            if store.bursts > 0 { grouped(store.tck) } else { "-".to_owned() },
        ]
    };
    let page = Page::from(title) + table(&heading, found.runs.iter().map(row));
    let violations: u64 = found.runs.iter().map(|run| run.report.pins.violations).sum();
    let results: Vec<_> =
        found.runs.iter().filter_map(|run| Some((run, run.report.results?))).collect();
    if results.is_empty() {
        return page + format!("\n{violations} violations at the pins\n");
    }
    let row = |(run, compared): &(&Estimated, pimlico_workload::judge::neupims::Compared)| {
        vec![
            run.model.clone(),
            run.report.tokens.to_string(),
            grouped(compared.results),
            compared.differing.to_string(),
            format!("{:.2e}", compared.max_error),
            format!("{:.2e}", compared.relative_error),
        ]
    };
    let heading = ["model", "tokens", "results", "differ", "largest error", "relative error"];
    page + format!(
        "\nResults bit by bit, contexts against float64; {violations} violations at the pins\n\n"
    ) + table(&heading, results.iter().map(row))
}
