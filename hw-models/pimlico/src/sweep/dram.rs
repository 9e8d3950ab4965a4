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
/// tCCD_RESULT and tWTR_SHARED: the preset's, a trunk for all bank groups, shared buffers that turn from write to
/// read as banks do, and both.
const BUSES: [(u64, u64); 4] = [(4, 0), (8, 0), (4, 4), (8, 4)];
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
    buses: Vec<BusRow>,
}

/// A DRAM, and what the work takes with it.
#[derive(Serialize)]
struct DramRow {
    dram: String,
    faw_banks: u64,
    runs: Vec<Run>,
}

/// How bursts go between data pins and PUs, and what the work takes then.
#[derive(Serialize)]
struct BusRow {
    ccd_result_tck: u64,
    wtr_shared_tck: u64,
    runs: Vec<Run>,
}

/// Runs the command.
pub fn run(arguments: &DramArguments) -> Result<(), Failure> {
    let DramArguments { tokens, seed, json } = *arguments;
    let [channels, dimms, ranks] = CHANNELS_DIMMS_RANKS;
    let topology = Topology::new(channels, dimms, ranks).expect("as many as there may be");
    let drams = Config::RANKS.map(|name| Config::of_rank(name).expect("a preset"));
    let count = drams.len() * FAW_BANKS.len() + BUSES.len();
    let bar = output::progress(count as u64, "DRAMs");
    let mut report = DramReport { sweep: "dram", seed, drams: Vec::new(), buses: Vec::new() };
    for preset in drams {
        for faw_banks in FAW_BANKS {
            let mut config = preset.clone();
            config.timing.faw_banks = faw_banks;
            let dram = config.name.clone();
            let machine = Machine { config, options: Options::default() };
            let mut runs = heads_and_matrix(&machine, seed)?;
            runs.push(machine.layer(topology, seed)?);
            runs.push(machine.token(tokens, seed)?);
            report.drams.push(DramRow { dram, faw_banks, runs });
            bar.inc(1);
        }
    }
    for (ccd_result_tck, wtr_shared_tck) in BUSES {
        let mut config = Config::ddr4_3200();
        config.timing.ccd_result_tck = ccd_result_tck;
        config.timing.wtr_shared_tck = wtr_shared_tck;
        let machine = Machine { config, options: Options::default() };
        let runs = heads_and_matrix(&machine, seed)?;
        report.buses.push(BusRow { ccd_result_tck, wtr_shared_tck, runs });
        bar.inc(1);
    }
    bar.finish_and_clear();
    match json {
        true => output::print_json(&report),
        false => output::print(&text(&report)),
    }
}

/// The work that one rank does.
fn heads_and_matrix(machine: &Machine, seed: u64) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    for context in CONTEXTS {
        runs.push(machine.head(HEAD_DIM, context, seed)?);
    }
    runs.push(machine.matrix(MATRIX, MATRIX, seed)?);
    Ok(runs)
}

fn text(report: &DramReport) -> String {
    let drams =
        report.drams.iter().map(|row| (format!("{}, {}", row.dram, row.faw_banks), &*row.runs));
    let buses = report.buses.iter().map(|row| {
        let BusRow { ccd_result_tck, wtr_shared_tck, .. } = row;
        (format!("{ccd_result_tck}, {wtr_shared_tck}"), &*row.runs)
    });
    let what = "tCK, and the share of the bank PUs' bandwidth, by";
    format!(
        "{what} preset and banks that may open in a tFAW; seed {}\n\n{}\n{what} tCCD_RESULT and tWTR_SHARED\n\n{}",
        report.seed,
        table(&drams.collect::<Vec<_>>()),
        table(&buses.collect::<Vec<_>>())
    )
}

/// A row for each piece of work, a column for each DRAM: tCK, and the share of the bank PUs' bandwidth.
fn table(columns: &[(String, &[Run])]) -> String {
    let mut header = vec![""];
    header.extend(columns.iter().map(|(name, _)| name.as_str()));
    let works = columns.first().map_or(0, |(_, runs)| runs.len());
    let rows = (0..works).map(|n| {
        let name = columns[0].1[n].workload.clone();
        let cells = columns.iter().map(|(_, runs)| {
            let Run { tck, share, .. } = &runs[n];
            format!("{} ({:.1} %)", grouped(*tck), 100.0 * share)
        });
        std::iter::once(name).chain(cells).collect()
    });
    output::table(&header, rows)
}
