// SPDX-License-Identifier: MIT
//! `pimlico sweep dram`: what the DRAM's supply and its density make of the device.

use super::Threads;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::mdq::MdqArgument;
use crate::output::{self, FormatArguments, Page, Table, grouped};
use crate::schema::Kind;
use crate::workloads::{Machine, MdqRun, Run};
use clap::Args;
use pimlico_device::{Config, DeviceSpec, Mdq, SystemKind, Topology};
use pimlico_workload::parallel;
use serde::Serialize;

/// Banks that may open in a tFAW: what L3's bandwidth wants, half of it, and what JESD79-4 allows.
const FAW_BANKS: [u64; 3] = [16, 8, 4];
/// tCCD_RESULT and tWTR_SHARED: the preset's, a trunk for all bank groups, shared buffers that turn from write to
/// read as banks do, and both.
const BUSES: [(u64, u64); 4] = [(4, 0), (8, 0), (4, 4), (8, 4)];
/// Elements of a head's vectors, and its tokens.
const HEAD_DIM: usize = 128;
const CONTEXTS: [usize; 2] = [16_384, 2048];
/// Elements of a head's vectors and its tokens, where the ranks of a DIMM share its data lines: shorter vectors have
/// more scores in the same time.
const MDQ_HEADS: [(usize, usize); 3] = [(128, 16_384), (128, 2048), (64, 16_384)];
/// Rows and columns of the matrix.
const MATRIX: usize = 4096;
/// Ranks of the layer: L3's 16 channels of two DIMMs of two ranks.
const CHANNELS_DIMMS_RANKS: [usize; 3] = [16, 2, 2];

/// Arguments of `pimlico sweep dram`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep dram
  pimlico sweep dram --tokens 10 --mdq shared --json")]
