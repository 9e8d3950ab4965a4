// SPDX-License-Identifier: MIT
//! `pimlico sweep batch`: how many requests fit, with static and with lazy allocation.

use super::Threads;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::models::model_name;
use crate::output::{self, FormatArguments, Page};
use crate::pieces::{Pieces, PiecesArguments};
use crate::schema::Kind;
use clap::{Args, ValueEnum};
use pimlico_device::aim::AimOptions;
use pimlico_device::{Config, DeviceSpec, SystemKind};
use pimlico_workload::batch::{
    self, BatchComparison, BatchError, Footprint, KvSpread, LONGBENCH, LongBenchTask,
    PAPER_INCREASE_PERCENT, Settings,
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Arguments of `pimlico sweep batch`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep batch --memory 256 --max-context 32768,65536
  pimlico sweep batch --system l3 --memory 64,128 --model qwen1.5-14b")]
pub struct BatchArguments {
    /// The device, whose ranks or channels are as large as its preset says
    #[arg(long, value_enum, default_value_t = System::Aim)]
    system: System,
    #[command(flatten)]
    device: DeviceFlag,
    /// The language model, by name
    #[arg(long, default_value = "qwen1.5-7b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Memory of the device in GiB, weights included; one or several
    #[arg(long, value_name = "GIB", value_delimiter = ',', default_values_t = [128, 256, 1024])]
    memory: Vec<u64>,
    /// Tokens of the longest request, for which static allocation provides; one or several. Without it
    /// the model's limit, and twice that: LoL-PIM's models go from 16K to 128K
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    max_context: Vec<u64>,
    /// Mean of the tokens that follow a prompt
    #[arg(long, value_name = "TOKENS", default_value_t = 256)]
    generate: u64,
    /// Rows of the allocator's chunks
    #[arg(long, value_name = "ROWS", default_value_t = 1)]
    chunk_rows: u32,
    /// Requests that finish in each simulation
    #[arg(long, default_value_t = 2000)]
    requests: u32,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    pieces: PiecesArguments,
}

/// What the ranks are.
#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum System {
    /// Ranks of L3's DIMM-PIM: 8 GiB of DDR4
    L3,
    /// Channels of GDDR6-AiM: 512 MiB
    Aim,
}

