// SPDX-License-Identifier: MIT
//! `pimlico sweep latency`: attention's latency and energy as lines over the context, for those who run other serving
//! simulators, and the costs themselves where a line is off.

use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::schema::Kind;
use crate::serve::threads;
use clap::{Args, ValueEnum};
use pimlico_device::SystemKind;
use pimlico_serving::costs::Contexts;
use pimlico_serving::costs::latency::{LatencyLine, Measured};
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::costs::rank::RankCosts;
use pimlico_serving::llm::Llm;
use serde::Serialize;
use std::num::NonZero;

/// Arguments of `pimlico sweep latency`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep latency --model gpt-175b --json
  pimlico sweep latency --model llama-3.1-8b --as llmservingsim")]
pub struct LatencyArguments {
    #[command(flatten)]
    device: DeviceFlag,
    /// The language model, by name
    #[arg(long, default_value = "gpt-175b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Print only a line, as a simulator takes it: ns = slope x tokens + intercept, of a layer's heads on one rank
    #[arg(long = "as", value_enum, value_name = "SIMULATOR", conflicts_with_all = ["json", "format", "table"])]
    simulator: Option<Simulator>,
    /// Threads; the costs do not depend on them [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    #[command(flatten)]
    format: FormatArguments,
}

/// Who takes the line.
#[derive(Clone, Copy, ValueEnum)]
enum Simulator {
    /// LLMServingSim 2.0, whose PIM is a line over the tokens
    Llmservingsim,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    model: &'a str,
    device: &'a str,
    /// Elements of a head's vectors, and query heads that share K and V.
    head_dim: usize,
    group: usize,
    kv_heads: u64,
    /// Of the heads of one K and V on one rank.
    latency_ns: LatencyLine,
    energy_pj: LatencyLine,
    rows: Vec<Measured>,
}

/// Runs the command.
pub fn run(arguments: &LatencyArguments) -> Result<(), Failure> {
    let spec = arguments.device.of(SystemKind::L3)?;
    let llm = Llm::new(&arguments.model, find_model(&arguments.model)?);
    let memo = Memo::new(threads(arguments.threads));
    let costs = RankCosts::new(&memo, &spec, &llm, &Contexts::Knots)?;
    let latency_ns = LatencyLine::of_latency(&costs.head);
    let document = Document {
        model: &llm.name,
        device: &spec.name,
        head_dim: llm.shape.head_dim,
        group: llm.shape.group(),
        kv_heads: llm.kv_heads(),
        latency_ns,
        energy_pj: LatencyLine::of_energy(&costs.head),
        rows: Measured::rows(&costs.head, &latency_ns),
    };
    if let Some(Simulator::Llmservingsim) = arguments.simulator {
        let heads = document.kv_heads as f64;
        let LatencyLine { slope, intercept, .. } = latency_ns;
        let (slope, intercept) = (heads * slope, heads * intercept);
        return output::print(&format!(
            "{{\"slope_ns\": {slope:.4}, \"intercept_ns\": {intercept:.1}}}\n"
        ));
    }
    output::report(arguments.format, (Kind::SweepLatency, &document), &page(&document))
}

fn page(document: &Document<'_>) -> Page {
    let Document { model, device, head_dim, group, .. } = document;
    let title = format!(
        "attention of {model} on a rank of {device}: {group} query head(s) of {head_dim}, refresh on\n\n"
    );
    let line = |name: &str, of: &LatencyLine| {
        vec![
            name.to_owned(),
            decimal(of.slope, 4),
            decimal(of.intercept, 1),
            decimal(of.mean_off_percent, 2),
            decimal(of.most_off_percent, 2),
            grouped(of.most_off_tokens),
        ]
    };
    let lines = [line("ns", &document.latency_ns), line("pJ", &document.energy_pj)];
    let header = ["a head", "for a token", "beside it", "mean off, %", "most off, %", "at tokens"];
    let rows = document.rows.iter().map(|row| {
        vec![
            grouped(row.tokens),
            decimal(row.ns, 1),
            decimal(row.line_ns, 1),
            decimal(row.off_percent, 2),
            decimal(row.energy_pj / 1e6, 3),
        ]
    });
    let header_of_rows = ["tokens", "ns", "line, ns", "off, %", "energy, uJ"];
    Page::from(title)
        + output::table(&header, lines)
        + "\nCosts at powers of two, and where the line is off by more than 2 %\n\n"
        + output::table(&header_of_rows, rows)
}
