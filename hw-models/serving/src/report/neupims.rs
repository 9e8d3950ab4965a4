// SPDX-License-Identifier: MIT
//! What is told of a run on NeuPIMs' system.

use super::{About, Machine, Parallel, Parts, ServeReport, left_out};
use crate::neupims::estimate::MhaLatency;
use crate::neupims::npu::Npu;
use crate::neupims::serve::NeupimsRun;
use crate::neupims::service::NeupimsService;
use crate::neupims::system::{CHANNELS, NpuAttention, RowBuffers};
use crate::outcome::Run;
use crate::trace::Trace;
use pimlico_golden::timeline::TimelineChecker;
use serde::Serialize;

/// Shares of what the devices of a stage could do while they have a micro-batch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeviceShares {
    /// Multiply-accumulates of the arrays.
    pub npu: f64,
    /// Time that a channel's PIM works.
    pub pim: f64,
    /// Dot products.
    pub dots: f64,
    /// Bytes on the buses.
    pub bandwidth: f64,
}

impl ServeReport {
    /// The report of a run.
    pub fn of_neupims(
        service: &NeupimsService,
        latency: &dyn MhaLatency,
        trace: &Trace,
        outcome: &NeupimsRun,
        checker: &TimelineChecker,
        about: About,
    ) -> Self {
        let (run, used) = (&outcome.run, &outcome.used);
        let NeupimsService { llm, shard, .. } = service;
        // Shares are of the peak, whatever of it there is.
        let npu = Npu::TABLE_2;
        let all = used.tck.max(1) as f64;
        let shares = DeviceShares {
            npu: used.macs as f64 / (npu.peak_macs() as f64 * all),
            pim: used.pim_tck / all,
            dots: 2.0 * used.work.beats as f64 / (CHANNELS as f64 * all),
            bandwidth: used.bytes as f64 / (npu.bandwidth as f64 * all),
        };
        let parameters = llm.layers() * llm.layer_parameters();
        let devices = shard.tp * shard.pp;
        let stages = shard.pp as usize;
        let name = |resource: usize| match resource < stages {
            true => format!("prompts_{resource}"),
            false => format!("stage_{}", resource - stages),
        };
        let parts = Parts {
            system: "neupims",
            policy: service.policy.name(),
            llm,
            admission: "reserve",
            placement: None,
            sub_batches: None,
            overlap: None,
            parallel: Parallel { tp: shard.tp, pp: shard.pp, dp: 1 },
            hardware: Machine::Neupims(service.hardware(latency.name())),
            stages: None,
            devices: Some(shares),
            memory_unit: 1,
            flops: (
                2 * u128::from(parameters) * u128::from(used.tokens),
                2e9 * (npu.peak_macs() * devices) as f64,
            ),
            resource_name: &name,
            notes: notes(service, latency, run, trace),
        };
        Self::of(parts, trace, run, checker, about)
    }
}

/// What is to know about the figures.
fn notes(
    service: &NeupimsService,
    latency: &dyn MhaLatency,
    run: &Run,
    trace: &Trace,
) -> Vec<String> {
    let system = &service.system;
    let mut notes = vec![
        "prompts are computed on as many NPUs without PIM, one behind the other, and a request that waits for a place has room \
         there; flops_utilisation is of tokens behind the first"
            .to_owned(),
        "layer norm, residual additions, GELU and the language-model head are left out".to_owned(),
    ];
    notes.push(match (system.memory, system.npu_attention) {
        (RowBuffers::Plain, NpuAttention::Bandwidth) => {
            "attention on the vector units, K and V at the memory's bandwidth".to_owned()
        }
        (RowBuffers::Plain, NpuAttention::Arrays) => "attention on the systolic arrays".to_owned(),
        _ => format!("PIM latencies: {}; requests of a channel follow one another", latency.name()),
    });
    let Npu { bandwidth, beside, .. } = system.npu;
    if bandwidth < Npu::TABLE_2.bandwidth {
        notes.push(format!(
            "matrices have {bandwidth} of the buses' 1024 bytes in a tCK, and {beside} beside PIM, as reads without end on a channel with \
             refresh"
        ));
    }
    if system.link_gbps.is_none() {
        notes.push("links between devices take no time".to_owned());
    }
    notes.extend(left_out(run, trace));
    notes
}
