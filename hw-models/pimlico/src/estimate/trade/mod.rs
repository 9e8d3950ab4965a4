// SPDX-License-Identifier: MIT
//! `pimlico estimate trade`: what a choice of the design costs in hardware and does to a workload, side by
//! side.

mod bank_pu;
mod choices;
mod gear;
mod pipeline;
mod plot;
mod row_buffers;

use super::flow::{Flow, FlowArguments};
use super::picture::PlotArgument;
use super::power::{self, WINDOW};
use super::sheet::{self, FormatArguments, Sheet};
use super::workload::{What, Workload};
use crate::failure::Failure;
use crate::schema::Kind;
use clap::{Args, Subcommand};
use pimlico_device::Options as DeviceOptions;
use pimlico_estimate::UnitSpec;
use pimlico_estimate::power::{Power, Stimulus, UnitPower};
use serde::Serialize;
use std::collections::BTreeMap;

/// Arguments of `pimlico estimate trade`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct TradeArguments {
    #[command(subcommand)]
    choice: Choice,
}

#[derive(Subcommand)]
enum Choice {
    /// Subnormal numbers kept, or flushed to zero: a rank's units, attention heads
    #[command(after_help = "Example:\n  pimlico estimate trade subnormals --context 1024")]
    Subnormals(Options),
    /// Sums of binary16 or binary32: a rank's units, attention heads
    #[command(after_help = "Example:\n  pimlico estimate trade sums --context 1024")]
    Sums(Options),
    /// Weights normalised early, or the context late: the softmax unit, attention heads
    #[command(after_help = "Example:\n  pimlico estimate trade normalise --context 1024")]
    Normalise(Options),
    /// Ping-pong or single I/O buffers: an AiM channel's, QK^T and SV of a head
    #[command(after_help = "Example:\n  pimlico estimate trade io-buffers --context 1024")]
    IoBuffers(Options),
    /// Pipeline registers, 0 to 3, of each arithmetic unit
    #[command(after_help = "Example:\n  pimlico estimate trade pipeline")]
    Pipeline(Options),
    /// tCK in a cycle of the rank PU's core, 1, 2 or 4: the core's units, heads, a token
    #[command(after_help = "Example:\n  pimlico estimate trade gear --no-layer")]
    Gear(gear::GearOptions),
    /// Designs of the bank PU that are equal in every bit and cycle: area, power, slowest path
    #[command(
        after_help = "Example:\n  pimlico estimate trade bank-pu --context 1024 --plot bank-pu.svg"
    )]
    BankPu(Options),
    /// One or two row buffers in a bank of NeuPIMs: gates and latches, beside the paper's area
    #[command(after_help = "Example:\n  pimlico estimate trade row-buffers --json")]
    RowBuffers(row_buffers::RowBufferOptions),
}

/// Arguments of each choice.
#[derive(Args)]
struct Options {
    /// Tokens of the heads
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_values_t = [1024, 16_384])]
    context: Vec<usize>,
    /// Elements of the heads' vectors
    #[arg(long, default_value_t = 128, value_name = "D")]
    head_dim: usize,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    plot: PlotArgument,
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// Whose head is computed for the power.
const POWER_MODEL: &str = "gpt-175b";
/// Its tokens.
const POWER_CONTEXT: usize = 1024;

/// What a rank's power is a mean over.
fn head_of_rank() -> String {
    format!("a head of {POWER_MODEL} of {POWER_CONTEXT} tokens")
}

/// Elements of a head's vectors, at the most.
const MOST_HEAD_DIM: usize = 256;
/// Tokens of a head, at the most, before the device is asked.
const MOST_CONTEXT: usize = 1 << 20;

