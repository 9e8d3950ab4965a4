// SPDX-License-Identifier: MIT
//! `pimlico run l3|aim fc`: the fully-connected operators of a decoder layer.

use super::Face;
use crate::failure::Failure;
use crate::run::arguments::{MOST_MODULES, RunArguments, System};
use crate::run::groups::{
    AimDevice, Dram, Execution, HowMany, Picture, RankDevice, Seed, Shapes, SharedBuffers, Spread,
    Waveform, groups,
};
use crate::run::text::OwnText;
use clap::Args;
use pimlico_device::aim::GPR;
use pimlico_device::mapping::MOST_HEAD_DIM;
use pimlico_model::Model;
use pimlico_workload::fc::{FcJob, FcReport};
use pimlico_workload::report::Report;
use std::path::Path;

/// How the matrices of a layer are shared out.
#[derive(Args)]
#[command(next_help_heading = "Matrices")]
pub(super) struct Fc {
    /// Modules that share the layer out among them: one's share is run
    #[arg(long, value_name = "N")]
    tp: Option<usize>,
    /// The language-model head as well
    #[arg(long)]
    lm_head: bool,
    #[command(flatten)]
    shapes: Shapes,
}

groups! { OnRanks:
    seed: Seed, device: RankDevice, dram: Dram, buffers: SharedBuffers, many: HowMany,
    spread: Spread, execution: Execution, waveform: Waveform, picture: Picture,
}

groups! { OnModule:
    seed: Seed, device: AimDevice, dram: Dram, execution: Execution, waveform: Waveform, picture: Picture,
}

impl Fc {
    /// Refuses heads that the device has no attention for: no matrix of a layer is asked for whose heads cannot run.
    fn check_heads(&self, model: &Model, arguments: &RunArguments) -> Result<(), Failure> {
        let most = match arguments.system() {
            System::L3 => MOST_HEAD_DIM,
            System::Aim => GPR,
        };
        if model.head_dim <= most {
            return Ok(());
        }
        let found = format!("head_dim: {}: the device takes 1 to {most}", model.head_dim);
        let file = self.shapes.config().map(|file| format!("{}: ", file.display()));
        Err(Failure::Input(file.unwrap_or_default() + &found))
    }
}

impl Face for Fc {
    const NAME: &'static str = "fc";
    const ABOUT: &'static str = "The fully-connected operators of a decoder layer";
    type L3 = OnRanks;
    type Aim = OnModule;
    type Job = FcJob;
    type Report = FcReport;

    fn examples(system: System) -> &'static str {
        match system {
            System::L3 => {
                "\
Examples:
  pimlico run l3 fc --model llama-3.2-1b --tp 8
  pimlico run l3 fc --config config.json --lm-head --json"
            }
            System::Aim => "Example:\n  pimlico run aim fc --model llama-3.2-1b --tp 8",
        }
    }

    fn job(&self, arguments: &RunArguments) -> Result<FcJob, Failure> {
        let (name, model) = self.shapes.model()?;
        let tp = self.tp.unwrap_or(1);
        if !(1..=MOST_MODULES).contains(&tp) {
            return Err(Failure::Input(format!("--tp {tp}: expected 1 to {MOST_MODULES} modules")));
        }
        self.check_heads(&model, arguments)?;
        let job = FcJob::new(&name, &model, tp, self.lm_head, arguments.seed);
        Ok(FcJob { io_buffers: arguments.io_buffers(), ..job })
    }

    fn config(&self) -> Option<&Path> {
        self.shapes.config()
    }

    fn words(&self, job: &FcJob) -> String {
        let lm_head = if self.lm_head { " --lm-head" } else { "" };
        format!("{} --tp {}{lm_head}", self.shapes.words(), job.tp)
    }

    fn text(own: &FcReport, report: &Report) -> OwnText {
        let FcReport { model, tp, .. } = own;
        let system = &report.system;
        let what = format!("fully-connected operators of a layer of {model} on {system}");
        OwnText { what, how: format!("one of {tp} module(s)"), ..OwnText::default() }
    }
}
