// SPDX-License-Identifier: MIT
//! `pimlico sweep row-buffers`: reads and tiles in a channel of NeuPIMs, alone and at once, with two row buffers or one.

use super::Threads;
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, decimal, table};
use crate::run::ChannelArguments;
use crate::schema::Kind;
use clap::{Args, ValueEnum};
use pimlico_workload::neupims::report::ChannelReport;
use pimlico_workload::neupims::row_buffers::{RowBufferReport, RowBufferRow, RowBufferStudy, Work};

/// Arguments of `pimlico sweep row-buffers`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep row-buffers
  pimlico sweep row-buffers --sums 4 --commands fine --precharge bank
  pimlico sweep row-buffers --work random --tck 1000000")]
pub struct RowBuffersArguments {
    /// What the channel is asked for
    #[arg(long, value_enum, default_value_t = WorkFlag::Saturated)]
    work: WorkFlag,
    /// Sums of a tile of 32 words: heads of K that share a row, or 1 as of V
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=8))]
    sums: u64,
    /// tCK of each run
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
    tck: u64,
    /// Without the checker at the pins, which takes longer than the channel
    #[arg(long)]
    unwatched: bool,
    #[command(flatten)]
    channel: ChannelArguments,
    /// Seed of random work
    #[arg(long, default_value_t = 1, value_name = "S", help_heading = "Options")]
    seed: u64,
    #[command(flatten, next_help_heading = "Options")]
    threads: Threads,
    #[command(flatten, next_help_heading = "Options")]
    format: FormatArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum WorkFlag {
    /// Reads of whole rows without end, and tiles of K of four heads back to back
    Saturated,
    /// Random reads and writes, and operations of random shapes with GWRITEs between them
    Random,
}

/// Runs the command.
pub fn run(arguments: &RowBuffersArguments) -> Result<(), Failure> {
    let study = RowBufferStudy {
        spec: arguments.channel.spec()?,
        commands: arguments.channel.commands(),
        options: arguments.channel.options(),
        work: match arguments.work {
            WorkFlag::Saturated => Work::Saturated,
            WorkFlag::Random => Work::Random,
        },
        sums: arguments.sums,
        tck: arguments.tck,
        seed: arguments.seed,
        watched: !arguments.unwatched,
    };
    let report = study.run(arguments.threads.count())?;
    output::report(arguments.format, (Kind::SweepRowBuffers, &report), &text(&report))?;
    match report.rows.iter().find_map(|row| row.pins.wrong()) {
        Some(wrong) => Err(Failure::Check(wrong)),
        None => Ok(()),
    }
}

fn name(row: &RowBufferRow) -> String {
    match (row.steer, row.reads) {
        (false, _) => format!("{}, not steered", row.memory),
        (_, 32) => row.memory.to_owned(),
        (_, reads) => format!("{}, {reads} reads", row.memory),
    }
}

