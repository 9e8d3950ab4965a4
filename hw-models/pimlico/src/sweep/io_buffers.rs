// SPDX-License-Identifier: MIT
//! `pimlico sweep io-buffers`: ping-pong I/O buffers against single ones on a module of AiM channels.

use crate::failure::Failure;
use crate::output::{self, grouped};
use crate::run::{MOST_MODULES, Switch, channels, find_model};
use clap::Args;
use pimlico_host::aim::io_buffers::{self, BufferComparison, BufferRow, Side, Study};
use pimlico_host::report::{Lost, Slots};

/// Arguments of `pimlico sweep io-buffers`.
#[derive(Args)]
pub struct IoBuffersArguments {
    /// The language model, by name
    #[arg(long, default_value = "qwen1.5-7b")]
    model: String,
    /// Tokens of the head that is run
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,...",
        default_values_t = [4096, 8192, 16_384, 32_768]
    )]
    contexts: Vec<usize>,
    /// Channels of the module
    #[arg(long, default_value = "16", value_name = "N", value_parser = channels)]
    channels: usize,
    /// Modules that share the fully-connected operators of a layer out among them
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_values_t = [1, 8])]
    tp: Vec<usize>,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    refresh: Switch,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Print one JSON document in place of tables
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &IoBuffersArguments) -> Result<(), Failure> {
    let IoBuffersArguments { model, contexts, channels, tp, refresh, seed, json } = arguments;
    if let Some(wrong) = tp.iter().find(|tp| !(1..=MOST_MODULES).contains(*tp)) {
        return Err(Failure::Input(format!("--tp {wrong}: expected 1 to {MOST_MODULES} modules")));
    }
    let study = Study {
        model: model.clone(),
        shapes: find_model(model)?,
        contexts: contexts.clone(),
        channels: *channels,
        tp: tp.clone(),
        refresh: *refresh == Switch::On,
        seed: *seed,
    };
    let bar = output::progress(study.len() as u64, "runs");
    let comparison = io_buffers::compare(&study, || bar.inc(1));
    bar.finish_and_clear();
    let comparison = comparison.map_err(|error| match error {
        io_buffers::RunError::Layout(error) => Failure::Input(error.to_string()),
        io_buffers::RunError::Device(error) => Failure::Check(error.to_string()),
    })?;
    if *json {
        output::print_json(&comparison)?;
    } else {
        output::print(&text(&comparison))?;
    }
    let sides = || comparison.rows.iter().flat_map(|row| [&row.single, &row.ping_pong]);
    let violations: u64 = sides().map(|side| side.pin_violations).sum();
    let differing: u64 = sides().map(|side| side.differing).sum();
    match (violations, differing) {
        (0, 0) => Ok(()),
        _ => Err(Failure::Check(format!(
            "{violations} violations at the DRAM's pins, {differing} results differ from golden's"
        ))),
    }
}

fn text(comparison: &BufferComparison) -> String {
    let BufferComparison { system, model, channels, refresh, seed, rows, .. } = comparison;
    let refresh = if *refresh { "on" } else { "off" };
    let mut text = format!(
        "{model} on a module of {channels} channels of {system}, refresh {refresh}, seed {seed}\n\
         a head's score (QK^T) and context (SV); matrices of a layer, shared out among tp modules\n\n"
    );
    text += &output::table(
        &["operator", "of", "matrix", "single tCK", "ping-pong tCK", "less", "LoL-PIM"],
        rows.iter().map(|row| {
            let [lines, columns] = row.matrix;
            vec![
                row.operator.to_owned(),
                of(row),
                format!("{lines} x {columns}"),
                grouped(row.single.cycles),
                grouped(row.ping_pong.cycles),
                format!("{:.1} %", row.reduction_percent),
                format!("{:.0} %", row.paper_percent),
            ]
        }),
    );
    text += "\nSlots of tCCD for an all-bank RD\n\n";
    text += &output::table(
        &[
            "operator",
            "of",
            "buffers",
            "used",
            "row switch",
            "refresh",
            "fill/drain",
            "bubble",
            "I/O",
        ],
        rows.iter().flat_map(|row| {
            [("single", &row.single), ("ping-pong", &row.ping_pong)]
                .map(|(buffers, side)| slots(row, buffers, side))
        }),
    );
    text
}

fn of(row: &BufferRow) -> String {
    match (row.context, row.tp) {
        (Some(context), _) => format!("{} tokens", grouped(context as u64)),
        (_, tp) => format!("tp {}", tp.unwrap_or(1)),
    }
}

fn slots(row: &BufferRow, buffers: &str, side: &Side) -> Vec<String> {
    let Slots { used, lost } = &side.slots;
    let Lost { row_switch, refresh, fill_drain, bubble, io, .. } = *lost;
    let counts = [*used, row_switch, refresh, fill_drain, bubble, io];
    let names = [row.operator.to_owned(), of(row), buffers.to_owned()];
    names.into_iter().chain(counts.map(grouped)).collect()
}
