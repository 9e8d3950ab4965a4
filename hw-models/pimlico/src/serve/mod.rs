// SPDX-License-Identifier: MIT
//! `pimlico serve`: requests of a trace on a system of GPUs and memory that computes.
//!
//! * [`l3`]: L3's system and its baselines.
//! * [`lol`]: LoL-PIM's system.
//! * [`neupims`]: NeuPIMs' system.
//! * [`text`]: the report for people.
//! * [`timeline`]: the tasks of some iterations.
//! * [`perfetto`]: iterations as a Chrome trace.
//! * [`picture`]: iterations as SVG.
//! * [`requests`]: a row for each request.

mod l3;
mod lol;
mod neupims;
mod perfetto;
mod picture;
mod requests;
mod text;
mod timeline;

use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::files::Output;
use crate::models::model_name;
use crate::output::{self, FormatArguments};
use crate::schema::Kind;
use crate::trace;
use crate::values::Switch;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use pimlico_serving::costs::Contexts;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::gpu::GpuModel;
use pimlico_serving::report::{About, CostEntries, ServeReport};
use pimlico_serving::trace::Trace;
use std::num::NonZero;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;
use timeline::Timeline;

/// Arguments of `pimlico serve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico serve --model gpt-175b --trace longbench --requests 200 --policy l3
  pimlico serve --model gpt-89b --trace azure.csv --requests 1000 --policy gpu-only --json
  pimlico serve --model gpt-175b --trace openr1 --requests 40 --plot a.svg --perfetto a.json --window 20:23
  pimlico serve --system lol-pim --model qwen1.5-7b --trace musique --requests 200 --nodes 4
  pimlico serve --system neupims --model gpt3-13b --trace sharegpt --requests 1000 --policy npu-pim")]
pub struct ServeArguments {
    /// The system
    #[arg(long, value_enum, default_value_t = ServedSystem::L3)]
    system: ServedSystem,
    /// The policy: of l3 gpu-only, hbm-pim, r-pim, cpu-offload, l3-naive, l3-interleave, l3; of lol-pim lol-pim, pim-hfa,
    /// gpu-lol-pim; of neupims npu-only, npu-pim, neupims [default: that of the system's name]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    /// The language model, by name [default: gpt-175b of l3, qwen1.5-7b of lol-pim, gpt3-7b of neupims]
    #[arg(long, value_name = "NAME", value_parser = model_name())]
    model: Option<String>,
    #[command(flatten)]
    device: DeviceFlag,
    #[command(flatten)]
    trace: trace::TraceArguments,
    /// Requests at random, so many a second on average, in place of the trace's times
    #[arg(long, value_name = "PER_S", conflicts_with = "offline")]
    rate: Option<f64>,
    /// So many requests are there at a time: the next one comes when one ends, whatever the trace's times
    #[arg(long, value_name = "N", conflicts_with_all = ["offline", "rate"], value_parser = clap::value_parser!(u64).range(1..))]
    closed_loop: Option<u64>,
    /// All requests are there from the beginning
    #[arg(long)]
    offline: bool,
    /// Channels of the host's memory [default: 16]
    #[arg(long, value_name = "N")]
    channels: Option<u64>,
    /// DIMMs on a channel [default: 2]
    #[arg(long, value_name = "N")]
    dimms: Option<u64>,
    /// Ranks on a DIMM [default: 2]
    #[arg(long, value_name = "N")]
    ranks: Option<u64>,
    /// GiB of a rank [default: 32]
    #[arg(long, value_name = "GIB", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    rank_gib: Option<u64>,
    /// GPUs [default: 8]
    #[arg(long, value_name = "N")]
    gpus: Option<u64>,
    /// The GPU [default: a100]
    #[arg(long, value_parser = PossibleValuesParser::new(["a100", "a100a", "h100"]))]
    gpu: Option<String>,
    /// Constants of the GPU's roofline [default: attacc]
    #[arg(long, value_enum)]
    gpu_model: Option<Constants>,
    /// GPUs that share a model out among them, or modules or NPUs that share a stage [default: the paper's for the model; a node's]
    #[arg(long, value_name = "N")]
    tp: Option<u64>,
    /// Replicas of the model [default: as many as there are GPUs for]
    #[arg(long, value_name = "N")]
    dp: Option<u64>,
    #[command(flatten)]
    modules: lol::ModuleArguments,
    #[command(flatten, next_help_heading = "NPUs (--system neupims)")]
    npus: neupims::NpuArguments,
    /// When memory is reserved for a request [default: reserve; of lol-pim lazy, of pim-hfa static]
    #[arg(long, value_enum)]
    admission: Option<Reserved>,
    /// Where requests go among the ranksets [default: layers of l3; random of its baselines and first steps]
    #[arg(long, value_enum)]
    placement: Option<Places>,
    /// Whether ranksets compute while another one has the channels [default: on for l3]
    #[arg(long, value_enum)]
    overlap: Option<Switch>,
    /// Whether l3's scheduler knows what sub-batches take, or learns it from those that ran [default: oracle]
    #[arg(long, value_enum)]
    predictor: Option<PredictorName>,
    /// What the two sub-batches of decoding requests have even [default: tokens]
    #[arg(long, value_enum)]
    sub_batches: Option<EvenIn>,
    /// Layers that are placed in time: until they are alike, or all [default: periodic]
    #[arg(long, value_enum)]
    detail: Option<Layers>,
    /// What the devices' work costs: lines between measured contexts, or each context that requests come to measured by itself
    /// [default: table]
    #[arg(long, value_enum)]
    costs: Option<CostsOf>,
    /// Threads that measure costs; the report does not depend on them [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Write a row for each request
    #[arg(long, value_name = "FILE.csv")]
    requests_out: Option<PathBuf>,
    /// Write a picture of the iterations of --window, and of the run
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write the tasks of the iterations of --window, for ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    perfetto: Option<PathBuf>,
    /// Iterations of the first replica that are drawn, from the first number to before the second; of lol-pim rounds of
    /// micro-batches [default: 3:5; 0:64 of lol-pim]
    #[arg(long, value_name = "FROM:TO", value_parser = window)]
    window: Option<Range<u64>>,
    #[command(flatten)]
    format: FormatArguments,
}

