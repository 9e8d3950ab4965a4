// SPDX-License-Identifier: MIT
//! `pimlico run neupims gemv`: a matrix times a vector.

use super::arguments::{ChannelArguments, RunOptions};
use super::{executed, failed, judged};
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, decimal, grouped, table};
use crate::schema::Kind;
use clap::Args;
use pimlico_workload::neupims::product::{ProductJob, ProductReport};
use pimlico_workload::neupims::report::TileSchedule;

/// Elements of a matrix at the most: this machine keeps them and their decoded rows.
const MOST_ELEMENTS: u64 = 1 << 28;
/// tCK of the paper's tile, which its simulator has as a parameter.
const PAPER_TILE: u64 = 184;

/// Arguments of `pimlico run neupims gemv`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico run neupims gemv --rows 32 --cols 512 --refresh off
  pimlico run neupims gemv --rows 4096 --cols 4096 --channels 32 --commands fine")]
pub(super) struct GemvArguments {
    /// Rows of the matrix
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_ELEMENTS))]
    rows: u64,
    /// Columns of the matrix
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_ELEMENTS))]
    cols: u64,
    /// Channels that share its rows, 32 at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    channels: u64,
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

pub(super) fn run(arguments: &GemvArguments) -> Result<(), Failure> {
    let GemvArguments { rows, cols, channels, seed, format, .. } = arguments;
    let there_are = arguments.channel.spec()?.channels.count;
    if !(1..=there_are).contains(channels) {
        return Err(Failure::Input(format!("--channels {channels}: expected 1 to {there_are}")));
    }
    if rows.saturating_mul(*cols) > MOST_ELEMENTS {
        let message =
            format!("a matrix of {rows} x {cols}: expected {MOST_ELEMENTS} elements or fewer");
        return Err(Failure::Input(message));
    }
    let (rows, columns, channels) = (*rows as usize, *cols as usize, *channels as usize);
    let setup = arguments.run.setup(&arguments.channel, true, *seed)?;
    let job = ProductJob { rows, columns, channels, seed: *seed };
    let report = job.run(&setup).map_err(|error| {
        failed(error, &setup, &arguments.run, *seed, |setup| drop(job.run(setup)))
    })?;
    output::report(*format, (Kind::RunNeupimsGemv, &report), &text(&report))?;
    judged([(&report.pins, Some(&report.outputs))])
}

fn text(report: &ProductReport) -> Page {
    let ProductReport { setup, rows, columns, channels, seed, tck, channel, outputs, pins, .. } =
        report;
    let refresh = if setup.refresh { "on" } else { "off" };
    let title = executed(setup)
        + &format!(
            "matrix of {rows} x {columns} times a vector on {channels} of {}'s channels, {} commands, refresh {refresh}, seed {seed}\n\
         {} tCK; {} dot products of 32 banks, PUs busy {} %, {} commands on the pins of PIM\n\
         outputs: {} compared bit by bit, {} differ; error against float64: largest {:.2e}, relative {:.2e}\n\
         pins: {} violations; {} of {} operations took more than the estimate, the fullest {} % of it\n\n",
            setup.device,
            setup.commands,
            grouped(*tck),
            grouped(channel.dots),
            decimal(channel.pim_percent, 1),
            grouped(pim_commands(report)),
            grouped(outputs.results),
            outputs.differing,
            outputs.max_error,
            outputs.relative_error,
            pins.violations,
            channel.operations.above_estimate,
            channel.operations.count,
            decimal(channel.operations.fullest_percent, 1),
        );
    let page = Page::from(title);
    match &report.tile {
        Some(tile) => page + schedule(tile, report.steady_tile_tck),
        None => {
            page + "The vector is shorter than a row, or no tile is between two PIM_PRECHARGEs.\n"
        }
    }
}

fn pim_commands(report: &ProductReport) -> u64 {
    let commands = &report.channel.commands;
    commands.pim_activation
        + commands.pim_precharge
        + commands.pim_gwrite
        + commands.pim_dotproduct
        + commands.pim_gemv
        + commands.pim_rdresult
}

fn schedule(tile: &TileSchedule, steady: Option<f64>) -> Page {
    let TileSchedule { activations, first_dot, last_dot, next_precharge } = tile;
    let row = |what: &str, at: String| vec![what.to_owned(), at];
    let activations = activations.iter().map(|at| row("PIM_ACTIVATION", at.to_string()));
    let rows = std::iter::once(row("PIM_PRECHARGE", "0".to_owned())).chain(activations).chain([
        row("first dot product", first_dot.to_string()),
        row("last dot product", last_dot.to_string()),
        row("next PIM_PRECHARGE", next_precharge.to_string()),
    ]);
    let page = Page::from("The first tile\n\n") + table(&["command", "tCK"], rows);
    match steady {
        Some(tck) => {
            let tck = decimal(tck, 1);
            page + format!(
                "\nFrom tile to tile {tck} tCK; the paper's parameter is {PAPER_TILE}.\n"
            )
        }
        None => page,
    }
}