fn text(report: &RowBufferReport) -> Page {
    let RowBufferReport { device, commands, precharge, refresh, work, sums, tck, .. } = report;
    let refresh = if *refresh { "on" } else { "off" };
    let watched = if report.watched { "" } else { ", pins not watched" };
    let title = format!(
        "a channel of {device}, {work} work, sums of a tile: {sums}, {commands} commands, PIM_PRECHARGE of {precharge}, refresh {refresh}, {} tCK a run{watched}\n\
         MEM: bursts of the data bus; PIM: dot products of the PUs; shares are of what each has alone\n\n",
        output::grouped(*tck)
    );
    let rates = [
        "row buffers",
        "MEM alone, %",
        "PIM alone, %",
        "MEM, %",
        "PIM, %",
        "MEM share, %",
        "PIM share, %",
        "sum, %",
    ];
    let slots =
        ["row buffers", "PIM slots/op", "C/A alone, %", "C/A, %", "window, %", "violations"];
    let operations = [
        "row buffers",
        "operations",
        "estimate, tCK",
        "taken, tCK",
        "above",
        "fullest, %",
        "slack lost/op, tCK",
    ];
    let losses = [
        "row buffers",
        "activation",
        "window",
        "GWRITE",
        "refresh",
        "admission",
        "MEM's row",
        "bus",
        "feed",
    ];
    let mem_losses = [
        "row buffers",
        "results",
        "command bus",
        "window",
        "PIM's row",
        "refresh",
        "rows",
        "rows alone",
    ];
    let each = |cells: fn(&RowBufferRow) -> Vec<String>| {
        report.rows.iter().map(move |row| std::iter::once(name(row)).chain(cells(row)).collect())
    };
    Page::from(title)
        + table(&rates, each(rate_cells))
        + "\nCommand bus: slots of PIM for an operation alone; HEADER is not on the pins\n\n"
        + table(&slots, each(slot_cells))
        + "\nOperations of PIM at once with MEM, beside the controller's estimate\n\n"
        + table(&operations, each(operation_cells))
        + "\nPIM's tCK without a dot product at once with MEM, in % of all, by cause\n\n"
        + table(&losses, each(loss_cells))
        + "\nMEM's tCK without a burst at once with PIM, in % of all, by cause; rows: closed ones, and those that the queue waits for\n\n"
        + table(&mem_losses, each(mem_loss_cells))
}

fn rate_cells(row: &RowBufferRow) -> Vec<String> {
    [
        row.mem_alone.mem_percent,
        row.pim_alone.pim_percent,
        row.both.mem_percent,
        row.both.pim_percent,
        row.mem_share_percent,
        row.pim_share_percent,
        row.mem_share_percent + row.pim_share_percent,
    ]
    .map(|percent| decimal(percent, 1))
    .to_vec()
}

fn slot_cells(row: &RowBufferRow) -> Vec<String> {
    let mut cells: Vec<_> = [
        row.slots_per_operation,
        row.pim_alone.command_bus_percent,
        row.both.command_bus_percent,
        row.both.window_percent,
    ]
    .map(|number| decimal(number, 1))
    .to_vec();
    cells.push(row.pins.violations.to_string());
    cells
}

fn operation_cells(row: &RowBufferRow) -> Vec<String> {
    let of = &row.both.operations;
    vec![
        of.count.to_string(),
        decimal(of.mean_estimate_tck, 1),
        decimal(of.mean_tck, 1),
        of.above_estimate.to_string(),
        decimal(of.fullest_percent, 1),
        decimal(of.mean_slack_lost_tck, 1),
    ]
}

/// What MEM lost to its rows: the rest, as the controller counts cycles behind an RD or WR as well, in which its burst has the bus.
fn lost_to_rows(of: &ChannelReport) -> f64 {
    let lost = &of.mem_lost_tck;
    let others = lost.results + lost.command_bus + lost.window + lost.reserved + lost.refresh;
    (100.0 - of.mem_percent - 100.0 * others as f64 / of.tck.max(1) as f64).max(0.0)
}

fn mem_loss_cells(row: &RowBufferRow) -> Vec<String> {
    let lost = &row.both.mem_lost_tck;
    let percent = |tck: u64| 100.0 * tck as f64 / row.both.tck.max(1) as f64;
    [
        percent(lost.results),
        percent(lost.command_bus),
        percent(lost.window),
        percent(lost.reserved),
        percent(lost.refresh),
        lost_to_rows(&row.both),
        lost_to_rows(&row.mem_alone),
    ]
    .map(|percent| decimal(percent, 1))
    .to_vec()
}

fn loss_cells(row: &RowBufferRow) -> Vec<String> {
    let lost = &row.both.pim_lost_tck;
    let percent = |tck: u64| decimal(100.0 * tck as f64 / row.both.tck.max(1) as f64, 1);
    [
        lost.activation,
        lost.window,
        lost.gwrite,
        lost.refresh,
        lost.admission,
        lost.mem_row,
        lost.bus,
        lost.feed,
    ]
    .map(percent)
    .to_vec()
}