impl System {
    fn kind(self) -> SystemKind {
        match self {
            Self::L3 => SystemKind::L3,
            Self::Aim => SystemKind::Aim,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &BatchArguments) -> Result<(), Failure> {
    let work = Batches::new(arguments)?;
    let outcomes = arguments.pieces.outcomes(&work, arguments.threads.count())?;
    let Some(outcomes) = outcomes else { return Ok(()) };
    let point = |(case, (streams, module)): (&Case, <Batches<'_> as Pieces>::Outcome)| {
        let Case { task, memory_gib, ranks, max_context } = *case;
        Point { task: task.name, memory_gib, ranks, max_context, streams, module }
    };
    let points = work.cases.iter().zip(outcomes).map(point).collect();
    let BatchArguments { system, ref model, seed, generate, chunk_rows, requests, .. } = *arguments;
    let document = Document {
        study: "batch",
        system,
        device: work.rank.name,
        model,
        seed,
        generate,
        chunk_rows,
        requests,
        paper_increase_percent: PAPER_INCREASE_PERCENT,
        points,
    };
    output::report(arguments.format, (Kind::SweepBatch, &document), &text(&document))
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    study: &'static str,
    system: System,
    device: String,
    model: &'a str,
    seed: u64,
    generate: u64,
    chunk_rows: u32,
    requests: u32,
    paper_increase_percent: f64,
    points: Vec<Point>,
}

/// One combination of settings.
#[derive(Serialize)]
struct Point {
    task: &'static str,
    memory_gib: u64,
    ranks: u64,
    max_context: u64,
    /// Each stream of K or V in rows of one rank or channel, without gaps: what runs on ranks, and LoL-PIM's layout.
    #[serde(flatten)]
    streams: BatchComparison,
    /// On a module of AiM channels, the layout that runs there.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<BatchComparison>,
}

impl Point {
    /// Of the layout that runs.
    fn runs(&self) -> &BatchComparison {
        self.module.as_ref().unwrap_or(&self.streams)
    }
}

/// Simulations of requests: those of a combination of settings are a piece.
struct Batches<'a> {
    arguments: &'a BatchArguments,
    device: DeviceSpec,
    rank: Config,
    options: AimOptions,
    model: Footprint,
    cases: Vec<Case>,
}

/// A combination of settings.
#[derive(Clone, Copy, Serialize)]
struct Case {
    #[serde(serialize_with = "name")]
    task: LongBenchTask,
    memory_gib: u64,
    ranks: u64,
    max_context: u64,
}

fn name<S: Serializer>(task: &LongBenchTask, serializer: S) -> Result<S::Ok, S::Error> {
    task.name.serialize(serializer)
}

impl<'a> Batches<'a> {
    fn new(arguments: &'a BatchArguments) -> Result<Self, Failure> {
        let model = model(&arguments.model);
        let device = arguments.device.of(arguments.system.kind())?;
        let (rank, options) = (device.config(), device.aim_options());
        let unit = match arguments.system {
            System::L3 => Unit { name: "rank", ranks: 1 },
            System::Aim => Unit { name: "module", ranks: options.channels as u64 },
        };
        let default = [model.max_context, 2 * model.max_context];
        let maxima = match arguments.max_context.as_slice() {
            [] => &default,
            given => given,
        };
        let mut cases = Vec::new();
        for &memory_gib in &arguments.memory {
            let ranks = unit.ranks(memory_gib, &rank)?;
            for &max_context in maxima {
                let case = |task| Case { task, memory_gib, ranks, max_context };
                cases.extend(LONGBENCH.map(case));
            }
        }
        Ok(Self { arguments, device, rank, options, model, cases })
    }
}

impl Pieces for Batches<'_> {
    type Piece = Case;
    /// Of the layout in streams, and of that on a module of AiM channels.
    type Outcome = (BatchComparison, Option<BatchComparison>);

    const NAME: &'static str = "sweep batch";
    const UNIT: &'static str = "simulations";

    fn inputs(&self) -> impl Serialize {
        let BatchArguments { system, model, generate, chunk_rows, requests, seed, .. } =
            self.arguments;
        (&self.device, system, model, generate, chunk_rows, requests, seed)
    }

    fn pieces(&self) -> &[Case] {
        &self.cases
    }

    fn weight(&self, _: &Case) -> u64 {
        1
    }

    fn run(&self, case: &Case) -> Result<Self::Outcome, Failure> {
        let BatchArguments { generate, chunk_rows, requests, seed, .. } = *self.arguments;
        let Case { task, memory_gib, ranks, max_context } = *case;
        let compare = |spread| {
            let (rank, model) = (&self.rank, &self.model);
            let settings = Settings {
                rank,
                ranks,
                spread,
                model,
                task,
                max_context,
                generate,
                chunk_rows,
                requests,
                seed,
            };
            batch::compare(&settings).map_err(|error: BatchError| {
                let model = &self.arguments.model;
                Failure::Input(format!("{model} in {memory_gib} GiB: {error}"))
            })
        };
        let streams = compare(KvSpread::Streams)?;
        let module = match self.arguments.system {
            System::L3 => None,
            System::Aim => Some(compare(KvSpread::Module(self.options))?),
        };
        Ok((streams, module))
    }
}

fn model(name: &str) -> Footprint {
    batch::presets().remove(name).expect("the parser knows the same names")
}

/// What a device is made of.
struct Unit {
    name: &'static str,
    /// Its ranks or channels.
    ranks: u64,
}

