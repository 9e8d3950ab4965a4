// SPDX-License-Identifier: MIT
//! What is told of a run on L3's system or a baseline.

use super::{About, Machine, Parallel, Parts, ServeReport, left_out};
use crate::iteration::FIRST_SET;
use crate::outcome::Run;
use crate::setup::Setup;
use crate::trace::Trace;
use pimlico_golden::timeline::TimelineChecker;

/// Names of a replica's parts.
pub fn resource_name(setup: &Setup<'_>, resource: usize) -> String {
    let set = resource as u32;
    match set {
        0 => "gpu".to_owned(),
        1 => "pcie_down".to_owned(),
        2 => "pcie_up".to_owned(),
        3 => "pins".to_owned(),
        _ if setup.policy.has_ranksets() => format!("rankset_{}", set - FIRST_SET),
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
        let row_bytes = {
            let organisation = &setup.rank.organisation;
            (setup.rank.banks() * organisation.chips * organisation.page_bytes) as u64
        };
        // Rows are those of the rank of a channel that has most: there are as many on each channel of a replica.
        let memory_unit = match setup.policy.has_ranks() {
            true => row_bytes * hardware.channels / hardware.dp,
            false => 1,
        };
        let made = run.output_tokens.saturating_sub(run.served.len() as u64);
        let flops = 2
            * u128::from(setup.llm.layers() * setup.llm.layer_parameters())
            * u128::from(run.prompt_tokens + made);
        let parts = Parts {
            system: "l3",
            policy: setup.policy.name(),
            llm: setup.llm,
            admission: setup.admission.name(),
            placement: Some(setup.placement.name()),
            sub_batches: setup.policy.interleaves().then(|| setup.sub_batches.name()),
            overlap: Some(setup.overlap),
            parallel: Parallel { tp: hardware.tp, pp: 1, dp: hardware.dp },
            hardware: Machine::L3(hardware),
            stages: None,
            devices: None,
            memory_unit,
            flops: (flops, hardware.gpus as f64 * setup.gpu.flops as f64),
            resource_name: &|resource| resource_name(setup, resource),
            notes: notes(setup, run, trace),
        };
        Self::of(parts, trace, run, checker, about)
    }
}

/// What is to know about the figures.
fn notes(setup: &Setup<'_>, run: &Run, trace: &Trace) -> Vec<String> {
    let analytic = match setup.policy.name() {
        "hbm-pim" => {
            Some("attention in HBM is a bandwidth: 16 times the GPU's, of which 90 % are reached")
        }
        "r-pim" => Some(
            "attention in ranks of DIMMs is a bandwidth: all of the ranks' pins, transfers hidden",
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
    notes.extend(left_out(run, trace));
    notes
}
