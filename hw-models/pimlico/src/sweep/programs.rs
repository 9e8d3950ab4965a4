// SPDX-License-Identifier: MIT
//! `pimlico sweep programs`: programs of the dispatcher against static ones.

use super::Threads;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments, Page, grouped};
use crate::pieces::{Pieces, PiecesArguments};
use crate::schema::Kind;
use clap::Args;
use pimlico_device::{Config, DeviceSpec, SystemKind};
use pimlico_host::program::attention::MAX_CONTEXT;
use pimlico_model::Model;
use pimlico_workload::study::{self, AttentionCost, MatrixCost, StudyError};
use serde::Serialize;

/// Arguments of `pimlico sweep programs`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep programs
  pimlico sweep programs --model gpt-175b --contexts 1024,16384")]
pub struct ProgramsArguments {
    /// The language model whose shapes are used
    #[arg(long, default_value = "llama-3.1-8b", value_name = "NAME", value_parser = model_name())]
    model: String,
    #[command(flatten)]
    device: DeviceFlag,
    /// Tokens
    #[arg(
        long,
        alias = "context",
        value_delimiter = ',',
        value_name = "N,...",
        default_values_t = [1024, 8192, 32_768, 131_072]
    )]
    contexts: Vec<usize>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    pieces: PiecesArguments,
}

/// Attention in contexts: each is a piece.
struct Contexts<'a> {
    device: DeviceSpec,
    config: Config,
    model: Model,
    name: &'a str,
    contexts: &'a [usize],
}

impl Pieces for Contexts<'_> {
    type Piece = usize;
    type Outcome = AttentionCost;

    const NAME: &'static str = "sweep programs";
    const UNIT: &'static str = "tokens";

    fn inputs(&self) -> impl Serialize {
        (&self.device, self.name)
    }

    fn pieces(&self) -> &[usize] {
        self.contexts
    }

    fn weight(&self, &context: &usize) -> u64 {
        context as u64
    }

    fn run(&self, &context: &usize) -> Result<AttentionCost, Failure> {
        study::attention(&self.config, &self.model, context).map_err(wrong)
    }
}

fn wrong(error: StudyError) -> Failure {
    Failure::Input(error.to_string())
}

#[derive(Serialize)]
struct Document {
    device: String,
    model: String,
    attention: Vec<AttentionCost>,
    fc: Vec<MatrixCost>,
}

/// Runs the command.
pub fn run(arguments: &ProgramsArguments) -> Result<(), Failure> {
    let ProgramsArguments { model: name, contexts, format, .. } = arguments;
    let (model, device) = (find_model(name)?, arguments.device.of(SystemKind::L3)?);
    if let Some(context) = contexts.iter().find(|context| !(1..=MAX_CONTEXT).contains(*context)) {
        let message = format!("--contexts {context}: expected 1 to {MAX_CONTEXT}");
        return Err(Failure::Input(message));
    }
    let work = Contexts { config: device.config(), device, model, name, contexts };
    let attention = arguments.pieces.outcomes(&work, arguments.threads.count())?;
    let Some(attention) = attention else { return Ok(()) };
    let fc = study::matrices(&work.config, &work.model).map_err(wrong)?;
    let document = Document { device: work.config.name, model: name.clone(), attention, fc };
    output::report(*format, (Kind::SweepPrograms, &document), &text(&document))
}

fn text(document: &Document) -> Page {
    let Document { device, model, attention, fc } = document;
    let mut text = Page::from(format!(
        "programs for {model} on a rank of {device}: bytes of the dispatcher's program, and of the \
         static one with every command spelled out\n\nattention of the query heads that share K and V; \
         what the host writes for a token more\n\n"
    ));
    text += output::table(
        &[
            "context",
            "heads",
            "passes",
            "program, bytes",
            "static, bytes",
            "fits 96 KB",
            "T_cur, bytes/token",
            "Va2Pa, bytes/token",
            "commands, bytes/token",
            "static: rewritten, bytes/token",
        ],
        attention.iter().map(|cost| {
            vec![
                grouped(cost.context as u64),
                cost.heads.to_string(),
                cost.passes.to_string(),
                grouped(cost.program_bytes),
                grouped(cost.static_bytes),
                yes(cost.static_fits),
                format!("{:.3}", cost.configuration_bytes_per_token),
                format!("{:.3}", cost.va2pa_bytes_per_token),
                format!("{:.3}", cost.command_bytes_per_token),
                grouped(cost.static_bytes_per_token.round() as u64),
            ]
        }),
    );
    text += "\na token more of a request in all layers of the KV heads that a rank has room for, with layers in the \
             configuration and without; beside it the rows that become needed\n\n";
    text += layers(attention);
    text += "\nfully-connected operators: written once; static programs with a command for each column, and with \
             commands for up to 64 of them, as AiM's\n\n";
    text += output::table(
        &[
            "operator",
            "rows",
            "columns",
            "program, bytes",
            "static, bytes",
            "fits 96 KB",
            "64 columns, bytes",
        ],
        fc.iter().map(|cost| {
            vec![
                cost.operator.to_owned(),
                grouped(cost.rows as u64),
                grouped(cost.columns as u64),
                grouped(cost.program_bytes),
                grouped(cost.static_bytes),
                yes(cost.static_fits),
                grouped(cost.static_sized_bytes),
            ]
        }),
    );
    text += "\nthe same on 32 AiM channels, whose PUs read side by side\n\n";
    text += output::table(
        &["operator", "program, bytes", "static, bytes", "64 columns, bytes"],
        fc.iter().filter_map(|cost| cost.on_aim.map(|on_aim| (cost, on_aim))).map(
            |(cost, on_aim)| {
                vec![
                    cost.operator.to_owned(),
                    grouped(on_aim.program_bytes),
                    grouped(on_aim.static_bytes),
                    grouped(on_aim.static_sized_bytes),
                ]
            },
        ),
    );
    text
}

/// A token in all layers.
fn layers(attention: &[AttentionCost]) -> Page {
    let table = output::table(
        &[
            "context",
            "layers",
            "KV heads",
            "starts/token",
            "writes/token",
            "bytes/token",
            "without: writes/token",
            "without: bytes/token",
        ],
        attention.iter().filter_map(|cost| cost.all_layers.map(|all| (cost, all))).map(
            |(cost, all)| {
                vec![
                    grouped(cost.context as u64),
                    all.layers.to_string(),
                    all.kv_heads.to_string(),
                    grouped(all.starts),
                    grouped(all.writes),
                    grouped(all.bytes),
                    grouped(all.writes_without),
                    grouped(all.bytes_without),
                ]
            },
        ),
    );
    Page::from(table)
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
