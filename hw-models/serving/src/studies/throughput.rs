// SPDX-License-Identifier: MIT
//! L3 and its baselines on four data sets and three models (L3's figure 8), and what admission changes.

use super::{Cell, Figure, Study, StudyTable, number, whole};
use crate::costs::Contexts;
use crate::costs::memo::Memo;
use crate::costs::rank::RankCosts;
use crate::error::ServingError;
use crate::gpu::{Gpu, GpuModel};
use crate::hardware::Hardware;
use crate::iteration::Detail;
use crate::llm::Llm;
use crate::outcome::Run;
use crate::policy::{Admission, Placement, Policy};
use crate::simulate::{Setup, simulate};
use crate::time::seconds;
use crate::trace::{Trace, synthetic};
use pimlico_device::DeviceSpec;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_model::presets;
use pimlico_workload::parallel;

/// L3's models (Table 3).
pub const MODELS: [&str; 3] = ["opt-66b", "gpt-89b", "gpt-175b"];
/// L3's data sets (Table 4).
pub const TRACES: [&str; 4] = ["openr1", "dolphin", "openthoughts", "longbench"];

/// What all studies of L3 share.
pub struct Lab<'a> {
    /// Costs.
    pub memo: &'a Memo,
    /// A rank.
    pub rank: &'a DeviceSpec,
    /// Constants of the GPUs.
    pub gpu_model: GpuModel,
    /// Requests of a trace.
    pub requests: usize,
    /// Seed of the requests.
    pub seed: u64,
}

/// A run of a study.
#[derive(Clone)]
pub struct Case {
    /// The model.
    pub llm: Llm,
    /// The requests.
    pub trace: Trace,
    /// The machine.
    pub hardware: Hardware,
    /// The policy.
    pub policy: Policy,
    /// When memory is reserved.
    pub admission: Admission,
    /// Where requests go.
    pub placement: Placement,
    /// Whether ranksets compute during transfers.
    pub overlap: bool,
    /// Whether the scheduler learns what sub-batches take.
    pub learns: bool,
    /// Requests that are left out.
    pub without: Vec<u32>,
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct CaseOutcome {
    /// Tokens a second.
    pub tokens_per_s: f64,
    /// Mean of the decoding requests, of all replicas.
    pub batch: f64,
    /// Requests that were sent back.
    pub preempted: u64,
    /// What does not hold.
    pub violations: u64,
}

/// The model of a name.
pub fn llm(name: &str) -> Result<Llm, ServingError> {
    let shape = presets().remove(name);
    shape
        .map(|shape| Llm::new(name, shape))
        .ok_or_else(|| ServingError::setup(format!("no model {name}")))
}

impl Case {
    /// A policy as it is by default.
    pub fn new(llm: &Llm, trace: &Trace, policy: Policy) -> Self {
        Self {
            llm: llm.clone(),
            trace: trace.clone(),
            hardware: Hardware::l3(llm),
            policy,
            admission: Admission::Reserve,
            placement: policy.placement(),
            overlap: policy.overlaps(),
            learns: false,
            without: Vec::new(),
        }
    }
}

impl Lab<'_> {
    /// So many requests of a data set.
    pub fn trace(&self, name: &str) -> Result<Trace, ServingError> {
        let made = synthetic::make(name, self.requests, self.seed);
        made.ok_or_else(|| ServingError::setup(format!("no trace {name}")))
    }

    /// Serves a case.
    pub fn run(&self, case: &Case) -> Result<(Run, u64), ServingError> {
        let config = self.rank.config();
        let costs = match case.policy.has_ranks() {
            true => Some(RankCosts::new(self.memo, self.rank, &case.llm, &Contexts::Knots)?),
            false => None,
        };
        let setup = Setup {
            llm: &case.llm,
            hardware: case.hardware,
            gpu: Gpu::A100,
            gpu_model: self.gpu_model,
            policy: case.policy,
            admission: case.admission,
            placement: case.placement,
            overlap: case.overlap,
            learns: case.learns,
            detail: Detail::Periodic,
            rank: &config,
            costs: costs.as_ref(),
            window: 0..0,
            closed_loop: None,
            without: &case.without,
        };
        let mut checker = TimelineChecker::default();
        let run = simulate(&setup, &case.trace, &mut checker)?;
        Ok((run, checker.faults()))
    }

