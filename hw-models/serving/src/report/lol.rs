// SPDX-License-Identifier: MIT
//! What is told of a run on LoL-PIM's system.

use super::{About, Machine, Parallel, Parts, ServeReport, StageReport, left_out};
use crate::lol::outcome::PipelineRun;
use crate::lol::plan::StagePlan;
use crate::lol::system::{LANES, LolSystem, MODULE_FLOPS};
use crate::outcome::Run;
use crate::time::NANOSECOND;
use crate::trace::Trace;
use pimlico_device::Config;
use pimlico_golden::timeline::TimelineChecker;

impl ServeReport {
    /// The report of a run; `config` is a channel's.
    pub fn of_lol(
        plan: &StagePlan,
        config: &Config,
        trace: &Trace,
        outcome: &PipelineRun,
        checker: &TimelineChecker,
        about: About,
    ) -> Self {
        let (system, run) = (plan.system(), &outcome.run);
        // Tokens of all contexts over the iterations in which they were attended to.
        let attended: u128 = run.served.iter().map(|(_, of)| attended(of.input, of.output)).sum();
        let llm = &system.llm;
        let of_layers = llm.layers() * llm.layer_parameters();
        let attention = u128::from(4 * llm.layers() * llm.q_elements()) * attended;
        let of_gpus = system.policy.has_gpus();
        let matrices = 2 * u128::from(of_layers) * u128::from(run.output_tokens);
        let flops = if of_gpus { attention } else { attention + matrices };
        let parts = Parts {
            system: "lol-pim",
            policy: system.policy.name(),
            llm,
            admission: system.allocation.name(),
            placement: None,
            sub_batches: None,
            overlap: None,
            parallel: Parallel { tp: system.tp, pp: system.pp, dp: 1 },
            hardware: Machine::Lol(system.hardware(config)),
            stages: Some(stages(outcome)),
            devices: None,
            memory_unit: plan.room().row_bytes,
            flops: (flops, (system.modules() * MODULE_FLOPS) as f64),
            resource_name: &|resource| format!("stage_{resource}"),
            notes: notes(system, run, trace),
        };
        Self::of(parts, trace, run, checker, about)
    }
}

/// The sum of the contexts of a request's tokens.
fn attended(input: u64, output: u64) -> u128 {
    let (input, output) = (u128::from(input), u128::from(output));
    output * input + output * (output + 1) / 2
}

fn stages(outcome: &PipelineRun) -> StageReport {
    let time = outcome.time;
    let all = (time.ps() + outcome.bubble_ps).max(1) as f64;
    let share = |ps: u64| ps as f64 / all;
    StageReport {
        matrices: share(time.matrices_ps),
        products: share(time.products_ps),
        softmax: share(time.softmax_ps),
        links: share(time.links_ps),
        tables: share(time.tables_ps),
        bubbles: share(outcome.bubble_ps),
    }
}

/// What is to know about the figures.
fn notes(system: &LolSystem, run: &Run, trace: &Trace) -> Vec<String> {
    let mut notes = vec![
        "prompts are there when a request is taken in; only decoding is simulated, without the language-model head".to_owned(),
        format!(
            "links: 64 GB/s inside of a node, 10 GB/s between nodes, {} ns a hop; all-reduces by rings in nodes and over them",
            system.hop_ps / NANOSECOND
        ),
        "rows as in LoL-PIM's layout, each K and V of a head in rows of one channel; the layout that runs takes half as many \
         rows again (`pimlico sweep batch`)"
            .to_owned(),
    ];
    if !matches!(system.lanes, 2..=16) {
        notes.push(format!(
            "softmax of {} lanes is analytic: the device has 2 to 16{}",
            system.lanes,
            if system.lanes >= LANES { ", of which several units take heads in turn" } else { "" }
        ));
    }
    if system.policy.has_gpus() {
        notes.push("GPUs are rooflines with the constants `attacc`; flops_utilisation is of the modules alone".to_owned());
    }
    notes.extend(left_out(run, trace));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_of_tokens_are_summed() {
        // 10 tokens of a prompt: the three tokens behind it attend to 11, 12 and 13.
        assert_eq!(attended(10, 3), 11 + 12 + 13);
    }
}
