// SPDX-License-Identifier: MIT
//! `pimlico sweep io-buffers`: ping-pong I/O buffers against single ones on a module of AiM channels.

use super::Threads;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments, Page, grouped};
use crate::run::MOST_MODULES;
use crate::schema::Kind;
use crate::values::{Switch, channels};
use clap::{Args, ValueEnum};
use pimlico_device::SystemKind;
use pimlico_device::aim::{AimMapping, MULTIPLIERS, Order, Pu};
use pimlico_workload::io_buffers::gains::{self, Gains, GainsRow};
use pimlico_workload::io_buffers::{
    self, Assumptions, AssumptionsReport, BufferComparison, BufferRow, Side, Study,
};
use pimlico_workload::report::{Lost, Slots};

/// Arguments of `pimlico sweep io-buffers`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep io-buffers
  pimlico sweep io-buffers --model llama-3.1-8b --contexts 4096 --tp 1
  pimlico sweep io-buffers --assumptions")]
pub struct IoBuffersArguments {
    #[command(flatten)]
    device: DeviceFlag,
    /// The language model, by name
    #[arg(long, default_value = "qwen1.5-7b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Tokens of the head that is run
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,...",
        default_values_t = [4096, 8192, 16_384, 32_768]
    )]
    contexts: Vec<usize>,
    /// Channels of the module [default: the device's, 16]
    #[arg(long, value_name = "N", value_parser = channels)]
    channels: Option<usize>,
    /// Modules that share the fully-connected operators of a layer out among them
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_values_t = [1, 8])]
    tp: Vec<usize>,
    /// Whether rows are refreshed; with refresh, a REF more or less in one of two short runs hides what buffers gain
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    refresh: Switch,
    /// Whether single buffers pay MODCH between words or results and columns, as in the public AiM simulator
    #[arg(long, value_enum, default_value_t = Switch::On)]
    mode_change: Switch,
    /// Tokens of K that share a row of a bank [default: as many as have room]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    k_row_tokens: Option<u64>,
    /// Order of a matrix of several groups of rows and tiles of the vector
    #[arg(long, value_enum, default_value_t = OrderArgument::InputStationary)]
    order: OrderArgument,
    /// Elements of a tile of the vector
    #[arg(long, value_name = "N", default_value = "1024", value_parser = ["1024", "512"])]
    tile: String,
    /// Bytes of a DRAM row [default: the device's, 2048]
    #[arg(long, value_name = "N", value_parser = ["2048", "1024"])]
    page_bytes: Option<String>,
    /// Clocks from a beat of a PU to its result; fewer than the RTL's 26 are of no PU that there is
    #[arg(
        long,
        value_name = "N",
        default_value_t = Pu::LATENCY,
        value_parser = clap::value_parser!(u64).range(1..=Pu::LATENCY)
    )]
    pu_clocks: u64,
    /// The four gains of LoL-PIM under several such assumptions, of the most tokens of --contexts and the fewest modules of --tp
    #[arg(
        long,
        conflicts_with_all =
            ["mode_change", "k_row_tokens", "order", "tile", "page_bytes", "pu_clocks"]
    )]
    assumptions: bool,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
}

/// Order of a matrix of several groups of rows and tiles of the vector.
#[derive(Clone, Copy, ValueEnum)]
enum OrderArgument {
    /// All groups for the tile in the global buffer
    InputStationary,
    /// All tiles for a group; they come again for each group
    OutputStationary,
}