    /// Costs are measured once, before several cases ask for them.
    pub fn measure(&self, cases: &[Case]) -> Result<(), ServingError> {
        if let Some(case) = cases.iter().find(|case| case.policy.has_ranks()) {
            RankCosts::new(self.memo, self.rank, &case.llm, &Contexts::Knots)?;
        }
        Ok(())
    }

    /// Serves cases, on the threads of the memo.
    pub fn outcomes(&self, cases: &[Case]) -> Result<Vec<CaseOutcome>, ServingError> {
        self.measure(cases)?;
        let work = |case: &Case| {
            let (run, violations) = self.run(case)?;
            let iterations = run.batch.weight.max(1) as f64;
            Ok(CaseOutcome {
                tokens_per_s: run.output_tokens as f64 / seconds(run.makespan_ps.max(1)),
                batch: case.hardware.dp as f64 * run.batch.requests as f64 / iterations,
                preempted: run.preempted,
                violations,
            })
        };
        let weight = |case: &Case| case.trace.requests.iter().map(|request| request.output).sum();
        parallel::map(cases, self.memo.threads(), weight, work, |_, _| {})
    }
}

/// Requests whose K and V do not fit the GPUs of a replica, by number.
fn too_long(llm: &Llm, trace: &Trace) -> Vec<u32> {
    let hardware = Hardware::l3(llm);
    let room = (hardware.tp * Gpu::A100.memory_bytes).saturating_sub(llm.weight_bytes());
    let most = room / llm.kv_bytes();
    let numbered = trace.requests.iter().enumerate();
    let long = numbered.filter(|(_, request)| request.tokens() > most);
    long.map(|(number, _)| number as u32).collect()
}

/// The policies of the study, L3 last.
const POLICIES: [Policy; 5] =
    [Policy::GpuOnly, Policy::HbmPim, Policy::RankPim, Policy::CpuOffload, Policy::L3];

/// A model with a data set.
struct Point {
    model: &'static str,
    trace: &'static str,
    left_out: usize,
    of: Vec<CaseOutcome>,
}

impl Point {
    fn ratio(&self, policy: usize) -> f64 {
        self.of[POLICIES.len() - 1].tokens_per_s / self.of[policy].tokens_per_s
    }

    /// Whether the paper may have it as out of memory: it names none of the two that it has.
    fn may_be_oom(&self) -> bool {
        self.model == "opt-66b" && ["openr1", "openthoughts"].contains(&self.trace)
    }
}

