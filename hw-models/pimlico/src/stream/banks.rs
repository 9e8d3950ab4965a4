// SPDX-License-Identifier: MIT
//! `pimlico stream banks`: the time of layers that are streamed into the banks of L3's ranks, beside that of layers that
//! stay in them.
//!
//! While the rank PU of a rank computes, the host cannot write into that rank. So each rank is a slot: layer *k* lies in
//! rank *k* mod R while layer *k* + 1 is written into the next one. What a layer's matrices take to be written, and what a
//! layer takes for a token, are those of the cycle models, timing only. The ranks share the channel: operands and
//! results of the layer that computes delay the write beside it by as long as they are on the bus, an upper bound. A
//! loader reads from the disk and writes into the banks at once, and takes the longer of both.
//!
//! The tokens of a pass go through a layer one after the other.

use crate::failure::Failure;
use crate::models::model_name;
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::schema::Kind;
use crate::values::rate;
use crate::workloads::{Machine, all_cores};
use clap::Args;
use pimlico_device::{Config, Options, Topology};
use pimlico_stream::event::Event;
use pimlico_stream::planner::Choice;
use pimlico_stream::setup::Setup;
use pimlico_stream::simulate::{Costs, simulate};
use pimlico_workload::placement::row_bytes;
use pimlico_workload::report::Report;
use serde::Serialize;

/// Arguments of `pimlico stream banks`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico stream banks
  pimlico stream banks --model llama-3.1-8b --prompts 1,32 --disk 1.2G")]
pub struct BanksArguments {
    /// The model
    #[arg(long, default_value = "llama-3.2-1b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Ranks of a channel, in turns
    #[arg(long, default_value_t = 2, value_name = "R", value_parser = clap::value_parser!(u64).range(2..=64))]
    ranks: u64,
    /// Tokens that go through the layers in one pass
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 8, 16, 32])]
    prompts: Vec<u64>,
    /// Tokens whose K and V are in the device
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=131_072))]
    context: u64,
    /// Bytes per second of the disk, as 1.2G: k, M and G are powers of 1000 [default: no disk]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    disk: Option<f64>,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `stream banks --json` prints.
#[derive(Serialize)]
struct BanksReport {
    model: String,
    layers: usize,
    layer_bytes: u64,
    layer_rows: u64,
    ranks: u64,
    peak_rows: u64,
    write_gb_per_s: f64,
    token_ms: f64,
    context: u64,
    passes: Vec<Pass>,
}

/// A pass of so many tokens.
#[derive(Serialize)]
struct Pass {
    tokens: u64,
    streamed_ms: f64,
    resident_ms: f64,
    ratio: f64,
    stall_share: f64,
    layer: OfLayer,
}

/// Times of a layer.
#[derive(Serialize)]
struct OfLayer {
    disk_ms: Option<f64>,
    write_ms: f64,
    load_ms: f64,
    compute_ms: f64,
    stall_ms: f64,
}

