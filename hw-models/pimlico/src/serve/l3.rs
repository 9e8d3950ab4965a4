// SPDX-License-Identifier: MIT
//! L3's system and its baselines.

use super::timeline::Timeline;
use super::{
    Constants, EvenIn, Layers, Outputs, Places, PredictorName, Reserved, ServeArguments, about,
    no_such_iteration, refuse, requests, threads,
};
use crate::failure::Failure;
use crate::models::find_model;
use crate::values::Switch;
use pimlico_device::SystemKind;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::costs::rank::RankCosts;
use pimlico_serving::gpu::{Gpu, GpuModel};
use pimlico_serving::hardware::Hardware;
use pimlico_serving::iteration::Detail;
use pimlico_serving::llm::Llm;
use pimlico_serving::policy::{Admission, Placement, Policy, SubBatches};
use pimlico_serving::predict::Features;
use pimlico_serving::report::ServeReport;
use pimlico_serving::setup::Setup;
use pimlico_serving::simulate::simulate;
use std::time::Instant;

/// Runs the command.
pub fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let begin = Instant::now();
    let policy = Policy::find(arguments.policy.as_deref().unwrap_or("l3"))?;
    arguments.refuse_what_does_nothing(policy)?;
    let Outputs { requests_out, plot, perfetto } = arguments.outputs()?;

    let spec = arguments.device.of(SystemKind::L3)?;
    let config = spec.config();
    let model = arguments.model.as_deref().unwrap_or("gpt-175b");
    let llm = Llm::new(model, find_model(model)?);
    let (trace, seed) = arguments.trace()?;
    let memo = Memo::new(threads(arguments.threads));
    let costs = match policy.has_ranks() {
        true => Some(RankCosts::new(&memo, &spec, &llm, &arguments.contexts(&trace))?),
        false => None,
    };
    let draws = plot.is_some() || perfetto.is_some();
    let window = arguments.window.clone().unwrap_or(3..5);
    let setup = Setup {
        llm: &llm,
        hardware: arguments.hardware(&llm),
        gpu: arguments.gpu(),
        gpu_model: arguments.constants(),
        policy,
        admission: match arguments.admission {
            Some(Reserved::Lazy) => Admission::Lazy,
            _ => Admission::Reserve,
        },
        placement: arguments.placement(policy),
        overlap: arguments.overlap.map_or(policy.overlaps(), |overlap| overlap == Switch::On),
        sub_batches: match arguments.sub_batches {
            Some(EvenIn::Ranksets) => SubBatches::Ranksets,
            _ => SubBatches::Tokens,
        },
        learns: match arguments.predictor {
            Some(PredictorName::Learned) => Some(Features::Sums),
            Some(PredictorName::LearnedBusiest) => Some(Features::Busiest),
            _ => None,
        },
        detail: match arguments.detail {
            Some(Layers::Full) => Detail::Full,
            _ => Detail::Periodic,
        },
        rank: &config,
        costs: costs.as_ref(),
        window: if draws { window.clone() } else { 0..0 },
        closed_loop: arguments.closed_loop,
        without: &[],
    };
    let mut checker = TimelineChecker::default();
    let outcome = simulate(&setup, &trace, &mut checker)?;
    if draws && outcome.kept.is_empty() {
        return Err(no_such_iteration(&window, outcome.iterations));
    }
    let about = about(arguments, seed, begin, &memo);
    let report = ServeReport::new(&setup, &trace, &outcome, &checker, about);
    if let Some(output) = requests_out {
        output.write(requests::rows(&outcome).as_bytes())?;
    }
    if draws {
        arguments.draw(plot, perfetto, &report, &Timeline::of_l3(&setup, &outcome))?;
    }
    arguments.print(&report)
}

impl ServeArguments {
    /// What has no effect with a policy is refused.
    fn refuse_what_does_nothing(&self, policy: Policy) -> Result<(), Failure> {
        self.modules.refuse("--system l3")?;
        self.npus.refuse("--system l3")?;
        let with = format!("--policy {}", policy.name());
        let refuse = |flag: &str, is_given: bool| refuse(flag, is_given, &with);
        if self.admission == Some(Reserved::Static) {
            return Err(Failure::Input("--admission static: l3 has reserve and lazy".to_owned()));
        }
        if !policy.has_ranksets() {
            refuse("placement", self.placement.is_some())?;
        }
        if !policy.has_ranks() {
            refuse("overlap", self.overlap.is_some())?;
            refuse("costs", self.costs.is_some())?;
        }
        if !policy.interleaves() {
            refuse("predictor", self.predictor.is_some())?;
            refuse("sub-batches", self.sub_batches.is_some())?;
        }
        if matches!(policy, Policy::GpuOnly | Policy::HbmPim) {
            refuse("dimms", self.dimms.is_some())?;
            refuse("ranks", self.ranks.is_some())?;
            refuse("rank-gib", self.rank_gib.is_some())?;
        }
        self.refuse_window()
    }

    fn gpu(&self) -> Gpu {
        let all = [Gpu::A100, Gpu::A100A, Gpu::H100];
        let name = self.gpu.as_deref().unwrap_or(Gpu::A100.name);
        all.into_iter().find(|gpu| gpu.name == name).unwrap_or(Gpu::A100)
    }

    fn constants(&self) -> GpuModel {
        self.gpu_model.unwrap_or(Constants::Attacc).into()
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
            gpu_model: self.constants().name(),
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
            Some(Places::Drawn) => Placement::Drawn,
            Some(Places::Spread) => Placement::Spread,
        }
    }
}
