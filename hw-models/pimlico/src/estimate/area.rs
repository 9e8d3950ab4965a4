// SPDX-License-Identifier: MIT
//! `pimlico estimate area`: units synthesised, beside the papers' figures.

use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use pimlico_estimate::{Area, DEFAULT_LIBRARY, Estimator, Job, Library, Tools, memory, paper};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// The units that are shown where none are asked for: those of the papers, and what else a device has.
const UNITS: [&str; 11] = [
    "relayout_unit",
    "adder_unit",
    "softmax_unit",
    "bank_pu:flush",
    "bank_pu",
    "bank_pu:sum32",
    "bank_pu:x16",
    "pingpong_buffer:depth1",
    "rank_controller",
    "refresh_manager",
    "dispatcher",
];

/// Clock of L3's bank PUs in ns.
const CLOCK_NS: f64 = 5.0;

/// Arguments of `pimlico estimate area`.
#[derive(Args)]
pub struct Arguments {
    /// Units, as `pimlico cosim --list` names them
    units: Vec<String>,
    /// Library of standard cells
    #[arg(long, default_value = DEFAULT_LIBRARY, value_name = "FILE")]
    liberty: PathBuf,
    /// Clock period in ns
    #[arg(long, default_value_t = CLOCK_NS, value_name = "NS")]
    clock: f64,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The same as --format json
    #[arg(long)]
    json: bool,
    /// Python interpreter that has pyosys
    #[arg(long, env = "PIMLICO_PYTHON", default_value = "python3", value_name = "FILE")]
    python: PathBuf,
    /// Synthesise again what is known
    #[arg(long)]
    no_cache: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// Markdown
    Md,
    /// Comma-separated values
    Csv,
    /// One document
    Json,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    units: Vec<UnitReport>,
    memories: Vec<MemoryReport>,
}

#[derive(Serialize)]
struct UnitReport {
    unit: String,
    parameters: BTreeMap<&'static str, i64>,
    flip_flops: u64,
    flip_flops_ge: f64,
    area_um2: f64,
    area_ge: f64,
    /// None if the library has no timing.
    slack_ns: Option<f64>,
    path: Vec<String>,
    cells: BTreeMap<String, u64>,
    /// Not estimated.
    power_mw: Option<f64>,
    paper: Option<PaperReport>,
}

#[derive(Serialize)]
struct PaperReport {
    area_um2: f64,
    area_ge: f64,
    /// With the largest and the smallest gate equivalent of 28 nm.
    area_ge_range: [f64; 2],
    power_mw: f64,
}

#[derive(Serialize)]
struct MemoryReport {
    memory: &'static str,
    per: &'static str,
    bytes: u64,
    area_mm2_28nm: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let jobs = jobs(&arguments.units)?;
    let clock_ns = arguments.clock;
    if !(clock_ns > 0.0 && clock_ns <= 1e6) {
        return Err(Failure::Input(format!(
            "--clock {clock_ns}: expected more than 0 ns, up to 1e6"
        )));
    }
    let library = Library::read(&arguments.liberty).map_err(|error| {
        let is_absent =
            !arguments.liberty.exists() && arguments.liberty.as_os_str() == DEFAULT_LIBRARY;
        let install = "; apt-get install qflow-tech-osu018, or run `scripts/estimate`";
        Failure::Input(format!("{error}{}", if is_absent { install } else { "" }))
    })?;
    let tools = Tools::find(&arguments.python).map_err(|e| Failure::Input(e.to_string()))?;
    let cache = cache_folder().filter(|_| !arguments.no_cache);
    let estimator = Estimator::new(&tools, &library, clock_ns, cache.as_deref());

    let bar = output::progress(jobs.len() as u64, "units");
    let mut units = Vec::new();
    for job in &jobs {
        let area = estimator.area(job).map_err(|e| Failure::Input(e.to_string()))?;
        units.push(unit_report(job, area));
        bar.inc(1);
    }
    bar.finish_and_clear();

    let memories = memory::BUFFERS.map(|memory::Buffer { name, bytes, per }| MemoryReport {
        memory: name,
        per,
        bytes,
        area_mm2_28nm: memory::area_mm2(bytes, 28.0),
    });
    let report = Report {
        liberty: library.name,
        nand2_um2: library.nand2_um2,
        clock_ns,
        units,
        memories: memories.into(),
    };
    match if arguments.json { Format::Json } else { arguments.format } {
        Format::Json => output::print_json(&report),
        Format::Table => output::print(&text(&report)),
        Format::Md => output::print(&lines(&report, "| ", " | ", " |", true)),
        Format::Csv => output::print(&lines(&report, "", ",", "", false)),
    }
}