/// Runs the command.
pub fn run(arguments: &BanksArguments) -> Result<(), Failure> {
    let BanksArguments { model, ranks, prompts, context, disk, format } = arguments;
    if let Some(tokens) = prompts.iter().find(|tokens| !(1..=131_072).contains(*tokens)) {
        let message = format!("--prompts {tokens}: expected 1 to 131072 tokens");
        return Err(Failure::Input(message));
    }
    let config = Config::ddr4_3200();
    let row = row_bytes(&config);
    let machine = Machine { config, options: Options::default() };
    let matrices = machine.matrices_of_layer(model, 1)?;
    let layer = machine.layer_of(model, Topology::ONE, (*context as usize, 1), all_cores())?;
    let layers = pimlico_model::presets()[model].layers;
    let (bytes, write_ns) = (matrices.load.bytes, matrices.load.ns);
    let layer_rows = bytes.div_ceil(row);
    let (token_ns, bus_ns) = (layer.total.ns, on_bus(&layer));
    let disk_ns = disk.map(|rate| bytes as f64 / rate * 1e9);
    // A rank is a slot, for a layer: the limit is that of their rows.
    let residency = Choice { loaders: 1, slots: *ranks as usize }.residency(0);
    let limit = Some(ranks * layer_rows);
    let setup = Setup { layers: vec![layer_rows; layers], passes: 1, fixed: 0, limit, residency };
    let pass = |tokens: &u64| -> Result<(Pass, u64), Failure> {
        let count = *tokens as f64;
        let on_channel = write_ns + count * bus_ns;
        let load_ns = disk_ns.map_or(on_channel, |disk| disk.max(on_channel));
        let costs = Costs::even(layers, load_ns, count * token_ns, 0.0);
        let run = simulate(&setup, &costs, &mut |_: Event| ());
        let run = run.map_err(|error| Failure::Input(format!("--ranks: {error}")))?;
        let resident_ns = layers as f64 * count * token_ns;
        let pass = Pass {
            tokens: *tokens,
            streamed_ms: run.wall_ns / 1e6,
            resident_ms: resident_ns / 1e6,
            ratio: run.wall_ns / resident_ns,
            stall_share: run.stall_ns / run.wall_ns,
            layer: OfLayer {
                disk_ms: disk_ns.map(|ns| ns / 1e6),
                write_ms: on_channel / 1e6,
                load_ms: load_ns / 1e6,
                compute_ms: count * token_ns / 1e6,
                stall_ms: run.stall_ns / layers as f64 / 1e6,
            },
        };
        Ok((pass, run.peak_bytes))
    };
    let passes = prompts.iter().map(pass).collect::<Result<Vec<_>, _>>()?;
    let report = BanksReport {
        model: model.clone(),
        layers,
        layer_bytes: bytes,
        layer_rows,
        ranks: *ranks,
        peak_rows: passes.iter().map(|(_, rows)| *rows).max().unwrap_or(0),
        write_gb_per_s: bytes as f64 / write_ns,
        token_ms: token_ns / 1e6,
        context: *context,
        passes: passes.into_iter().map(|(pass, _)| pass).collect(),
    };
    output::report(*format, (Kind::StreamBanks, &report), &page(&report))
}

/// ns in which the data bus moves data for a layer.
fn on_bus(layer: &Report) -> f64 {
    layer.operators.iter().map(|operator| operator.utilisation.bus * operator.ns).sum()
}

fn page(report: &BanksReport) -> Page {
    let title = format!(
        "{}: {} layers of {} bytes, {} rows of each bank, through {} ranks of a channel: {} rows at most\n\
         written at {} GB/s; a layer takes {} ms for a token, with K and V of {} tokens\n\n",
        report.model,
        report.layers,
        grouped(report.layer_bytes),
        grouped(report.layer_rows),
        report.ranks,
        grouped(report.peak_rows),
        decimal(report.write_gb_per_s, 1),
        decimal(report.token_ms, 3),
        grouped(report.context)
    );
    let row = |pass: &Pass| {
        let OfLayer { disk_ms, write_ms, compute_ms, stall_ms, .. } = &pass.layer;
        let (write_ms, compute_ms, stall_ms) = (*write_ms, *compute_ms, *stall_ms);
        vec![
            grouped(pass.tokens),
            disk_ms.map_or_else(|| "-".to_owned(), |ms| decimal(ms, 2)),
            decimal(write_ms, 2),
            decimal(compute_ms, 2),
            decimal(stall_ms, 2),
            decimal(pass.streamed_ms, 1),
            decimal(pass.resident_ms, 1),
            decimal(pass.ratio, 2),
            decimal(100.0 * pass.stall_share, 1),
        ]
    };
    let heads = [
        "tokens",
        "disk ms",
        "write ms",
        "compute ms",
        "stall ms",
        "streamed ms",
        "resident ms",
        "ratio",
        "stalled %",
    ];
    let note = "disk, write, compute and stall are of a layer; write has the operands of the layer that computes beside it\n";
    Page::from(title) + output::table(&heads, report.passes.iter().map(row)) + note
}
