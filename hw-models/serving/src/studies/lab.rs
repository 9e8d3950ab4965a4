// SPDX-License-Identifier: MIT
//! What the studies of L3 share: a case is served, and what it came to.

use crate::costs::Contexts;
use crate::costs::memo::Memo;
use crate::costs::rank::RankCosts;
use crate::error::ServingError;
use crate::gpu::{Gpu, GpuModel};
use crate::hardware::Hardware;
use crate::iteration::Detail;
use crate::llm::Llm;
use crate::outcome::Run;
use crate::policy::{Admission, Placement, Policy, SubBatches};
use crate::predict::Features;
use crate::setup::Setup;
use crate::simulate::simulate;
use crate::time::seconds;
use crate::trace::{Trace, synthetic};
use pimlico_device::DeviceSpec;
use pimlico_golden::timeline::TimelineChecker;
use pimlico_model::presets;
use pimlico_workload::parallel;

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
    /// What the two sub-batches have even.
    pub sub_batches: SubBatches,
    /// By what the scheduler learns what sub-batches take; it knows that where there is nothing.
    pub learns: Option<Features>,
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
    /// Requests that had room at a time, at the most.
    pub most: u64,
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
            sub_batches: SubBatches::Tokens,
            learns: None,
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
            sub_batches: case.sub_batches,
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
                most: run.batch.most,
                preempted: run.preempted,
                violations,
            })
        };
        let weight = |case: &Case| case.trace.requests.iter().map(|request| request.output).sum();
        parallel::map(cases, self.memo.threads(), weight, work, |_, _| {})
    }
}
