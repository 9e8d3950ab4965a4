// SPDX-License-Identifier: MIT
//! `pimlico serve`: requests of a trace on a system of GPUs and memory that computes.
//!
//! * [`text`]: the report for people.
//! * [`perfetto`]: iterations as a Chrome trace.
//! * [`picture`]: iterations as SVG.
//! * [`requests`]: a row for each request.

mod perfetto;
mod picture;
mod requests;
mod text;

use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::files::Output;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments};
use crate::schema::Kind;
use crate::trace;
use crate::values::Switch;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use pimlico_device::SystemKind;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::costs::rank::RankCosts;
use pimlico_serving::gpu::{Gpu, GpuModel};
use pimlico_serving::hardware::Hardware;
use pimlico_serving::iteration::Detail;
use pimlico_serving::llm::Llm;
use pimlico_serving::policy::{Admission, Placement, Policy};
use pimlico_serving::report::{About, CostEntries, ServeReport};
use pimlico_serving::simulate::{Setup, simulate};
use std::num::NonZero;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `pimlico serve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico serve --model gpt-175b --trace longbench --requests 200 --policy l3
  pimlico serve --model gpt-89b --trace azure.csv --requests 1000 --policy gpu-only --json
  pimlico serve --model gpt-175b --trace openr1 --requests 40 --plot a.svg --perfetto a.json --window 20:23")]
pub struct ServeArguments {
    /// The system
    #[arg(long, value_enum, default_value_t = ServedSystem::L3)]
    system: ServedSystem,
    /// The policy: gpu-only, hbm-pim, r-pim, cpu-offload, l3-naive, l3-interleave, l3
    #[arg(long, default_value = "l3", value_name = "POLICY")]
    policy: String,
    /// The language model, by name
    #[arg(long, default_value = "gpt-175b", value_name = "NAME", value_parser = model_name())]
    model: String,
    #[command(flatten)]
    device: DeviceFlag,
    #[command(flatten)]
    trace: trace::TraceArguments,
    /// Requests at random, so many a second on average, in place of the trace's times
    #[arg(long, value_name = "PER_S", conflicts_with = "offline")]
    rate: Option<f64>,
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
    /// The GPU
    #[arg(long, default_value = "a100", value_parser = PossibleValuesParser::new(["a100", "a100a", "h100"]))]
    gpu: String,
    /// Constants of the GPU's roofline
    #[arg(long, value_enum, default_value_t = Constants::Attacc)]
    gpu_model: Constants,
    /// GPUs that share a model out among them [default: the paper's for the model]
    #[arg(long, value_name = "N")]
    tp: Option<u64>,
    /// Replicas of the model [default: as many as there are GPUs for]
    #[arg(long, value_name = "N")]
    dp: Option<u64>,
    /// When memory is reserved for a request
    #[arg(long, value_enum, default_value_t = Reserved::Reserve)]
    admission: Reserved,
    /// Where requests go among the ranksets [default: layers; random for l3-naive and l3-interleave]
    #[arg(long, value_enum)]
    placement: Option<Places>,
    /// Whether ranksets compute while another one has the channels [default: on for l3]
    #[arg(long, value_enum)]
    overlap: Option<Switch>,
    /// Layers that are placed in time: until they are alike, or all
    #[arg(long, value_enum, default_value_t = Layers::Periodic)]
    detail: Layers,
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
    /// Iterations of the first replica that are drawn, from the first number to before the second [default: 3:5]
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
}

/// Constants of a GPU.
#[derive(Clone, Copy, ValueEnum)]
pub enum Constants {
    /// Those of AttAcc's simulator
    Attacc,
    /// Those that fit kernels measured on an A100
    Measured,
}

#[derive(Clone, Copy, ValueEnum)]
enum Reserved {
    /// At the beginning, for all tokens that it will have
    Reserve,
    /// As it grows; where there is no room the newest is sent back
    Lazy,
}

#[derive(Clone, Copy, ValueEnum)]
enum Places {
    /// Layers in turn, from the rankset on that has the fewest tokens
    Layers,
    /// Layers in turn, all requests from the same rankset on
    Same,
    /// All layers of a request in one rankset at random
    Random,
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
    let begin = Instant::now();
    let ServeArguments { system: ServedSystem::L3, .. } = arguments;
    let policy = Policy::find(&arguments.policy)?;
    arguments.refuse_what_does_nothing(policy)?;
    let open = |file: &Option<PathBuf>| file.as_deref().map(Output::beside_report).transpose();
    let outputs = [&arguments.requests_out, &arguments.plot, &arguments.perfetto].map(open);
    let [requests_out, plot, perfetto] = outputs;
    let (requests_out, plot, perfetto) = (requests_out?, plot?, perfetto?);

    let spec = arguments.device.of(SystemKind::L3)?;
    let config = spec.config();
    let llm = Llm::new(&arguments.model, find_model(&arguments.model)?);
    let (trace, seed) = arguments.trace()?;
    let memo = Memo::new(threads(arguments.threads));
    let costs = match policy.has_ranks() {
        true => Some(RankCosts::new(&memo, &spec, &llm)?),
        false => None,
    };
    let draws = plot.is_some() || perfetto.is_some();
    let window = arguments.window.clone().unwrap_or(3..5);
    let setup = Setup {
        llm: &llm,
        hardware: arguments.hardware(&llm),
        gpu: arguments.gpu(),
        gpu_model: arguments.gpu_model.into(),
        policy,
        admission: match arguments.admission {
            Reserved::Reserve => Admission::Reserve,
            Reserved::Lazy => Admission::Lazy,
        },
        placement: arguments.placement(policy),
        overlap: arguments.overlap.map_or(policy.overlaps(), |overlap| overlap == Switch::On),
        detail: match arguments.detail {
            Layers::Periodic => Detail::Periodic,
            Layers::Full => Detail::Full,
        },
        rank: &config,
        costs: costs.as_ref(),
        window: if draws { window.clone() } else { 0..0 },
        without: &[],
    };
    let mut checker = TimelineChecker::default();
    let outcome = simulate(&setup, &trace, &mut checker)?;
    if draws && outcome.kept.is_empty() {
        let (from, to, there) = (window.start, window.end, outcome.iterations);
        let message = format!(
            "--window {from}:{to}: the first replica has no such iteration, of {there} of all"
        );
        return Err(Failure::Input(message));
    }
    let (run, reused) = memo.entries();
    let cost_entries = CostEntries { run, reused };
    let about = About { seed, wall_s: begin.elapsed().as_secs_f64(), cost_entries };
    let report = ServeReport::new(&setup, &trace, &outcome, &checker, about);
    if let Some(output) = requests_out {
        output.write(requests::rows(&outcome).as_bytes())?;
    }
    if let Some(output) = perfetto {
        output.write(perfetto::events(&setup, &outcome).as_bytes())?;
    }
    if let Some(output) = plot {
        picture::write(output, &setup, &report, &outcome)?;
    }
    output::report(arguments.format, (Kind::Serve, &report), &text::page(&report))?;
    match &report.first_violation {
        Some(first) => {
            let count = report.violations;
            Err(Failure::Check(format!("{count} violations of the timeline, the first: {first}")))
        }
        None => Ok(()),
    }
}

impl ServeArguments {
    /// What has no effect with a policy is refused.
    fn refuse_what_does_nothing(&self, policy: Policy) -> Result<(), Failure> {
        let name = policy.name();
        let refuse = |flag: &str, is_given: bool| match is_given {
            true => Err(Failure::Input(format!("--{flag}: it does nothing with --policy {name}"))),
            false => Ok(()),
        };
        if !policy.has_ranks() {
            refuse("placement", self.placement.is_some())?;
            refuse("overlap", self.overlap.is_some())?;
        }
        if matches!(policy, Policy::GpuOnly | Policy::HbmPim) {
            refuse("dimms", self.dimms.is_some())?;
            refuse("ranks", self.ranks.is_some())?;
            refuse("rank-gib", self.rank_gib.is_some())?;
        }
        if self.window.is_some() && self.plot.is_none() && self.perfetto.is_none() {
            return Err(Failure::Input(
                "--window: it does nothing without --plot or --perfetto".to_owned(),
            ));
        }
        Ok(())
    }

    /// The requests, and their seed.
    fn trace(&self) -> Result<(pimlico_serving::trace::Trace, u64), Failure> {
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

    fn gpu(&self) -> Gpu {
        let all = [Gpu::A100, Gpu::A100A, Gpu::H100];
        all.into_iter().find(|gpu| gpu.name == self.gpu).unwrap_or(Gpu::A100)
    }

    fn hardware(&self, llm: &Llm) -> Hardware {
        let l3 = Hardware::l3(llm);
        let gpus = self.gpus.unwrap_or(l3.gpus);
        let tp = self.tp.unwrap_or(l3.tp);
        let rank_bytes = self.rank_gib.map_or(l3.rank_bytes, |gib| gib << 30);
        Hardware {
            channels: self.channels.unwrap_or(l3.channels),
            dimms: self.dimms.unwrap_or(l3.dimms),
            ranks: self.ranks.unwrap_or(l3.ranks),
            rank_bytes,
            gpus,
            gpu: self.gpu().name,
            gpu_model: GpuModel::from(self.gpu_model).name(),
            tp,
            dp: self.dp.unwrap_or((gpus / tp.max(1)).max(1)),
        }
    }

    fn placement(&self, policy: Policy) -> Placement {
        match self.placement {
            None => policy.placement(),
            Some(Places::Layers) => Placement::Layers,
            Some(Places::Same) => Placement::Same,
            Some(Places::Random) => Placement::Random,
        }
    }
}
