// SPDX-License-Identifier: MIT
//! LoL-PIM's system and its baselines.

use super::timeline::Timeline;
use super::{
    Outputs, Reserved, ServeArguments, about, no_such_iteration, refuse, requests, threads,
};
use crate::failure::Failure;
use crate::models::find_model;
use clap::{Args, ValueEnum};
use pimlico_device::SystemKind;
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::llm::Llm;
use pimlico_serving::lol::outcome::How;
use pimlico_serving::lol::pipeline::serve;
use pimlico_serving::lol::plan::StagePlan;
use pimlico_serving::lol::system::{Allocation, LolPolicy, LolSystem, MicroBatches, Partition};
use pimlico_serving::report::ServeReport;
use pimlico_serving::time::NANOSECOND;
use std::time::Instant;

/// Nodes: 256 GiB.
const NODES: u64 = 4;

/// Flags of modules over nodes.
#[derive(Args)]
#[command(next_help_heading = "Modules (--system lol-pim)")]
pub struct ModuleArguments {
    /// Nodes of eight modules; of four beside a GPU [default: 4]
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Stages of layers [default: a node for each, where layers divide evenly; 1 of pim-hfa; the paper's of neupims]
    #[arg(long, value_name = "N")]
    pp: Option<u64>,
    /// Where K and V of a head are [default: itpp; hfa of pim-hfa]
    #[arg(long, value_enum)]
    partition: Option<PartitionName>,
    /// Which requests go through the stages together: `one` by itself, all in as many micro-batches as there are `stages`, or in so
    /// many [default: one; stages of pim-hfa and gpu-lol-pim]
    #[arg(long, value_name = "one|stages|N", value_parser = micro_batches)]
    micro_batches: Option<MicroBatches>,
    /// I/O buffers of the channels [default: ping-pong; single of pim-hfa]
    #[arg(long, value_enum)]
    io_buffers: Option<Buffers>,
    /// Lanes of the softmax unit, a power of two up to 64 [default: 32]
    #[arg(long, value_name = "N")]
    epu_lanes: Option<usize>,
    /// Passes of the softmax unit over the scores: the device has two, one is half of them [default: 2]
    #[arg(long, value_name = "N")]
    softmax_passes: Option<u64>,
    /// Tokens of the longest request [default: the model's own limit]
    #[arg(long, value_name = "N")]
    max_context: Option<u64>,
    /// Latency of a hop between modules [default: 1000]
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    hop_ns: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum PartitionName {
    /// In one channel: head first
    Hfa,
    /// Over all channels of a module: intra-module token parallel
    Itpp,
}

/// Micro-batches: `one`, `stages` or how many.
fn micro_batches(text: &str) -> Result<MicroBatches, String> {
    match text {
        "one" => Ok(MicroBatches::One),
        "stages" => Ok(MicroBatches::Stages),
        _ => text
            .parse()
            .map(MicroBatches::Count)
            .map_err(|_| "expected one, stages, or a number".to_owned()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Buffers {
    /// Two sides
    PingPong,
    /// One
    Single,
}

impl ModuleArguments {
    /// Stages, where they are given.
    pub fn pp(&self) -> Option<u64> {
        self.pp
    }

    /// Refuses all of them.
    pub fn refuse(&self, with: &str) -> Result<(), Failure> {
        refuse("pp", self.pp.is_some(), with)?;
        self.refuse_all_but_pp(with)
    }

    /// Refuses all but stages.
    pub fn refuse_all_but_pp(&self, with: &str) -> Result<(), Failure> {
        refuse("nodes", self.nodes.is_some(), with)?;
        refuse("partition", self.partition.is_some(), with)?;
        refuse("micro-batches", self.micro_batches.is_some(), with)?;
        refuse("io-buffers", self.io_buffers.is_some(), with)?;
        refuse("epu-lanes", self.epu_lanes.is_some(), with)?;
        refuse("softmax-passes", self.softmax_passes.is_some(), with)?;
        refuse("max-context", self.max_context.is_some(), with)?;
        refuse("hop-ns", self.hop_ns.is_some(), with)
    }
}

/// Runs the command.
pub fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let begin = Instant::now();
    let policy = LolPolicy::find(arguments.policy.as_deref().unwrap_or("lol-pim"))?;
    arguments.refuse_what_modules_have_not()?;
    let Outputs { requests_out, plot, perfetto } = arguments.outputs()?;
    let model = arguments.model.as_deref().unwrap_or("qwen1.5-7b");
    let llm = Llm::new(model, find_model(model)?);
    let system = arguments.system(&llm, policy)?;
    let spec = arguments.device.of(SystemKind::Aim)?;
    let config = spec.config();
    // Without room there is nothing to measure.
    system.room(&config)?;
    let (trace, seed) = arguments.trace()?;
    let memo = Memo::new(threads(arguments.threads));
    let plan = StagePlan::new(&system, &memo, &spec, &arguments.contexts(&trace))?;
    let mut checker = TimelineChecker::default();
    let draws = plot.is_some() || perfetto.is_some();
    let window = arguments.window.clone().unwrap_or(0..64);
    let how = How {
        closed_loop: arguments.closed_loop,
        window: if draws { window.clone() } else { 0..0 },
    };
    let outcome = serve(&plan, &trace, &how, &mut checker)?;
    if draws && outcome.kept.is_empty() {
        return Err(no_such_iteration(&window, outcome.run.iterations));
    }
    let about = about(arguments, seed, begin, &memo);
    let report = ServeReport::of_lol(&plan, &config, &trace, &outcome, &checker, about);
    if let Some(output) = requests_out {
        output.write(requests::rows(&outcome.run).as_bytes())?;
    }
    if draws {
        arguments.draw(plot, perfetto, &report, &Timeline::of_lol(&outcome))?;
    }
    arguments.print(&report)
}

impl ServeArguments {
    /// What has no effect on modules is refused.
    fn refuse_what_modules_have_not(&self) -> Result<(), Failure> {
        for (flag, is_given) in [
            ("channels", self.channels.is_some()),
            ("dimms", self.dimms.is_some()),
            ("ranks", self.ranks.is_some()),
            ("rank-gib", self.rank_gib.is_some()),
            ("gpus", self.gpus.is_some()),
            ("gpu", self.gpu.is_some()),
            ("gpu-model", self.gpu_model.is_some()),
            ("dp", self.dp.is_some()),
            ("placement", self.placement.is_some()),
            ("overlap", self.overlap.is_some()),
            ("predictor", self.predictor.is_some()),
            ("sub-batches", self.sub_batches.is_some()),
            ("detail", self.detail.is_some()),
        ] {
            refuse(flag, is_given, "--system lol-pim")?;
        }
        self.npus.refuse("--system lol-pim")?;
        self.refuse_window()?;
        match self.admission {
            Some(Reserved::Reserve) => {
                Err(Failure::Input("--admission reserve: lol-pim has lazy and static".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The system that is asked for. Of modules that share a stage and stages one follows from the other.
    fn system(&self, llm: &Llm, policy: LolPolicy) -> Result<LolSystem, Failure> {
        let asked = &self.modules;
        let nodes = asked.nodes.unwrap_or(NODES);
        if !(1..=1 << 12).contains(&nodes) {
            return Err(Failure::Input(format!("--nodes {nodes}: expected 1 to 4096")));
        }
        let default = LolSystem::new(llm, policy, nodes);
        let modules = default.modules();
        let other = |given: u64| modules.checked_div(given).unwrap_or(0).max(1);
        let (tp, pp) = match (self.tp, asked.pp) {
            (Some(tp), Some(pp)) => (tp, pp),
            (Some(tp), None) => (tp, other(tp)),
            (None, Some(pp)) => (other(pp), pp),
            (None, None) => (default.tp, default.pp),
        };
        Ok(LolSystem {
            tp,
            pp,
            partition: asked.partition.map_or(default.partition, |partition| match partition {
                PartitionName::Hfa => Partition::HeadFirst,
                PartitionName::Itpp => Partition::TokenParallel,
            }),
            micro_batches: asked.micro_batches.unwrap_or(default.micro_batches),
            allocation: match self.admission {
                Some(Reserved::Lazy) => Allocation::Lazy,
                Some(_) => Allocation::Static,
                None => default.allocation,
            },
            io_buffers: asked.io_buffers.map_or(default.io_buffers, |buffers| match buffers {
                Buffers::PingPong => IoBuffers::PingPong,
                Buffers::Single => IoBuffers::Single,
            }),
            lanes: asked.epu_lanes.unwrap_or(default.lanes),
            softmax_passes: asked.softmax_passes.unwrap_or(default.softmax_passes),
            max_context: asked.max_context.unwrap_or(default.max_context),
            hop_ps: asked.hop_ns.map_or(default.hop_ps, |ns| ns * NANOSECOND),
            ..default
        })
    }
}
