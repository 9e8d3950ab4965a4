// SPDX-License-Identifier: MIT
//! `pimlico sweep numerics`: early or late normalisation, sums of binary16 or binary32.

use super::Threads;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, grouped};
use crate::pieces::{Pieces, PiecesArguments};
use crate::schema::Kind;
use clap::Args;
use pimlico_device::{Config, DeviceSpec, Options, SystemKind};
use pimlico_workload::numerics::{KINDS, NumericsCase, NumericsFigures, NumericsRow};
use serde::Serialize;

/// Arguments of `pimlico sweep numerics`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep numerics --context 1024,16384
  pimlico sweep numerics --head-dim 64 --context 4096 --seed 2
  pimlico sweep numerics --jobs jobs.jsonl                  a piece in each line, for `pimlico job`
  pimlico sweep numerics --gather jobs.jsonl.outcomes       the report of what became of them")]
pub struct NumericsArguments {
    #[command(flatten)]
    device: DeviceFlag,
    /// Elements of the head's vectors
    #[arg(long, default_value_t = 128, value_name = "D")]
    head_dim: usize,
    /// Tokens
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,...",
        default_values_t = [128, 1024, 4096, 16_384, 32_768, 131_072]
    )]
    context: Vec<usize>,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    pieces: PiecesArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    /// Name of the device.
    system: String,
    head_dim: usize,
    seed: u64,
    /// A row for each context, distribution and kind.
    rows: Vec<NumericsRow>,
}

/// Heads on ranks of each kind: each is a piece.
struct Heads {
    spec: DeviceSpec,
    rank: (Config, Options),
    head_dim: usize,
    seed: u64,
    cases: Vec<NumericsCase>,
}

impl Pieces for Heads {
    type Piece = NumericsCase;
    type Outcome = NumericsFigures;

    const NAME: &'static str = "sweep numerics";
    const UNIT: &'static str = "tokens";

    fn inputs(&self) -> impl Serialize {
        (&self.spec, self.head_dim, self.seed)
    }

    fn pieces(&self) -> &[NumericsCase] {
        &self.cases
    }

    fn weight(&self, case: &NumericsCase) -> u64 {
        case.context as u64
    }

    fn run(&self, case: &NumericsCase) -> Result<NumericsFigures, Failure> {
        let figures = case.run(&self.rank, self.head_dim, self.seed);
        figures.map_err(|error| Failure::Input(error.to_string()))
    }
}

/// Runs the command.
pub fn run(arguments: &NumericsArguments) -> Result<(), Failure> {
    let NumericsArguments { head_dim, ref context, seed, threads, format, .. } = *arguments;
    let spec = arguments.device.of(SystemKind::L3)?;
    let rank = (spec.config(), spec.options());
    NumericsCase::check(&rank.0, head_dim, context)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let cases = NumericsCase::all(context, &KINDS);
    let work = Heads { spec, rank, head_dim, seed, cases };
    let Some(figures) = arguments.pieces.outcomes(&work, threads.count())? else { return Ok(()) };
    let rows = work.cases.iter().zip(figures).map(|(case, figures)| case.row(figures)).collect();
    let document = Document { system: work.rank.0.name, head_dim, seed, rows };
    output::report(format, (Kind::SweepNumerics, &document), &text(&document))?;
    match document.rows.iter().map(|row| row.pin_violations).sum() {
        0 => Ok(()),
        count => Err(Failure::Check(format!("{count} violations at the DRAM's pins"))),
    }
}

fn text(document: &Document) -> Page {
    let Document { system, head_dim, seed, rows } = document;
    let mut text = Page::from(format!(
        "a head of {head_dim} on a rank of {system}, seed {seed}\n\
         error of the output against float64, relative to its largest element; ULP of the RMS at it\n\n"
    ));
    text += output::table(
        &[
            "context",
            "scores",
            "normalisation",
            "sums",
            "tCK",
            "bubbles",
            "from its scores: max",
            "from its scores: RMS",
            "from its scores: RMS, ULP",
            "from K, V, Q: max",
            "from K, V, Q: RMS",
        ],
        rows.iter().map(cells),
    );
    text
}

fn cells(row: &NumericsRow) -> Vec<String> {
    let [of_scores, of_all] = [row.stages.output_from_scores, row.stages.output];
    vec![
        grouped(row.context as u64),
        row.distribution.to_owned(),
        row.normalise.to_owned(),
        row.sums.to_owned(),
        grouped(row.cycles),
        grouped(row.bubble),
        format!("{:.2e}", of_scores.max_relative),
        format!("{:.2e}", of_scores.rms_relative),
        // Of binary16 at the largest element, of which a unit in the last place is 2^-11 to 2^-10.
        format!("{:.1}", of_scores.rms_relative * 2f64.powi(11)),
        format!("{:.2e}", of_all.max_relative),
        format!("{:.2e}", of_all.rms_relative),
    ]
}