/// Figure 8.
pub fn run(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let mut points = Vec::new();
    let mut cases = Vec::new();
    for model in MODELS {
        let llm = llm(model)?;
        for name in TRACES {
            let trace = lab.trace(name)?;
            let without = too_long(&llm, &trace);
            points.push(Point { model, trace: name, left_out: without.len(), of: Vec::new() });
            cases.extend(POLICIES.map(|policy| Case {
                without: without.clone(),
                ..Case::new(&llm, &trace, policy)
            }));
        }
    }
    let outcomes = lab.outcomes(&cases)?;
    for (point, of) in points.iter_mut().zip(outcomes.chunks(POLICIES.len())) {
        point.of = of.to_vec();
    }
    let row = |point: &Point| {
        let head: Vec<Cell> =
            vec![point.model.into(), point.trace.into(), whole(point.left_out as u64)];
        let tokens = point.of.iter().map(|of| number(of.tokens_per_s, 0));
        let ratios = [0, 1, 2].map(|policy| number(point.ratio(policy), 2));
        let batches = [0, POLICIES.len() - 1].map(|policy| number(point.of[policy].batch, 1));
        head.into_iter().chain(tokens).chain(ratios).chain(batches).collect()
    };
    let best =
        points.iter().filter(|point| (0..4).all(|policy| point.ratio(policy) >= 1.0)).count();
    let most = |policy: usize| {
        let of = points.iter().filter(|point| !point.may_be_oom());
        of.map(|point| point.ratio(policy)).fold(0.0, f64::max)
    };
    let of_batch = |point: &Point| point.of[POLICIES.len() - 1].batch / point.of[0].batch;
    let batch = points.iter().map(of_batch).fold(0.0, f64::max);
    let figures = vec![
        Figure::new(
            "L3 is best, of 12 points",
            "12",
            best as f64,
            [12.0, 12.0],
            "the table shows where",
        ),
        Figure::new(
            "L3 / HBM-PIM, largest",
            "6.1",
            most(1),
            [5.0, 7.5],
            "room for few requests: which lengths are drawn decides",
        ),
        Figure::new(
            "L3 / GPU-only, largest",
            "5.0",
            most(0),
            [3.5, 6.0],
            "room for few requests: which lengths are drawn decides",
        ),
        Figure::new(
            "L3 / R-PIM, largest",
            "9.2",
            most(2),
            [7.4, 10.0],
            "requests of a sub-batch are uneven over its ranksets and each layer waits for the busiest: with gpt-175b on openr1 \
             ranksets work 75 % of the time",
        ),
        Figure::new(
            "batch of L3 / GPU-only, largest",
            "14.3",
            batch,
            [12.0, 15.0],
            "opt-66b on openr1: room for 4.8 requests of mean length is used less well than room for 75; the memories are 13.3 \
             to 1",
        ),
    ];
    Ok(Study {
        study: "l3-throughput",
        title: format!("tokens a second, {} requests that are there from the beginning, seed {}", lab.requests, lab.seed),
        tables: vec![StudyTable {
            title: "L3 and its baselines (figure 8)".to_owned(),
            columns: vec![
                "model", "trace", "left out", "gpu-only", "hbm-pim", "r-pim", "cpu-offload", "l3",
                "/ gpu", "/ hbm-pim", "/ r-pim", "batch, gpu", "batch, l3",
            ],
            rows: points.iter().map(row).collect(),
        }],
        figures,
        violations: outcomes.iter().map(|of| of.violations).sum(),
        notes: vec![
            "left out: requests whose K and V do not fit the GPUs of a replica, for all policies alike; the largest ratios are \
             without opt-66b on openr1 and openthoughts, since the paper has two points out of memory and does not name them"
                .to_owned(),
            "hbm-pim, r-pim and cpu-offload are analytic: bandwidths, without a policy's details".to_owned(),
        ],
    })
}

/// Lazy admission beside reserved memory, for L3 and GPUs alone.
pub fn admission(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let mut cases = Vec::new();
    let mut names = Vec::new();
    for model in MODELS {
        let llm = llm(model)?;
        for name in TRACES {
            let trace = lab.trace(name)?;
            let without = too_long(&llm, &trace);
            names.push((model, name));
            for policy in [Policy::GpuOnly, Policy::L3] {
                for admission in [Admission::Reserve, Admission::Lazy] {
                    let without = without.clone();
                    cases.push(Case { admission, without, ..Case::new(&llm, &trace, policy) });
                }
            }
        }
    }
    let outcomes = lab.outcomes(&cases)?;
    let row = |(&(model, trace), of): (&(&str, &str), &[CaseOutcome])| {
        let tokens = of.iter().map(|of| number(of.tokens_per_s, 0));
        let ratio = |l3: usize, gpu: usize| number(of[l3].tokens_per_s / of[gpu].tokens_per_s, 2);
        let head: Vec<Cell> = vec![model.into(), trace.into()];
        head.into_iter()
            .chain(tokens)
            .chain([ratio(2, 0), ratio(3, 1), whole(of[1].preempted), whole(of[3].preempted)])
            .collect()
    };
    Ok(Study {
        study: "l3-admission",
        title: format!(
            "memory reserved for all tokens, or given as requests grow: {} requests, seed {}",
            lab.requests, lab.seed
        ),
        tables: vec![StudyTable {
            title: "Tokens a second".to_owned(),
            columns: vec![
                "model",
                "trace",
                "gpu, reserve",
                "gpu, lazy",
                "l3, reserve",
                "l3, lazy",
                "l3 / gpu, reserve",
                "l3 / gpu, lazy",
                "gpu: sent back",
                "l3: sent back",
            ],
            rows: names.iter().zip(outcomes.chunks(4)).map(row).collect(),
        }],
        figures: Vec::new(),
        violations: outcomes.iter().map(|of| of.violations).sum(),
        notes: vec![
            "L3's paper does not say what is reserved; its figure 9 fits reserved memory"
                .to_owned(),
        ],
    })
}
