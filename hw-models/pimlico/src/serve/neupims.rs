// SPDX-License-Identifier: MIT
//! NeuPIMs' system and its baselines.

use super::{Outputs, Reserved, ServeArguments, about, refuse, requests, threads};
use crate::failure::Failure;
use crate::models::find_model;
use crate::npu::{Feed, InterleaveFlag, MatricesFlag, MhaFlag, NpuAttentionFlag, feed, gigabytes};
use crate::values::Switch;
use clap::Args;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::llm::Llm;
use pimlico_serving::neupims::estimate::MhaLatency;
use pimlico_serving::neupims::serve::serve;
use pimlico_serving::neupims::service::{NeupimsPolicy, NeupimsService};
use pimlico_serving::neupims::shard::{MODELS, Shard};
use pimlico_serving::neupims::system::{RowBuffers, System};
use pimlico_serving::report::ServeReport;
use std::time::Instant;

/// Requests on the devices at once.
const BATCH: u64 = 256;
/// Devices that share a stage, and stages, of a model that the paper does not have.
const DIVISION: (u64, u64) = (4, 1);

/// Flags of NPUs whose memory computes.
#[derive(Args)]
pub struct NpuArguments {
    /// Requests on the devices at once, at the most [default: 256]
    #[arg(long, value_name = "N")]
    batch: Option<u64>,
    /// What tells PIM's latency: a channel's engine, which runs a request of each length, or Algorithm 1 [default: engine]
    #[arg(long, value_enum)]
    mha: Option<MhaFlag>,
    /// What matrices have of the buses [default: reads-32; with --mha algorithm: peak]
    #[arg(long, value_enum)]
    matrices: Option<MatricesFlag>,
    /// Commands that reach npu-pim's PIMs in a tCK, N or `unlimited` [default: 1]
    #[arg(long, value_name = "N", value_parser = feed)]
    pim_issue: Option<Feed>,
    /// Whether neupims interleaves two sub-batches [default: from 256 requests on]
    #[arg(long, value_enum)]
    interleave: Option<InterleaveFlag>,
    /// Where npu-only computes attention [default: bandwidth]
    #[arg(long, value_enum)]
    npu_attention: Option<NpuAttentionFlag>,
    /// Whether K and V of new tokens take time [default: off]
    #[arg(long, value_enum)]
    kv_append: Option<Switch>,
    /// Gigabytes a second of the links between devices [default: links take no time]
    #[arg(long, value_name = "G", value_parser = gigabytes)]
    link_gbps: Option<f64>,
}

impl NpuArguments {
    /// Refuses all of them.
    pub fn refuse(&self, with: &str) -> Result<(), Failure> {
        refuse("batch", self.batch.is_some(), with)?;
        refuse("mha", self.mha.is_some(), with)?;
        refuse("matrices", self.matrices.is_some(), with)?;
        refuse("pim-issue", self.pim_issue.is_some(), with)?;
        refuse("interleave", self.interleave.is_some(), with)?;
        refuse("npu-attention", self.npu_attention.is_some(), with)?;
        refuse("kv-append", self.kv_append.is_some(), with)?;
        refuse("link-gbps", self.link_gbps.is_some(), with)
    }

    /// Those that do nothing with a policy.
    fn refuse_what_does_nothing(&self, policy: NeupimsPolicy) -> Result<(), Failure> {
        let with = format!("--policy {}", policy.name());
        let refuse = |flag: &str, is_given: bool| refuse(flag, is_given, &with);
        let is = |other| policy == other;
        refuse("pim-issue", self.pim_issue.is_some() && !is(NeupimsPolicy::NpuPim))?;
        refuse("interleave", self.interleave.is_some() && !is(NeupimsPolicy::Neupims))?;
        refuse("npu-attention", self.npu_attention.is_some() && !is(NeupimsPolicy::NpuOnly))
    }