pub struct DramArguments {
    #[command(flatten)]
    device: DeviceFlag,
    /// Tokens that the built-in language model decodes
    #[arg(long, default_value_t = 40, value_name = "N")]
    tokens: usize,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Data lines between buffer chip and chips, on DIMMs of two ranks. With `shared` also what they cost there: an
    /// upper bound of contention, not a model cycle by cycle
    #[arg(long, value_enum, default_value_t = MdqArgument::Private)]
    mdq: MdqArgument,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct DramReport {
    sweep: &'static str,
    seed: u64,
    mdq: &'static str,
    drams: Vec<DramRow>,
    buses: Vec<BusRow>,
}

/// A DRAM, and what the work takes with it.
#[derive(Serialize)]
struct DramRow {
    dram: String,
    faw_banks: u64,
    runs: Vec<Run>,
    /// Work on ranks that share the data lines of their DIMM, if it is asked for.
    mdq_shared: Vec<MdqRun>,
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
    let DramArguments { tokens, seed, mdq, format, .. } = *arguments;
    let mdq = Mdq::from(mdq);
    let drams = match &arguments.device {
        device if device.given()?.is_some() => vec![device.of(SystemKind::L3)?],
        _ => Config::RANKS.iter().filter_map(|name| DeviceSpec::built_in(name)).collect(),
    };
    let threads = arguments.threads.count();
    let chips: Vec<_> =
        drams.iter().flat_map(|spec| FAW_BANKS.map(|faw_banks| (spec, faw_banks))).collect();
    let bar = output::progress((chips.len() + BUSES.len()) as u64, "DRAMs");
    let of_chips = |&(spec, faw_banks): &(&DeviceSpec, u64)| {
        let mut config = spec.config();
        config.timing.faw_banks = faw_banks;
        let dram = config.name.clone();
        let machine = Machine { config, options: spec.options() };
        let runs = work(&machine, tokens, seed)?;
        let mut mdq_shared = Vec::new();
        if mdq == Mdq::Shared {
            for (head_dim, context) in MDQ_HEADS {
                mdq_shared.push(machine.head_on_each(head_dim, context, seed)?);
            }
            mdq_shared.push(machine.layer_mdq(layer_ranks(), seed)?);
        }
        Ok::<_, Failure>(DramRow { dram, faw_banks, runs, mdq_shared })
    };
    let of_bus = |&(ccd_result_tck, wtr_shared_tck): &(u64, u64)| {
        let (mut config, options) = (drams[0].config(), drams[0].options());
        config.timing.ccd_result_tck = ccd_result_tck;
        config.timing.wtr_shared_tck = wtr_shared_tck;
        let runs = heads_and_matrix(&Machine { config, options }, seed)?;
        Ok::<_, Failure>(BusRow { ccd_result_tck, wtr_shared_tck, runs })
    };
    let before = chips.len() as u64;
    let done = parallel::map(&chips, threads, |_| 1, of_chips, |done, _| bar.set_position(done))
        .and_then(|drams| {
            let progress = |done, _| bar.set_position(before + done);
            Ok((drams, parallel::map(&BUSES, threads, |_| 1, of_bus, progress)?))
        });
    bar.finish_and_clear();
    let (drams, buses) = done?;
    let report = DramReport { sweep: "dram", seed, mdq: mdq.name(), drams, buses };
    output::report(format, (Kind::SweepDram, &report), &(text(&report) + mdq_text(&report)))
}

fn layer_ranks() -> Topology {
    let [channels, dimms, ranks] = CHANNELS_DIMMS_RANKS;
    Topology::new(channels, dimms, ranks).expect("as many as there may be")
}

/// All the work.
pub(super) fn work(machine: &Machine, tokens: usize, seed: u64) -> Result<Vec<Run>, Failure> {
    let mut runs = heads_and_matrix(machine, seed)?;
    runs.push(machine.layer(layer_ranks(), seed)?);
    runs.push(machine.token(tokens, seed)?);
    Ok(runs)
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

fn text(report: &DramReport) -> Page {
    let drams =
        report.drams.iter().map(|row| (format!("{}, {}", row.dram, row.faw_banks), &*row.runs));
    let buses = report.buses.iter().map(|row| {
        let BusRow { ccd_result_tck, wtr_shared_tck, .. } = row;
        (format!("{ccd_result_tck}, {wtr_shared_tck}"), &*row.runs)
    });
    let by_dram = format!("preset and banks that may open in a tFAW; seed {}", report.seed);
    tables(&by_dram, &drams.collect::<Columns<'_>>())
        + "\n"
        + tables("tCCD_RESULT and tWTR_SHARED", &buses.collect::<Columns<'_>>())
}

/// Columns of a table: a name, and what the work takes.
pub(super) type Columns<'a> = Vec<(String, &'a [Run])>;

/// tCK, and the share of the bank PUs' bandwidth.
pub(super) fn tables(by: &str, columns: &[(String, &[Run])]) -> Page {
    Page::from(format!("tCK by {by}\n\n"))
        + table(columns, |run| grouped(run.tck)).in_unit("tCK")
        + format!("\nShare of the bank PUs' bandwidth that is of use, in %, by {by}\n\n")
        + table(columns, |run| format!("{:.1}", 100.0 * run.share)).in_unit("%")
}

/// A row for each piece of work, a column for each DRAM.
fn table(columns: &[(String, &[Run])], cell: impl Fn(&Run) -> String) -> Table {
    let mut header = vec![""];
    header.extend(columns.iter().map(|(name, _)| name.as_str()));
    let works = columns.first().map_or(0, |(_, runs)| runs.len());
    let rows = (0..works).map(|n| {
        let name = columns[0].1[n].workload.clone();
        let cells = columns.iter().map(|(_, runs)| cell(&runs[n]));
        std::iter::once(name).chain(cells).collect()
    });
    output::table(&header, rows)
}

/// A row for each piece of work on each DRAM, where the ranks of a DIMM share its data lines.
fn mdq_text(report: &DramReport) -> Page {
    let rows: Vec<_> = report.drams.iter().flat_map(mdq_rows).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let header = [
        "",
        "DRAM",
        "MDQ private, tCK",
        "wanted of one MDQ, %",
        "MDQ shared, at the least, tCK",
        "MDQ shared, tCK",
        "more, %",
    ];
    let what = "\nThe ranks of a DIMM share its data lines: an upper bound of contention beside what any order takes\n\n";
    Page::from(what) + output::table(&header, rows)
}

fn mdq_rows(dram: &DramRow) -> impl Iterator<Item = Vec<String>> {
    dram.mdq_shared.iter().map(|run| {
        let more = run.shared_tck as f64 / run.private_tck.max(1) as f64 - 1.0;
        vec![
            run.workload.clone(),
            format!("{}, {}", dram.dram, dram.faw_banks),
            grouped(run.private_tck),
            format!("{:.1}", 100.0 * run.wanted),
            grouped(run.least_tck),
            grouped(run.shared_tck),
            format!("{:+.1}", 100.0 * more),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::Options;

    fn report(mdq_shared: Vec<MdqRun>) -> DramReport {
        let row = DramRow { dram: "a DRAM".to_owned(), faw_banks: 8, runs: Vec::new(), mdq_shared };
        DramReport { sweep: "dram", seed: 1, mdq: "shared", drams: vec![row], buses: Vec::new() }
    }

    #[test]
    fn shared_data_lines_have_a_column_beside_private_ones() {
        assert_eq!(mdq_text(&report(Vec::new())).text(), "");
        let run = MdqRun {
            workload: "work".to_owned(),
            private_tck: 1000,
            shared_tck: 1500,
            least_tck: 1220,
            wanted: 1.218,
        };
        let text = mdq_text(&report(vec![run])).text();
        let row = text.lines().last().expect("a row");
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let expected = ["work", "a DRAM, 8", "1 000", "121.8", "1 220", "1 500", "+50.0"];
        assert_eq!(cells, expected);
        let header = text.lines().find(|line| line.contains("MDQ private")).expect("a header");
        assert_eq!(header.split('|').next_back().map(str::trim), Some("more, %"));
    }

    #[test]
    fn a_head_on_each_of_two_ranks_wants_more_than_one_set_of_lines() {
        let machine = Machine { config: Config::ddr4_3200(), options: Options::default() };
        let run = machine.head_on_each(64, 1000, 1).expect("it runs");
        assert!(run.wanted > 1.0, "{}", run.wanted);
        assert!(run.private_tck < run.least_tck && run.least_tck < run.shared_tck);
        assert!(run.shared_tck < 2 * run.private_tck);
        let document = serde_json::to_value(report(vec![run.clone()])).expect("plain data");
        assert_eq!(document["mdq"], "shared");
        assert_eq!(document["drams"][0]["mdq_shared"][0]["shared_tck"], run.shared_tck);
    }
}
