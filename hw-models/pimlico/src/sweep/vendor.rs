// SPDX-License-Identifier: MIT
//! `pimlico sweep vendor`: the headline figures by what a vendor of DRAM chooses.
//!
//! * [`work`]: what is run.

mod work;

use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::output::{self, FormatArguments, Page, Table, grouped};
use crate::schema::Kind;
use crate::workloads::Machine;
use clap::Args;
use pimlico_device::spd::Description;
use pimlico_device::{Config, DeviceSpec, Mdq, Options, Organisation, SystemKind};
use pimlico_workload::parallel;
use pimlico_workload::report::{Error, Lost, Report, Slots};
use serde::Serialize;
use std::num::NonZero;
use std::path::PathBuf;
use work::{LeftOut, Sizes, Work};

/// Mb of a Gb.
const MBIT_OF_GBIT: u64 = 1024;
/// Banks that may open in a tFAW: what L3's bandwidth wants, and what JESD79-4 allows.
const FAW_BANKS: [u64; 2] = [16, 4];
/// Whose the data lines on a DIMM are.
const MDQ: [Mdq; 2] = [Mdq::Private, Mdq::Shared];

/// Arguments of `pimlico sweep vendor`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep vendor --quick
  pimlico sweep vendor --jobs 2 --format md")]
pub struct VendorArguments {
    #[command(flatten)]
    device: DeviceFlag,
    /// Tokens that the language models decode
    #[arg(long, default_value_t = 40, value_name = "N")]
    tokens: usize,
    /// Folder with stories260K.bin and tok512.bin. Without it, text by that model is left out if they are not in
    /// ../shared/weights
    #[arg(long, env = "PIMLICO_WEIGHTS", value_name = "DIR")]
    weights: Option<PathBuf>,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Runs at a time; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Short heads, a small matrix and a layer of few tokens, to try the command
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct VendorReport {
    sweep: &'static str,
    seed: u64,
    quick: bool,
    rows: Vec<Row>,
    left_out: Vec<LeftOut>,
}

/// A piece of work with each choice.
#[derive(Serialize)]
struct Row {
    workload: String,
    /// Whether two ranks of a DIMM have part in it; without, it takes the same with either data lines.
    on_both_ranks: bool,
    cells: Vec<Cell>,
}

/// What a piece of work takes.
#[derive(Clone, Serialize)]
struct Cell {
    /// Gb of a chip, where that is a whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    chip_gbit: Option<u64>,
    /// The device: preset of the rank, or the name that a file gives it.
    dram: String,
    /// Banks that may open in a tFAW.
    faw_banks: u64,
    /// Whose the data lines are.
    mdq: &'static str,
    /// tCK; of a text, those of a token on average.
    tck: u64,
    /// Share of the bank PUs' bandwidth, between 0 and 1.
    share: f64,
    /// tCK that any order of the bursts takes, at the least, where ranks share the data lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_tck: Option<u64>,
    /// Slots of all operators, of the rank that is done last.
    slots: Slots,
    /// The worst error against float64 of all operators, each of the same inputs.
    error: Error,
}

/// What is chosen.
struct Choice {
    config: Config,
    options: Options,
    mdq: Mdq,
}

impl Choice {
    /// All of them, in the order of the columns.
    fn all(devices: &[DeviceSpec]) -> Vec<Self> {
        let mut choices = Vec::new();
        for device in devices {
            for faw_banks in FAW_BANKS {
                let (mut config, options) = (device.config(), device.options());
                config.timing.faw_banks = faw_banks;
                choices.extend(MDQ.map(|mdq| Self { config: config.clone(), options, mdq }));
            }
        }
        choices
    }

    fn run(&self, work: &Work, seed: u64) -> Result<Cell, Failure> {
        let machine = Machine { config: self.config.clone(), options: self.options };
        Ok(self.cell(&work.run(&machine, self.mdq, seed)?))
    }

