// SPDX-License-Identifier: MIT
//! LoL-PIM's figures.
//!
//! * [`mod@assumptions`]: what the ratios to the baselines are by one assumption at a time.
//! * [`mod@utilisation`]: Table 8, with the time by cause.
//! * [`mod@gpus`]: GPUs alone, by how they serve.
//! * [`mod@scaling`]: figures 9 and 10, memory from 128 to 1024 GB.
//! * [`mod@parallel`]: figures 11 and 12, tensor and pipeline parallel and the time of a token; lanes of the softmax unit.

pub mod assumptions;
pub mod gpus;
pub mod parallel;
pub mod scaling;
pub mod utilisation;

use crate::costs::Contexts;
use crate::costs::memo::Memo;
use crate::error::ServingError;
use crate::llm::Llm;
use crate::lol::outcome::{How, PipelineRun};
use crate::lol::pipeline::serve;
use crate::lol::plan::StagePlan;
use crate::lol::system::{
    Allocation, LolPolicy, LolSystem, MODULE_FLOPS, MOST_STAGES, MicroBatches, Partition,
};
use crate::trace::{Trace, synthetic};
use pimlico_device::DeviceSpec;
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_workload::parallel as threads;

/// Musique's mean, by which the paper's utilisation is defined.
pub const MEAN_CONTEXT: u64 = 16_362;
/// Modules that share a stage, at the least: the paper's figure 11 begins there.
const LEAST_TP: u64 = 4;

/// What the studies share.
pub struct LolLab<'a> {
    /// Costs.
    pub memo: &'a Memo,
    /// A channel.
    pub channel: &'a DeviceSpec,
    /// Requests of a trace.
    pub requests: usize,
    /// Seed of the requests.
    pub seed: u64,
}

/// How far a system goes: the baseline, then the paper's techniques one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Head first, static, single buffers, tensor parallel alone.
    Baseline,
    /// Token parallel, and the best of tensor and pipeline parallel.
    One,
    /// And rows as requests grow.
    Two,
    /// And ping-pong buffers.
    Three,
}

/// What a system came to.
#[derive(Clone, Debug)]
pub struct LolOutcome {
    /// The system.
    pub system: LolSystem,
    /// Its run.
    pub run: PipelineRun,
    /// What does not hold.
    pub violations: u64,
}

/// The outcome of the best way to spread a model, or why there is no room for it.
pub type Spread = Result<LolOutcome, String>;

impl Step {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Baseline, "PIM"),
        (Self::One, "LoL (1)"),
        (Self::Two, "LoL (1)(2)"),
        (Self::Three, "LoL (1)(2)(3)"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(step, _)| *step == self).map_or("", |(_, name)| name)
    }

    /// The system of a model, with GPUs or without.
    pub fn system(self, llm: &Llm, nodes: u64, has_gpus: bool) -> LolSystem {
        let policy = match (self, has_gpus) {
            (_, true) => LolPolicy::GpuLolPim,
            (Self::Baseline, false) => LolPolicy::PimHfa,
            (_, false) => LolPolicy::LolPim,
        };
        let modules = nodes * policy.node_modules();
        let of_policy = LolSystem::new(llm, policy, nodes);
        let is_baseline = self == Self::Baseline;
        let (tp, pp) = if is_baseline { (modules, 1) } else { (of_policy.tp, of_policy.pp) };
        LolSystem {
            tp,
            pp,
            partition: if is_baseline { Partition::HeadFirst } else { Partition::TokenParallel },
            micro_batches: if is_baseline { MicroBatches::Stages } else { of_policy.micro_batches },
            allocation: match self {
                Self::Baseline | Self::One => Allocation::Static,
                Self::Two | Self::Three => Allocation::Lazy,
            },
            io_buffers: if self == Self::Three { IoBuffers::PingPong } else { IoBuffers::Single },
            ..of_policy
        }
    }
}

/// The share of all PUs' operations that tokens of Musique's mean context need, as the paper's Table 8 has it.
pub fn utilisation(llm: &Llm, nodes: u64, tokens_per_s: f64) -> f64 {
    let flops = nodes * LolPolicy::LolPim.node_modules() * MODULE_FLOPS;
    tokens_per_s * llm.token_flops(MEAN_CONTEXT) as f64 / flops as f64
}

/// Ways to spread the layers of a system over its modules; the baseline has one.
fn spreads(system: &LolSystem) -> Vec<LolSystem> {
    if system.partition == Partition::HeadFirst {
        return vec![system.clone()];
    }
    all_spreads(system)
}

/// Ways of a baseline that may have several stages, with each of these micro-batches.
fn staged(system: &LolSystem, micro_batches: &[MicroBatches]) -> Vec<LolSystem> {
    let with = |way: LolSystem| {
        let all = micro_batches.iter();
        let all = all.map(|&micro_batches| LolSystem { micro_batches, ..way.clone() });
        all.collect::<Vec<_>>()
    };
    all_spreads(system).into_iter().flat_map(with).collect()
}