impl Options {
    /// Refuses what would be found wrong only after much work.
    fn check(&self) -> Result<(), Failure> {
        let Self { head_dim, context, plot, .. } = self;
        if !(1..=MOST_HEAD_DIM).contains(head_dim) {
            let message = format!("--head-dim {head_dim}: expected 1 to {MOST_HEAD_DIM}");
            return Err(Failure::Input(message));
        }
        if let Some(wrong) = context.iter().find(|context| !(1..=MOST_CONTEXT).contains(*context)) {
            let message = format!("--context {wrong}: expected 1 to {MOST_CONTEXT}");
            return Err(Failure::Input(message));
        }
        plot.check()
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct TradeReport {
    trade: &'static str,
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    head_dim: usize,
    seed: u64,
    alternatives: Vec<Alternative>,
    /// Under what the power is a mean.
    power_of: String,
    notes: Vec<String>,
}

/// One way to build it.
#[derive(Serialize)]
struct Alternative {
    name: String,
    /// The units that the choice changes.
    units: Vec<UnitReport>,
    /// Of all of them, each times its number.
    area_ge: f64,
    flip_flops: u64,
    /// Memories, by the model, where the choice changes them.
    memories_mm2_28nm: Option<f64>,
    /// The slowest path of all units.
    delay_ns: Option<f64>,
    /// Mean of all of them under the report's `power_of`; where not all have an estimate, `null`.
    power_mw: Option<f64>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct UnitReport {
    #[serde(skip)]
    spec: UnitSpec,
    unit: String,
    parameters: BTreeMap<String, i64>,
    count: u64,
    area_ge: f64,
    flip_flops: u64,
    delay_ns: Option<f64>,
    /// Mean of one, likewise.
    power_mw: Option<f64>,
}

/// What an alternative does to a workload.
#[derive(Clone, Serialize)]
struct Run {
    workload: String,
    cycles: u64,
    /// Where a cycle is as long as the slowest path allows; else that of the DRAM.
    ns: Option<f64>,
    error: Option<ErrorReport>,
}

/// The error of a result against float64.
#[derive(Clone, Copy, Serialize)]
struct ErrorReport {
    max_ulp: f64,
    max_relative: f64,
    rms_relative: f64,
}

/// Units, and how many of each.
type Units = Vec<(UnitSpec, u64)>;

/// Runs the command.
pub fn run(arguments: &TradeArguments) -> Result<(), Failure> {
    let (name, options, build): (_, _, Build) = match &arguments.choice {
        Choice::Subnormals(options) => ("subnormals", options, choices::subnormals),
        Choice::Sums(options) => ("sums", options, choices::sums),
        Choice::Normalise(options) => ("normalise", options, choices::normalise),
        Choice::IoBuffers(options) => ("io-buffers", options, choices::io_buffers),
        Choice::Pipeline(options) => ("pipeline", options, pipeline::pipeline),
        Choice::Gear(options) => return gear::run(options),
        Choice::BankPu(options) => return bank_pu::run(options),
        Choice::RowBuffers(options) => return row_buffers::run(options),
    };
    options.check()?;
    let flow = options.flow.flow()?;
    let Built { alternatives, power_of, notes } = build(options, &flow)?;
    let report = TradeReport {
        trade: name,
        liberty: flow.library.name.clone(),
        nand2_um2: flow.library.nand2_um2,
        clock_ns: flow.clock_ns,
        head_dim: options.head_dim,
        seed: options.seed,
        alternatives,
        power_of,
        notes,
    };
    options.plot.write(|| plot::picture(&report))?;
    sheet::print(
        options.format,
        (Kind::EstimateTrade, &report),
        &[trade_sheet(&report), units_sheet(&report)],
    )
}

/// The alternatives, under what their power is a mean, and what else has to be known to read them.
struct Built {
    alternatives: Vec<Alternative>,
    power_of: String,
    notes: Vec<String>,
}

/// Builds them.
type Build = fn(&Options, &Flow) -> Result<Built, Failure>;

impl Alternative {
    /// Synthesises what it consists of.
    fn new(flow: &Flow, name: String, units: Units, runs: Vec<Run>) -> Result<Self, Failure> {
        let (specs, counts): (Vec<UnitSpec>, Vec<u64>) = units.into_iter().unzip();
        let areas = flow.areas(&specs)?;
        let report = |((spec, area), count): ((&UnitSpec, _), &u64)| {
            let area: &pimlico_estimate::Area = area;
            UnitReport {
                spec: spec.clone(),
                unit: spec.unit.clone(),
                parameters: spec.parameters.clone(),
                count: *count,
                area_ge: area.ge,
                flip_flops: area.flip_flops,
                delay_ns: flow.delay_ns(area),
                power_mw: None,
            }
        };
        let units: Vec<_> = specs.iter().zip(&areas).zip(&counts).map(report).collect();
        Ok(Self {
            name,
            area_ge: units.iter().map(|unit| unit.area_ge * unit.count as f64).sum(),
            flip_flops: units.iter().map(|unit| unit.flip_flops * unit.count).sum(),
            memories_mm2_28nm: None,
            delay_ns: units.iter().filter_map(|unit| unit.delay_ns).reduce(f64::max),
            power_mw: None,
            runs,
            units,
        })
    }

    /// The same with what it takes while a head is computed on a rank of these options: the mean of all
    /// clocks, also of those in which K and V come.
    fn with_power_of_rank(
        self,
        flow: &Flow,
        seed: u64,
        options: DeviceOptions,
    ) -> Result<Self, Failure> {
        let what =
            What { model: POWER_MODEL, context: POWER_CONTEXT, options, seed, window: WINDOW };
        let workload = Workload::run(what)?;
        let stimulus = |spec: &UnitSpec| workload.stimulus(&spec.unit, WINDOW);
        self.with_power(flow, stimulus, UnitPower::mean)
    }

    /// The same with what it takes under what each unit is given.
    fn with_power(
        self,
        flow: &Flow,
        stimulus: impl Fn(&UnitSpec) -> Option<Stimulus>,
        mean: fn(&UnitPower) -> Power,
    ) -> Result<Self, Failure> {
        let tasks = self.units.iter().map(|unit| (&unit.spec, stimulus(&unit.spec)));
        let powers = power::of_units(flow, &tasks.collect::<Vec<_>>())?;
        let with = |(unit, power): (_, Option<UnitPower>)| UnitReport {
            power_mw: power.map(|power| mean(&power).total()),
            ..unit
        };
        let units: Vec<_> = self.units.into_iter().zip(powers).map(with).collect();
        let of_all = |unit: &UnitReport| Some(unit.power_mw? * unit.count as f64);
        Ok(Self { power_mw: units.iter().map(of_all).sum(), units, ..self })
    }
}

fn optional<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or(String::new(), text)
}

/// A row for each alternative and workload.
fn trade_sheet(report: &TradeReport) -> Sheet {
    let has_memories = report.alternatives.iter().any(|a| a.memories_mm2_28nm.is_some());
    let rows = report.alternatives.iter().flat_map(|alternative| {
        let hardware = vec![
            alternative.name.clone(),
            format!("{:.0}", alternative.area_ge),
            alternative.flip_flops.to_string(),
            optional(alternative.delay_ns, |ns| format!("{ns:.2}")),
        ];
        let memories = optional(alternative.memories_mm2_28nm, |mm2| format!("{mm2:.4}"));
        let power = optional(alternative.power_mw, |mw| format!("{mw:.1}"));
        alternative.runs.iter().map(move |run| {
            let error =
                |f: fn(ErrorReport) -> f64| optional(run.error.map(f), |e| format!("{e:.2e}"));
            let mut row = hardware.clone();
            if has_memories {
                row.push(memories.clone());
            }
            row.extend([
                power.clone(),
                run.workload.clone(),
                run.cycles.to_string(),
                optional(run.ns, |ns| format!("{ns:.0}")),
                error(|e| e.max_relative),
                error(|e| e.rms_relative),
                optional(run.error, |e| format!("{:.2}", e.max_ulp)),
            ]);
            row
        })
    });
    let mut columns = vec!["alternative", "GE", "flip-flops", "slowest, ns"];
    if has_memories {
        columns.push("memories, mm2");
    }
    columns.extend(["mW", "workload", "cycles", "ns", "max error", "RMS error", "max ULP"]);
    let mut notes = report.notes.clone();
    notes.push(format!("slowest path in {}", report.liberty));
    if report.alternatives.iter().any(|alternative| alternative.power_mw.is_some()) {
        notes.push(format!(
            "mW: at {} ns, mean over {}, from the netlists' transitions (`pimlico estimate power`)",
            report.clock_ns, report.power_of
        ));
    }
    Sheet {
        title: format!("{}: hardware, time and error side by side", report.trade),
        columns,
        rows: rows.collect(),
        notes,
    }
}

/// A row for each unit of each alternative.
fn units_sheet(report: &TradeReport) -> Sheet {
    let rows = report.alternatives.iter().flat_map(|alternative| {
        alternative.units.iter().map(|unit| {
            vec![
                alternative.name.clone(),
                unit.unit.clone(),
                unit.count.to_string(),
                format!("{:.0}", unit.area_ge),
                unit.flip_flops.to_string(),
                optional(unit.delay_ns, |ns| format!("{ns:.2}")),
                optional(unit.power_mw, |mw| format!("{mw:.1}")),
            ]
        })
    });
    Sheet {
        title: "the units of each".to_owned(),
        columns: vec![
            "alternative",
            "unit",
            "how many",
            "one, GE",
            "flip-flops",
            "slowest, ns",
            "one, mW",
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
