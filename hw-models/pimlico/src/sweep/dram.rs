// SPDX-License-Identifier: MIT
//! `pimlico sweep dram`: what the DRAM's supply and its density make of the device.

use crate::failure::Failure;
use crate::output::{self, grouped};
use crate::workloads::{Machine, Run};
use clap::Args;
use pimlico_device::{Config, Options, Topology};
use serde::Serialize;

/// Banks that may open in a tFAW: what L3's bandwidth wants, half of it, and what JESD79-4 allows.
const FAW_BANKS: [u64; 3] = [16, 8, 4];
/// Elements of a head's vectors, and its tokens.
const HEAD_DIM: usize = 128;
const CONTEXTS: [usize; 2] = [16_384, 2048];
/// Rows and columns of the matrix.
const MATRIX: usize = 4096;
/// Ranks of the layer: L3's 16 channels of two DIMMs of two ranks.
const CHANNELS_DIMMS_RANKS: [usize; 3] = [16, 2, 2];

/// Arguments of `pimlico sweep dram`.
#[derive(Args)]
pub struct DramArguments {
    /// Tokens that the built-in language model decodes
    #[arg(long, default_value_t = 40, value_name = "N")]
    tokens: usize,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Print one JSON document in place of the table
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct DramReport {
    sweep: &'static str,
    seed: u64,
    drams: Vec<DramRow>,
}

/// A DRAM, and what the work takes with it.
#[derive(Serialize)]
struct DramRow {
    dram: String,
    faw_banks: u64,
    runs: Vec<Run>,
}

/// Runs the command.
pub fn run(arguments: &DramArguments) -> Result<(), Failure> {
    let DramArguments { tokens, seed, json } = *arguments;
    let [channels, dimms, ranks] = CHANNELS_DIMMS_RANKS;
    let topology = Topology::new(channels, dimms, ranks).expect("as many as there may be");
    let drams = Config::RANKS.map(|name| Config::of_rank(name).expect("a preset"));
    let bar = output::progress((drams.len() * FAW_BANKS.len()) as u64, "DRAMs");
    let mut report = DramReport { sweep: "dram", seed, drams: Vec::new() };
    for preset in drams {
        for faw_banks in FAW_BANKS {
            let mut config = preset.clone();
            config.timing.faw_banks = faw_banks;
            let dram = config.name.clone();
            let machine = Machine { config, options: Options::default() };
            let mut runs = Vec::new();
            for context in CONTEXTS {
                runs.push(machine.head(HEAD_DIM, context, seed)?);
            }
            runs.push(machine.matrix(MATRIX, MATRIX, seed)?);
            runs.push(machine.layer(topology, seed)?);
            runs.push(machine.token(tokens, seed)?);
            report.drams.push(DramRow { dram, faw_banks, runs });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    match json {
        true => output::print_json(&report),
        false => output::print(&text(&report)),
    }
}

/// A row for each piece of work, a column for each DRAM: tCK, and the share of the bank PUs' bandwidth.
fn text(report: &DramReport) -> String {
    let columns: Vec<_> =
        report.drams.iter().map(|row| format!("{}, {}", row.dram, row.faw_banks)).collect();
    let mut header = vec![""];
    header.extend(columns.iter().map(String::as_str));
    let works = report.drams.first().map_or(0, |row| row.runs.len());
    let rows = (0..works).map(|n| {
        let name = report.drams[0].runs[n].workload.clone();
        let cells = report.drams.iter().map(|row| {
            let Run { tck, share, .. } = &row.runs[n];
            format!("{} ({:.1} %)", grouped(*tck), 100.0 * share)
        });
        std::iter::once(name).chain(cells).collect()
    });
    format!(
        "tCK, and the share of the bank PUs' bandwidth, by preset and banks that may open in a tFAW; seed {}\n\n{}",
        report.seed,
        output::table(&header, rows)
    )
}
