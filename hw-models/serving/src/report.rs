// SPDX-License-Identifier: MIT
//! What is told of a run.

use crate::hardware::Hardware;
use crate::iteration::FIRST_SET;
use crate::metrics::Percentiles;
use crate::simulate::{Run, Setup};
use crate::time::{NANOSECOND, SECOND, seconds};
use crate::trace::{Moments, Trace};
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
    /// Where requests go.
    pub placement: &'static str,
    /// Whether ranksets compute during transfers.
    pub overlap: bool,
    /// How the model is spread.
    pub parallel: Parallel,
    /// The machine.
    pub hardware: Hardware,
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
    /// Operations of matrices, of the peak of all GPUs.
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
}

/// Names of a replica's parts.
pub fn resource_name(setup: &Setup<'_>, resource: usize) -> String {
    let set = resource as u32;
    match set {
        0 => "gpu".to_owned(),
        1 => "pcie_down".to_owned(),
        2 => "pcie_up".to_owned(),
        3 => "pins".to_owned(),
        _ if setup.policy.has_ranks() => format!("rankset_{}", set - FIRST_SET),
        _ => "attention".to_owned(),
    }
}

impl ServeReport {
    /// The report of a run.
    pub fn new(
        setup: &Setup<'_>,
        trace: &Trace,
        run: &Run,
        checker: &TimelineChecker,
        about: About,
    ) -> Self {
        let hardware = setup.hardware;
        let ps = run.makespan_ps.max(1);
        let per_s = |count: f64| count / seconds(ps);
        let all = u128::from(ps) * u128::from(hardware.dp);
        let share = |ps: u128| ps as f64 / all as f64;
        let served = || run.served.iter().map(|(_, served)| served);
        let each = |ps: u64| (ps, 1);
        let resources = run.busy_ps.iter().enumerate().map(|(resource, &busy)| ResourceReport {
            name: resource_name(setup, resource),
            busy: share(busy.into()),
            bubble: share(u128::from(run.iteration_ps.saturating_sub(busy))),
            waiting: share(all.saturating_sub(run.iteration_ps.into())),
        });
        let is_used = |resource: &ResourceReport| resource.busy > 0.0;
        let row_bytes = {
            let organisation = &setup.rank.organisation;
            (setup.rank.banks() * organisation.chips * organisation.page_bytes) as u64
        };
        // Rows are those of the rank of a channel that has most: there are as many on each channel of a replica.
        let unit = match setup.policy.has_ranks() {
            true => row_bytes * hardware.channels / hardware.dp,
            false => 1,
        };
        let (capacity, most, used) = run.memory;
        let iterations = run.batch.iterations.max(1) as f64;
        let made = run.output_tokens.saturating_sub(run.served.len() as u64);
        let flops = 2
            * u128::from(setup.llm.layers() * setup.llm.layer_parameters())
            * u128::from(run.prompt_tokens + made);
        let peak = hardware.gpus as f64 * setup.gpu.flops as f64;
        let energy_pj = run.energy_pj.map(|pj| pj as f64);
        let oom = run.oom.clone();
        Self {
            system: "l3",
            policy: setup.policy.name(),
            model: setup.llm.name.clone(),
            trace: TraceReport { name: trace.name.clone(), moments: trace.moments() },
            seed: about.seed,
            admission: setup.admission.name(),
            placement: setup.placement.name(),
            overlap: setup.overlap,
            parallel: Parallel { tp: hardware.tp, pp: 1, dp: hardware.dp },
            hardware,
            makespan_ns: run.makespan_ps / NANOSECOND,
            output_tokens: run.output_tokens,
            tokens_per_s: per_s(run.output_tokens as f64),
            requests_per_s: per_s(run.served.len() as f64),
            batch: BatchReport {
                mean: run.batch.requests as f64 / iterations,
                max: run.batch.most,
                tokens_mean: run.batch.tokens as f64 / iterations,
            },
            ttft_ns: Percentiles::of(served().map(|of| each(of.ttft_ps())).collect()),
            tpot_ns: Percentiles::of(served().filter_map(|of| of.tpot_ps()).map(each).collect()),
            itl_ns: Percentiles::of(run.between.clone()),
            e2e_ns: Percentiles::of(served().map(|of| each(of.e2e_ps())).collect()),
            iterations: run.iterations,
            prefill_tokens: run.prompt_tokens,
            chunked: run.chunked,
            preempted: run.preempted,
            oom,
            memory: MemoryReport {
                capacity_bytes: capacity * unit,
                mean: used as f64 / (capacity as f64 * ps as f64),
                max: most as f64 / capacity as f64,
            },
            resources: resources.filter(is_used).collect(),
            flops_utilisation: flops as f64 / (peak * seconds(ps)),
            energy_pj,
            tokens_per_j: energy_pj.map(|pj| run.output_tokens as f64 / (pj / SECOND as f64)),
            violations: checker.faults(),
            first_violation: checker.first().map(|fault| fault.to_string()),
            watched_tasks: checker.tasks(),
            wall_s: about.wall_s,
            cost_entries: about.cost_entries,
            notes: notes(setup, run, trace),
        }
    }
}

/// What is to know about the figures.
fn notes(setup: &Setup<'_>, run: &Run, trace: &Trace) -> Vec<String> {
    let analytic = match setup.policy.name() {
        "hbm-pim" => {
            Some("attention in HBM is a bandwidth: 16 times the GPU's, of which 90 % are reached")
        }
        "r-pim" => Some(
            "attention in ranks of DIMMs is a bandwidth: that of the ranks' pins, transfers hidden",
        ),
        "cpu-offload" => {
            Some("attention on the CPU is a bandwidth: 406 GB/s of the host, transfers hidden")
        }
        _ => None,
    };
    let mut notes = vec![
        format!(
            "GPUs are rooflines with the constants `{}`; the decoder layers alone count",
            setup.gpu_model.name()
        ),
        "PCIe: 32 GB/s for each GPU and direction, 2 us of latency".to_owned(),
    ];
    notes.extend(analytic.map(str::to_owned));
    if setup.policy.has_ranks() {
        notes.push(
            "capacity of a rank is the system's, timing is the device's; single tokens are added at the banks' rate"
                .to_owned(),
        );
    }
    if !run.oom.is_empty() {
        let (left_out, all) = (run.oom.len(), trace.requests.len());
        notes.push(format!("{left_out} of {all} requests fit no replica and are left out"));
    }
    notes
}