    fn cell(&self, report: &Report) -> Cell {
        let on_ranks = || report.operators.iter().filter_map(|operator| operator.ranks);
        let least_tck = on_ranks().map(|ranks| ranks.mdq_least_tck).sum();
        let errors = report.operators.iter().map(|operator| operator.error);
        Cell {
            chip_gbit: chip_gbit(&self.config),
            dram: self.config.name.clone(),
            faw_banks: self.config.timing.faw_banks,
            mdq: self.mdq.name(),
            tck: Work::tck(report),
            share: report.total.use_share(),
            least_tck: (self.mdq == Mdq::Shared && on_ranks().next().is_some())
                .then_some(least_tck),
            slots: report
                .operators
                .iter()
                .map(|operator| &operator.slots)
                .fold(Slots::default(), |all, of| sum(&all, of)),
            error: errors.fold(Error::default(), Error::worse),
        }
    }
}

/// Gb of a chip, where that is a whole number. A rank uses as many rows of it as its ports name; the SPD image has them all.
fn chip_gbit(config: &Config) -> Option<u64> {
    let Organisation { bank_groups, banks_per_group, rows, page_bytes, .. } = config.organisation;
    let used_bits = 8 * (bank_groups * banks_per_group * rows * page_bytes) as u64;
    let gbit = Description::of(config).module.density_mbit() / MBIT_OF_GBIT;
    used_bits.is_multiple_of(MBIT_OF_GBIT << 20).then_some(gbit)
}

/// The slots of two operators.
fn sum(one: &Slots, other: &Slots) -> Slots {
    let (a, b) = (&one.lost, &other.lost);
    Slots {
        used: one.used + other.used,
        of_use: one.of_use + other.of_use,
        lost: Lost {
            padding: a.padding + b.padding,
            row_switch: a.row_switch + b.row_switch,
            refresh: a.refresh + b.refresh,
            fill_drain: a.fill_drain + b.fill_drain,
            bubble: a.bubble + b.bubble,
            io: a.io + b.io,
            host: a.host + b.host,
        },
    }
}

/// Runs the command.
pub fn run(arguments: &VendorArguments) -> Result<(), Failure> {
    let VendorArguments { ref device, tokens, ref weights, seed, jobs, quick, format } = *arguments;
    let devices = match device.given()? {
        Some(_) => vec![device.of(SystemKind::L3)?],
        None => Config::RANKS.iter().filter_map(|name| DeviceSpec::built_in(name)).collect(),
    };
    let sizes = if quick { Sizes::quick(tokens) } else { Sizes::full(tokens) };
    let (works, left_out) = work::all(&sizes, weights.as_deref(), seed)?;
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok());
    let rows = rows(&works, &Choice::all(&devices), seed, jobs.map_or(1, NonZero::get))?;
    let report = VendorReport { sweep: "vendor", seed, quick, rows, left_out };
    output::report(format, (Kind::SweepVendor, &report), &text(&report))
}

/// All work with all choices.
fn rows(works: &[Work], choices: &[Choice], seed: u64, jobs: usize) -> Result<Vec<Row>, Failure> {
    // What runs on one rank alone is run with private lines, and takes the same with shared ones.
    let wanted =
        |work: &Work, choice: &Choice| work.is_on_both_ranks() || choice.mdq == Mdq::Private;
    let of_work = |work| choices.iter().filter(move |c| wanted(work, c)).map(move |c| (work, c));
    let tasks: Vec<(&Work, &Choice)> = works.iter().flat_map(of_work).collect();
    let bar = output::progress(1, "vendor's choices");
    let progress = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let run = |(work, choice): &(&Work, &Choice)| choice.run(work, seed);
    let cells = parallel::map(&tasks, jobs, |(work, _)| work.weight(), run, progress);
    bar.finish_and_clear();
    let mut cells = cells?.into_iter();
    let row = |work: &Work| {
        let mut row: Vec<Cell> = Vec::new();
        for choice in choices {
            let same = || row.last().map(|last| Cell { mdq: choice.mdq.name(), ..last.clone() });
            let cell = if wanted(work, choice) { cells.next() } else { same() };
            row.push(cell.expect("one for each that is wanted, the first of them among these"));
        }
        judge(&row).map_err(|failure| work.named(failure))?;
        let on_both_ranks = work.is_on_both_ranks();
        Ok(Row { workload: work.name.clone(), on_both_ranks, cells: row })
    };
    works.iter().map(row).collect()
}