    /// A policy's assumptions with what is asked for.
    fn system(&self, policy: NeupimsPolicy) -> System {
        let default = policy.system();
        System {
            pim_issue: self.pim_issue.map_or(default.pim_issue, |feed| feed.0),
            interleave: self.interleave.map_or(default.interleave, InterleaveFlag::interleave),
            npu_attention: self
                .npu_attention
                .map_or(default.npu_attention, NpuAttentionFlag::attention),
            kv_append: self.kv_append == Some(Switch::On),
            link_gbps: self.link_gbps,
            ..default
        }
    }
}

/// Runs the command.
pub fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let begin = Instant::now();
    let policy = NeupimsPolicy::find(arguments.policy.as_deref().unwrap_or("neupims"))?;
    arguments.refuse_what_npus_have_not()?;
    let asked = &arguments.npus;
    asked.refuse_what_does_nothing(policy)?;
    let Outputs { requests_out, .. } = arguments.outputs()?;
    let model = arguments.model.as_deref().unwrap_or("gpt3-7b");
    let llm = Llm::new(model, find_model(model)?);
    let of_paper = MODELS.into_iter().find(|(name, ..)| *name == model);
    let (tp, pp) = of_paper.map_or(DIVISION, |(_, tp, pp)| (tp, pp));
    let (tp, pp) = (arguments.tp.unwrap_or(tp), arguments.modules.pp().unwrap_or(pp));
    let shard = Shard::new(&llm, tp, pp)?;
    let batch = asked.batch.unwrap_or(BATCH);
    let system = asked.system(policy);
    let mut service = NeupimsService { policy, llm, shard, system, batch };
    service.room()?;
    let (trace, seed) = arguments.trace()?;
    let threads = threads(arguments.threads);
    let mha = asked.mha.unwrap_or(MhaFlag::Engine);
    let engines = mha.engines();
    let rates = asked.matrices.unwrap_or(mha.matrices()).rates(threads)?;
    if let Some(rates) = &rates {
        service.system = rates.bound(&system);
    }
    let latency: &dyn MhaLatency = match &engines {
        Some(engines) if system.memory != RowBuffers::Plain => {
            let engine = engines.of(system.memory);
            // Those that fit; whatever is shorter has room as well.
            let longest = service.longest();
            let tokens = trace.requests.iter().map(|request| request.tokens());
            let most = tokens.filter(|&tokens| tokens <= longest).max();
            engine.prepare(most.map(|tokens| (&shard, tokens)), threads)?;
            engine
        }
        _ => &system.estimate,
    };
    let mut checker = TimelineChecker::default();
    let outcome = serve(&service, latency, &trace, arguments.closed_loop, &mut checker)?;
    let memo = Memo::built_in(1);
    let mut about = about(arguments, seed, begin, &memo);
    let runs = engines.as_ref().map_or(0, |engines| engines.of(system.memory).runs());
    about.cost_entries.run = runs as u64;
    let report = ServeReport::of_neupims(&service, latency, &trace, &outcome, &checker, about);
    if let Some(output) = requests_out {
        output.write(requests::rows(&outcome.run).as_bytes())?;
    }
    arguments.print(&report)
}

impl ServeArguments {
    /// What has no effect on NPUs is refused.
    fn refuse_what_npus_have_not(&self) -> Result<(), Failure> {
        const WITH: &str = "--system neupims";
        self.modules.refuse_all_but_pp(WITH)?;
        for (flag, is_given) in [
            ("device", self.device.given()?.is_some()),
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
            ("costs", self.costs.is_some()),
            ("plot", self.plot.is_some()),
            ("perfetto", self.perfetto.is_some()),
            ("window", self.window.is_some()),
        ] {
            refuse(flag, is_given, WITH)?;
        }
        match self.admission {
            Some(Reserved::Lazy | Reserved::Static) => {
                Err(Failure::Input("--admission: neupims has reserve".to_owned()))
            }
            _ => Ok(()),
        }
    }
}