/// A system that serves.
#[derive(Clone, Copy, ValueEnum)]
enum ServedSystem {
    /// GPUs and host memory whose DIMMs compute attention, and its baselines
    L3,
    /// Modules of AiM channels over nodes, and its baselines
    LolPim,
    /// NPUs whose memory computes attention, and its baselines
    Neupims,
}

/// Constants of a GPU.
#[derive(Clone, Copy, ValueEnum)]
pub enum Constants {
    /// Those of AttAcc's simulator
    Attacc,
    /// Those that fit kernels measured on an A100
    Measured,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reserved {
    /// At the beginning, for all tokens that it will have
    Reserve,
    /// As it grows; where there is no room one is sent back
    Lazy,
    /// At the beginning, for the longest request that there may be
    Static,
}

#[derive(Clone, Copy, ValueEnum)]
enum Places {
    /// Layers in turn, from the rankset on that has the fewest tokens
    Layers,
    /// Layers in turn, all requests from the same rankset on
    Same,
    /// All layers of a request in one rankset, at random among those with room for it
    Random,
    /// All layers of a request in one rankset, drawn before it comes: it waits for room there
    Drawn,
    /// A part of each request in every rankset: all have equal work, a bound
    Spread,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EvenIn {
    /// Their tokens
    Tokens,
    /// Their tokens in each rankset
    Ranksets,
}

#[derive(Clone, Copy, ValueEnum)]
enum Layers {
    /// Until a turn of ranksets takes as long as the one before
    Periodic,
    /// All, and every iteration by itself
    Full,
}

impl From<Constants> for GpuModel {
    fn from(constants: Constants) -> Self {
        match constants {
            Constants::Attacc => Self::Attacc,
            Constants::Measured => Self::Measured,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PredictorName {
    /// The costs themselves
    Oracle,
    /// A linear function of sums for the ranks, random forests for the GPU
    Learned,
    /// The same, with a linear function of what the busiest rankset has
    LearnedBusiest,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CostsOf {
    /// Lines between measured contexts
    Table,
    /// Every whole chunk of 16 tokens that requests come to
    Exact,
}

/// Iterations, as `3:5`.
fn window(text: &str) -> Result<Range<u64>, String> {
    let expected = || "expected two numbers as 3:5, at most 64 iterations apart".to_owned();
    let (from, to) = text.split_once(':').ok_or_else(expected)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| expected());
    let (from, to) = (number(from)?, number(to)?);
    if from < to && to - from <= 64 { Ok(from..to) } else { Err(expected()) }
}

/// Threads to measure on.
pub fn threads(given: Option<NonZero<usize>>) -> usize {
    given.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get)
}

/// Runs the command.
pub fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    match arguments.system {
        ServedSystem::L3 => l3::run(arguments),
        ServedSystem::LolPim => lol::run(arguments),
        ServedSystem::Neupims => neupims::run(arguments),
    }
}

/// A flag that has no effect beside another.
fn refuse(flag: &str, is_given: bool, with: &str) -> Result<(), Failure> {
    match is_given {
        true => Err(Failure::Input(format!("--{flag}: it does nothing with {with}"))),
        false => Ok(()),
    }
}

/// What a report has beside its run.
fn about(arguments: &ServeArguments, seed: u64, begin: Instant, memo: &Memo) -> About {
    let (run, reused) = memo.entries();
    let cost_entries = CostEntries { run, reused };
    About {
        seed,
        wall_s: begin.elapsed().as_secs_f64(),
        cost_entries,
        exact_costs: arguments.costs == Some(CostsOf::Exact),
        closed_loop: arguments.closed_loop,
    }
}

/// Files that are written beside the report.
struct Outputs {
    requests_out: Option<Output>,
    plot: Option<Output>,
    perfetto: Option<Output>,
}

/// A window without iterations.
fn no_such_iteration(window: &Range<u64>, there: u64) -> Failure {
    let Range { start, end } = window;
    let message = format!(
        "--window {start}:{end}: the first replica has no such iteration, of {there} of all"
    );
    Failure::Input(message)
}

impl ServeArguments {
    /// Files that are written beside the report.
    fn outputs(&self) -> Result<Outputs, Failure> {
        let open = |file: &Option<PathBuf>| file.as_deref().map(Output::beside_report).transpose();
        let [requests_out, plot, perfetto] =
            [&self.requests_out, &self.plot, &self.perfetto].map(open);
        Ok(Outputs { requests_out: requests_out?, plot: plot?, perfetto: perfetto? })
    }