/// What is computed does not depend on these choices: so neither does its error.
fn judge(cells: &[Cell]) -> Result<(), Failure> {
    let error = |cell: &Cell| {
        let Error { max_ulp, max_relative, rms_relative, .. } = cell.error;
        [max_ulp, max_relative, rms_relative].map(f64::to_bits)
    };
    match cells.iter().find(|cell| error(cell) != error(&cells[0])) {
        None => Ok(()),
        Some(Cell { dram, faw_banks, mdq, .. }) => Err(Failure::Check(format!(
            "the results on {dram} with {faw_banks} banks in a tFAW and {mdq} data lines differ from the first's"
        ))),
    }
}

fn text(report: &VendorReport) -> Page {
    let mut text = Page::from(format!(
        "tCK by the vendor's choices: Gb of a chip, banks in a tFAW, data lines (MDQ); seed {}\n\n",
        report.seed
    ));
    text += table(report, |cell| grouped(cell.tck)).in_unit("tCK");
    text += "\nShare of the bank PUs' bandwidth that is of use, in %\n\n";
    text += table(report, |cell| format!("{:.1}", 100.0 * cell.share)).in_unit("%");
    text += "\nSlots of an all-bank RD that are lost, in %: to padding, row switches, refresh, fill and drain, \
             bubbles, waiting\n\n";
    text += table(report, |cell| lost(&cell.slots)).in_unit("%");
    text += "\nnote: 16 banks in a tFAW is what L3 assumes, 4 what JESD79-4 allows\n\
             note: MDQ, the data lines between buffer chip and chips, are each rank's or one set for both ranks of a \
             DIMM. A rank that is alone at work has them to itself and takes the same. Shared, tCK are an upper \
             bound of contention; --json has the lower one of any order of the bursts\n\
             note: waiting is for the host, which has the pins, writes operands and reads results, and for shared data \
             lines; on several ranks, slots are those of the rank that is done last\n\
             note: on several ranks, one of the pieces of work that are alike is run. What is run is checked at the \
             DRAM's pins, and computes the same with every choice\n";
    for LeftOut { workload, why } in &report.left_out {
        text += format!("left out: {workload}: {why}\n");
    }
    text
}

/// A row for each piece of work, a column for each choice.
fn table(report: &VendorReport, cell: impl Fn(&Cell) -> String) -> Table {
    let first = report.rows.first().map_or(&[][..], |row| &row.cells);
    let names = first.iter().map(|Cell { chip_gbit, dram, faw_banks, mdq, .. }| {
        let chips = chip_gbit.map_or(dram.clone(), |gbit| format!("{gbit} Gb"));
        format!("{chips}\n{faw_banks} banks\nMDQ {mdq}")
    });
    let names: Vec<_> = std::iter::once(String::new()).chain(names).collect();
    let header: Vec<_> = names.iter().map(String::as_str).collect();
    let row = |row: &Row| {
        let of_choice = |of: &Cell| {
            let is_same = !row.on_both_ranks && of.mdq == Mdq::Shared.name();
            if is_same { "same".to_owned() } else { cell(of) }
        };
        std::iter::once(row.workload.clone()).chain(row.cells.iter().map(of_choice)).collect()
    };
    output::table(&header, report.rows.iter().map(row))
}

