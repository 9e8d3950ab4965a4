// SPDX-License-Identifier: MIT
//! `pimlico sweep numerics`: early or late normalisation, sums of binary16 or binary32.

use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, grouped};
use crate::schema::Kind;
use clap::Args;
use pimlico_device::SystemKind;
use pimlico_workload::numerics::{self, NumericsComparison, NumericsRow};

/// Arguments of `pimlico sweep numerics`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep numerics --context 1024,16384
  pimlico sweep numerics --head-dim 64 --context 4096 --seed 2")]
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
    format: FormatArguments,
}

/// Runs the command.
pub fn run(arguments: &NumericsArguments) -> Result<(), Failure> {
    let spec = arguments.device.of(SystemKind::L3)?;
    let bar = output::progress(2 * arguments.context.len() as u64, "heads");
    let NumericsArguments { head_dim, context, seed, format, .. } = arguments;
    let rank = (spec.config(), spec.options());
    let comparison = numerics::compare(&rank, *head_dim, context, *seed, || bar.inc(1));
    bar.finish_and_clear();
    let comparison = comparison.map_err(|error| Failure::Input(error.to_string()))?;
    output::report(*format, (Kind::SweepNumerics, &comparison), &text(&comparison))?;
    match comparison.rows.iter().map(|row| row.pin_violations).sum() {
        0 => Ok(()),
        count => Err(Failure::Check(format!("{count} violations at the DRAM's pins"))),
    }
}

fn text(comparison: &NumericsComparison) -> Page {
    let NumericsComparison { system, head_dim, seed, rows } = comparison;
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