    /// A window is refused where nothing is drawn.
    fn refuse_window(&self) -> Result<(), Failure> {
        let draws = self.plot.is_some() || self.perfetto.is_some();
        match self.window {
            Some(_) if !draws => {
                let what = "--window: it does nothing without --plot or --perfetto";
                Err(Failure::Input(what.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Draws the tasks of the window.
    fn draw(
        &self,
        plot: Option<Output>,
        perfetto: Option<Output>,
        report: &ServeReport,
        timeline: &Timeline,
    ) -> Result<(), Failure> {
        if let Some(output) = perfetto {
            output.write(perfetto::events(timeline).as_bytes())?;
        }
        match plot {
            Some(output) => picture::write(output, report, timeline),
            None => Ok(()),
        }
    }

    /// Prints a report; what does not hold ends the command with status 1.
    fn print(&self, report: &ServeReport) -> Result<(), Failure> {
        output::report(self.format, (Kind::Serve, report), &text::page(report))?;
        match &report.first_violation {
            Some(first) => {
                let count = report.violations;
                let what = format!("{count} violations of the timeline, the first: {first}");
                Err(Failure::Check(what))
            }
            None => Ok(()),
        }
    }

    /// The contexts whose costs are measured for a trace.
    fn contexts(&self, trace: &Trace) -> Contexts {
        match self.costs {
            Some(CostsOf::Exact) => Contexts::of(trace),
            _ => Contexts::Knots,
        }
    }

    /// The requests, and their seed.
    fn trace(&self) -> Result<(Trace, u64), Failure> {
        let (mut trace, seed) = self.trace.trace()?;
        if self.offline {
            trace = trace.offline();
        }
        if let Some(rate) = self.rate {
            if !(rate.is_finite() && rate > 1e-6 && rate < 1e9) {
                return Err(Failure::Input(format!("--rate {rate}: expected requests a second")));
            }
            trace = trace.at_rate(rate, seed);
        }
        Ok((trace, seed))
    }
}