fn jobs(names: &[String]) -> Result<Vec<Job>, Failure> {
    let find = |name: &str| {
        let unit = pimlico_units::units().into_iter().find(|unit| unit.name == name);
        unit.map(Job::from).ok_or_else(|| {
            let message = format!("{name}: no such unit; `pimlico cosim --list` shows them");
            Failure::Input(message)
        })
    };
    match names {
        [] => UNITS.into_iter().map(find).collect(),
        _ => names.iter().map(|name| find(name)).collect(),
    }
}

/// Where results are kept.
fn cache_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    caches.is_absolute().then(|| caches.join("pimlico/area"))
}

fn unit_report(job: &Job, area: Area) -> UnitReport {
    let (slack_ns, path) = area.timing.map(|timing| (timing.slack_ns, timing.path)).unzip();
    let paper = paper::figure(job.module).filter(|_| !job.unit.contains("x16")).map(|figure| {
        let [least, _, most] = paper::NAND2_28NM_UM2;
        PaperReport {
            area_um2: figure.um2,
            area_ge: figure.ge(),
            area_ge_range: [figure.um2 / most, figure.um2 / least],
            power_mw: figure.mw,
        }
    });
    UnitReport {
        unit: job.unit.clone(),
        parameters: job.parameters.iter().copied().collect(),
        flip_flops: area.flip_flops,
        flip_flops_ge: area.flip_flops_ge,
        area_um2: area.um2,
        area_ge: area.ge,
        slack_ns,
        path: path.unwrap_or_default(),
        cells: area.cells,
        power_mw: None,
        paper,
    }
}

const COLUMNS: [&str; 8] =
    ["unit", "flip-flops", "um2", "GE", "slack ns", "delay ns", "paper GE", "of the paper's"];

/// The cells of the table.
fn rows(report: &Report) -> impl Iterator<Item = Vec<String>> {
    report.units.iter().map(|unit| {
        let of_paper =
            |f: &dyn Fn(&PaperReport) -> String| unit.paper.as_ref().map_or(String::new(), f);
        let of_timing = |f: &dyn Fn(f64) -> String| unit.slack_ns.map_or(String::new(), f);
        vec![
            unit.unit.clone(),
            unit.flip_flops.to_string(),
            format!("{:.0}", unit.area_um2),
            format!("{:.0}", unit.area_ge),
            of_timing(&|slack| format!("{slack:.2}")),
            of_timing(&|slack| format!("{:.2}", report.clock_ns - slack)),
            of_paper(&|paper| format!("{:.0}", paper.area_ge)),
            of_paper(&|paper| format!("{:.2}", unit.area_ge / paper.area_ge)),
        ]
    })
}

/// A line for each unit, below one with the columns' names.
fn lines(report: &Report, begin: &str, between: &str, end: &str, ruled: bool) -> String {
    let mut text = format!("{begin}{}{end}\n", COLUMNS.join(between));
    if ruled {
        let _ = writeln!(text, "{begin}{}{end}", ["---"; COLUMNS.len()].join(between));
    }
    for row in rows(report) {
        let _ = writeln!(text, "{begin}{}{end}", row.join(between));
    }
    text
}

/// The report for people.
fn text(report: &Report) -> String {
    let mut text = format!(
        "area of {} at {} ns; a gate equivalent (GE) is {} um2\n\n",
        report.liberty, report.clock_ns, report.nand2_um2
    );
    text += &output::table(&COLUMNS, rows(report));
    let [least, used, most] = paper::NAND2_28NM_UM2;
    let _ = writeln!(
        text,
        "paper: L3, Table 5, at {used} um2 for a GE of 28 nm; from {most} to {least} um2 its figures \
         are {:.2} to {:.2} times as many",
        used / most,
        used / least
    );
    text += "\nBuffers, by a model of SRAM at 28 nm\n\n";
    let memories = report.memories.iter().map(|memory| {
        let MemoryReport { memory, per, bytes, area_mm2_28nm } = memory;
        vec![
            (*memory).to_owned(),
            (*per).to_owned(),
            bytes.to_string(),
            format!("{area_mm2_28nm:.3}"),
        ]
    });
    text += &output::table(&["buffer", "one in a", "bytes", "mm2"], memories);
    text
}
