// SPDX-License-Identifier: MIT
//! `pimlico run SYSTEM fc`: the fully-connected operators of a decoder layer.

use super::Face;
use crate::failure::Failure;
use crate::run::arguments::{MOST_MODULES, RunArguments};
use crate::run::groups::{Common, Shapes};
use crate::run::text::OwnText;
use clap::Args;
use pimlico_model::Model;
use pimlico_workload::fc::{FcJob, FcReport};
use pimlico_workload::report::Report;
use std::path::Path;

/// How the matrices of a layer are shared out.
#[derive(Args)]
#[command(next_help_heading = "Matrices")]
pub(super) struct Fc {
    /// Modules among which the layer is divided; the share of one is run
    #[arg(long, value_name = "N")]
    tp: Option<usize>,
    /// The language-model head as well
    #[arg(long)]
    lm_head: bool,
    #[command(flatten)]
    shapes: Shapes,
}

impl Fc {
    /// Refuses heads that the device has no attention for: no matrix of a layer is asked for whose heads cannot run.
    fn check_heads(&self, model: &Model, arguments: &RunArguments) -> Result<(), Failure> {
        let most = arguments.system.most_head_dim;
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
    const OPTIONS: &'static [Common] = &[
        Common::Sums,
        Common::SharedBuffers,
        Common::HowMany,
        Common::Spread,
        Common::Sample,
        Common::Judging,
        Common::Waveform,
        Common::Picture,
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "l3 fc --model llama-3.2-1b --tp 8",
        "l3 fc --config config.json --lm-head --json",
        "aim fc --model llama-3.2-1b --tp 8",
    ];
    type Job = FcJob;
    type Report = FcReport;

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
