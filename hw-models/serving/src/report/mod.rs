// SPDX-License-Identifier: MIT
//! What is told of a run.
//!
//! * [`l3`]: of L3's system and its baselines.
//! * [`lol`]: of LoL-PIM's.
//! * [`neupims`]: of NeuPIMs'.

pub mod l3;
pub mod lol;
pub mod neupims;

use crate::hardware::Hardware;
use crate::llm::Llm;
use crate::lol::system::LolHardware;
use crate::metrics::Percentiles;
use crate::neupims::service::NeupimsHardware;
use crate::outcome::Run;
use crate::predict::{Predictor, PredictorOutcome};
use crate::time::{NANOSECOND, SECOND, seconds};
use crate::trace::{Moments, Trace};
use neupims::DeviceShares;
use pimlico_golden::timeline::TimelineChecker;
use serde::Serialize;

/// A run; it serialises to the document that `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct ServeReport {
    /// The system.
    pub system: &'static str,
    /// The policy.
    pub policy: &'static str,
    /// The model.
    pub model: String,
    /// The requests.
    pub trace: TraceReport,
    /// Seed of the requests.
    pub seed: u64,
    /// When memory is reserved.
    pub admission: &'static str,
    /// Where requests go among the ranksets.
    pub placement: Option<&'static str>,
    /// What the two sub-batches of decoding requests have even; none where there is one.
    pub sub_batches: Option<&'static str>,
    /// Whether ranksets compute during transfers.
    pub overlap: Option<bool>,
    /// How the model is spread.
    pub parallel: Parallel,
    /// The machine.
    pub hardware: Machine,
    /// From the first arrival to the last token.
    pub makespan_ns: u64,
    /// Tokens that were made.
    pub output_tokens: u64,
    /// Tokens a second.
    pub tokens_per_s: f64,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Decoding requests.
    pub batch: BatchReport,
    /// Time to the first token.
    pub ttft_ns: Percentiles,
    /// Time for each token behind it.
    pub tpot_ns: Percentiles,
    /// Time between two tokens.
    pub itl_ns: Percentiles,
    /// From arrival to the last token.
    pub e2e_ns: Percentiles,
    /// Iterations of all replicas.
    pub iterations: u64,
    /// Tokens of prompts that were computed.
    pub prefill_tokens: u64,
    /// Chunks that were not the end of their prompt.
    pub chunked: u64,
    /// Requests that were sent back.
    pub preempted: u64,
    /// Requests that fit no replica, by number from 0 on.
    pub oom: Vec<u32>,
    /// Room for K and V.
    pub memory: MemoryReport,
    /// How busy the parts of a replica were.
    pub resources: Vec<ResourceReport>,
    /// Time of all stages by what it goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageReport>,
    /// Shares of what the devices of a stage could do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceShares>,
    /// What the scheduler of the first replica has learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictor: Option<PredictorOutcome>,
    /// Operations of matrices of the peak of all GPUs, or of matrices and attention of the peak of all modules.
    pub flops_utilisation: f64,
    /// Energy, where all of it is known.
    pub energy_pj: Option<f64>,
    /// Tokens for a joule.
    pub tokens_per_j: Option<f64>,
    /// What does not hold, by `golden::timeline`.
    pub violations: u64,
    /// The first of it.
    pub first_violation: Option<String>,
    /// Tasks that were watched.
    pub watched_tasks: u64,
    /// Time of this run on this machine.
    pub wall_s: f64,
    /// Costs that were measured, and found.
    pub cost_entries: CostEntries,
    /// What is to know about the figures.
    pub notes: Vec<String>,
}

/// The machine.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Machine {
    /// GPUs and host memory whose DIMMs compute.
    L3(Hardware),
    /// Modules of AiM channels.
    Lol(LolHardware),
    /// NPUs whose memory computes attention.
    Neupims(NeupimsHardware),
}

/// Shares of the time of all stages in which requests are live; together they are 1.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageReport {
    /// Matrices.
    pub matrices: f64,
    /// Products of attention.
    pub products: f64,
    /// What softmax adds to them.
    pub softmax: f64,
    /// All-reduces, or the way to GPUs and back.
    pub links: f64,
    /// The host's writes of T_cur and Va2Pa.
    pub tables: f64,
    /// Nothing to do.
    pub bubbles: f64,
}

/// The requests of a run.
#[derive(Clone, Debug, Serialize)]
pub struct TraceReport {
    /// Name of the trace.
    pub name: String,
    /// Its moments.
    #[serde(flatten)]
    pub moments: Moments,
}

/// How a model is spread.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parallel {
    /// Devices that share each layer.
    pub tp: u64,
    /// Stages of layers.
    pub pp: u64,
    /// Replicas.
    pub dp: u64,
}

/// Decoding requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BatchReport {
    /// Mean over the iterations of a replica.
    pub mean: f64,
    /// The most live requests of all replicas at once.
    pub max: u64,
    /// Mean of the tokens of all contexts of an iteration.
    pub tokens_mean: f64,
}

/// Room for K and V, of all replicas.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MemoryReport {
    /// What there is.
    pub capacity_bytes: u64,
    /// Mean share that is used.
    pub mean: f64,
    /// The largest share that is used.
    pub max: f64,
}