/// Slots that are lost, by cause, as shares of all; 0 is none.
fn lost(slots: &Slots) -> String {
    let Lost { padding, row_switch, refresh, fill_drain, bubble, io, host } = slots.lost;
    let causes = [padding, row_switch, refresh, fill_drain, bubble, io + host];
    let all = slots.all();
    let share = |&count: &u64| match count {
        0 => "0".to_owned(),
        _ => format!("{:.1}", 100.0 * count as f64 / all as f64),
    };
    causes.iter().map(share).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presets() -> Vec<DeviceSpec> {
        Config::RANKS.iter().filter_map(|name| DeviceSpec::built_in(name)).collect()
    }

    fn report() -> VendorReport {
        let sizes = Sizes { contexts: vec![100], matrix: 64, layer_context: 20, tokens: 2 };
        let (mut works, left_out) = work::all(&sizes, None, 1).expect("the work");
        works.retain(|work| !work.name.starts_with("a layer"));
        let rows = rows(&works, &Choice::all(&presets()), 1, 2).expect("they run");
        VendorReport { sweep: "vendor", seed: 1, quick: true, rows, left_out }
    }

    #[test]
    fn there_are_chips_of_each_preset() {
        let choices = Choice::all(&presets());
        assert_eq!(choices.len(), Config::RANKS.len() * FAW_BANKS.len() * MDQ.len());
        let of_preset = FAW_BANKS.len() * MDQ.len();
        let first = choices.iter().step_by(of_preset);
        let chips: Vec<_> = first.map(|c| (c.config.name.as_str(), chip_gbit(&c.config))).collect();
        assert_eq!(chips, [("ddr4-3200", Some(8)), ("ddr4-3200-16gb", Some(16))]);
        assert_eq!(chips.iter().map(|(name, _)| *name).collect::<Vec<_>>(), Config::RANKS);
    }

    #[test]
    fn each_choice_that_costs_something_shows() {
        let report = report();
        let head = &report.rows[0];
        assert_eq!(head.cells.len(), 8);
        let tck = |row: &Row, dram: &str, faw_banks, mdq| {
            let is_it =
                |cell: &&Cell| (&*cell.dram, cell.faw_banks, cell.mdq) == (dram, faw_banks, mdq);
            row.cells.iter().find(is_it).expect("a column").tck
        };
        for dram in Config::RANKS {
            assert!(tck(head, dram, 4, "private") > tck(head, dram, 16, "private"));
            assert_eq!(tck(head, dram, 4, "shared"), tck(head, dram, 4, "private"));
            let both = &report.rows[1];
            assert!(both.on_both_ranks && !head.on_both_ranks);
            assert!(tck(both, dram, 16, "shared") > tck(both, dram, 16, "private"));
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_choice_and_says_where_it_is_the_same() {
        let report = report();
        let text = text(&report).text();
        let row = text.lines().find(|line| line.contains("a head")).expect("a row");
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 9);
        assert!(cells[1].ends_with(char::is_numeric) && cells[2] == "same", "{row}");
        assert_eq!(text.contains("left out: a token of stories260K"), !report.left_out.is_empty());
    }

    #[test]
    fn another_result_with_another_choice_is_a_failure() {
        let mut cells = report().rows.swap_remove(0).cells;
        assert!(judge(&cells).is_ok());
        cells[3].error.max_relative *= 2.0;
        let failure = judge(&cells).expect_err("it differs").to_string();
        assert!(failure.contains("4 banks in a tFAW and shared data lines"), "{failure}");
    }

    #[test]
    fn lost_slots_are_shares_of_all() {
        let lost_slots =
            Lost { padding: 4, row_switch: 5, refresh: 10, io: 1, host: 1, ..Lost::default() };
        assert_eq!(
            lost(&Slots { used: 83, of_use: 79, lost: lost_slots }),
            "4.0  5.0  10.0  0  0  2.0"
        );
    }
}