/// Ways to spread the layers of a system over its modules.
fn all_spreads(system: &LolSystem) -> Vec<LolSystem> {
    let (modules, layers) = (system.modules(), system.llm.layers());
    let least = if system.policy.has_gpus() { system.node_modules() } else { LEAST_TP };
    let may_be = |pp: &u64| {
        modules.is_multiple_of(*pp) && layers.is_multiple_of(*pp) && modules / pp >= least
    };
    let stages = (1..=modules.min(MOST_STAGES)).filter(may_be);
    stages.map(|pp| LolSystem { tp: modules / pp, pp, ..system.clone() }).collect()
}

impl LolLab<'_> {
    /// So many requests of a task.
    fn trace(&self, task: &str) -> Result<Trace, ServingError> {
        let made = synthetic::make(task, self.requests, self.seed);
        made.ok_or_else(|| ServingError::setup(format!("no trace {task}")))
    }

    /// Serves a task on systems as they are, on the threads of the memo.
    fn runs(&self, cases: &[(LolSystem, &str)]) -> Result<Vec<Spread>, ServingError> {
        // Costs are measured before several ask for them.
        let mut plans = Vec::new();
        for (system, task) in cases {
            let plan = match StagePlan::new(system, self.memo, self.channel, &Contexts::Knots) {
                Ok(plan) => Ok((plan, self.trace(task)?)),
                Err(error @ ServingError::NoRoom { .. }) => Err(error.to_string()),
                Err(error) => return Err(error),
            };
            plans.push(plan);
        }
        let work = |plan: &Result<(StagePlan, Trace), String>| {
            let (plan, trace) = match plan {
                Ok(plan) => plan,
                Err(refused) => return Ok(Err(refused.clone())),
            };
            let mut checker = TimelineChecker::default();
            match serve(plan, trace, &How::default(), &mut checker) {
                Ok(run) => {
                    let (system, violations) = (plan.system().clone(), checker.faults());
                    Ok(Ok(LolOutcome { system, run, violations }))
                }
                Err(error @ ServingError::NoRoom { .. }) => Ok(Err(error.to_string())),
                Err(error) => Err(error),
            }
        };
        let weight = |plan: &Result<(StagePlan, Trace), String>| {
            let Ok((plan, trace)) = plan else { return 0 };
            let tokens: u64 = trace.requests.iter().map(|request| request.output).sum();
            tokens * plan.system().pp
        };
        threads::map(&plans, self.memo.threads(), weight, work, |_, _| {})
    }

    /// The same with the best way to spread each system's layers.
    fn best(&self, cases: &[(LolSystem, &str)]) -> Result<Vec<Spread>, ServingError> {
        let ways = cases.iter().map(|(system, task)| (spreads(system), *task));
        self.best_of(&ways.collect::<Vec<_>>())
    }

    /// The best of several ways to serve each task.
    fn best_of(&self, ways: &[(Vec<LolSystem>, &str)]) -> Result<Vec<Spread>, ServingError> {
        let all = ways.iter();
        let all: Vec<_> =
            all.flat_map(|(ways, task)| ways.iter().map(move |way| (way.clone(), *task))).collect();
        let mut outcomes = self.runs(&all)?.into_iter();
        let tokens = |of: &Spread| of.as_ref().map_or(0.0, |of| of.run.steady.tokens_per_s);
        let mut best = Vec::new();
        for (ways, _) in ways {
            let of_case: Vec<Spread> = outcomes.by_ref().take(ways.len()).collect();
            let violations: u64 = of_case.iter().flatten().map(|of| of.violations).sum();
            let most = of_case.into_iter().max_by(|a, b| tokens(a).total_cmp(&tokens(b)));
            let most = most.unwrap_or_else(|| Err("no way to spread the layers".to_owned()));
            best.push(most.map(|of| LolOutcome { violations, ..of }));
        }
        Ok(best)
    }
}

/// What is to know about the figures of all studies.
fn notes() -> Vec<String> {
    vec![
        "rows as in LoL-PIM's layout, each K and V of a head in rows of one channel; the layout that runs takes half as many \
         rows again (`pimlico sweep batch`)"
            .to_owned(),
        "softmax: two units of 16 lanes, which no RTL has; one takes longer than the products beside it".to_owned(),
        "tokens a second, batch and times are those between a quarter and three quarters of all tokens".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::lab::llm;

    #[test]
    fn layers_are_spread_over_all_modules() {
        let of = |name: &str, nodes, step: Step, has_gpus| {
            let system = step.system(&llm(name).expect("a model"), nodes, has_gpus);
            spreads(&system).iter().map(|way| (way.tp, way.pp)).collect::<Vec<_>>()
        };
        let four = [(32, 1), (16, 2), (8, 4), (4, 8)];
        assert_eq!(of("qwen1.5-7b", 4, Step::Three, false), four);
        assert!(of("qwen1.5-14b", 5, Step::Two, false).contains(&(8, 5)));
        assert_eq!(of("qwen1.5-7b", 4, Step::Baseline, false), [(32, 1)]);
        assert_eq!(of("qwen1.5-7b", 4, Step::Baseline, true), [(16, 1)]);
        assert_eq!(of("qwen1.5-7b", 2, Step::One, true), [(8, 1), (4, 2)]);
    }
}