/// A part of a replica: shares of the makespan, the mean of all replicas.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceReport {
    /// Its name.
    pub name: String,
    /// It works.
    pub busy: f64,
    /// It is idle in an iteration.
    pub bubble: f64,
    /// There is no iteration.
    pub waiting: f64,
}

/// Costs of devices.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CostEntries {
    /// Measured by this run.
    pub run: u64,
    /// Found.
    pub reused: u64,
}

/// What a report has beside the run.
pub struct About {
    /// Seed of the requests.
    pub seed: u64,
    /// Time on this machine.
    pub wall_s: f64,
    /// Costs of devices.
    pub cost_entries: CostEntries,
    /// Whether each context's cost was measured.
    pub exact_costs: bool,
    /// Requests that were there at a time, where others came when they ended.
    pub closed_loop: Option<u64>,
}

/// What differs between systems.
struct Parts<'a> {
    system: &'static str,
    policy: &'static str,
    llm: &'a Llm,
    admission: &'static str,
    placement: Option<&'static str>,
    sub_batches: Option<&'static str>,
    overlap: Option<bool>,
    parallel: Parallel,
    hardware: Machine,
    stages: Option<StageReport>,
    devices: Option<DeviceShares>,
    /// Bytes of a unit in which the run counts memory.
    memory_unit: u64,
    /// Operations that were done, and the peak of all in a second.
    flops: (u128, f64),
    resource_name: &'a dyn Fn(usize) -> String,
    notes: Vec<String>,
}

impl ServeReport {
    fn of(
        parts: Parts<'_>,
        trace: &Trace,
        run: &Run,
        checker: &TimelineChecker,
        about: About,
    ) -> Self {
        let mut notes = parts.notes;
        if about.exact_costs {
            notes.push("costs of every whole chunk of 16 tokens are measured".to_owned());
        }
        if let Some(requests) = about.closed_loop {
            let what =
                format!("closed loop: {requests} requests at a time, one comes when one ends");
            notes.push(what);
        }
        let ps = run.makespan_ps.max(1);
        let per_s = |count: f64| count / seconds(ps);
        let all = u128::from(ps) * u128::from(parts.parallel.dp);
        let share = |ps: u128| ps as f64 / all as f64;
        let served = || run.served.iter().map(|(_, served)| served);
        let each = |ps: u64| (ps, 1);
        let resources = run.busy_ps.iter().enumerate().map(|(resource, &busy)| ResourceReport {
            name: (parts.resource_name)(resource),
            busy: share(busy.into()),
            bubble: share(u128::from(run.iteration_ps.saturating_sub(busy))),
            waiting: share(all.saturating_sub(run.iteration_ps.into())),
        });
        let is_used = |resource: &ResourceReport| resource.busy > 0.0;
        let (capacity, most, used) = run.memory;
        let weight = run.batch.weight.max(1) as f64;
        let energy_pj = run.energy_pj.map(|pj| pj as f64);
        let (flops, peak) = parts.flops;
        Self {
            system: parts.system,
            policy: parts.policy,
            model: parts.llm.name.clone(),
            trace: TraceReport { name: trace.name.clone(), moments: trace.moments() },
            seed: about.seed,
            admission: parts.admission,
            placement: parts.placement,
            sub_batches: parts.sub_batches,
            overlap: parts.overlap,
            parallel: parts.parallel,
            hardware: parts.hardware,
            makespan_ns: run.makespan_ps / NANOSECOND,
            output_tokens: run.output_tokens,
            tokens_per_s: per_s(run.output_tokens as f64),
            requests_per_s: per_s(run.served.len() as f64),
            batch: BatchReport {
                mean: run.batch.requests as f64 / weight,
                max: run.batch.most,
                tokens_mean: run.batch.tokens as f64 / weight,
            },
            ttft_ns: Percentiles::of(served().map(|of| each(of.ttft_ps())).collect()),
            tpot_ns: Percentiles::of(served().filter_map(|of| of.tpot_ps()).map(each).collect()),
            itl_ns: Percentiles::of(run.between.clone()),
            e2e_ns: Percentiles::of(served().map(|of| each(of.e2e_ps())).collect()),
            iterations: run.iterations,
            prefill_tokens: run.prompt_tokens,
            chunked: run.chunked,
            preempted: run.preempted,
            oom: run.oom.clone(),
            memory: MemoryReport {
                capacity_bytes: capacity * parts.memory_unit,
                mean: used as f64 / (capacity as f64 * ps as f64),
                max: most as f64 / capacity as f64,
            },
            resources: resources.filter(is_used).collect(),
            stages: parts.stages,
            devices: parts.devices,
            predictor: run.predictor.as_ref().map(Predictor::outcome),
            flops_utilisation: flops as f64 / (peak * seconds(ps)),
            energy_pj,
            tokens_per_j: energy_pj.map(|pj| run.output_tokens as f64 / (pj / SECOND as f64)),
            violations: checker.faults(),
            first_violation: checker.first().map(|fault| fault.to_string()),
            watched_tasks: checker.tasks(),
            wall_s: about.wall_s,
            cost_entries: about.cost_entries,
            notes,
        }
    }
}

/// Requests that are left out, where there are any.
fn left_out(run: &Run, trace: &Trace) -> Option<String> {
    let (left_out, all) = (run.oom.len(), trace.requests.len());
    (left_out > 0).then(|| format!("{left_out} of {all} requests fit no replica and are left out"))
}