impl Unit {
    /// How many ranks make up so much memory.
    fn ranks(&self, memory_gib: u64, rank: &Config) -> Result<u64, Failure> {
        let rank_bytes = batch::rank_bytes(rank);
        let unit_bytes = self.ranks * rank_bytes;
        let bytes = memory_gib.checked_mul(1 << 30);
        let bytes = bytes.filter(|bytes| *bytes > 0 && bytes.is_multiple_of(unit_bytes));
        bytes.map(|bytes| bytes / rank_bytes).ok_or_else(|| {
            let Self { name, .. } = self;
            let mib = unit_bytes >> 20;
            let expected = format!("expected a multiple of a {name}, {mib} MiB");
            Failure::Input(format!("--memory {memory_gib}: {expected}"))
        })
    }
}

/// The report for people.
fn text(document: &Document<'_>) -> Page {
    let Document { model, seed, generate, requests, points, .. } = document;
    let mut text = Page::from(format!(
        "batch size of {model} on {}: {requests} requests for each line, {generate} tokens generated \
         on average, seed {seed}\n\n",
        document.device
    ));
    let header = [
        "task",
        "memory, GiB",
        "maximum, tokens",
        "mean, tokens",
        "rows of a maximum",
        "static, requests",
        "lazy, requests",
        "more, %",
        "by lengths, %",
        "static: used, %",
        "lazy: used, %",
        "sent back",
    ];
    let has_both = points.iter().any(|point| point.module.is_some());
    if has_both {
        text += "Rows of the layout that runs: K and V of a head over all channels of a module, V with what pads it\n\n";
    }
    text += output::table(&header, points.iter().map(|point| row(point, point.runs())));
    if has_both {
        text += "\nRows of LoL-PIM's layout: each K and each V of a head in rows of one channel, without gaps; nothing here runs it\n\n";
        text += output::table(&header, points.iter().map(|point| row(point, &point.streams)));
    }
    text += notes(points);
    text
}

/// A combination of settings in one of the layouts.
fn row(point: &Point, comparison: &BatchComparison) -> Vec<String> {
    let BatchComparison { fixed, lazy, max_rows, increase_percent, lengths_percent } = comparison;
    vec![
        point.task.to_owned(),
        point.memory_gib.to_string(),
        point.max_context.to_string(),
        format!("{:.0}", lazy.mean_tokens),
        max_rows.to_string(),
        format!("{:.1}", fixed.batch),
        format!("{:.1}", lazy.batch),
        format!("{increase_percent:+.0}"),
        format!("{lengths_percent:+.0}"),
        format!("{:.0}", 100.0 * fixed.utilisation),
        format!("{:.0}", 100.0 * lazy.utilisation),
        lazy.preempted.to_string(),
    ]
}

/// How the figures compare with the paper's, and why they differ.
fn notes(points: &[Point]) -> String {
    let most_of = |of: fn(&Point) -> &BatchComparison| {
        let mut most = BTreeMap::new();
        for point in points {
            let most = most.entry(point.max_context).or_insert(f64::NEG_INFINITY);
            *most = of(point).increase_percent.max(*most);
        }
        let most = most.iter().map(|(maximum, more)| format!("{more:+.0} % (maximum {maximum})"));
        most.collect::<Vec<_>>().join(", ")
    };
    let of_paper = if points.iter().any(|point| point.module.is_some()) {
        format!(", with rows of its own layout {}", most_of(|point| &point.streams))
    } else {
        String::new()
    };
    format!(
        "\nLoL-PIM: up to {PAPER_INCREASE_PERCENT:+.0} %; here: up to {}{of_paper}\n\
         note: static allocation provides for the maximum, lazy for what is there: maximum / mean tokens \
         is what the lengths alone give. The paper does not say which maximum its baseline provides for\n\
         note: more than that comes from rounding: memory left over that is less than a maximum serves \
         no request under static allocation; less comes from rows that are not full and from heads \
         that do not divide evenly among ranks or modules\n\
         note: a request for which there is no row to grow into is sent back: its rows are freed, and it \
         waits to be taken in again\n",
        most_of(Point::runs)
    )
}