impl IoBuffersArguments {
    fn assumed(&self) -> Assumptions {
        let number = |value: &str| value.parse::<usize>().expect("the parser has a list of them");
        let order = match self.order {
            OrderArgument::InputStationary => Order::InputStationary,
            OrderArgument::OutputStationary => Order::OutputStationary,
        };
        let tile_words = number(&self.tile) / MULTIPLIERS;
        let k_row_tokens = self.k_row_tokens.map(|tokens| tokens as usize);
        Assumptions {
            mode_change: self.mode_change == Switch::On,
            mapping: AimMapping { order, tile_words, k_row_tokens },
            page_bytes: self.page_bytes.as_deref().map(number),
            pu_clocks: self.pu_clocks,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &IoBuffersArguments) -> Result<(), Failure> {
    let IoBuffersArguments { model, contexts, channels, tp, refresh, seed, format, .. } = arguments;
    let spec = arguments.device.of(SystemKind::Aim)?;
    if let Some(wrong) = tp.iter().find(|tp| !(1..=MOST_MODULES).contains(*tp)) {
        return Err(Failure::Input(format!("--tp {wrong}: expected 1 to {MOST_MODULES} modules")));
    }
    let study = Study {
        config: spec.config(),
        model: model.clone(),
        shapes: find_model(model)?,
        contexts: contexts.clone(),
        channels: channels.unwrap_or(spec.topology.channels),
        tp: tp.clone(),
        refresh: *refresh == Switch::On,
        seed: *seed,
        assumptions: arguments.assumed(),
    };
    let threads = arguments.threads.count();
    let rows = match arguments.assumptions {
        true => gains(&study, threads, *format)?,
        false => compare(&study, threads, *format)?,
    };
    let sides = || rows.iter().flat_map(|row| [&row.single, &row.ping_pong]);
    let violations: u64 = sides().map(|side| side.pin_violations).sum();
    let differing: u64 = sides().map(|side| side.differing).sum();
    match (violations, differing) {
        (0, 0) => Ok(()),
        _ => Err(Failure::Check(format!(
            "{violations} violations at the DRAM's pins, {differing} results differ from golden's"
        ))),
    }
}

/// Operator by operator.
fn compare(
    study: &Study,
    threads: usize,
    format: FormatArguments,
) -> Result<Vec<BufferRow>, Failure> {
    let bar = output::progress(study.len() as u64, "runs");
    let comparison = io_buffers::compare(study, threads, |done| bar.set_position(done));
    bar.finish_and_clear();
    let comparison = comparison?;
    output::report(format, (Kind::SweepIoBuffers, &comparison), &text(&comparison))?;
    Ok(comparison.rows)
}

/// The four gains, assumption by assumption.
fn gains(
    study: &Study,
    threads: usize,
    format: FormatArguments,
) -> Result<Vec<BufferRow>, Failure> {
    let contexts = study.contexts.iter().copied().max().into_iter().collect();
    let tp = study.tp.iter().copied().min().into_iter().collect();
    let study = Study { contexts, tp, ..study.clone() };
    let bar = output::progress(gains::runs(&study) as u64, "runs");
    let gains = gains::gains(&study, threads, |done| bar.set_position(done));
    bar.finish_and_clear();
    let gains = gains?;
    output::report(format, (Kind::SweepIoBuffersAssumptions, &gains), &gains_text(&gains))?;
    Ok(gains.rows.into_iter().flat_map(|row| row.operators).collect())
}

fn gains_text(gains: &Gains) -> Page {
    let Gains { system, model, channels, refresh, seed, context, tp, rows } = gains;
    let refresh = if *refresh { "on" } else { "off" };
    let context = grouped(*context as u64);
    let title = format!(
        "{model} on a module of {channels} channels of {system}, refresh {refresh}, seed {seed}\n\
         by how much ping-pong buffers shorten QK^T and SV of {context} tokens, FFN1 and FFN2 with tp {tp}\n\n"
    );
    let line = |row: &GainsRow, cell: &dyn Fn(&BufferRow) -> String| -> Vec<String> {
        std::iter::once(row.name.to_owned()).chain(row.operators.iter().map(cell)).collect()
    };
    let of_paper = |row: &GainsRow| {
        let paper = row.operators.iter().map(|row| format!("{:.0}", row.paper_percent));
        std::iter::once("LoL-PIM".to_owned()).chain(paper).collect()
    };
    let less = |row| line(row, &|row| format!("{:.1}", row.reduction_percent));
    let lines: Vec<Vec<String>> =
        rows.first().map(of_paper).into_iter().chain(rows.iter().map(less)).collect();
    let tck = rows.iter().flat_map(|row| {
        [("single", true), ("ping-pong", false)].map(|(buffers, is_single)| {
            let side = |row: &BufferRow| {
                grouped(if is_single { row.single.cycles } else { row.ping_pong.cycles })
            };
            let mut line = line(row, &side);
            line.insert(1, buffers.to_owned());
            line
        })
    });
    let note = "\nThat LoL-PIM's simulator charges the mode change is inferred from the public AiM simulator; how many tokens of\n\
                K share a DRAM row is not in the paper.\n";
    Page::from(title)
        + output::table(&["assumed", "QK^T, %", "SV, %", "FFN1, %", "FFN2, %"], lines)
        + "\ntCK of either\n\n"
        + output::table(&["assumed", "buffers", "QK^T", "SV", "FFN1", "FFN2"], tck).in_unit("tCK")
        + note
}

/// What is assumed.
fn assumed(assumptions: &AssumptionsReport) -> String {
    let AssumptionsReport { mode_change, k_row_tokens, order, tile, page_bytes, pu_clocks } =
        assumptions;
    let modes = if *mode_change { "with" } else { "without" };
    let tokens = k_row_tokens.map_or("all that have room".to_owned(), |tokens| tokens.to_string());
    format!(
        "single buffers {modes} mode changes; tokens of K in a DRAM row of {page_bytes} bytes: {tokens}; {order}, tiles of\n\
         {tile}; PUs of {pu_clocks} clocks\n"
    )
}

fn text(comparison: &BufferComparison) -> Page {
    let BufferComparison { system, model, channels, refresh, seed, rows, .. } = comparison;
    let assumed = assumed(&comparison.assumptions);
    let refresh = if *refresh { "on" } else { "off" };
    let mut text = Page::from(format!(
        "{model} on a module of {channels} channels of {system}, refresh {refresh}, seed {seed}\n{assumed}\
         a head's score (QK^T) and context (SV); matrices of a layer, shared out among tp modules\n\n"
    ));
    text += output::table(
        &["operator", "of", "matrix", "single, tCK", "ping-pong, tCK", "less, %", "LoL-PIM, %"],
        rows.iter().map(|row| {
            let [lines, columns] = row.matrix;
            vec![
                row.operator.to_owned(),
                of(row),
                format!("{lines} x {columns}"),
                grouped(row.single.cycles),
                grouped(row.ping_pong.cycles),
                format!("{:.1}", row.reduction_percent),
                format!("{:.0}", row.paper_percent),
            ]
        }),
    );
    if comparison.refresh {
        text += "\nnote: with refresh, a REF more or less in one of two short runs hides what buffers gain: see --refresh off\n";
    }
    text += "\nSlots of tCCD_L for an all-bank RD\n\n";
    text += output::table(
        &[
            "operator",
            "of",
            "buffers",
            "of use",
            "padding",
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
    let Slots { of_use, lost, .. } = &side.slots;
    let Lost { padding, row_switch, refresh, fill_drain, bubble, io, .. } = *lost;
    let counts = [*of_use, padding, row_switch, refresh, fill_drain, bubble, io];
    let names = [row.operator.to_owned(), of(row), buffers.to_owned()];
    names.into_iter().chain(counts.map(grouped)).collect()
}
